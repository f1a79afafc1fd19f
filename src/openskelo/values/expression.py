"""Expressions in CEL: compiled once with the types of their variables, evaluated in bounded time and space, reaching nothing else.

What authors should know: a JSON number 2 is an `int`, 2.5 a `double`. They compare with each other
(`inputs.n > 1`), but arithmetic does not mix them: write `double(inputs.n) + 0.5`.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.values import canonical, cel_ast, cel_types
from openskelo.values.fit import JsonSchema

#: How long an expression may be, in bytes of UTF-8.
MAX_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in an expression or template; both count from 1."""

    line: int
    column: int


class InvalidExpression(errors.InvalidInput):
    """The text is not a valid expression; `position` says where, if that is known."""

    default_code = "EXPR_INVALID"

    def __init__(
        self, message: str, *, position: Position | None = None, code: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.position = position

    @property
    def line(self) -> int | None:
        """The line, counted from 1."""
        return self.position.line if self.position else None

    @property
    def column(self) -> int | None:
        """The column, counted from 1."""
        return self.position.column if self.position else None


class _Type(Protocol):
    def name(self) -> str: ...


class _Value(Protocol):
    def type(self) -> _Type: ...
    def plain_value(self) -> object: ...


class _Program(Protocol):
    def eval(self, *, data: Mapping[str, object]) -> _Value: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A compiled expression.

    `returns` is the static type of the result ("bool", "int", "double", "string", "list", "map", "null" or "dyn");
    `variables` are the declared variables it uses.
    """

    text: str
    returns: str
    variables: frozenset[str]
    _names: tuple[tuple[str, tuple[str, ...]], ...]
    _program: _Program

    def evaluate(self, values: Mapping[str, Json]) -> Json:
        """The result as admitted JSON; `AttemptFailed` EXPR_FAILED or EXPR_RESULT says why there is none."""
        data = {name: found for name, path in self._names if (found := _look_up(values, path)) is not _MISSING}
        try:
            result = self._program.eval(data=data)
            kind = result.type().name()
            plain = None if kind == "optional_type" else result.plain_value()
        except (RuntimeError, TypeError, ValueError, UnicodeError, RecursionError) as error:
            raise _failed(self.text, str(error)) from None
        if kind == "ERROR":
            raise _failed(self.text, str(plain))
        return _as_json(self.text, kind, plain)


_MISSING = object()


def compile(text: str, variables: Mapping[str, JsonSchema | None]) -> Expression:  # noqa: A001 -- read as `expression.compile`
    """The compiled expression, cached; `InvalidExpression` (EXPR_INVALID, EXPR_TOO_LONG) with the position of the fault.

    `variables` maps each visible name to the schema of its values, or None when nothing is known about them.
    """
    types: dict[str, str] = {}
    for name, schema in variables.items():
        types[name] = cel_types.signature(schema)
        types.update(cel_types.fields(name, schema))
    return _compile(text, frozenset(types.items()))


@functools.lru_cache(maxsize=2048)
def _compile(text: str, types: frozenset[tuple[str, str]]) -> Expression:
    _check_text(text)
    try:
        program = _environment(types).compile(text)
    except RuntimeError as error:
        raise _explained(str(error), types) from None
    tree = cel_ast.read(program.serialize())
    declared = {name for name, _ in types}
    names = {node.name for node in cel_ast.walk(tree) if isinstance(node, cel_ast.Name)} & declared
    return Expression(
        text=text,
        returns=_returns(program.return_type().name()),
        variables=frozenset(name.partition(".")[0] for name in names),
        _names=tuple((name, tuple(name.split("."))) for name in sorted(names)),
        _program=cast(_Program, program),
    )


class _Checked(Protocol):
    def serialize(self) -> bytes: ...
    def return_type(self) -> _Type: ...


class _Environment(Protocol):
    def compile(self, expression: str, /) -> _Checked: ...


@functools.lru_cache(maxsize=256)
def _environment(types: frozenset[tuple[str, str]]) -> _Environment:
    # The library takes 60 ms to load, which commands that evaluate nothing should not pay.
    from cel_expr_python import cel  # noqa: PLC0415
    from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings  # noqa: PLC0415

    extensions = [ext_strings.ExtStrings(), ext_math.ExtMath(), ext_optional.ExtOptional(), ext_bindings.ExtBindings()]
    declared = {name: cel.Type(signature) for name, signature in types}
    return cast(_Environment, cel.NewEnv(variables=declared, extensions=extensions))


def _check_text(text: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidExpression("the expression has a lone surrogate") from None
    if size > MAX_BYTES:
        raise InvalidExpression(
            f"the expression has {size} bytes, more than {MAX_BYTES}",
            code="EXPR_TOO_LONG",
            hint="compute the value in a block instead",
        )
    if not text.strip():
        raise InvalidExpression("the expression is empty", position=Position(line=1, column=1))


_LOCATED = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
_UNKNOWN = re.compile(r"undeclared reference to '([^']*)'")


def _explained(report: str, types: frozenset[tuple[str, str]]) -> InvalidExpression:
    """The library's report (one or several located lines with source excerpts) as one error about the first fault."""
    located = _LOCATED.search(report)
    if located is None:
        nested = "recursion" in report
        return InvalidExpression(
            "the expression nests too deeply" if nested else f"not a valid expression: {_stripped(report)}",
            hint="split it over several blocks" if nested else None,
        )
    line, column, message = int(located[1]), int(located[2]), located[3]
    if "recursion depth" in message:
        return InvalidExpression("the expression nests too deeply", hint="split it over several blocks")
    position = Position(line=line, column=column) if line > 0 and column > 0 else None
    return InvalidExpression(_stripped(message), position=position, hint=_advice(message, types))


def _advice(message: str, types: frozenset[tuple[str, str]]) -> str | None:
    unknown = _UNKNOWN.search(message)
    if unknown:
        visible = sorted({name.partition(".")[0] for name, _ in types})
        close = difflib.get_close_matches(unknown[1], visible, n=1)
        return f"did you mean {close[0]!r}?" if close else f"visible here: {', '.join(visible) or 'nothing'}"
    return _number_advice(message)


def _number_advice(message: str) -> str | None:
    if "overload" in message and "int" in message and "double" in message:
        return "int and double do not mix in arithmetic: write double(x), or 1.0 for 1"
    return None


_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$| \(in container ''\)")


def _stripped(message: str) -> str:
    return _STATUS.sub("", message)


def _returns(kind: str) -> str:
    match kind:
        case "BOOL" | "INT" | "DOUBLE" | "STRING" | "LIST" | "MAP" | "NULL":
            return kind.lower()
        case "UINT":
            return "int"
        case _:
            return "dyn"


def _look_up(values: Mapping[str, Json], path: tuple[str, ...]) -> object:
    found: object = values
    for part in path:
        if not isinstance(found, Mapping):
            return _MISSING
        found = cast("Mapping[str, object]", found).get(part, _MISSING)
    return found


def _as_json(text: str, kind: str, plain: object) -> Json:
    if kind == "optional_type":
        raise _no_json(text, "an optional value", "end it with .orValue(...) or .value()")
    try:
        return canonical.admit(plain)
    except errors.InvalidInput as error:
        raise _no_json(text, f"{kind.lower()}: {error.message}", error.hint) from None


def _no_json(text: str, what: str, hint: str | None) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"the result of `{_short(text)}` is not JSON ({what})", code="EXPR_RESULT", hint=hint, retryable=False
    )


def _failed(text: str, reason: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"`{_short(text)}`: {_stripped(reason)}", code="EXPR_FAILED", hint=_number_advice(reason), retryable=False
    )


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."

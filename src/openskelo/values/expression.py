"""Expressions in CEL: compiled once, evaluated in bounded time and space, and reaching nothing but their variables.

What authors should know: a JSON number 2 is an `int`, 2.5 a `double`. They compare with each other
(`inputs.n > 1`), but arithmetic does not mix them: write `double(inputs.n) + 0.5`. A result of type `uint` becomes an
integer; bytes, timestamps, durations and types are no JSON (EXPR_RESULT): wrap them in `string(...)`, as numbers beyond
2**53 (NUMBER_RANGE).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

import orjson

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.kernel.json import Json
from openskelo.values import canonical, cel_ast, cel_cost, cel_ranges, cel_report, cel_types
from openskelo.values.cel_report import InvalidExpression, Position
from openskelo.values.fit import JsonSchema

__all__ = ["MAX_BYTES", "Expression", "InvalidExpression", "Position", "compile"]

#: How long an expression may be, in bytes of UTF-8.
MAX_BYTES = 4096

_Types: TypeAlias = "frozenset[tuple[str, str]]"
_Shapes: TypeAlias = "tuple[tuple[str, cel_types.Shape], ...]"

#: What is an object; that a dict is one is known in a tenth of the time.
_OBJECTS = (dict, Mapping)
_MISSING = object()
_NUL = b"\\u0000"
_SMALLER = "use less data, or do this in a deterministic block"
_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*(\.[_a-zA-Z][_a-zA-Z0-9]*)?")


_TIME_PART = re.compile(r"get(FullYear|Month|Date|Day\w+|Hours|Minutes|Seconds|Milliseconds)")
_FIXED_ZONE = re.compile(r"UTC|[+-]?\d\d:\d\d")


class _Type(Protocol):
    def name(self) -> str: ...


class _Value(Protocol):
    def type(self) -> _Type: ...
    def plain_value(self) -> object: ...


class _Program(Protocol):
    def eval(self, *, data: Mapping[str, object]) -> _Value: ...
    def serialize(self) -> bytes: ...
    def return_type(self) -> _Type: ...


class _Environment(Protocol):
    def compile(self, expression: str, /) -> _Program: ...
    def deserialize(self, serialized: bytes, /) -> _Program: ...


@frozen
class Expression:
    """A compiled expression.

    `returns` is the static type of the result ("bool", "int", "double", "string", "list", "map", "null" or "dyn");
    `variables` are the declared variables it uses.
    """

    text: str
    returns: str
    variables: frozenset[str]
    _names: tuple[tuple[str, tuple[str, ...]], ...]
    _tree: cel_ast.Node
    _metered: bool
    _program: _Program
    _path: tuple[str, ...] | None = None
    _reads: tuple[tuple[str, cel_ast.Reads], ...] = ()

    def evaluate(self, values: Mapping[str, Json]) -> Json:
        """The result as admitted JSON; `AttemptFailed` EXPR_FAILED, EXPR_RESULT or NUMBER_RANGE says why there is none.

        Only what the expression names is looked at, fields of variables too; more may be given.
        """
        if self._path is not None:
            found = _look_up(values, self._path)
            if _is_plain(found, self.returns):
                return found
        data = {name: found for name, path in self._names if (found := _look_up(values, path)) is not _MISSING}
        for name, fields in self._reads:
            if name in data:
                data[name] = _named(data[name], fields)
        data = self._within_bounds(data)
        try:
            result = self._program.eval(data=data)
            kind = result.type().name().partition("<")[0]
            plain = result.plain_value()
        except (RuntimeError, TypeError, ValueError, RecursionError) as error:
            raise self._failed(str(error)) from None
        if kind == "ERROR":
            raise self._failed(str(plain))
        return self._as_json(kind, plain)

    def _within_bounds(self, data: dict[str, object]) -> dict[str, object]:
        """`data` in plain types, when it is neither too deep nor too much."""
        try:
            written = orjson.dumps(data, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
            # Every level opens a bracket, so that few brackets cannot be many levels.
            doubtful = written.count(b"[") + written.count(b"{") > canonical.MAX_DEPTH or _NUL in written
        except TypeError:
            doubtful = True
        if doubtful:
            data = self._admitted(data)
        if self._metered and cel_cost.Meter(self._tree, data).work() > cel_cost.MAX_BYTES:
            raise self._failed("on data of this size it could take more time and memory than is allowed", _SMALLER)
        return data

    def _admitted(self, data: dict[str, object]) -> dict[str, object]:
        try:
            admitted = {name: canonical.admit(value) for name, value in data.items()}
        except errors.InvalidInput as error:
            raise self._failed(error.message, error.hint) from None
        if any(map(_has_nul, admitted.values())):
            # The library would take the text to end there (0.1.3), and judge another text than the one that is used.
            raise self._failed("its data has text with a NUL character, which an expression cannot read")
        return cast("dict[str, object]", admitted)

    def _as_json(self, kind: str, plain: object) -> Json:
        if kind in ("BOOL", "NULL"):
            return cast("bool | None", plain)
        code, what, hint = "EXPR_RESULT", kind.lower(), "wrap it in string(...)"
        if kind not in ("BYTES", "TIMESTAMP", "DURATION", "TYPE"):
            try:
                return canonical.admit(plain)
            except errors.InvalidInput as error:
                what, hint = error.message, error.hint or hint
                code = error.code if error.code == "NUMBER_RANGE" else code
        message = f"the result of `{cel_report.short(self.text)}` is not JSON: {what}"
        raise errors.AttemptFailed(message, code=code, hint=hint, retryable=False)

    def _failed(self, reason: str, hint: str | None = None) -> errors.AttemptFailed:
        message = f"`{cel_report.short(self.text)}`: {cel_report.plainly(reason)}"
        hint = hint or cel_report.number_advice(reason)
        return errors.AttemptFailed(message, code="EXPR_FAILED", hint=hint, retryable=False)


def compile(text: str, variables: Mapping[str, JsonSchema | None]) -> Expression:  # noqa: A001 -- `expression.compile`
    """The compiled expression, cached; `InvalidExpression` (EXPR_INVALID, EXPR_TOO_LONG) with the place of the fault.

    `variables` maps each visible name to the schema of its values, or None when nothing is known about them. A field
    is checked for its type when the schema requires it, and for its name when the schema allows no others. What works
    on the values although their types differ (`inputs.n > 0.5`, `inputs.t == null`) is no fault.
    """
    types: dict[str, str] = {}
    shapes: list[tuple[str, cel_types.Shape]] = []
    for name, schema in variables.items():
        types[name] = cel_types.signature(schema)
        # Only those it may name: an environment costs a millisecond, and is shared by all who declare the same.
        fields = cel_types.fields(name, schema).items()
        types.update((field, kind) for field, kind in fields if field.rpartition(".")[2] in text)
        shapes.append((name, cel_types.shape(schema)))
    return _compile(text, frozenset(types.items()), tuple(shapes))


@functools.lru_cache(maxsize=2048)
def _compile(text: str, types: _Types, shapes: _Shapes) -> Expression:
    _check_text(text)
    try:
        environment, checked = _checked(text, types)
        serialised = checked.serialize()
        returns = _returns(checked.return_type().name())
    except RuntimeError as error:
        raise cel_report.explained(str(error), [name for name, _ in shapes]) from None
    tree = cel_ast.read(serialised)
    _check_fields(text, tree, shapes)
    _check_time_zones(tree)
    names = cel_ast.free_names(tree) & {name for name, _ in types}
    return Expression(
        text=text,
        returns=returns,
        variables=frozenset(name.partition(".")[0] for name in names),
        _names=tuple((name, tuple(name.split("."))) for name in sorted(names)),
        _tree=tree,
        _metered=cel_cost.may_multiply(tree),
        _program=environment.deserialize(cel_ranges.bounded(serialised)),
        _path=_path(tree),
        _reads=tuple((name, fields) for name, fields in cel_ast.reads(tree).items() if name in names and fields),
    )


def _checked(text: str, types: _Types) -> tuple[_Environment, _Program]:
    """The program by the types as far as they help: by those of the variables' fields, else by none."""
    environment = _environment(_untested(text, types))
    try:
        return environment, environment.compile(text)
    except RuntimeError as error:
        untyped = frozenset((name, cel_types.DYNAMIC) for name, _ in types if "." not in name)
        if untyped == types or not cel_report.is_scruple(str(error)):
            raise
        environment = _environment(untyped)
        return environment, environment.compile(text)


def _untested(text: str, types: _Types) -> _Types:
    """The types without those of fields that `has` asks for: the library would give the field instead (0.1.3)."""
    plain = frozenset((name, kind) for name, kind in types if "." not in name)
    if "has" not in text or plain == types:
        return types
    tree = cel_ast.read(_environment(plain).compile(text).serialize())
    tested = {
        f"{node.operand.name}.{node.field}"
        for node in cel_ast.walk(tree)
        if isinstance(node, cel_ast.Field) and node.test and isinstance(node.operand, cel_ast.Name)
    }
    return frozenset((name, kind) for name, kind in types if name not in tested)


@functools.lru_cache(maxsize=256)
def _environment(types: _Types) -> _Environment:
    # Optional values are left out: converting one inside a list or map crashes the process (0.1.3).
    # The library takes 60 ms to load, which commands that evaluate nothing should not pay. Its type stubs lie beside
    # binary modules in a folder that is no package, where pyright does not look.
    from cel_expr_python import cel  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
    from cel_expr_python.ext import ext_bindings, ext_math, ext_strings  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    for name, _ in types:
        if not _NAME.fullmatch(name):
            raise InvalidExpression(f"{cel_report.short(name)!r} is not a name that an expression can use")
    any_list, any_map = cel.Type.List(cel.Type.DYN), cel.Type.Map(cel.Type.DYN, cel.Type.DYN)
    ranges = [
        cel.Overload("range_list", any_list, [any_list], impl=cel_ranges.items_of_list),
        cel.Overload("range_map", any_list, [any_map], impl=cel_ranges.keys_of_map),
    ]
    extensions = [ext_strings.ExtStrings(), ext_math.ExtMath(), ext_bindings.ExtBindings()]
    declared = {name: cel.Type(signature) for name, signature in types}
    return cast(
        _Environment,
        cel.NewEnv(
            variables=declared, extensions=extensions, functions=[cel.FunctionDecl(cel_ranges.FUNCTION, ranges)]
        ),
    )


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


def _check_fields(text: str, tree: cel_ast.Node, shapes: _Shapes) -> None:
    """Refuses fields that a closed schema does not have; CEL itself takes any field of a map."""
    nodes = list(cel_ast.walk(tree))
    hidden = {name for node in nodes if isinstance(node, cel_ast.Comprehension) for name in node.variables}
    visible = {name: shape for name, shape in shapes if name not in hidden}
    for node in nodes:
        if not isinstance(node, cel_ast.Field):
            continue
        known = _fields_of(node.operand, visible)
        if known is not None and node.field not in known:
            where = cel_report.position(text, node.offset + 1)
            hint = cel_report.choice(node.field, known)
            raise InvalidExpression(f"there is no {node.field!r} here", position=where, hint=hint)


def _check_time_zones(tree: cel_ast.Node) -> None:
    """Refuses time zones by name: their rules are read from the machine, so that two machines may disagree."""
    for node in cel_ast.walk(tree):
        match node:
            case cel_ast.Call(function=function, arguments=(_, zone)) if _TIME_PART.fullmatch(function):
                if not isinstance(zone, cel_ast.Constant) or not _FIXED_ZONE.fullmatch(zone.text or ""):
                    raise InvalidExpression(f"{function} takes a fixed time zone", hint="write 'UTC' or '+02:00'")
            case _:
                pass


def _fields_of(node: cel_ast.Node, shapes: Mapping[str, cel_types.Shape]) -> dict[str, cel_types.Shape] | None:
    match node:
        case cel_ast.Name(name=name):
            root, *fields = name.split(".")
            found = shapes.get(root)
            for field in fields:
                found = dict(found or ()).get(field)
        case cel_ast.Field(operand=operand, field=field):
            found = (_fields_of(operand, shapes) or {}).get(field)
        case _:
            found = None
    return None if found is None else dict(found)


def _returns(signature: str) -> str:
    kind = signature.partition("<")[0]
    match kind:
        case "BOOL" | "INT" | "DOUBLE" | "STRING" | "LIST" | "MAP" | "NULL":
            return kind.lower()
        case "UINT":
            return "int"
        case _:
            return "dyn"


def _path(tree: cel_ast.Node) -> tuple[str, ...] | None:
    """The way to a value, if the expression is nothing but that, as conditions often are; else None."""
    match tree:
        case cel_ast.Name(name=name):
            return tuple(name.split("."))
        case cel_ast.Field(operand=operand, field=field, test=False):
            before = _path(operand)
            return None if before is None else (*before, field)
        case _:
            return None


def _is_plain(value: object, returns: str) -> bool:
    """Whether what lies at the end of a way is what the library would give for it, and needs no more looking at."""
    kind = type(value)
    found: Any = value  # casting it would cost more than all the rest
    if kind is bool:
        return returns in ("dyn", "bool")
    if kind is int:
        return returns in ("dyn", "int") and abs(found) <= canonical.MAX_INTEGER
    if kind is str:
        return returns in ("dyn", "string") and found.isascii() and "\0" not in found
    return False


def _look_up(values: Mapping[str, Json], path: tuple[str, ...]) -> Any:
    found: Any = values
    for part in path:
        held = found
        if not isinstance(held, _OBJECTS):
            return _MISSING
        found = found.get(part, _MISSING)
    return found


def _named(value: object, fields: cel_ast.Reads) -> object:
    """A value with those of its fields that are read; the library would copy all of them."""
    if fields is None or type(value) is not dict:  # what is no plain JSON is looked at as a whole
        return value
    known = cast("dict[str, object]", value)
    return {field: _named(known[field], deeper) for field, deeper in fields.items() if field in known}


def _has_nul(value: Json) -> bool:
    match value:
        case str():
            return "\0" in value
        case Mapping():
            return any("\0" in key or _has_nul(item) for key, item in value.items())
        case Sequence():
            return any(map(_has_nul, value))
        case _:
            return False

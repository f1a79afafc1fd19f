"""Compile and evaluate CEL expressions; see the package for how the parts work together.

`compile` declares each variable with the CEL type that its JSON Schema fixes, so that many mistakes are found when a
file is loaded. `Expression.evaluate` then passes only the variables and fields that the expression names, checks them
and their estimated cost, and returns plain JSON.

What authors should know: a JSON number 2 is an `int`, 2.5 a `double`, and so is every number beyond 2**53. They compare
with each other (`inputs.n > 1`), but arithmetic does not mix them: write `double(inputs.n) + 0.5`. A result of type
`uint` becomes an integer. Bytes, timestamps, durations and types are not JSON (EXPR_RESULT), nor are integers that no
double equals (NUMBER_RANGE): wrap them in `string(...)`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, cast

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.structs import frozen
from openskelo.values import canonical
from openskelo.values.cel import limits, messages, syntax_tree
from openskelo.values.cel.messages import InvalidExpression, Position
from openskelo.values.schema.compatibility import JsonSchema

__all__ = ["MAX_BYTES", "Expression", "InvalidExpression", "Position", "compile"]

#: How long an expression may be, in bytes of UTF-8.
MAX_BYTES = 4096

#: The declared variables with their CEL types. A name may be dotted, `inputs.title`.
_Types: TypeAlias = "frozenset[tuple[str, str]]"
#: The fields of an object that can have no others, with the shapes of their values; None when it may have others.
_Shape: TypeAlias = "tuple[tuple[str, _Shape], ...] | None"
_Shapes: TypeAlias = "tuple[tuple[str, _Shape], ...]"

_MISSING = object()
_VARIABLE_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*(\.[_a-zA-Z][_a-zA-Z0-9]*)?")
_TIME_FUNCTION = re.compile(r"get(FullYear|Month|Date|Day\w+|Hours|Minutes|Seconds|Milliseconds)")
_FIXED_ZONE = re.compile(r"UTC|[+-]?\d\d:\d\d")

_DYNAMIC = "dyn"
# `number` is not `double`: the JSON number 2 arrives as an int, 2.5 as a double, so only `dyn` holds for both.
_SCALAR_TYPES = {"string": "string", "integer": "int", "boolean": "bool"}
_MAX_SCHEMA_DEPTH = 8


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
    """A compiled expression."""

    text: str
    #: The static type of the result ("bool", "int", "double", "string", "list", "map", "null" or "dyn").
    returns: str
    #: The declared variables it uses.
    variables: frozenset[str]
    #: The declared names it uses, with the path to the value of each.
    _names: tuple[tuple[str, tuple[str, ...]], ...]
    #: The fields it reads of those names, where it does not read all of them.
    _reads: tuple[tuple[str, syntax_tree.Reads], ...]
    _tree: syntax_tree.Node
    _may_multiply: bool
    #: True if a variable is declared with a type other than `dyn`.
    _is_typed: bool
    _program: _Program

    def evaluate(self, values: Mapping[str, Json]) -> Json:
        """Return the result as admitted JSON; raise `AttemptFailed` EXPR_FAILED, EXPR_RESULT or NUMBER_RANGE.

        Only what the expression names is read, of the fields of variables too; `values` may hold more.
        """
        data = self._admit(self._select(values))
        if self._may_multiply and limits.estimate_bytes(self._tree, data) > limits.MAX_BYTES:
            raise self._failure(
                "on data of this size it could take more time and memory than is allowed",
                hint="use less data, or do this in a deterministic block",
            )
        limits.begin_matching()
        try:
            result = self._program.eval(data=data)
            result_type = result.type().name().partition("<")[0]
            plain = result.plain_value()
        except (RuntimeError, TypeError, ValueError, RecursionError) as error:
            raise self._failure(str(error)) from None
        if result_type == "ERROR":
            if self._is_typed and _has_large_number(data):
                return self._without_types().evaluate(values)
            raise self._failure(str(plain))
        return self._result_as_json(result_type, plain)

    def _without_types(self) -> Expression:
        """Return the same expression with variables of any type.

        A schema of integers holds for numbers beyond 2**53 too, which are doubles: the library takes none as an `int`.
        """
        return _compile(self.text, frozenset((name, _DYNAMIC) for name in self.variables), ())

    def _select(self, values: Mapping[str, Json]) -> dict[str, object]:
        """Return the values that the expression names; the library would copy all that it is given."""
        data = {name: _value_at(values, path) for name, path in self._names}
        data = {name: value for name, value in data.items() if value is not _MISSING}
        for name, fields in self._reads:
            if name in data:
                data[name] = _select_fields(data[name], fields)
        return data

    def _admit(self, data: dict[str, object]) -> dict[str, object]:
        try:
            checked_data = {name: canonical.admit(value) for name, value in data.items()}
        except errors.InvalidInput as error:
            raise self._failure(error.message, hint=error.hint) from None
        if any(map(_has_nul, checked_data.values())):
            # The library (0.1.3) ends a text at NUL, and would judge another text than the one that is used.
            raise self._failure("its data has text with a NUL character, which an expression cannot read")
        return cast("dict[str, object]", checked_data)

    def _result_as_json(self, result_type: str, plain: object) -> Json:
        code, reason, hint = "EXPR_RESULT", result_type.lower(), "wrap it in string(...)"
        if result_type not in ("BYTES", "TIMESTAMP", "DURATION", "TYPE"):
            try:
                return canonical.admit(plain)
            except errors.InvalidInput as error:
                reason, hint = error.message, error.hint or hint
                code = error.code if error.code == "NUMBER_RANGE" else code
        message = f"the result of `{messages.shorten(self.text)}` is not JSON: {reason}"
        raise errors.AttemptFailed(message, code=code, hint=hint, retryable=False)

    def _failure(self, reason: str, *, hint: str | None = None) -> errors.AttemptFailed:
        message = f"`{messages.shorten(self.text)}`: {messages.simplify(reason)}"
        hint = hint or messages.mixed_numbers_hint(reason)
        return errors.AttemptFailed(message, code="EXPR_FAILED", hint=hint, retryable=False)


def compile(text: str, variables: Mapping[str, JsonSchema | None]) -> Expression:  # noqa: A001 -- `expression.compile`
    """Return the compiled expression, cached; raise `InvalidExpression` (EXPR_INVALID, EXPR_TOO_LONG) with a position.

    `variables` maps each visible name to the schema of its values, or None when nothing is known about them. A field
    is checked for its type when the schema requires it, and for its name when the schema allows no others. What works
    on the values although their types differ (`inputs.n > 0.5`, `inputs.t == null`) is not refused.
    """
    types: dict[str, str] = {}
    shapes: list[tuple[str, _Shape]] = []
    for name, schema in variables.items():
        types[name] = _cel_type(schema)
        # Only fields that the text may name: an environment takes a millisecond, and equal ones are shared.
        field_types = _field_types(name, schema).items()
        types.update((field, cel_type) for field, cel_type in field_types if field.rpartition(".")[2] in text)
        shapes.append((name, _shape(schema)))
    return _compile(text, frozenset(types.items()), tuple(shapes))


@functools.lru_cache(maxsize=2048)
def _compile(text: str, types: _Types, shapes: _Shapes) -> Expression:
    _check_text(text)
    try:
        environment, checked_expression = _check_types(text, types)
        checked_bytes = checked_expression.serialize()
        returns = _result_type(checked_expression.return_type().name())
    except RuntimeError as error:
        raise messages.from_report(str(error), [name for name, _ in shapes]) from None
    tree = syntax_tree.read(checked_bytes)
    _check_fields(text, tree, shapes)
    _check_time_zones(tree)
    names = syntax_tree.free_names(tree) & {name for name, _ in types}
    reads = syntax_tree.find_reads(tree)
    return Expression(
        text=text,
        returns=returns,
        variables=frozenset(name.partition(".")[0] for name in names),
        _names=tuple((name, tuple(name.split("."))) for name in sorted(names)),
        _reads=tuple((name, fields) for name, fields in reads.items() if name in names and fields),
        _tree=tree,
        _may_multiply=limits.may_multiply(tree),
        _is_typed=any(cel_type != _DYNAMIC for name, cel_type in types if name in names),
        _program=environment.deserialize(limits.rewrite(checked_bytes)),
    )


def _check_types(text: str, types: _Types) -> tuple[_Environment, _Program]:
    """Return the checked program: by the declared types, or without types where only the static check would fail."""
    environment = _environment(_without_tested_fields(text, types))
    try:
        return environment, environment.compile(text)
    except RuntimeError as error:
        untyped_names = frozenset((name, _DYNAMIC) for name, _ in types if "." not in name)
        if untyped_names == types or not messages.is_only_static(str(error)):
            raise
        environment = _environment(untyped_names)
        return environment, environment.compile(text)


def _without_tested_fields(text: str, types: _Types) -> _Types:
    """Return the types without those of fields that `text` tests with `has(...)`.

    If the type of such a field is declared, the library (0.1.3) evaluates `has(...)` to the value of the field and not
    to true or false.
    """
    plain = frozenset((name, cel_type) for name, cel_type in types if "." not in name)
    if "has" not in text or plain == types:
        return types
    tree = syntax_tree.read(_environment(plain).compile(text).serialize())
    tested_fields = {
        f"{node.operand.name}.{node.field}"
        for node in syntax_tree.walk(tree)
        if isinstance(node, syntax_tree.Field) and node.test and isinstance(node.operand, syntax_tree.Name)
    }
    return frozenset((name, cel_type) for name, cel_type in types if name not in tested_fields)


@functools.lru_cache(maxsize=256)
def _environment(types: _Types) -> _Environment:
    # Imported here because the library takes 60 ms to load, which commands that evaluate nothing should not pay. Its
    # type stubs lie beside binary modules in a folder that is not a package, where pyright does not look.
    from cel_expr_python import cel  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
    from cel_expr_python.ext import ext_bindings, ext_math, ext_strings  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    for name, _ in types:
        if not _VARIABLE_NAME.fullmatch(name):
            raise InvalidExpression(f"{messages.shorten(name)!r} is not a name that an expression can use")
    any_list, any_map = cel.Type.List(cel.Type.DYN), cel.Type.Map(cel.Type.DYN, cel.Type.DYN)
    ranges = [
        cel.Overload("range_list", any_list, [any_list], impl=limits.check_list_range),
        cel.Overload("range_map", any_list, [any_map], impl=limits.check_map_range),
    ]
    match = cel.Overload("match_text", cel.Type.BOOL, [cel.Type.STRING, cel.Type.STRING], impl=limits.match)
    functions = [cel.FunctionDecl(limits.RANGE_FUNCTION, ranges), cel.FunctionDecl(limits.MATCH_FUNCTION, [match])]
    # The extension for optional values is left out: converting one inside a list or map crashes the process (0.1.3).
    extensions = [ext_strings.ExtStrings(), ext_math.ExtMath(), ext_bindings.ExtBindings()]
    variables = {name: cel.Type(signature) for name, signature in types}
    return cast(
        _Environment,
        cel.NewEnv(variables=variables, extensions=extensions, functions=functions),
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


def _check_fields(text: str, tree: syntax_tree.Node, shapes: _Shapes) -> None:
    """Refuse fields that a closed schema does not have; CEL itself accepts any field of a map."""
    nodes = list(syntax_tree.walk(tree))
    loop_variables = {name for node in nodes if isinstance(node, syntax_tree.Comprehension) for name in node.variables}
    visible = {name: shape for name, shape in shapes if name not in loop_variables}
    for node in nodes:
        if not isinstance(node, syntax_tree.Field):
            continue
        fields = _known_fields(node.operand, visible)
        if fields is not None and node.field not in fields:
            raise InvalidExpression(
                f"there is no {node.field!r} here",
                position=messages.position_at(text, node.offset + 1),
                hint=messages.suggest_name(node.field, fields),
            )


def _known_fields(node: syntax_tree.Node, shapes: Mapping[str, _Shape]) -> dict[str, _Shape] | None:
    """Return the fields that the value of `node` can have; None when that is not known."""
    shape: _Shape = None
    match node:
        case syntax_tree.Name(name=name):
            root, *fields = name.split(".")
            shape = shapes.get(root)
            for field in fields:
                shape = dict(shape or ()).get(field)
        case syntax_tree.Field(operand=operand, field=field):
            shape = (_known_fields(operand, shapes) or {}).get(field)
        case _:
            pass
    return None if shape is None else dict(shape)


def _check_time_zones(tree: syntax_tree.Node) -> None:
    """Refuse time zones by name: their rules are read from the machine, so two machines may disagree."""
    for node in syntax_tree.walk(tree):
        match node:
            case syntax_tree.Call(function=function, arguments=(_, zone)) if _TIME_FUNCTION.fullmatch(function):
                if not isinstance(zone, syntax_tree.Constant) or not _FIXED_ZONE.fullmatch(zone.text or ""):
                    raise InvalidExpression(f"{function} needs a fixed time zone", hint="write 'UTC' or '+02:00'")
            case _:
                pass


def _result_type(signature: str) -> str:
    kind = signature.partition("<")[0]
    match kind:
        case "BOOL" | "INT" | "DOUBLE" | "STRING" | "LIST" | "MAP" | "NULL":
            return kind.lower()
        case "UINT":
            return "int"
        case _:
            return _DYNAMIC


def _value_at(values: Mapping[str, Json], path: tuple[str, ...]) -> object:
    """Return the value at `path`, or `_MISSING`."""
    value: object = values
    for part in path:
        if not isinstance(value, Mapping):
            return _MISSING
        value = cast("Mapping[str, object]", value).get(part, _MISSING)
    return value


def _select_fields(value: object, fields: syntax_tree.Reads) -> object:
    """Return `value` with only the fields that are read; a value that is not an object as it is."""
    if fields is None or not isinstance(value, Mapping):
        return value
    items = cast("Mapping[str, object]", value)
    return {field: _select_fields(items[field], deeper) for field, deeper in fields.items() if field in items}


def _has_large_number(value: object) -> bool:
    match value:
        case float():
            return abs(value) > canonical.MAX_INTEGER
        case Mapping():
            return any(map(_has_large_number, cast("Mapping[str, object]", value).values()))
        case list():
            return any(map(_has_large_number, cast("list[object]", value)))
        case _:
            return False


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


# What a JSON Schema says about the CEL types of its values. Types are written as CEL type signatures: `int`,
# `list<string>`, `map<string, dyn>`.


def _cel_type(schema: JsonSchema | None, room: int = _MAX_SCHEMA_DEPTH) -> str:
    """Return the narrowest CEL type that holds every value of `schema`; `dyn` where CEL has no such type."""
    if not isinstance(schema, Mapping) or room == 0:
        return _DYNAMIC
    match schema.get("type"):
        case "array":
            items = schema.get("items")
            if not isinstance(items, Mapping) or "prefixItems" in schema:
                return f"list<{_DYNAMIC}>"
            return f"list<{_cel_type(items, room - 1)}>"
        case "object":
            return "map<string, dyn>"
        case str() as name:
            return _SCALAR_TYPES.get(name, _DYNAMIC)
        case _:
            return _DYNAMIC


def _field_types(name: str, schema: JsonSchema | None) -> dict[str, str]:
    """Return the dotted names under variable `name` whose CEL type the schema fixes: required, and of one type.

    CEL resolves `inputs.title` to a variable of that very name before it looks for a field, which is how fields of
    different types get checked without declaring messages.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return {}
    properties, required_names = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required_names, list | tuple):
        return {}
    types: dict[str, str] = {}
    always_there = frozenset(name for name in required_names if isinstance(name, str))
    for key, value in properties.items():
        if key in always_there and key.isascii() and key.isidentifier() and isinstance(value, Mapping):
            cel_type = _cel_type(value)
            if cel_type != _DYNAMIC:
                types[f"{name}.{key}"] = cel_type
    return types


def _shape(schema: JsonSchema | None, room: int = _MAX_SCHEMA_DEPTH) -> _Shape:
    """Return the fields that a value of `schema` can have, if it allows no others (`additionalProperties: false`)."""
    if not isinstance(schema, Mapping) or room == 0 or schema.get("type") != "object":
        return None
    properties = schema.get("properties", {})
    is_open = schema.get("additionalProperties") is not False or "patternProperties" in schema
    if is_open or not isinstance(properties, Mapping):
        return None
    return tuple(
        (key, _shape(value, room - 1) if isinstance(value, Mapping) else None)
        for key, value in sorted(properties.items())
    )

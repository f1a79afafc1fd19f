"""One step of a plan, as far as it can be read by itself: its op, its arguments, and the refs in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import plan_expression, refs, schema
from openskelo.workflows import block, cursor, scope, suggest
from openskelo.workflows.plan import ops

KEYS = frozenset({"id", "op", "args", "save_as", "max_visits", "timeout_ms", "description"})

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_LONGEST_MS = 7 * 86_400_000
_MOST_VISITS = 1_000_000
#: A text that is meant to be a ref, whether it is one or not.
_MEANT = re.compile(r"(?:var|input|ctx|snap):\S")
#: A name whose absence an expression asks about.
_ASKED = re.compile(r"\bhas\s*\(\s*(var|input|ctx|snap)\s*\.\s*([A-Za-z_]\w*)")


@frozen
class Use:
    """A value that a step reads, and where that is written; one that is not `needed` may be unset."""

    ref: refs.Ref
    place: cursor.Cursor
    needed: bool = True


@frozen
class Draft:
    """A step whose jumps are still names. `args` are as the table wants them, defaults filled in."""

    id: str
    op: definition.Op
    place: cursor.Cursor
    args: JsonObject
    written: cursor.Cursor
    save_as: str | None
    max_visits: int | None
    timeout_ms: int | None
    description: str
    uses: tuple[Use, ...]

    def at(self, name: str) -> cursor.Cursor:
        """Where the argument `name` is written."""
        return self.written.at(name, self.args.get(name))

    def text(self, name: str) -> str | None:
        """An argument that is a text, or None."""
        value = self.args.get(name)
        return value if isinstance(value, str) else None


def identify(entry: cursor.Cursor) -> str | None:
    """The step's id; None after a Problem."""
    fields = entry.fields()
    found = None if fields is None else fields.need("id")
    text = None if found is None else found.text(blank=False)
    if found is None or text is None:
        return None
    if not block.ID.match(text):
        hint = "a letter, then letters, digits, - or _, at most 64"
        found.problem("ID_INVALID", f"{text[:80]!r} cannot be the id of a step", hint=hint)
        return None
    return text


def read(key: str, entry: cursor.Cursor) -> Draft | None:
    """The step at `entry`; None when it cannot be told what it does."""
    fields = entry.fields(KEYS)
    named = None if fields is None else fields.need("op")
    op = None if named is None else _op(named)
    if fields is None or op is None:
        return None
    written = fields.get("args") or entry.at("args", {})
    args, uses = _args(op, written)
    return Draft(
        id=key,
        op=op,
        place=entry,
        args=args,
        written=written,
        save_as=_save_as(fields.get("save_as"), op),
        max_visits=_integer(fields.get("max_visits"), _MOST_VISITS),
        timeout_ms=_timeout(fields.get("timeout_ms"), op),
        description=fields.text("description"),
        uses=uses,
    )


def _op(named: cursor.Cursor) -> definition.Op | None:
    text = named.text(blank=False)
    if text is None or text in ops.TABLE:
        return cast("definition.Op | None", text)
    hint = suggest.near(text, ops.OPS, otherwise=f"there are {', '.join(ops.OPS)}")
    named.problem("OP_UNKNOWN", f"there is no op {text[:60]!r}", hint=hint)
    return None


def _save_as(found: cursor.Cursor | None, op: definition.Op) -> str | None:
    text = None if found is None else found.text(blank=False)
    if found is None or text is None:
        return None
    if op in ops.SILENT:
        found.key_problem("CONFLICT", f"`{op}` has nothing to save", hint="leave `save_as` out")
        return None
    if not NAME.match(text):
        hint = "letters, digits, - and _, beginning with a letter or _; refs write it as var:NAME"
        found.problem("NAME_INVALID", f"{text[:80]!r} cannot name a variable", hint=hint)
        return None
    return text


def _integer(found: cursor.Cursor | None, most: int) -> int | None:
    return None if found is None else found.integer(1, most)


def _timeout(found: cursor.Cursor | None, op: definition.Op) -> int | None:
    if found is not None and op not in ops.TIMED:
        hint = "give `timeout_ms` in its args" if op == "ask_human" else None
        found.key_problem("CONFLICT", f"`{op}` takes no time that could run out", hint=hint)
        return None
    return _integer(found, _LONGEST_MS)


def _args(op: definition.Op, written: cursor.Cursor) -> tuple[JsonObject, tuple[Use, ...]]:
    table = ops.TABLE[op]
    fields = written.fields(None if table.open else table.args.keys())
    if fields is None:
        return {}, ()
    args: dict[str, Json] = {name: one.default for name, one in table.args.items() if one.default is not None}
    uses: list[Use] = []
    for place in fields:
        name = str(place.path[-1])
        known = table.args.get(name)
        if known is None and not table.open:
            continue
        if known is not None and not _fits(place, known):
            continue
        args[name] = _kept(op, place, known, uses)
    for name, one in table.args.items():
        if one.required and name not in fields:
            fields.missing(name)
    for group in table.one_of:
        _check_group(fields, group)
    return args, tuple(uses)


def _check_group(fields: cursor.Fields, group: tuple[str, ...]) -> None:
    given = [name for name in group if name in fields]
    listed = " or ".join(f"`{name}`" for name in group)
    if not given:
        fields.cursor.problem("MISSING_KEY", f"{fields.cursor.name} needs {listed}")
    elif len(given) > 1 and (extra := fields.get(given[1])) is not None:
        extra.key_problem("CONFLICT", f"give {listed}, not both")


def _fits(place: cursor.Cursor, known: ops.Arg) -> bool:
    """Whether an argument is what the table says; where not, that is a Problem at the very value."""
    if known.kind == "ref":
        return _is_ref(place)
    if known.kind == "refs":
        wrong = [item for item in (place.items() or ()) if not _is_ref(item)]
        return not wrong and isinstance(place.value, list)
    violations = schema.compile(known.schema).check(place.value)
    for violation in violations:
        place.below(violation.path).problem("ARG_INVALID", f"{place.name}: {violation.message}")
    return not violations


def _is_ref(place: cursor.Cursor) -> bool:
    if isinstance(place.value, str) and refs.parse(place.value) is not None:
        return True
    shown = f", not {place.value[:60]!r}" if isinstance(place.value, str) else f", not {cursor.kind(place.value)}"
    hint = "like var:patch, var:v1.ok, input:task, ctx:repo_diff or snap:t381"
    place.problem("REF_INVALID", f"{place.name} must be a ref{shown}", hint=hint)
    return False


def _kept(op: definition.Op, place: cursor.Cursor, known: ops.Arg | None, uses: list[Use]) -> Json:
    """An argument as the run will see it; what it reads is added to `uses`."""
    name = str(place.path[-1])
    kind = known.kind if known is not None else "free" if name in ops.CONSTANT else "value"
    if op in ("transform", "branch") and isinstance(text := _expression(op, place), str):
        _compile(place if op == "transform" else place.at("expr", text), text, op, uses)
        return place.value
    if kind in ("ref", "refs", "value"):
        _find(op, place, (name,), uses)
        return place.value
    if kind == "free" and (name,) not in refs.FREE.get(op, frozenset()) and refs.is_read(place.value):
        return {refs.LITERAL: place.value}
    if name == "output_schema":
        _check_schema(place)
        _check_object(place)
    return place.value


def _expression(op: definition.Op, place: cursor.Cursor) -> Json:
    if op == "transform":
        return place.value if place.path[-1] == "expr" else None
    return place.value.get("expr") if place.path[-1] == "cond" and isinstance(place.value, Mapping) else None


def _compile(place: cursor.Cursor, text: str, op: definition.Op, uses: list[Use]) -> None:
    try:
        compiled = plan_expression.compile(text)
    except errors.InvalidInput as error:
        scope.report(place, error)
        return
    if op == "branch" and compiled.returns not in ("bool", "dyn"):
        place.problem("EXPR_TYPE", f"`expr` must give true or false, and this gives {compiled.returns}")
    asked = set(_ASKED.findall(text))
    for kind, names in compiled.names.items():
        for name in sorted(names or ()):
            ref = refs.Ref(kind=cast("refs.Kind", kind), name=name)
            uses.append(Use(ref=ref, place=place, needed=(kind, name) not in asked))


def _find(op: definition.Op, place: cursor.Cursor, at: refs.Path, uses: list[Use]) -> None:
    """Every ref at or below a value that may hold some."""
    value = place.value
    if at in refs.FREE.get(op, frozenset()):
        return
    key = next((part for part in reversed(at) if isinstance(part, str)), "")
    match value:
        case str():
            ref = refs.parse(value)
            if ref is not None:
                uses.append(Use(ref=ref, place=place, needed=op != "emit"))
            elif key.endswith(("_ref", "_refs")):
                _is_ref(place)
            elif _MEANT.match(value):
                hint = 'write {"$literal": …} for a text that begins like one'
                place.problem("REF_INVALID", f"{value[:60]!r} is not a ref", hint=hint)
        case list():
            for index, item in enumerate(value):
                _find(op, place.at(index, item), (*at, index), uses)
        case Mapping() if refs.LITERAL in value:
            if len(value) != 1:
                place.problem("CONFLICT", "`$literal` stands alone in its map")
        case Mapping():
            for name, item in value.items():
                _find(op, place.at(name, item), (*at, name), uses)
        case _:
            if key.endswith("_ref"):
                _is_ref(place)


def _check_object(place: cursor.Cursor) -> None:
    """An expert answers with one JSON object, or not at all: no other type could ever be kept."""
    kind = place.value.get("type") if isinstance(place.value, Mapping) else None
    kinds = kind if isinstance(kind, list) else [kind]
    if kinds and all(one in ("array", "string", "number", "integer", "boolean", "null") for one in kinds):
        hint = "put the value under a name: {type: object, properties: {items: …}, required: [items]}"
        place.at("type", kind).problem("SCHEMA_INVALID", "an expert answers with one JSON object", hint=hint)


def _check_schema(place: cursor.Cursor) -> None:
    try:
        schema.compile(cast("JsonObject", place.value))
    except errors.InvalidInput as error:
        place.problem(error.code, f"{place.name} is no JSON Schema: {error.message}", hint=error.hint)

"""Parser of one step of a plan: its op, its arguments, and the refs in them.

A step is read by itself here. What it names in the rest of the plan (jumps, variables) and in the project (experts,
tools) stays a name; `plan_loader`, `checks` and `name_check` resolve it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from openskelo import errors, ops
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import functions
from openskelo.structs import frozen, replace
from openskelo.values import plan_refs
from openskelo.values.cel import plan_expression
from openskelo.values.schema import validator
from openskelo.workflows.blocks import block, expression_scope
from openskelo.workflows.text import cursor, problems

KEYS = frozenset({"id", "op", "args", "save_as", "max_visits", "stall_after", "timeout_ms", "description"})

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_MAX_TIMEOUT_MS = 7 * 86_400_000
_MAX_VISITS = 1_000_000
_MAX_STALL_AFTER = 1_000
#: A text that looks like a ref; if it cannot be parsed as one, it is a mistake.
_LIKE_REF = re.compile(r"(?:var|input|ctx|snap):\S")
#: A name that an expression tests with `has(...)`: it may be unset.
_TESTED = re.compile(r"\bhas\s*\(\s*(var|input|ctx|snap)\s*\.\s*([A-Za-z_]\w*)")


@frozen
class Use:
    """A ref that a step reads, and where it is written."""

    ref: plan_refs.Ref
    place: cursor.Cursor
    #: The value may not be unset.
    needed: bool = True


@frozen
class Draft:
    """A step whose jumps are still names."""

    id: str
    op: definition.Op
    place: cursor.Cursor
    #: Checked against what the op takes, with their defaults.
    args: JsonObject
    #: The position of the arguments.
    written: cursor.Cursor
    save_as: str | None
    max_visits: int | None
    stall_after: int | None
    timeout_ms: int | None
    description: str
    uses: tuple[Use, ...]

    def at(self, name: str) -> cursor.Cursor:
        """Return the cursor at the argument `name`."""
        return self.written.at(name, self.written_value(name))

    def text(self, name: str) -> str | None:
        """Return an argument that is a text; None if it is absent or not a text."""
        value = self.written_value(name)
        return value if isinstance(value, str) else None

    def written_value(self, name: str) -> Json:
        """Return an argument as it is written; None if it is absent and has no default."""
        return plan_refs.as_written(self.args.get(name))


def read_id(entry: cursor.Cursor) -> str | None:
    """Return the step's id; None after a Problem."""
    fields = entry.fields()
    place = None if fields is None else fields.need("id")
    text = None if place is None else place.text(blank=False)
    if place is None or text is None:
        return None
    if not block.ID.match(text):
        hint = "a letter, then letters, digits, - or _, at most 64"
        place.problem("ID_INVALID", f"{text[:80]!r} cannot be the id of a step", hint=hint)
        return None
    return text


def read(key: str, entry: cursor.Cursor, registry: project_registry.Registry) -> Draft | None:
    """Return the step at `entry`; None if it has no known op, which is a Problem.

    `registry` is the project's: the function that a step names says which arguments hold no refs.
    """
    fields = entry.fields(KEYS)
    op_place = None if fields is None else fields.need("op")
    op = None if op_place is None else _read_op(op_place)
    if fields is None or op is None:
        return None
    args_field = fields.get("args") or entry.at("args", {})
    args, uses = _read_args(op, args_field, registry)
    if op == "emit" and args.get("status") != "ok":
        uses = tuple(replace(use, needed=False) for use in uses)  # only a run that ends as ok needs its result
    return Draft(
        id=key,
        op=op,
        place=entry,
        args=args,
        written=args_field,
        save_as=_read_save_as(fields.get("save_as"), op),
        max_visits=_read_positive(fields.get("max_visits"), _MAX_VISITS),
        stall_after=_read_stall_after(fields.get("stall_after"), op),
        timeout_ms=_read_timeout(fields.get("timeout_ms"), op),
        description=fields.text("description"),
        uses=uses,
    )


def _read_op(place: cursor.Cursor) -> definition.Op | None:
    text = place.text(blank=False)
    if text is None or text in ops.OPS:
        return text
    hint = problems.did_you_mean(text, ops.OPS, otherwise=f"there are {', '.join(ops.OPS)}")
    place.problem("OP_UNKNOWN", f"there is no op {text[:60]!r}", hint=hint)
    return None


def _read_save_as(place: cursor.Cursor | None, op: definition.Op) -> str | None:
    text = None if place is None else place.text(blank=False)
    if place is None or text is None:
        return None
    if not ops.OPS[op].saves_value:
        place.key_problem("CONFLICT", f"`{op}` has nothing to save", hint="leave `save_as` out")
        return None
    if not NAME.match(text):
        hint = "letters, digits, - and _, beginning with a letter or _; refs write it as var:NAME"
        place.problem("NAME_INVALID", f"{text[:80]!r} cannot name a variable", hint=hint)
        return None
    return text


def _read_positive(place: cursor.Cursor | None, maximum: int) -> int | None:
    return None if place is None else place.integer(1, maximum)


def may_stall(op: definition.Op) -> bool:
    """True if a step with this op can show that a loop makes no progress: by its verdict, or as the branch back."""
    return op == "branch" or not ops.OPS[op].controls_flow


def _read_stall_after(place: cursor.Cursor | None, op: definition.Op) -> int | None:
    if place is not None and not may_stall(op):
        place.key_problem("CONFLICT", f"`{op}` gives no verdict", hint="give it to the step whose verdict repeats")
        return None
    if place is None:
        return None
    return place.integer(0, _MAX_STALL_AFTER)


def _read_timeout(place: cursor.Cursor | None, op: definition.Op) -> int | None:
    if place is not None and ops.OPS[op].controls_flow:
        hint = "give `timeout_ms` in its args" if op == "ask_human" else None
        place.key_problem("CONFLICT", f"`{op}` has no timeout", hint=hint)
        return None
    return _read_positive(place, _MAX_TIMEOUT_MS)


def _read_args(
    op: definition.Op, written: cursor.Cursor, registry: project_registry.Registry
) -> tuple[JsonObject, tuple[Use, ...]]:
    """Return the arguments with their defaults, and the refs in them; Problems where they are not what the op takes."""
    takes = ops.OPS[op]
    fields = written.fields(None if takes.open else takes.args.keys())
    if fields is None:
        return {}, ()
    args: dict[str, Json] = {name: arg.default for name, arg in takes.args.items() if arg.default is not None}
    constant_args = frozenset[str]()
    if takes.open:
        constant_args = functions.constant_args(registry, cast("JsonObject", written.value))
    uses: list[Use] = []
    for place in fields:
        name = str(place.path[-1])
        arg = takes.args.get(name)
        if arg is None and not takes.open:
            continue
        if arg is not None and not _check_arg(place, arg):
            continue
        kind_of_functions: ops.ArgKind = "free" if name in constant_args else "value"
        args[name] = _read_arg(op, place, kind_of_functions if arg is None else arg.kind, uses)
    for name, arg in takes.args.items():
        if arg.required and name not in fields:
            fields.missing(name)
    for group in takes.one_of:
        _check_group(fields, group)
    return args, tuple(uses)


def _check_group(fields: cursor.Fields, group: tuple[str, ...]) -> None:
    """Report a group of which not exactly one argument is there."""
    present = [name for name in group if name in fields]
    name_list = " or ".join(f"`{name}`" for name in group)
    if not present:
        fields.cursor.problem("MISSING_KEY", f"{fields.cursor.name} needs {name_list}")
    elif len(present) > 1 and (extra := fields.get(present[1])) is not None:
        extra.key_problem("CONFLICT", f"give {name_list}, not both")


def _check_arg(place: cursor.Cursor, arg: ops.Arg) -> bool:
    """True if the argument is what the op takes; otherwise each wrong value is a Problem."""
    if arg.kind == "ref":
        return _check_ref(place)
    if arg.kind == "refs":
        wrong = [item for item in (place.items() or ()) if not _check_ref(item)]
        return not wrong and isinstance(place.value, list)
    violations = validator.compile(arg.schema).check(place.value)
    for violation in violations:
        place.below(violation.path).problem("ARG_INVALID", f"{place.name}: {violation.message}")
    return not violations


def _check_ref(place: cursor.Cursor) -> bool:
    """True if the value is a ref; otherwise a Problem."""
    if isinstance(place.value, str) and plan_refs.parse(place.value) is not None:
        return True
    ref_text = repr(place.value[:60]) if isinstance(place.value, str) else cursor.kind(place.value)
    hint = "like var:patch, var:v1.ok, input:task, ctx:repo_diff or snap:t381"
    place.problem("REF_INVALID", f"{place.name} must be a ref, not {ref_text}", hint=hint)
    return False


def _read_arg(op: definition.Op, place: cursor.Cursor, kind: ops.ArgKind, uses: list[Use]) -> Json:
    """Return an argument as the run sees it, and add the refs in it to `uses`."""
    name = str(place.path[-1])
    if op in ("transform", "branch") and isinstance(text := _expression(op, place), str):
        _compile(place if op == "transform" else place.at("expr", text), text, op, uses)
        return place.value
    if kind in ("ref", "refs", "value"):
        _collect_refs(op, place, (name,), uses)
        is_plain_condition = op == "branch" and name == "cond" and not isinstance(place.value, Mapping)
        if is_plain_condition:
            return {"ok": place.value}
        return place.value
    if kind in ("free", "name", "plain") and (name,) not in ops.free_paths(op) and plan_refs.needs_literal(place.value):
        return {plan_refs.LITERAL: place.value}
    if name == "output_schema":
        _check_schema(place)
        _check_object(place)
    return place.value


def _expression(op: definition.Op, place: cursor.Cursor) -> Json:
    """Return the text of the CEL expression in `expr` of a transform or `cond` of a branch, or None."""
    if op == "transform":
        return place.value if place.path[-1] == "expr" else None
    if place.path[-1] == "cond" and isinstance(place.value, Mapping):
        return place.value.get("expr")
    return None


def _compile(place: cursor.Cursor, text: str, op: definition.Op, uses: list[Use]) -> None:
    try:
        program = plan_expression.compile(text)
    except errors.InvalidInput as error:
        expression_scope.report(place, error)
        return
    if op == "branch" and program.returns not in ("bool", "dyn"):
        place.problem("EXPR_TYPE", f"`expr` must give true or false, and this gives {program.returns}")
    tested_names = set(_TESTED.findall(text))
    for kind, names in program.names.items():
        for name in sorted(names or ()):
            ref = plan_refs.Ref(kind=cast("plan_refs.Kind", kind), name=name)
            uses.append(Use(ref=ref, place=place, needed=(kind, name) not in tested_names))


def _collect_refs(op: definition.Op, place: cursor.Cursor, path: plan_refs.Path, uses: list[Use]) -> None:
    """Append every ref at or below a value to `uses`; a text that only looks like a ref is a Problem."""
    value = place.value
    if path in ops.free_paths(op):
        return
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    match value:
        case str():
            ref = plan_refs.parse(value)
            if ref is not None:
                uses.append(Use(ref=ref, place=place, needed=op != "emit" or path == ("result_ref",)))
            elif key.endswith(("_ref", "_refs")):
                _check_ref(place)
            elif _LIKE_REF.match(value):
                hint = 'write {"$literal": …} for a text that begins like one'
                place.problem("REF_INVALID", f"{value[:60]!r} is not a ref", hint=hint)
        case list():
            for index, item in enumerate(value):
                _collect_refs(op, place.at(index, item), (*path, index), uses)
        case Mapping() if plan_refs.LITERAL in value:
            if len(value) != 1:
                place.problem("CONFLICT", "`$literal` stands alone in its map")
        case Mapping():
            for name, item in value.items():
                _collect_refs(op, place.at(name, item), (*path, name), uses)
        case _:
            if key.endswith("_ref"):
                _check_ref(place)


def _check_object(place: cursor.Cursor) -> None:
    """Report an `output_schema` that allows no object: an expert always answers with one JSON object."""
    declared_type = place.value.get("type") if isinstance(place.value, Mapping) else None
    types = declared_type if isinstance(declared_type, list) else [declared_type]
    if types and all(name in ("array", "string", "number", "integer", "boolean", "null") for name in types):
        hint = "put the value under a name: {type: object, properties: {items: …}, required: [items]}"
        place.at("type", declared_type).problem("SCHEMA_INVALID", "an expert answers with one JSON object", hint=hint)


def _check_schema(place: cursor.Cursor) -> None:
    try:
        validator.compile(cast("JsonObject", place.value))
    except errors.InvalidInput as error:
        place.problem(error.code, f"{place.name} is not a JSON Schema: {error.message}", hint=error.hint)

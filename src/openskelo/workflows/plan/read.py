"""A plan's text to a Workflow: reads the steps, ties them, and reports everything that could go wrong on any path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo import errors
from openskelo.frozen import field, frozen, replace
from openskelo.handlers import registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config
from openskelo.values import refs
from openskelo.workflows import block, blocks, cursor, limits, registries, suggest
from openskelo.workflows.plan import build, checks, ops, reach, step

KEYS = frozenset(
    {"plan_id", "mode", "budgets", "inputs", "variables", "steps", "outputs"}
    | {"description", "version", "metadata", "$schema"}
)
_MOST_STEPS = 10_000


@frozen
class Setting:
    """What a plan is read in: what its project has and allows. `models` None: the caller may bring any."""

    models: config.Config | None = None
    registry: registry.Registry = field(default_factory=registry.Registry)
    commands: bool = False


def read(place: cursor.Cursor, setting: Setting) -> definition.Workflow | None:
    """The plan in the document at `place`; None when anything was an error. What it asks experts is not pinned yet."""
    fields = place.fields(KEYS)
    if fields is None:
        return None
    around = reach.Reach(
        mode=cast("definition.PlanMode", fields.choice("mode", registries.MODES, "normal")),
        models=setting.models,
        registry=setting.registry,
        commands=setting.commands,
    )
    about = _about(fields)
    known = _values(fields)
    budget = limits.budgets(fields.get("budgets"))
    drafts, written = _steps(fields)
    outputs = _outputs(fields.get("outputs"))
    tied = _tied(drafts, written)
    for draft in drafts.values():
        reach.check(draft, around)
    whole = checks.Text(
        place=place, drafts=drafts, around=around, inputs=known.inputs, variables=known.variables, outputs=outputs.uses
    )
    checks.names(whole, known.declared, written.saved)
    if not tied or not drafts or place.report.failed:
        return None
    nodes = build.nodes(drafts, around, known.inputs, outputs.written)
    uses = [use for draft in drafts.values() for use in draft.uses]
    workflow = replace(
        about,
        nodes=nodes,
        inputs=tuple(_port(name, value) for name, value in known.inputs.items()),
        limits=_limits(budget, around),
        plan=definition.Plan(
            entry=build.entry(drafts),
            mode=around.mode,
            variables=known.variables,
            outputs=outputs.written,
            contexts=build.contexts([*uses, *outputs.uses], known.declared),
        ),
    )
    checks.paths(whole, workflow)
    return None if place.report.failed else _sealed(workflow, place)


def _sealed(workflow: definition.Workflow, place: cursor.Cursor) -> definition.Workflow | None:
    try:
        return blocks.sealed(workflow)
    except errors.InvalidInput as error:
        place.problem(error.code, f"the plan cannot be written as JSON: {error.message}", hint=error.hint)
        return None


def _limits(budget: definition.Limits, around: reach.Reach) -> definition.Limits:
    """The plan's budget, and what the project lets tools cost in this mode if that is less."""
    told = registry.tool_spend(around.registry, around.mode)
    if told is None:
        return budget
    own = budget.max_tool_nanousd
    return replace(budget, max_tool_nanousd=told if own is None else min(told, own))


def _about(fields: cursor.Fields) -> definition.Workflow:
    found = fields.need("plan_id")
    name = "" if found is None else found.text(blank=False) or ""
    if found is not None and len(name) > 200:
        found.problem("NAME_INVALID", "`plan_id` is longer than 200 characters")
    version = fields.get("version")
    if version is not None and not isinstance(version.value, str | int | float):
        version.wrong_type("a text or a number")
    if (metadata := fields.get("metadata")) is not None:
        metadata.fields()
    return definition.Workflow(name=name, hash="", nodes={}, description=fields.text("description"))


@frozen
class _Values:
    """Inputs and variables with what they are at first; `declared` are the contexts that inputs name."""

    inputs: JsonObject
    variables: JsonObject
    declared: tuple[str, ...]


def _values(fields: cursor.Fields) -> _Values:
    found: dict[str, JsonObject] = {}
    for section in ("inputs", "variables"):
        place = fields.get(section)
        entries = None if place is None else place.fields()
        kept: dict[str, Json] = {}
        for entry in () if entries is None else entries:
            name = str(entry.path[-1])
            if step.NAME.match(name):
                kept[name] = entry.value
            else:
                hint = "letters, digits, - and _, beginning with a letter or _"
                entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot stand under `{section}`", hint=hint)
        found[section] = kept
    place = fields.get("inputs")
    declared = (
        []
        if place is None
        else [ref for name, value in found["inputs"].items() for ref in _declared(place, name, value)]
    )
    return _Values(inputs=found["inputs"], variables=found["variables"], declared=tuple(dict.fromkeys(declared)))


def _declared(place: cursor.Cursor, name: str, value: Json) -> list[str]:
    """The contexts that an input called `…_ref` or `…_refs` names."""
    if value is None or not name.endswith(("_ref", "_refs")):
        return []
    spot = place.at(name, value)
    entries = [spot] if name.endswith("_ref") else spot.items() or []
    found: list[str] = []
    for entry in entries:
        ref = refs.parse(entry.value) if isinstance(entry.value, str) else None
        if ref is not None and ref.kind in ("ctx", "snap") and not ref.path:
            found.append(ref.root)
        else:
            hint = "an input that is called so names a context, like ctx:repo_diff or snap:t381"
            entry.problem("REF_INVALID", f"{entry.name} must be a ref to a context", hint=hint)
    return found


def _port(name: str, value: Json) -> definition.Port:
    """An input of the run: its value in the plan is the default; null has to be given."""
    kind = _TYPES.get(type(value))
    schema: JsonObject = {} if kind is None else {"type": kind}
    if value is None:
        return definition.Port(name=name, schema=schema)
    return definition.Port(name=name, schema=schema, required=False, has_default=True, default=value)


_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


@frozen
class _Written:
    """The names in a plan's steps as written, of steps that cannot be read as well: what leads to one of those is no
    mistake of its own. None where not even the names are clear."""

    ids: frozenset[str] | None
    saved: frozenset[str] | None


def _written(entries: list[cursor.Cursor]) -> _Written:
    maps = [entry.value for entry in entries if isinstance(entry.value, Mapping)]
    ids = [one.get("id") for one in maps]
    saved = [one["save_as"] for one in maps if "save_as" in one]
    return _Written(
        ids=frozenset(map(str, ids)) if all(isinstance(one, str) and block.ID.match(one) for one in ids) else None,
        saved=frozenset(map(str, saved))
        if all(isinstance(one, str) and step.NAME.match(one) for one in saved)
        else None,
    )


def _steps(fields: cursor.Fields) -> tuple[dict[str, step.Draft], _Written]:
    found = fields.need("steps")
    entries = [] if found is None else found.items() or []
    if found is not None and found.value == []:
        found.problem("EMPTY", "`steps` is empty", hint="a plan has at least one step")
    if found is not None and len(entries) > _MOST_STEPS:
        found.problem("TOO_MANY_STEPS", f"more than {_MOST_STEPS} steps")
        return {}, _Written(ids=None, saved=None)
    drafts: dict[str, step.Draft] = {}
    for entry in entries:
        key = step.identify(entry)
        draft = None if key is None else step.read(key, entry)
        if key is not None and key in drafts:
            first = drafts[key].place.path[-1]
            entry.at("id", key).problem("DUPLICATE_ID", f"two steps are called {key!r} (also steps[{first}])")
        elif key is not None and draft is not None:
            drafts[key] = draft
    return drafts, _written(entries)


def _tied(drafts: Mapping[str, step.Draft], written: _Written) -> bool:
    """Whether every jump leads to a step; those that do not are Problems."""
    right = True
    for draft in drafts.values():
        for name, known in ops.TABLE[draft.op].args.items():
            target = draft.text(name) if known.kind == "step" else None
            if target is None:
                continue
            if target not in drafts and (written.ids is None or target in written.ids):
                right = False
            elif target not in drafts:
                hint = suggest.near(target, drafts, otherwise=f"there are {', '.join(list(drafts)[:20])}")
                draft.at(name).problem("STEP_UNKNOWN", f"there is no step {target[:60]!r}", hint=hint)
                right = False
            elif draft.op == "retry" and drafts[target].op not in ops.RETRIABLE:
                message = f"{target!r} is of the op {drafts[target].op!r}, which cannot be tried again"
                hint = f"a retry tries {', '.join(sorted(ops.RETRIABLE))}"
                draft.at(name).problem("RETRY_TARGET", message, hint=hint)
                right = False
    return right


@frozen
class _Outputs:
    written: JsonObject
    uses: tuple[step.Use, ...]


def _outputs(found: cursor.Cursor | None) -> _Outputs:
    fields = None if found is None else found.fields()
    uses: list[step.Use] = []
    for entry in () if fields is None else fields:
        name = str(entry.path[-1])
        if not name.endswith(("_ref", "_refs")) or name in ("_ref", "_refs"):
            hint = f"call it {name}_ref: the run gives it as {name!r}"
            entry.key_problem(
                "NAME_INVALID", f"an output is called NAME_ref or NAME_refs, not {name[:60]!r}", hint=hint
            )
            continue
        for spot in [entry] if name.endswith("_ref") else entry.items() or []:
            ref = refs.parse(spot.value) if isinstance(spot.value, str) else None
            if ref is None:
                spot.problem("REF_INVALID", f"{spot.name} must be a ref", hint="like var:patch")
            else:
                uses.append(step.Use(ref=ref, place=spot, needed=False))
    return _Outputs(written={} if fields is None else fields.value, uses=tuple(uses))

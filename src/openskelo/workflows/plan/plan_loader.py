"""Loads a plan: from the document of a plan file to a Workflow that can be run, or to Problems.

`read` reads the steps one by one (`step`), checks what they name in the project (`name_check`), resolves the jumps,
builds the nodes (`build`), and checks the plan along every path (`checks`). It reports everything that is wrong in
one go, and only goes on to a stage if the stages before it have given it something to work on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

from openskelo import errors, ops
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import functions, transforms
from openskelo.providers import config
from openskelo.structs import frozen, replace
from openskelo.values import plan_refs
from openskelo.workflows import pinning
from openskelo.workflows.blocks import block, blocks_loader, limits
from openskelo.workflows.plan import build, checks, name_check, step
from openskelo.workflows.project import project_file, registries
from openskelo.workflows.text import cursor, problems

KEYS = frozenset(
    {"plan_id", "mode", "budgets", "inputs", "variables", "steps", "outputs"}
    | {"description", "version", "metadata", "$schema"}
)
_MAX_STEPS = 10_000


def read(
    place: cursor.Cursor, settings: project_file.ProjectFile, models: config.Config | None
) -> definition.Workflow | None:
    """Return the plan in the document at `place`, ready to be run; None if anything was an error.

    `models` is None if the document has no project: the caller may then bring any provider.
    """
    scope = name_check.Scope(models=models, registry=settings.registry, commands=settings.allow_commands)
    workflow = _read_plan(place, scope)
    if workflow is None or workflow.plan is None:
        return None
    scope = replace(scope, mode=workflow.plan.mode, models=settings.models if models is None else models)
    pinned_workflow = pinning.pin_experts(workflow, _without_denied_fallbacks(scope), place)
    checks.check_budget(place, pinned_workflow)
    return blocks_loader.sealed(pinned_workflow)


def _without_denied_fallbacks(scope: name_check.Scope) -> config.Config:
    """Return the models of a scope without the fallbacks that the plan's mode denies."""
    models = cast("config.Config", scope.models)
    experts: dict[str, config.ExpertConfig] = {}
    for name, expert in models.experts.items():
        allowed_fallbacks = (other for other in expert.fallbacks if name_check.expert_denial(other, scope) is None)
        experts[name] = replace(expert, fallbacks=tuple(allowed_fallbacks))
    return replace(models, experts=experts)


def _read_plan(place: cursor.Cursor, scope: name_check.Scope) -> definition.Workflow | None:
    """Return the plan without pinned experts; None if anything was an error. The mode of `scope` is not used."""
    fields = place.fields(KEYS)
    if fields is None:
        return None
    mode = cast("definition.PlanMode", fields.choice("mode", registries.MODES, "normal"))
    scope = replace(scope, mode=mode)
    header = _read_header(fields)
    values = _read_values(fields)
    budget = limits.budgets(fields.get("budgets"))
    drafts, names_in_text = _read_steps(fields, scope.registry)
    drafts = {key: _with_default_args(draft, scope.registry, values.inputs) for key, draft in drafts.items()}
    outputs = _read_outputs(fields.get("outputs"))
    jumps_resolved = _check_jumps(drafts, names_in_text)
    for draft in drafts.values():
        name_check.check(draft, scope)
    text = checks.PlanText(
        place=place,
        drafts=drafts,
        scope=scope,
        inputs=values.inputs,
        variables=values.variables,
        output_uses=outputs.uses,
    )
    checks.check_names(text, values.contexts, names_in_text.saved)
    if not jumps_resolved or not drafts or place.report.failed:
        return None
    workflow = replace(
        header,
        nodes=build.build_nodes(drafts, scope, outputs.written),
        inputs=tuple(_input_port(name, value) for name, value in values.inputs.items()),
        limits=_limit_tool_spend(budget, scope),
        plan=definition.Plan(
            entry=build.entry(drafts),
            mode=scope.mode,
            variables=values.variables,
            outputs=outputs.written,
            contexts=build.contexts(text.uses(), values.contexts),
        ),
    )
    checks.check_paths(text, workflow)
    return None if place.report.failed else _seal(workflow, place)


def _seal(workflow: definition.Workflow, place: cursor.Cursor) -> definition.Workflow | None:
    """Return the workflow with its hash; None after a Problem if it cannot be written as JSON."""
    try:
        return blocks_loader.sealed(workflow)
    except errors.InvalidInput as error:
        place.problem(error.code, f"the plan cannot be written as JSON: {error.message}", hint=error.hint)
        return None


def _limit_tool_spend(budget: definition.Limits, scope: name_check.Scope) -> definition.Limits:
    """Return the plan's budget, with the project's limit on tool spend in this mode if that is lower."""
    allowed_spend = project_registry.tool_spend(scope.registry, scope.mode)
    if allowed_spend is None:
        return budget
    own_limit = budget.max_tool_nanousd
    return replace(budget, max_tool_nanousd=allowed_spend if own_limit is None else min(allowed_spend, own_limit))


def _read_header(fields: cursor.Fields) -> definition.Workflow:
    """Return a workflow with the plan's name and description, and no nodes yet."""
    place = fields.need("plan_id")
    name = "" if place is None else place.text(blank=False) or ""
    if place is not None and len(name) > 200:
        place.problem("NAME_INVALID", "`plan_id` is longer than 200 characters")
    version = fields.get("version")
    if version is not None and not isinstance(version.value, str | int | float):
        version.wrong_type("a text or a number")
    if (metadata := fields.get("metadata")) is not None:
        metadata.fields()
    return definition.Workflow(name=name, hash="", nodes={}, description=fields.text("description"))


@frozen
class _Values:
    """The inputs and variables of a plan with their first values."""

    inputs: JsonObject
    variables: JsonObject
    #: The contexts that inputs name.
    contexts: tuple[str, ...]


def _read_values(fields: cursor.Fields) -> _Values:
    inputs = _read_named_values(fields, "inputs")
    variables = _read_named_values(fields, "variables")
    place = fields.get("inputs")
    contexts: list[str] = []
    if place is not None:
        for name, value in inputs.items():
            contexts += _contexts_of_input(place, name, value)
    return _Values(inputs=inputs, variables=variables, contexts=tuple(dict.fromkeys(contexts)))


def _read_named_values(fields: cursor.Fields, section: str) -> JsonObject:
    """Return the values of a section by name; a name that a ref could not write is a Problem."""
    place = fields.get(section)
    entries = None if place is None else place.fields()
    values: dict[str, Json] = {}
    for entry in () if entries is None else entries:
        name = str(entry.path[-1])
        if step.NAME.match(name):
            values[name] = entry.value
        else:
            hint = "letters, digits, - and _, beginning with a letter or _"
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot be a name under `{section}`", hint=hint)
    return values


def _contexts_of_input(place: cursor.Cursor, name: str, value: Json) -> list[str]:
    """Return the contexts that an input called `…_ref` or `…_refs` names."""
    if value is None or not name.endswith(("_ref", "_refs")):
        return []
    value_place = place.at(name, value)
    entries = [value_place] if name.endswith("_ref") else value_place.items() or []
    contexts: list[str] = []
    for entry in entries:
        ref = plan_refs.parse(entry.value) if isinstance(entry.value, str) else None
        if ref is not None and ref.kind in ("ctx", "snap") and not ref.path:
            contexts.append(ref.root)
        else:
            hint = "an input with this ending names a context, like ctx:repo_diff or snap:t381"
            entry.problem("REF_INVALID", f"{entry.name} must be a ref to a context", hint=hint)
    return contexts


def _input_port(name: str, value: Json) -> definition.Port:
    """Return an input of the run. Its value in the plan is the default; null means that a run must give it."""
    type_name = _TYPES.get(type(value))
    schema: JsonObject = {} if type_name is None else {"type": type_name}
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
class _DeclaredNames:
    """The step ids and `save_as` names as typed in the file, including those of steps that could not be read.

    A jump to an unreadable step is not reported as a second mistake. None if not even the names could be read.
    """

    ids: frozenset[str] | None
    saved: frozenset[str] | None


def _read_declared_names(entries: list[cursor.Cursor]) -> _DeclaredNames:
    maps = [entry.value for entry in entries if isinstance(entry.value, Mapping)]
    ids = [value.get("id") for value in maps]
    saved_names = [value["save_as"] for value in maps if "save_as" in value]
    ids_readable = all(isinstance(text, str) and block.ID.match(text) for text in ids)
    saved_readable = all(isinstance(text, str) and step.NAME.match(text) for text in saved_names)
    return _DeclaredNames(
        ids=frozenset(map(str, ids)) if ids_readable else None,
        saved=frozenset(map(str, saved_names)) if saved_readable else None,
    )


def _read_steps(
    fields: cursor.Fields, registry: project_registry.Registry
) -> tuple[dict[str, step.Draft], _DeclaredNames]:
    place = fields.need("steps")
    entries = [] if place is None else place.items() or []
    if place is not None and place.value == []:
        place.problem("EMPTY", "`steps` is empty", hint="a plan has at least one step")
    if place is not None and len(entries) > _MAX_STEPS:
        place.problem("TOO_MANY_STEPS", f"more than {_MAX_STEPS} steps")
        return {}, _DeclaredNames(ids=None, saved=None)
    drafts: dict[str, step.Draft] = {}
    for entry in entries:
        key = step.read_id(entry)
        draft = None if key is None else step.read(key, entry, registry)
        if key is not None and key in drafts:
            first = drafts[key].place.path[-1]
            entry.at("id", key).problem("DUPLICATE_ID", f"two steps are called {key!r} (also steps[{first}])")
        elif key is not None and draft is not None:
            drafts[key] = draft
    return drafts, _read_declared_names(entries)


def _with_default_args(draft: step.Draft, registry: project_registry.Registry, inputs: Collection[str]) -> step.Draft:
    """Return a step with the default arguments of its transform, as far as the plan has the inputs they refer to."""
    function = functions.transform(registry, draft.text("fn") or "") if draft.op == "transform" else None
    if function is None or function.kind != "builtin":
        return draft
    usable_args = {
        name: text
        for name, text in transforms.TRANSFORMS[function.target].default_args.items()
        if text.removeprefix("input:") in inputs and name not in function.config
    }
    return replace(draft, args={**usable_args, **draft.args})


def _check_jumps(drafts: Mapping[str, step.Draft], written: _DeclaredNames) -> bool:
    """True if every jump leads to a step that could be read; a jump to an id that is not in the text is a Problem."""
    all_resolve = True
    for draft in drafts.values():
        for name, arg in ops.OPS[draft.op].args.items():
            target = draft.text(name) if arg.kind == "step" else None
            if target is None:
                continue
            if target not in drafts and (written.ids is None or target in written.ids):
                all_resolve = False
            elif target not in drafts:
                hint = problems.did_you_mean(target, drafts, otherwise=f"there are {', '.join(list(drafts)[:20])}")
                draft.at(name).problem("STEP_UNKNOWN", f"there is no step {target[:60]!r}", hint=hint)
                all_resolve = False
            elif draft.op == "retry" and ops.OPS[drafts[target].op].controls_flow:
                message = f"{target!r} is of the op {drafts[target].op!r}, which cannot be tried again"
                retriable = [name for name, op in ops.OPS.items() if not op.controls_flow]
                hint = f"a retry tries {', '.join(retriable)}"
                draft.at(name).problem("RETRY_TARGET", message, hint=hint)
                all_resolve = False
    return all_resolve


@frozen
class _Outputs:
    """The plan's `outputs` as written, and the refs in them."""

    written: JsonObject
    uses: tuple[step.Use, ...]


def _read_outputs(place: cursor.Cursor | None) -> _Outputs:
    fields = None if place is None else place.fields()
    uses: list[step.Use] = []
    for entry in () if fields is None else fields:
        name = str(entry.path[-1])
        if not name.endswith(("_ref", "_refs")) or name in ("_ref", "_refs"):
            hint = f"call it {name}_ref: the output of the run is then called {name!r}"
            message = f"an output is called NAME_ref or NAME_refs, not {name[:60]!r}"
            entry.key_problem("NAME_INVALID", message, hint=hint)
            continue
        for ref_place in [entry] if name.endswith("_ref") else entry.items() or []:
            ref = plan_refs.parse(ref_place.value) if isinstance(ref_place.value, str) else None
            if ref is None:
                ref_place.problem("REF_INVALID", f"{ref_place.name} must be a ref", hint="like var:patch")
            else:
                uses.append(step.Use(ref=ref, place=ref_place, needed=False))
    return _Outputs(written={} if fields is None else fields.value, uses=tuple(uses))

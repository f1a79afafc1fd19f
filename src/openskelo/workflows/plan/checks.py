"""Checks of a plan as a whole: its refs, its paths, its loops, its endings, the types of its values, and its budget.

The loader calls them in three stages, because each needs more than the one before:

1. `check_names`: every ref names a variable, an input or a context that the plan has. Needs the text only.
2. `check_paths`: what can go wrong on some path from the first step on. Needs the jumps resolved.
3. `check_budget`: the budget is enough for the cheapest path. Needs the experts and their prices pinned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from openskelo import ops
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen, replace
from openskelo.values import plan_refs
from openskelo.values.cel import plan_expression
from openskelo.workflows.estimate import plan_estimate
from openskelo.workflows.plan import build, control_flow, data_flow, name_check, step
from openskelo.workflows.text import cursor, problems


@frozen
class PlanText:
    """A plan as it was read: its steps, its first values, and what its outputs read."""

    place: cursor.Cursor
    drafts: Mapping[str, step.Draft]
    scope: name_check.Scope
    inputs: JsonObject
    variables: JsonObject
    output_uses: tuple[step.Use, ...]

    def uses(self) -> Iterator[step.Use]:
        """Yield every ref of the plan."""
        for draft in self.drafts.values():
            yield from draft.uses
        yield from self.output_uses


def check_names(text: PlanText, declared: tuple[str, ...], saved: frozenset[str] | None) -> None:
    """Report refs to a variable that no step sets, and to an input or a context that is not declared.

    `declared` are the contexts that inputs name, `saved` the names that steps save under: None if a step is unreadable.
    """
    variables = None if saved is None else saved | text.variables.keys()
    for use in text.uses():
        ref = use.ref
        match ref.kind:
            case "var" if variables is not None and ref.name not in variables:
                hint = problems.did_you_mean(
                    ref.name, variables, otherwise="no step saves it, and `variables` has no first value"
                )
                use.place.problem("REF_UNKNOWN", f"there is no variable {ref.name!r}", hint=hint)
            case "input" if ref.name not in text.inputs:
                hint = problems.did_you_mean(ref.name, text.inputs.keys(), otherwise="declare it under `inputs`")
                use.place.problem("REF_UNKNOWN", f"the plan has no input {ref.name!r}", hint=hint)
            case "ctx" | "snap":
                _check_context(use, text, declared)
            case _:
                pass


def _check_context(use: step.Use, text: PlanText, declared: tuple[str, ...]) -> None:
    root = use.ref.root
    registry = text.scope.registry
    if root in declared or registry.context(root) is not None:
        return
    roots = {*declared, *(_context_root(name, use.ref.kind) for name in registry.contexts)}
    otherwise = "declare it under `contexts` in skelo.yaml, or in the plan's inputs when a run brings it"
    message = f"the context {root!r} is not declared"
    use.place.problem("CONTEXT_UNKNOWN", message, hint=problems.did_you_mean(root, roots, otherwise=otherwise))


def _context_root(name: str, kind: plan_refs.Kind) -> str:
    return name if ":" in name else f"{kind}:{name}"


def check_paths(text: PlanText, workflow: definition.Workflow) -> None:
    """Report what can go wrong on some path through the plan; `workflow` is the plan with its jumps resolved."""
    flow = control_flow.from_workflow(workflow)
    _check_steps(text, flow)
    if workflow.limits.max_steps is None:
        _check_loops(text, flow)
    _check_types(text)
    _check_unset(text, flow)
    for draft, use in data_flow.find_unverified(flow, text.drafts, text.scope):
        message = f"{use.ref} is what an expert said, unchecked, and {draft.text('tool_id')!r} acts on it"
        use.place.warn("UNVERIFIED", message, hint="put a verify and a branch in between")


def _check_steps(text: PlanText, flow: control_flow.Flow) -> None:
    reachable = flow.reachable()
    retried_keys = flow.retried()
    for key, draft in text.drafts.items():
        if key not in reachable and key not in retried_keys:
            message = f"nothing leads to the step {key!r}"
            draft.place.problem("UNREACHABLE", message, hint="jump to it, or take it out")
        elif key in reachable and draft.op not in ("emit", "ask_human") and flow.may_end(key):
            message = f"the plan can end after {key!r} without an emit or an ask_human"
            draft.place.problem("NO_ENDING", message, hint="end it with an emit")
        if draft.op == "retry" and key in reachable:
            _warn_of_repetition(draft, flow)


def _check_loops(text: PlanText, flow: control_flow.Flow) -> None:
    order = {key: number for number, key in enumerate(text.drafts)}
    for group in control_flow.unbounded_loops(flow):
        loop = tuple(sorted(group, key=order.__getitem__))
        message = f"nothing bounds this loop: {_show_path(loop)}"
        hint = "give a step on it `max_visits`, or the plan budgets.max_steps"
        text.drafts[loop[-1]].place.problem("LOOP_UNBOUNDED", message, hint=hint)


def _warn_of_repetition(draft: step.Draft, flow: control_flow.Flow) -> None:
    """Warn of a retry after which the run enters the tried step once more, although it has succeeded by then."""
    draft_step = flow.steps[draft.id]
    after = None if draft_step.next is None else flow.steps[draft_step.next]
    if after is not None and draft_step.target in (draft_step.next, after.target):
        target = repr(draft_step.target)
        message = f"{draft.id!r} tries {target}, and then the run goes on with {target}: it is done twice"
        draft.at("step_id").warn("RETRY_REPEATS", message, hint="put the retry right behind its step")


def _check_unset(text: PlanText, flow: control_flow.Flow) -> None:
    uses = {key: (*draft.uses, *_inherited_result(text, draft)) for key, draft in text.drafts.items()}
    for read in data_flow.find_unset(flow, uses, frozenset(text.variables)):
        retry_target = flow.steps[read.key].target  # what a retry reads is read by the step that it tries
        path = (*read.path, retry_target) if read.path and retry_target is not None else read.path
        on_path = f" on the way {_show_path(path)}" if path else ""
        message = f"{read.use.ref} may not be set when {(retry_target or read.key)!r} reads it{on_path}"
        read.use.place.problem("REF_UNSET", message, hint="give it a first value in `variables`, or branch before")


def _inherited_result(text: PlanText, draft: step.Draft) -> Iterator[step.Use]:
    """Yield the result that an emit takes from the plan's `outputs`, which it needs to end as ok."""
    if draft.op == "emit" and draft.args.get("status") == "ok" and "result_ref" not in draft.args:
        yield from (replace(use, needed=True) for use in text.output_uses if use.place.path[-1] == "result_ref")


def _show_path(path: tuple[str, ...]) -> str:
    shown_keys = path if len(path) <= 12 else (*path[:6], "…", *path[-5:])
    return " → ".join(shown_keys)


# Types: what is known, before any run, about the value that a ref points at.

_TEXT: JsonObject = {"type": "string"}
_SCHEMA_OF_CEL_TYPE: Mapping[str, JsonObject] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "double": {"type": "number"},
    "string": _TEXT,
    "list": {"type": "array"},
    "map": {"type": "object"},
    "null": {"type": "null"},
}
_TYPE_NAMES = {"string": "a text", "object": "a map", "array": "a list", "boolean": "true or false"}


def _check_types(text: PlanText) -> None:
    """Report refs whose path cannot exist in their value, and conditions that cannot be true or false."""
    schemas = _schemas_by_root(text)
    for use in text.uses():
        reason = _why_never_there(use.ref, schemas)
        if reason is not None:
            use.place.problem("REF_TYPE", f"{use.ref} leads nowhere: {reason}")
    for draft in text.drafts.values():
        cond = draft.args.get("cond") if draft.op == "branch" else None
        value = cond.get("ok") if isinstance(cond, Mapping) else None
        ref = plan_refs.parse(value) if isinstance(value, str) else None
        types = frozenset[str]() if ref is None else _possible_types(ref, schemas)
        if types and "boolean" not in types:
            place = draft.at("cond").at("ok", None)
            message = f"{ref} is never true or false, but {' or '.join(sorted(types))}"
            place.problem("COND_NOT_BOOLEAN", message, hint="ask for a boolean in it, such as var:v1.ok of a verify")


def _schemas_by_root(text: PlanText) -> Mapping[str, list[JsonObject]]:
    """Return, for each root such as `var:patch`, the schemas of all values that may be written there."""
    schemas = {f"input:{name}": [_schema_of_value(value)] for name, value in text.inputs.items()}
    schemas |= {f"var:{name}": [_schema_of_value(value)] for name, value in text.variables.items()}
    for draft in text.drafts.values():
        if draft.save_as is None:
            continue
        source = draft
        if draft.op == "retry":
            source = text.drafts.get(draft.text("step_id") or "", draft)
        saved_schemas = schemas.setdefault(f"var:{draft.save_as}", [])
        saved_schemas.append(_schema_of_result(source, text.scope))
        if "on_denied" in draft.args:
            saved_schemas.append({"type": "object"})
    return schemas


def _schema_of_value(value: Json) -> JsonObject:
    """Return a schema with the type of a value; an empty one for null, which stands for any value that a run brings."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": "number"}
        case str():
            return _TEXT
        case Mapping():
            return {"type": "object"}
        case list():
            return {"type": "array"}
        case _:
            return {}


def _schema_of_result(draft: step.Draft, scope: name_check.Scope) -> JsonObject:
    """Return the schema of what a step saves; an empty one if it is not known."""
    match draft.op:
        case "route_expert":
            schema = draft.args.get("output_schema", _TEXT)
            return schema if isinstance(schema, Mapping) else {}
        case "tool_call":
            tool = name_check.tool_of(draft, scope)
            return (tool.returns if tool is not None else None) or {}
        case "transform" if (text := draft.text("expr")) is not None:
            return _SCHEMA_OF_CEL_TYPE.get(plan_expression.compile(text).returns, {})
        case "ask_human":
            return build.answer_form(draft)
        case _:
            return ops.OPS[draft.op].result_schema


def _why_never_there(ref: plan_refs.Ref, schemas: Mapping[str, list[JsonObject]]) -> str | None:
    """Return why no value has anything at the path of a ref; None if some value may."""
    reasons = [_why_not_in(schema, ref) for schema in schemas.get(ref.root, ())]
    if not reasons or any(reason is None for reason in reasons):
        return None
    return reasons[0]


def _possible_types(ref: plan_refs.Ref, schemas: Mapping[str, list[JsonObject]]) -> frozenset[str]:
    """Return the JSON types that the value of a ref may have; an empty set if that is not known."""
    types = [_type_of(_schema_at(schema, ref.path)) for schema in schemas.get(ref.root, ())]
    return frozenset(types) if all(types) else frozenset()


def _schema_at(schema: JsonObject, path: plan_refs.Path) -> JsonObject:
    """Return the schema of what is at a path; an empty one if nothing is known about it."""
    for part in path:
        properties = schema.get("properties") if isinstance(part, str) else None
        if isinstance(properties, Mapping) and isinstance(part, str):
            inner = properties.get(part)
        else:
            inner = schema.get("items")
        if not isinstance(inner, Mapping) or (isinstance(part, int) and schema.get("type") != "array"):
            return {}
        schema = inner
    return schema


def _why_not_in(schema: JsonObject, ref: plan_refs.Ref) -> str | None:
    for index, part in enumerate(ref.path):
        partial_ref = plan_refs.Ref(kind=ref.kind, name=ref.name, path=ref.path[:index])
        name = _type_of(schema)
        if name and name not in ("object", "array"):
            return f"{partial_ref} is {_TYPE_NAMES.get(name, f'a {name}')}, which has no {part!r}"
        if name == ("object" if isinstance(part, int) else "array"):
            return f"{partial_ref} is {_TYPE_NAMES[name]}, which {part!r} cannot be taken of"
        properties = schema.get("properties")
        if isinstance(part, str) and isinstance(properties, Mapping) and part not in properties:
            if schema.get("additionalProperties") is not False:
                return None
            return f"{partial_ref} has only {', '.join(properties)}"
        schema = _schema_at(schema, (part,))
    return None


def _type_of(schema: JsonObject) -> str:
    name = schema.get("type")
    return name if isinstance(name, str) else ""


# The budget.


def check_budget(place: cursor.Cursor, workflow: definition.Workflow) -> None:
    """Report a budget that the best case exceeds, and warn of one that the worst case does."""
    limits = workflow.limits
    best = plan_estimate.best_case(workflow)
    worst = plan_estimate.worst_case(workflow)
    budgets = place.at("budgets", None)
    rows = (
        ("max_steps", limits.max_steps, best.steps, worst.cost.steps, "steps"),
        ("max_tokens", limits.max_tokens, best.tokens, worst.cost.tokens, "tokens"),
        ("max_cost_usd", limits.max_cost_nanousd, best.cost_nanousd, worst.cost.cost_nanousd, "USD"),
        ("max_tool_spend_usd", limits.max_tool_nanousd, best.tool_nanousd, worst.cost.tool_nanousd, "USD of tools"),
    )
    for name, limit, least, most, unit in rows:
        if limit is None or most <= limit:
            continue
        limit_place = budgets.at(name, None)
        scale = definition.NANO_PER_USD if name.endswith("_usd") else 1
        figures = f"at best {_show_amount(least, scale)}, at worst {_show_amount(most, scale)} {unit}"
        if least > limit:
            message = f"no path fits into {name} = {_show_amount(limit, scale)}: {figures}"
            limit_place.problem("BUDGET_TOO_SMALL", message, hint=f"allow at least {_show_amount(least, scale)}")
        elif worst.bounded or name != "max_steps":
            message = f"{name} = {_show_amount(limit, scale)} may not be enough: {figures}"
            limit_place.warn("BUDGET_AT_WORST", message, hint="the run then ends as budget_exceeded, with its receipts")


def _show_amount(amount: int, scale: int) -> str:
    return str(amount) if scale == 1 else f"{amount / scale:.6g}"

"""What is checked of a plan as a whole: the names in its refs, its ways, its loops, its endings and its budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.values import refs
from openskelo.workflows import cursor, suggest
from openskelo.workflows.plan import cases, defined, flow, reach, shapes, step, taint

_NANO = 1_000_000_000


@frozen
class Text:
    """A plan as it was read: its steps, first values, and what its outputs read."""

    place: cursor.Cursor
    drafts: Mapping[str, step.Draft]
    around: reach.Reach
    inputs: JsonObject
    variables: JsonObject
    outputs: tuple[step.Use, ...]

    def uses(self) -> Iterator[step.Use]:
        """Everything that is read anywhere."""
        for draft in self.drafts.values():
            yield from draft.uses
        yield from self.outputs


def names(text: Text, declared: tuple[str, ...], saved: frozenset[str] | None) -> None:
    """Report refs to what the plan never has: variables nobody sets, inputs and contexts nobody declares.

    `saved` are the names that steps save under; None where that is not clear.
    """
    known = None if saved is None else saved | text.variables.keys()
    for use in text.uses():
        ref = use.ref
        match ref.kind:
            case "var" if known is not None and ref.name not in known:
                hint = suggest.near(ref.name, known, otherwise="no step saves it, and `variables` has no first value")
                use.place.problem("REF_UNKNOWN", f"there is no variable {ref.name!r}", hint=hint)
            case "input" if ref.name not in text.inputs:
                hint = suggest.near(ref.name, text.inputs.keys(), otherwise="declare it under `inputs`")
                use.place.problem("REF_UNKNOWN", f"the plan has no input {ref.name!r}", hint=hint)
            case "ctx" | "snap":
                _context(use, text, declared)
            case _:
                pass


def _context(use: step.Use, text: Text, declared: tuple[str, ...]) -> None:
    root = use.ref.root
    if root in declared or text.around.registry.context(root) is not None:
        return
    known = {*declared, *(_whole(name, use.ref.kind) for name in text.around.registry.contexts)}
    otherwise = "declare it under `contexts` in skelo.yaml, or in the plan's inputs when a run brings it"
    message = f"nobody declares the context {root!r}"
    use.place.problem("CONTEXT_UNKNOWN", message, hint=suggest.near(root, known, otherwise=otherwise))


def _whole(name: str, kind: refs.Kind) -> str:
    return name if ":" in name else f"{kind}:{name}"


def paths(text: Text, workflow: definition.Workflow) -> None:
    """Report what can go wrong on the way: `workflow` is the plan with its jumps in place."""
    ways = flow.of(workflow)
    _ways(text, ways, workflow.limits)
    _types(text)
    uses = {key: draft.uses for key, draft in text.drafts.items()}
    for found in defined.check(ways, uses, frozenset(text.variables)):
        tried = ways.steps[found.key].target  # what a retry reads is read by what it tries
        path = (*found.path, tried) if found.path and tried is not None else found.path
        way = f" on the way {_shown(path)}" if path else ""
        message = f"{found.use.ref} may not be set when {(tried or found.key)!r} reads it{way}"
        found.use.place.problem("REF_UNSET", message, hint="give it a first value in `variables`, or branch before")
    for draft, use in taint.check(ways, text.drafts, text.around):
        message = f"{use.ref} is what an expert said, unchecked, and {draft.text('tool_id')!r} acts on it"
        use.place.warn("UNVERIFIED", message, hint="put a verify and a branch in between")


def _ways(text: Text, ways: flow.Flow, limits: definition.Limits) -> None:
    entered = ways.reachable()
    tried = ways.tried()
    for key, draft in text.drafts.items():
        if key not in entered and key not in tried:
            draft.place.problem("UNREACHABLE", f"nothing leads to the step {key!r}", hint="jump to it, or take it out")
        elif key in entered and draft.op not in ("emit", "ask_human") and ways.may_end(key):
            message = f"the plan can end after {key!r} without an emit or an ask_human"
            draft.place.problem("NO_ENDING", message, hint="end it with an emit")
        if draft.op == "retry" and key in entered:
            _repeats(draft, ways)
    if limits.max_steps is None:
        for group in flow.unbounded(ways):
            last = max(group, key=list(text.drafts).index)
            message = f"nothing bounds this loop: {_shown(tuple(sorted(group, key=list(text.drafts).index)))}"
            hint = "give a step on it `max_visits`, or the plan budgets.max_steps"
            text.drafts[last].place.problem("LOOP_UNBOUNDED", message, hint=hint)


def _repeats(draft: step.Draft, ways: flow.Flow) -> None:
    """Warn of a retry after which its step is done once more, although it has succeeded by then."""
    own = ways.steps[draft.id]
    after = None if own.next is None else ways.steps[own.next]
    if after is not None and own.target in (own.next, after.target):
        message = f"{draft.id!r} tries {own.target!r}, and then the run goes on with {own.target!r}: it is done twice"
        draft.at("step_id").warn("RETRY_REPEATS", message, hint="put the retry right behind its step")


def _types(text: Text) -> None:
    """Report refs that can never lead anywhere, and conditions that cannot be true or false."""
    given = {f"input:{name}": shapes.of_value(value) for name, value in text.inputs.items()}
    given |= {f"var:{name}": shapes.of_value(value) for name, value in text.variables.items()}
    known = shapes.of(text.drafts, text.around, given)
    for use in text.uses():
        why = known.lost(use.ref)
        if why is not None:
            use.place.problem("REF_TYPE", f"{use.ref} leads nowhere: {why}")
    for draft in text.drafts.values():
        cond = draft.args.get("cond") if draft.op == "branch" else None
        told = cond.get("ok") if isinstance(cond, Mapping) else None
        ref = refs.parse(told) if isinstance(told, str) else None
        kinds = frozenset[str]() if ref is None else known.kinds(ref)
        if kinds and "boolean" not in kinds:
            place = draft.at("cond").at("ok", None)
            message = f"{ref} is never true or false, but {' or '.join(sorted(kinds))}"
            place.problem("COND_NOT_BOOLEAN", message, hint="ask for a boolean in it, such as var:v1.ok of a verify")


def budget(place: cursor.Cursor, workflow: definition.Workflow) -> None:
    """Report a budget that the best case exceeds, and warn of one that the worst case does."""
    limits, best, worst = workflow.limits, cases.least(workflow), cases.most(workflow)
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
        spot = budgets.at(name, None)
        scale = _NANO if name.endswith("_usd") else 1
        figures = f"at best {_figure(least, scale)}, at worst {_figure(most, scale)} {unit}"
        if least > limit:
            message = f"no path fits into {name} = {_figure(limit, scale)}: {figures}"
            spot.problem("BUDGET_TOO_SMALL", message, hint=f"allow at least {_figure(least, scale)}")
        elif worst.bounded or name != "max_steps":
            message = f"{name} = {_figure(limit, scale)} may not be enough: {figures}"
            spot.warn("BUDGET_AT_WORST", message, hint="the run then ends as budget_exceeded, with its receipts")


def _figure(amount: int, scale: int) -> str:
    return str(amount) if scale == 1 else f"{amount / scale:.6g}"


def _shown(path: tuple[str, ...]) -> str:
    kept = path if len(path) <= 12 else (*path[:6], "…", *path[-5:])
    return " → ".join(kept)

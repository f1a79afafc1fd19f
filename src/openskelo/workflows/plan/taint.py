"""What an expert has said and nobody has checked, and where a tool would act on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from openskelo.workflows.plan import flow, reach, step


def check(
    ways: flow.Flow, drafts: Mapping[str, step.Draft], around: reach.Reach
) -> Iterator[tuple[step.Draft, step.Use]]:
    """Every use of unverified words by a tool with effects."""
    before = _before(ways, drafts)
    for key, dirty in before.items():
        draft = drafts[key]
        target = drafts.get(draft.text("step_id") or "") if draft.op == "retry" else draft
        tool = reach.tool_of(target, around) if target is not None and target.op == "tool_call" else None
        if target is None or tool is None or tool.effect == "pure":
            continue
        yield from ((target, use) for use in target.uses if use.ref.kind == "var" and use.ref.name in dirty)


def _before(ways: flow.Flow, drafts: Mapping[str, step.Draft]) -> dict[str, frozenset[str]]:
    """The variables that may hold unchecked words before each reachable step."""
    before: dict[str, frozenset[str]] = {ways.entry: frozenset()}
    queue = [ways.entry]
    while queue:
        key = queue.pop()
        after = _after(drafts[key], drafts, before[key])
        for target in ways.exits(key):
            held = before.get(target)
            merged = after if held is None else held | after
            if merged != held:
                before[target] = merged
                queue.append(target)
    return before


def _after(draft: step.Draft, drafts: Mapping[str, step.Draft], dirty: frozenset[str]) -> frozenset[str]:
    saved = {draft.save_as}
    if draft.op == "retry":
        target = drafts.get(draft.text("step_id") or "")
        if target is None:
            return dirty
        saved, draft = {draft.save_as, target.save_as}, target
    names = frozenset(name for name in saved if name is not None)
    read = frozenset(use.ref.name for use in draft.uses if use.ref.kind == "var")
    match draft.op:
        case "route_expert":
            return dirty | names
        case "transform":
            return dirty | names if read & dirty else dirty - names
        case "verify":
            return dirty - read - names
        case _:
            return dirty - names

"""Ways back: where a failed gate or a denial sends the run, what is entered anew then, and what must not be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo.frozen import frozen, replace
from openskelo.kernel import definition
from openskelo.workflows import cursor, edges, graph, suggest

#: The keys of all resets together; past this a file would fill memory with routes.
_MOST_RESETS = 2_000_000
_KEYS = frozenset({"when_gate", "route_to", "max_bounces", "feedback", "feedback_from", "reason", "reset_blocks"})


@frozen
class Reach:
    """What is before and after each block."""

    sources: Mapping[str, Sequence[str]]
    followers: Mapping[str, Sequence[str]]

    @staticmethod
    def of(sources: graph.Sources) -> Reach:
        return Reach(sources=sources, followers=graph.successors(sources))


def read(drafts: edges.Drafts, reach: Reach) -> dict[str, definition.Node]:
    """Every block with its bounces; `reset` is filled in by `fill`."""
    nodes: dict[str, definition.Node] = {}
    ways = sum(_goes_back(draft) for draft in drafts.values())
    if ways * len(drafts) > _MOST_RESETS:
        first = next(iter(drafts.values())).place
        first.problem("TOO_MANY_ROUTES", f"{ways} blocks with ways back among {len(drafts)}", hint="use fewer of them")
        return {key: draft.node for key, draft in drafts.items()}
    for key, draft in drafts.items():
        node = draft.node
        rules = None if draft.unread else draft.at("on_gate_fail")
        if rules is not None:
            node = replace(node, bounces=_rules(rules, node, drafts, reach))
        if draft.asked is not None and draft.asked.back is not None and node.approval is not None:
            node = replace(node, approval=_denial(draft, node.approval, drafts, reach))
        nodes[key] = node
    return nodes


def _goes_back(draft: edges.block.Draft) -> bool:
    return draft.at("on_gate_fail") is not None or (draft.asked is not None and draft.asked.back is not None)


def fill(nodes: Mapping[str, definition.Node], report: cursor.Cursor) -> dict[str, definition.Node]:
    """Every node with the rest of its bounces: what is entered anew, in workflow order, and who is told why."""
    if not any(node.bounces or (node.approval and node.approval.bounce) for node in nodes.values()):
        return dict(nodes)
    followers = graph.successors({key: sources_of(node) for key, node in nodes.items()})
    resets: dict[str, tuple[str, ...]] = {}
    size = 0

    def reset(bounce: definition.Bounce) -> definition.Bounce:
        nonlocal size
        if bounce.route_to not in resets and size <= _MOST_RESETS:
            reached = graph.reach((bounce.route_to,), followers)
            resets[bounce.route_to] = tuple(key for key in nodes if key in reached)
        found = resets.get(bounce.route_to, ())
        size += len(found)
        return replace(bounce, reset=found, told=_told(bounce.route_to, nodes, followers))

    filled: dict[str, definition.Node] = {}
    for key, node in nodes.items():
        ways = tuple(reset(bounce) for bounce in node.bounces)
        approval = node.approval
        if approval is not None and approval.bounce is not None:
            approval = replace(approval, bounce=reset(approval.bounce))
        filled[key] = replace(node, bounces=ways, approval=approval) if ways or approval is not None else node
    if size > _MOST_RESETS:
        report.problem("TOO_MANY_ROUTES", "the ways back of this file reset too many blocks", hint="use fewer of them")
    return filled


def _told(target: str, nodes: Mapping[str, definition.Node], followers: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The first blocks of the sub-workflow that is entered at `target`; nobody when that is a block itself."""
    if nodes[target].mode != "dag":
        return ()
    inside = target.rpartition("/")[0] + "/"
    entered = {target}
    todo = [target]
    for key in todo:  # grows while it is walked
        for follower in followers[key]:
            # The exit of a sub-workflow does no work either, and what comes after it is somebody else's.
            if follower.startswith(inside) and follower not in entered:
                entered.add(follower)
                todo += [follower] if nodes[follower].mode == "dag" else []
    return tuple(key for key in nodes if key in entered and nodes[key].mode != "dag")


def sources_of(node: definition.Node) -> tuple[str, ...]:
    """The nodes that come directly before a node."""
    bound = [binding.node for binding in node.bindings.values() if binding.node]
    return tuple(dict.fromkeys((*bound, *node.after)))


def _rules(
    found: cursor.Cursor, node: definition.Node, drafts: edges.Drafts, reach: Reach
) -> tuple[definition.Bounce, ...]:
    bounces: list[definition.Bounce] = []
    for entry in found.items() or []:
        fields = entry.fields(_KEYS)
        if fields is None:
            continue
        _retired(fields)
        gate = _gate(fields, node)
        target = fields.need("route_to")
        if "max_bounces" not in fields:
            fields.missing("max_bounces", hint="every loop has a bound")
        most = fields.integer("max_bounces", 1, 1, 20)
        feedback = fields.flag("feedback", default=True)
        if target is None or gate is None or not _is_before(target, node, drafts, reach):
            continue
        worked = any(known.name == gate for known in node.post_gates)
        _check_once(target, node, drafts, reach, worked=worked)
        bounces.append(
            definition.Bounce(when_gate=gate, route_to=str(target.value), max_bounces=most, feedback=feedback)
        )
    return tuple(bounces)


def _retired(fields: cursor.Fields) -> None:
    if (old := fields.get("reset_blocks")) is not None:
        old.key_problem("RETIRED_KEY", "everything after `route_to` is reset by itself", hint="leave it out")
    if (old := fields.get("feedback_from")) is not None:
        old.choice(("gate_verdicts",))
    fields.text("reason")


def _gate(fields: cursor.Fields, node: definition.Node) -> str | None:
    found = fields.need("when_gate")
    name = None if found is None else found.text(blank=False)
    if found is None or name is None:
        return None
    known = [gate.name for gate in (*node.pre_gates, *node.post_gates)]
    if name not in known:
        hint = suggest.near(name, known, otherwise=f"its gates: {', '.join(known) or 'none'}")
        found.problem("UNKNOWN_GATE", f"{node.key} has no gate {name[:80]!r}", hint=hint)
        return None
    return name


def _is_before(target: cursor.Cursor, node: definition.Node, drafts: edges.Drafts, reach: Reach) -> bool:
    name = target.text(blank=False)
    if name is None:
        return False
    if name not in drafts:
        hint = suggest.near(name, drafts)
        target.problem("UNKNOWN_BLOCK", f"there is no block {name[:80]!r}", hint=hint)
        return False
    if name not in graph.reach((node.key,), reach.sources):
        hint = "a way back leads to the block itself or to one it depends on"
        target.problem("ROUTE_FORWARD", f"{name} does not come before {node.key}", hint=hint)
        return False
    return True


def _check_once(
    target: cursor.Cursor, node: definition.Node, drafts: edges.Drafts, reach: Reach, *, worked: bool
) -> None:
    """Nothing that happens once and may have happened by now may be entered anew."""
    again = graph.reach((str(target.value),), reach.followers)
    later = graph.reach((node.key,), reach.followers) - {node.key}
    for key in drafts:
        if key not in again or key in later or (key == node.key and not worked):
            continue
        if drafts[key].once:
            hint = f"write `repeatable: true` on {key} if it may happen again"
            target.problem("BOUNCE_OVER_ONCE", f"this way back repeats {key}, whose effect happens once", hint=hint)


def _denial(
    draft: edges.block.Draft, approval: definition.Approval, drafts: edges.Drafts, reach: Reach
) -> definition.Approval:
    back = draft.asked.back if draft.asked is not None else None
    if back is None or not _is_before(back.route_to, draft.node, drafts, reach):
        return replace(approval, on_deny="end")
    _check_once(back.route_to, draft.node, drafts, reach, worked=False)
    bounce = definition.Bounce(when_gate="approval", route_to=str(back.route_to.value), max_bounces=back.max_bounces)
    return replace(approval, bounce=bounce)

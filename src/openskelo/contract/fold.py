"""Whether events can have happened to a run of this workflow: each is held against the kernel's state, then applied.

This is about possibility, not policy: a log of an earlier version stays valid when `decide` has since changed its mind.
"""

from __future__ import annotations

from typing import cast, get_args

from openskelo.contract import fields, fold_graph
from openskelo.kernel import definition, events, graph_events, record, run
from openskelo.kernel.apply import apply
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NodeState, Run

#: The facts that only a live graph has.
_OF_GRAPHS = frozenset(get_args(graph_events.GraphEvent))


class Fold:
    """A run that grows by untrusted events; `add` gives why the next one is impossible, or None."""

    def __init__(self, run_id: str, workflow: definition.Workflow) -> None:
        self._run = run.new(run_id, workflow)

    def add(self, event: events.Event) -> str | None:
        """Apply the event if the state allows it; says why it does not, or None. Of no use after a refusal."""
        try:
            refused = _refusal(self._run, event)
            if refused is None:
                apply(self._run, event)
        except Exception as error:  # the kernel trusts its events; these come from outside
            return f"the state does not allow {events.NAMES[type(event)]} ({type(error).__name__}: {error})"
        return refused


def _refusal(of: Run, event: events.Event) -> str | None:
    if type(event) in _OF_GRAPHS:
        return fold_graph.refusal(of, cast("graph_events.GraphEvent", event))
    if of.live is None and getattr(event, "reason", None) in ("interrupt", "removed"):
        return "the run is no live graph"
    key = getattr(event, "node", None)
    if key is not None:
        node = of.nodes.get(key)
        return f"the workflow has no node {key!r}" if node is None else _about_node(of, node, event)
    match event:
        case events.RunCreated():
            same = (event.workflow, event.workflow_hash) == (of.workflow.name, of.workflow.hash)
            return None if same else "the run pins another workflow than the definition it names"
        case events.RunEnded():
            return _at_the_end(of, event)
        case _:
            return None


def _about_node(of: Run, node: NodeState, event: events.Event) -> str | None:
    if isinstance(event, events.NodeKept):
        return f"{node.key} is kept, but done already" if node.status == "done" else None
    if isinstance(event, events.NodeUnjudged):
        begins = node.visit == 1 and len(node.slots) == 1 and node.status != "done"
        return None if begins else f"{node.key} has work to be judged, but is not what the run begins with"
    if isinstance(event, events.ItemsKept):
        again = of.workflow.nodes[node.key].foreach is not None and node.status != "done"
        given = all(fields.is_stored(one.get("outputs")) for one in event.items)
        return None if again and given else f"{node.key} has no items that can be kept"
    if isinstance(event, events.RetryDue):
        place = (node.key, event.visit, event.item or 0)
        return None if of.timers and of.timers[0][1:] == place else f"{node.key} is not the next to be retried"
    visit = getattr(event, "visit", node.visit)
    if visit != node.visit:
        return f"{node.key} is in visit {node.visit}, not {visit}"
    if (item := getattr(event, "item", None)) is not None and not 0 <= item < len(node.slots):
        return f"{node.key} has {len(node.slots)} items, none of which is {item}"
    receipt = getattr(event, "receipt", None)
    if receipt is not None and (refused := _about_receipt(of.workflow.nodes[node.key], receipt)) is not None:
        return refused
    return _about_progress(of, node, event)


def _about_receipt(shape: definition.Node, receipt: JsonObject) -> str | None:
    """What a receipt says of its node, which the definition alone can tell."""
    if receipt.get("op") != (shape.mode if shape.step is None else shape.step.op):
        return f"the receipt of {shape.key} names another op than its mode"
    if receipt.get("status") == "succeeded" and receipt.get("output_ref") != record.output_ref(shape.key, shape.step):
        return f"the receipt of {shape.key} says that its outputs are kept under another name"
    return None


def _about_progress(of: Run, node: NodeState, event: events.Event) -> str | None:
    match event:
        case events.AttemptStarted():
            allowed = node.key in of.ready and bool(node.queue) and node.queue[-1] == (event.item or 0)
            return None if allowed else f"{node.key} is started, but was not ready"
        case events.AttemptSucceeded():
            return _about_success(of, node, event)
        case events.NodeResolved() if node.key not in of.resolving:
            return f"{node.key} was not waiting for its values"
        case events.NodeResolved() if event.taken is not None:
            return _about_taken(of, node, event.taken, event.count)
        case events.AttemptFailed() if event.next == "go":
            return _about_going(of.workflow.nodes[node.key].step, event)
        case events.ApprovalRequested() if event.tool["name"] in run.OWN_QUESTIONS:
            return f"{node.key} is asked about before its values are known" if node.key in of.resolving else None
        case events.ApprovalResolved() if event.count is not None or event.items is not None:
            return _about_edited_items(of, node, event)
        case events.NodeFinished():
            return None if node.key in of.finishing else f"{node.key} is finished, but not all its items are done"
        case events.NodeSkipped() | events.NodeFailed():
            return f"{node.key} was done already" if node.status == "done" else None
        case events.NodeBounced():
            plan = of.bouncing
            planned = plan is not None and (plan.node, plan.rule, plan.bounce.route_to, plan.bounce.reset)
            stated = (event.node, event.rule, event.route_to, event.reset)
            return None if planned == stated else f"{node.key} bounces, but nothing sent it back"
        case _:
            return None


def _about_success(of: Run, node: NodeState, event: events.AttemptSucceeded) -> str | None:
    """Work that nobody started succeeds by an approval node's answer, from the cache, or when a person says it did."""
    place = (node.key, event.visit, event.item or 0)
    started = place in of.in_flight or place in of.lost
    said_so = event.attempt == node.slots[event.item or 0].attempt
    answered = of.workflow.nodes[node.key].mode == "approval"
    if not (started or said_so or answered or event.cached is not None):
        return f"{node.key} succeeds, but was never started"
    step = of.workflow.nodes[node.key].step
    if step is None or step.op != "branch":
        return None if event.goto is None else f"{node.key} goes to {event.goto}, but is no branch"
    return None if event.goto in (step.then, step.otherwise) else f"{node.key} does not lead to {event.goto}"


def _about_edited_items(of: Run, node: NodeState, event: events.ApprovalResolved) -> str | None:
    """A person changes the items of a foreach before any of its work, and not afterwards."""
    shape, asked = of.workflow.nodes[node.key], of.approvals[event.approval_id]
    changed = asked.kind == "approval" and event.resolution.get("status") == "modified" and shape.mode != "approval"
    if not changed or shape.foreach is None or event.items is None or event.count is None or event.count < 0:
        return f"{node.key} is given items that it cannot have"
    return f"{node.key} is given other items after its work began" if run.has_begun(node) else None


def _about_taken(of: Run, node: NodeState, taken: tuple[int, ...], count: int | None) -> str | None:
    """Items come from another run once, before any work, and are among those that were taken over."""
    earlier = of.earlier.get(node.key, ())
    known = len(taken) == count and all(-1 <= number < len(earlier) for number in taken)
    return None if known and node.visit == 1 else f"{node.key} has items that it has not taken over"


def _about_going(step: definition.Step | None, event: events.AttemptFailed) -> str | None:
    """Work that was not allowed leads where its step says, and leaves something."""
    if step is None or event.goto is None or event.goto != step.on_denied:
        return f"{event.node} does not lead to {event.goto}"
    return None if event.outputs is not None else f"{event.node} goes on, but leaves nothing"


def _at_the_end(of: Run, event: events.RunEnded) -> str | None:
    if event.ending == "ok" and of.unfinished:
        return f"the run ends as ok with {of.unfinished} unfinished nodes"
    used: dict[str, Json] = {
        "steps": of.spent.steps,
        "tokens": of.spent.tokens,
        "costNanousd": of.spent.cost_nanousd,
        "toolNanousd": of.spent.tool_nanousd,
    }
    for key, value in used.items():
        if event.spent is not None and event.spent.get(key) != value:
            return f"the run says it used {event.spent.get(key)} {key}; its events add up to {value}"
    return None

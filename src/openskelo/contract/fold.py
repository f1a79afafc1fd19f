"""Whether events can have happened to a run of this workflow: each is held against the kernel's state, then applied.

This is about possibility, not policy: a log of an earlier version stays valid when `decide` has since changed its mind.
"""

from __future__ import annotations

from openskelo.kernel import definition, events, run
from openskelo.kernel.apply import apply
from openskelo.kernel.json import Json
from openskelo.kernel.run import NodeState, Run


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
    if isinstance(event, events.RetryDue):
        place = (node.key, event.visit, event.item or 0)
        return None if of.timers and of.timers[0][1:] == place else f"{node.key} is not the next to be retried"
    visit = getattr(event, "visit", node.visit)
    if visit != node.visit:
        return f"{node.key} is in visit {node.visit}, not {visit}"
    if (item := getattr(event, "item", None)) is not None and not 0 <= item < len(node.slots):
        return f"{node.key} has {len(node.slots)} items, none of which is {item}"
    receipt = getattr(event, "receipt", None)
    if receipt is not None and receipt.get("op") != of.workflow.nodes[node.key].mode:
        return f"the receipt of {node.key} names another op than its mode"
    return _about_progress(of, node, event)


def _about_progress(of: Run, node: NodeState, event: events.Event) -> str | None:
    match event:
        case events.AttemptStarted():
            allowed = node.key in of.ready and bool(node.queue) and node.queue[0] == (event.item or 0)
            return None if allowed else f"{node.key} is started, but was not ready"
        case events.AttemptSucceeded():
            return _about_success(of, node, event)
        case events.NodeResolved():
            return None if node.key in of.resolving else f"{node.key} was not waiting for its values"
        case events.ApprovalRequested() if event.tool["name"] == "approval":
            return f"{node.key} is asked about before its values are known" if node.key in of.resolving else None
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
    if started or said_so or answered or event.cached is not None:
        return None
    return f"{node.key} succeeds, but was never started"


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

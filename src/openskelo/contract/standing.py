"""How a run and its nodes stand, in the contract's words: what the command line and the wire say alike.

A node belongs to a phase: the one its `metadata.phase` names, else EXECUTE. A run is in BOOT until anything is under
way, then in the first phase in which a node is not done yet, and in DONE once it has ended; so its phase goes back only
when a bounce makes nodes of an earlier phase work again.

The `verify` steps of a plan belong to VERIFY, and so do the steps after them that only lead on (branch, retry, emit,
ask_human). A plan is in the phase of the step that is under way, and goes back when it jumps back. A live graph
is in EXECUTE from its first turn until it ends.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo.kernel import budget, definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NodeOutcome, NodeState, Run

NodePhase: TypeAlias = Literal["EXECUTE", "VERIFY", "DOCS_SYNC"]
Phase: TypeAlias = Literal["BOOT", "EXECUTE", "VERIFY", "DOCS_SYNC", "DONE"]
NodeStatus: TypeAlias = Literal["idle", "running", "blocked", "failed"]

#: The phases that work belongs to, in their order.
PHASES: tuple[NodePhase, ...] = ("EXECUTE", "VERIFY", "DOCS_SYNC")
_NAMES: dict[str, NodePhase] = {"execute": "EXECUTE", "verify": "VERIFY", "docs_sync": "DOCS_SYNC"}
#: The ops that do nothing but lead on.
_LEADING = ("branch", "retry", "emit", "ask_human")
_STATUS: dict[str, NodeStatus] = {
    "waiting": "idle",
    "ready": "idle",
    "resolving": "idle",
    "active": "running",
    "asking": "blocked",
    "done": "idle",
}


def phases(workflow: definition.Workflow) -> dict[str, NodePhase]:
    """The phase that each node belongs to."""
    found: dict[str, NodePhase] = {key: _own_phase(node) for key, node in workflow.nodes.items()}
    if workflow.plan is None:
        return found
    leads = {key for key, node in workflow.nodes.items() if node.step is not None and node.step.op in _LEADING}
    reached = [key for key, phase in found.items() if phase == "VERIFY"]
    ways = _ways(workflow)
    while reached:
        for key in ways[reached.pop()]:
            if key in leads and found[key] == "EXECUTE":
                found[key] = "VERIFY"
                reached.append(key)
    return found


def _own_phase(node: definition.Node) -> NodePhase:
    said = node.metadata.get("phase")
    usual: NodePhase = "VERIFY" if node.step is not None and node.step.op == "verify" else "EXECUTE"
    return _NAMES.get(said.lower().replace("-", "_"), usual) if isinstance(said, str) else usual


def _ways(workflow: definition.Workflow) -> dict[str, list[str]]:
    """The steps of a plan that may come right after each; after what a retry tries comes what is after the retry."""
    ways: dict[str, list[str]] = {key: [] for key in workflow.nodes}
    for key, node in workflow.nodes.items():
        step = node.step
        if step is None:
            continue
        if step.op == "retry" and step.target is not None:
            ways[key].append(step.target)
            ways[step.target] += [] if step.next is None else [step.next]
        else:
            ways[key] += [way for way in (step.next, step.then, step.otherwise, step.on_denied) if way is not None]
    return ways


def is_under_way(node: NodeState) -> bool:
    """Whether a node is or was at work, or asked about, in this run; one that a fork has kept was not."""
    return node.visit > 0 and node.status in ("active", "asking", "done")


def phase(run: Run) -> Phase:
    """The run's phase, found by looking at all its nodes."""
    if run.ended:
        return "DONE"
    begun = run.receipts or run.in_flight or run.lost or run.asked or any(map(is_under_way, run.nodes.values()))
    if not begun:
        return "BOOT"
    if run.live is not None:
        return "EXECUTE"
    belongs = phases(run.workflow)
    if run.course is not None:
        at = next((key for key, node in run.nodes.items() if node.visit and node.status != "done"), None)
        last = run.course.ended or run.failed
        return belongs[at] if at is not None else belongs[last[0]] if last is not None else "EXECUTE"
    unfinished: set[NodePhase] = {belongs[key] for key, node in run.nodes.items() if node.status != "done"}
    return first(unfinished, set(belongs.values()))


def first(unfinished: set[NodePhase], present: set[NodePhase]) -> NodePhase:
    """The first phase with unfinished nodes; when all are done, the last that there is."""
    found: NodePhase = "EXECUTE"
    for phase in PHASES:
        if phase in unfinished:
            return phase
        if phase in present:
            found = phase
    return found


def node_status(run: Run, node: NodeState, *, asked: bool) -> NodeStatus:
    """The node's status; `asked`: a question about it is open. Nothing is under way in a run that has ended.

    `running` has an attempt in flight; one that waits for the time of its next attempt, or for its driver, is `idle`.
    """
    if run.ended:
        return "idle"
    if run.live is not None and node.status == "done" and node.outcome == "failed" and not asked:
        return "failed"
    if asked:
        return "blocked"
    return "idle" if node.status == "active" and not node.running else _STATUS[node.status]


def outcome(run: Run, node: NodeState) -> NodeOutcome | None:
    """How the node ended; one that waited for its next attempt when the run ended was cancelled."""
    if node.outcome is None and run.ended and node.status in ("active", "asking"):
        return "cancelled"
    return node.outcome


def retries(run: Run) -> dict[str, int]:
    """When (ms) the next attempt of each node is due that waits for it; of a foreach, that of its first item."""
    found: dict[str, int] = {}
    for at, key, visit, slot in run.timers:
        node = run.nodes[key]
        if node.visit == visit and node.slots and node.slots[slot].state == "waiting" and not run.ended:
            found[key] = min(at, found.get(key, at))
    return found


def items(node: NodeState) -> JsonObject:
    """The items of a foreach in numbers; `kept` where some were taken over from the run that it was forked from."""
    counted: dict[str, Json] = {"total": len(node.slots), "done": node.done_slots, "running": node.running}
    return {**counted, "kept": node.kept_slots} if node.kept_slots else counted


def spending(run: Run, at: int) -> JsonObject:
    """The run's budgets, used and allowed; `at` counts only while the run is busy."""
    limits, spent = run.workflow.limits, run.spent
    return {
        "steps": {"used": spent.steps, "limit": limits.max_steps},
        "tokens": {"used": spent.tokens, "limit": limits.max_tokens},
        "costUsd": _money(spent.cost_nanousd, limits.max_cost_nanousd),
        "wallMs": {"used": budget.wall_ms(run, at), "limit": limits.max_wall_ms},
        "toolSpendUsd": _money(spent.tool_nanousd, limits.max_tool_nanousd),
    }


def _money(used: int, limit: int | None) -> JsonObject:
    return {"used": used / 1e9, "limit": None if limit is None else limit / 1e9}

"""How a run and its nodes stand, in the contract's words: what the command line and the wire say alike.

A node belongs to a phase: the one its `metadata.phase` names, else EXECUTE. A run is in BOOT until anything is under
way, then in the first phase in which a node is not done yet, and in DONE once it has ended; so its phase goes back only
when a bounce makes nodes of an earlier phase work again.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo.kernel import budget, definition
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import NodeOutcome, NodeState, Run

NodePhase: TypeAlias = Literal["EXECUTE", "VERIFY", "DOCS_SYNC"]
Phase: TypeAlias = Literal["BOOT", "EXECUTE", "VERIFY", "DOCS_SYNC", "DONE"]
NodeStatus: TypeAlias = Literal["idle", "running", "blocked", "failed"]

#: The phases that work belongs to, in their order.
PHASES: tuple[NodePhase, ...] = ("EXECUTE", "VERIFY", "DOCS_SYNC")
_NAMES: dict[str, NodePhase] = {"execute": "EXECUTE", "verify": "VERIFY", "docs_sync": "DOCS_SYNC"}
_STATUS: dict[str, NodeStatus] = {
    "waiting": "idle",
    "ready": "idle",
    "resolving": "idle",
    "active": "running",
    "asking": "blocked",
    "done": "idle",
}


def node_phase(node: definition.Node) -> NodePhase:
    """The phase that a node belongs to."""
    said = node.metadata.get("phase")
    return _NAMES.get(said.lower().replace("-", "_"), "EXECUTE") if isinstance(said, str) else "EXECUTE"


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
    shapes = run.workflow.nodes
    unfinished: set[NodePhase] = {node_phase(shapes[key]) for key, node in run.nodes.items() if node.status != "done"}
    present: set[NodePhase] = {node_phase(shape) for shape in shapes.values()}
    return first(unfinished, present)


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
    """The node's status; `asked`: a question about it is open. Nothing is under way in a run that has ended."""
    if run.ended:
        return "idle"
    return "blocked" if asked else _STATUS[node.status]


def outcome(run: Run, node: NodeState) -> NodeOutcome | None:
    """How the node ended; one that waited for its next attempt when the run ended was cancelled."""
    if node.outcome is None and run.ended and node.status in ("active", "asking"):
        return "cancelled"
    return node.outcome


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

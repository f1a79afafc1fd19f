"""Statuses, phases and budget figures of a run and its nodes, as the contract names them.

The command line and the wire both take them from here, so they always agree.

Phases. A node belongs to the phase that its `metadata.phase` names, else to EXECUTE. A run of blocks is in BOOT until
any node has started, then in the first phase that has an unfinished node, and in DONE once it has ended; its phase goes
back only when a bounce resets nodes of an earlier phase.

In a plan, the `verify` steps belong to VERIFY, and so do the control steps after them (branch, retry, emit, ask_human).
A plan is in the phase of its current step, and goes back when it jumps back. A live graph is in EXECUTE from its first
turn until it ends.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo import agent_settings
from openskelo.kernel import budget, definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NodeOutcome, NodeState, PlanState, Run

NodePhase: TypeAlias = Literal["EXECUTE", "VERIFY", "DOCS_SYNC"]
Phase: TypeAlias = Literal["BOOT", "EXECUTE", "VERIFY", "DOCS_SYNC", "DONE"]
NodeStatus: TypeAlias = Literal["idle", "running", "blocked", "failed"]

#: The phases that nodes belong to, in their order.
PHASES: tuple[NodePhase, ...] = ("EXECUTE", "VERIFY", "DOCS_SYNC")
_PHASE_BY_METADATA: dict[str, NodePhase] = {"execute": "EXECUTE", "verify": "VERIFY", "docs_sync": "DOCS_SYNC"}
#: The ops of a plan that do no work and only choose the next step.
_CONTROL_OPS = ("branch", "retry", "emit", "ask_human")
_STATUS: dict[str, NodeStatus] = {
    "waiting": "idle",
    "ready": "idle",
    "resolving": "idle",
    "active": "running",
    "asking": "blocked",
    "done": "idle",
}


# -- phases -----------------------------------------------------------------------------------------------------------


def node_phases(workflow: definition.Workflow) -> dict[str, NodePhase]:
    """Return the phase that each node belongs to, by key."""
    phases: dict[str, NodePhase] = {key: _own_phase(node) for key, node in workflow.nodes.items()}
    if workflow.plan is None:
        return phases
    control_steps = {
        key for key, node in workflow.nodes.items() if node.step is not None and node.step.op in _CONTROL_OPS
    }
    successors = _plan_successors(workflow)
    to_visit = [key for key, phase in phases.items() if phase == "VERIFY"]
    while to_visit:
        for key in successors[to_visit.pop()]:
            if key in control_steps and phases[key] == "EXECUTE":
                phases[key] = "VERIFY"
                to_visit.append(key)
    return phases


def _own_phase(node: definition.Node) -> NodePhase:
    default: NodePhase = "VERIFY" if node.step is not None and node.step.op == "verify" else "EXECUTE"
    name = node.metadata.get("phase")
    if not isinstance(name, str):
        return default
    return _PHASE_BY_METADATA.get(name.lower().replace("-", "_"), default)


def _plan_successors(workflow: definition.Workflow) -> dict[str, list[str]]:
    """Return the steps that may come right after each step of a plan.

    A retry is followed by the step that it tries, which is then followed by the step after the retry.
    """
    successors: dict[str, list[str]] = {key: [] for key in workflow.nodes}
    for key, node in workflow.nodes.items():
        step = node.step
        if step is None:
            continue
        if step.op == "retry" and step.target is not None:
            successors[key].append(step.target)
            if step.next is not None:
                successors[step.target].append(step.next)
        else:
            targets = (step.next, step.then, step.otherwise, step.on_denied)
            successors[key] += [target for target in targets if target is not None]
    return successors


def run_phase(run: Run) -> Phase:
    """Return the run's phase, computed from all of its nodes."""
    if run.ended:
        return "DONE"
    if not _any_work_started(run):
        return "BOOT"
    if run.graph_state is not None:
        return "EXECUTE"
    phases = node_phases(run.workflow)
    if run.plan_state is not None:
        return _plan_phase(run, run.plan_state, phases)
    open_phases: set[NodePhase] = {phases[key] for key, node in run.nodes.items() if node.status != "done"}
    return first_unfinished_phase(open_phases, set(phases.values()))


def _any_work_started(run: Run) -> bool:
    if run.receipts or run.in_flight or run.lost or run.approvals_requested:
        return True
    return any(has_started(node) for node in run.nodes.values())


def _plan_phase(run: Run, plan: PlanState, phases: dict[str, NodePhase]) -> NodePhase:
    for key, node in run.nodes.items():
        if node.visit and node.status != "done":
            return phases[key]
    last_step = plan.ended or run.failed
    if last_step is None:
        return "EXECUTE"
    return phases[last_step[0]]


def first_unfinished_phase(unfinished: set[NodePhase], present: set[NodePhase]) -> NodePhase:
    """Return the first phase with unfinished nodes; if all nodes are done, the last phase that has any."""
    last: NodePhase = "EXECUTE"
    for phase in PHASES:
        if phase in unfinished:
            return phase
        if phase in present:
            last = phase
    return last


# -- statuses ---------------------------------------------------------------------------------------------------------


def has_started(node: NodeState) -> bool:
    """True if the node has worked, or asked for an approval, in this run; a node kept by a fork has not."""
    return node.visit > 0 and node.status in ("active", "asking", "done")


def node_status(run: Run, node: NodeState, *, has_approval: bool) -> NodeStatus:
    """Return the node's status; `has_approval` says that an approval about it is open.

    A node is `running` while an attempt is in flight. While it waits for its next attempt or for a driver it is `idle`.
    A failed node is `failed`, also after the end of the run; every other node of a run that has ended is `idle`.
    """
    if has_approval and not run.ended:
        return "blocked"
    if node.status == "done" and node.outcome == "failed":
        return "failed"
    if run.ended:
        return "idle"
    if node.status == "active" and not node.running:
        return "idle"
    return _STATUS[node.status]


def node_outcome(run: Run, node: NodeState) -> NodeOutcome | None:
    """Return how the node ended; `cancelled` if the run ended while it waited for its next attempt."""
    if node.outcome is None and run.ended and node.status in ("active", "asking"):
        return "cancelled"
    return node.outcome


def retry_times(run: Run) -> dict[str, int]:
    """Return when (in ms) the next attempt is due, for each node that waits for one; of a foreach the earliest."""
    times: dict[str, int] = {}
    for at, key, visit, slot in run.timers:
        node = run.nodes[key]
        if node.visit == visit and node.slots and node.slots[slot].state == "waiting" and not run.ended:
            times[key] = min(at, times.get(key, at))
    return times


# -- numbers ----------------------------------------------------------------------------------------------------------


def item_counts(node: NodeState) -> JsonObject:
    """Return the item counts of a foreach; `kept` and `failed` are present if some items were kept, or have failed."""
    counts: dict[str, Json] = {"total": len(node.slots), "done": node.done_slots, "running": node.running}
    if node.kept_slots:
        counts["kept"] = node.kept_slots
    if node.failed_slots:
        counts["failed"] = node.failed_slots
    return counts


def budget_usage(run: Run, at: int) -> JsonObject:
    """Return what the run has used of each budget, with the limits; while it is busy, wall time counts up to `at`."""
    limits, usage = run.workflow.limits, run.spent
    return {
        "steps": {"used": usage.steps, "limit": limits.max_steps},
        "tokens": {"used": usage.tokens, "limit": limits.max_tokens},
        "costUsd": _dollars(usage.cost_nanousd, limits.max_cost_nanousd),
        "wallMs": {"used": budget.wall_ms(run, at), "limit": limits.max_wall_ms},
        "toolSpendUsd": _dollars(usage.tool_nanousd, limits.max_tool_nanousd),
    }


def has_own_login(node: definition.Node) -> bool:
    """True if the work is an agent's that logs in by itself: what it costs in USD is not known."""
    agent = agent_settings.pinned_in(node.config)
    return agent is not None and agent.login == "own"


def is_cost_unknown(run: Run) -> bool:
    """True if an agent with its own log-in has worked in the run."""
    return any(node.attempts and has_own_login(run.workflow.nodes[key]) for key, node in run.nodes.items())


def _dollars(used_nanousd: int, limit_nanousd: int | None) -> JsonObject:
    limit = None if limit_nanousd is None else limit_nanousd / 1e9
    return {"used": used_nanousd / 1e9, "limit": limit}

"""A node as the wire shows it: what never changes in a run, made once, and what does, made anew after each fact."""

from __future__ import annotations

from typing import assert_never

from openskelo.contract import channels, envelope, naming, standing
from openskelo.contract.trace import Trace
from openskelo.kernel import definition, inbox
from openskelo.kernel.apply import asks
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NodeState, Run

_KINDS = {"ai": "model", "deterministic": "handler", "approval": "approval", "dag": "handler"}


def lasting(run: Run, node: definition.Node, phase: standing.NodePhase) -> JsonObject:
    """What holds for the node as long as the run lasts."""
    acts = node.effect != "pure"
    turn = node.turn or definition.Turn(role=node.mode if node.step is None else node.step.op)
    outer, _, _ = node.key.rpartition("/")
    return {
        "id": naming.node(run.id, node.key),
        "runId": run.id,
        "key": node.key,
        "label": node.label or node.key,
        "roleTemplate": turn.role,
        "provider": turn.provider,
        "kind": _KINDS[node.mode],
        "mode": node.mode,
        "op": None if node.step is None else node.step.op,
        "phase": phase,
        "effect": node.effect,
        "parent": naming.node(run.id, outer) if outer in run.workflow.nodes else None,
        "capabilities": {
            "spawnNodes": False,
            "writeCode": acts,
            "writeDocs": acts,
            "runCommands": any(gate.type == "command" for gate in (*node.pre_gates, *node.post_gates)),
            "delegateOnly": False,
            **turn.capabilities,
        },
        "permissions": {
            "cliPermissionsMode": "gated" if asks(run, node) else "skip",
            "spawnRequiresApproval": True,
        },
        "session": {"sessionId": None, "resetCommands": []},
    }


def changing(run: Run, node: NodeState, trace: Trace) -> dict[str, Json]:
    """What may have changed with the last fact."""
    return {
        "status": standing.node_status(run, node, asked=trace.questions > 0),
        "outcome": standing.outcome(run, node),
        "summary": _summary(run, node, trace),
        "lastActivityAt": envelope.timestamp(trace.active_at),
        "startedAt": None if trace.started_at is None else envelope.timestamp(trace.started_at),
        "endedAt": None if trace.ended_at is None else envelope.timestamp(trace.ended_at),
        "visits": node.visit,
        "attempts": node.attempts,
        "items": None if node.items is None else standing.items(node),
        "error": node.error,
        "verdicts": list(trace.verdicts),
        "usage": trace.usage.document(),
        "inboxCount": trace.inbox if run.live is None else _unread(run.live, node),
    }


def _unread(live: inbox.Live, node: NodeState) -> int:
    return channels.waiting(live, node.key, working=node.status in ("active", "asking"))


def _summary(run: Run, node: NodeState, trace: Trace) -> str:
    """A few words for people: what the node is doing, or what came of it."""
    if trace.questions and not run.ended:
        return trace.asked
    outcome = standing.outcome(run, node)
    match outcome:
        case "succeeded" if node.items is not None:
            return f"{len(node.slots)} items"
        case "succeeded" | "skipped":
            return trace.said or outcome
        case "failed":
            return str((node.error or {}).get("message", "failed"))[:200]
        case "cancelled":
            return "cancelled"
        case None:
            return _doing(node, trace)
        case _:
            assert_never(outcome)


def _doing(node: NodeState, trace: Trace) -> str:
    match node.status:
        case "waiting" | "ready" as status:
            return status
        case "resolving":
            return "ready"
        case "asking":
            return "waiting for a person"
        case "active" if node.items is not None:
            return f"{node.done_slots} of {len(node.slots)} items"
        case "active" if node.slots[0].state == "waiting":
            return f"will try again: {trace.trouble}"
        case "active" if trace.trouble:
            return f"attempt {node.slots[0].attempt}, after: {trace.trouble}"
        case "active" | "done":
            return f"attempt {node.slots[0].attempt}"
        case _:
            assert_never(node.status)

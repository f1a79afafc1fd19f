"""The document of a node, and the details about it that the kernel does not keep.

The kernel's `NodeState` holds what decisions need. The wire also shows times, token usage, a summary and the number of
waiting inputs; `NodeDetails` collects those, one fact at a time. The document has two parts: `constant_fields` are
computed once for a run (again only when a node of a live graph is changed), `current_fields` after every fact that
touches the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, assert_never

from openskelo.kernel import definition, events
from openskelo.kernel.flows import visits
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import GraphState, NodeState, Run
from openskelo.record import envelope, receipts
from openskelo.structs import field, frozen, mutable
from openskelo.wire import run_status, wire_ids

#: True if a gate of this type starts a program. The gates are a layer above, so the projection's owner passes it.
RunsProgram: TypeAlias = Callable[[str], bool]
#: A handoff mentions at most this many artifacts of a visit, the newest ones.
MAX_ARTIFACTS = 50
#: The providers that the contract names (`wire.models.node.Provider`).
CONTRACT_PROVIDERS = ("codex", "claude", "gemini", "custom")
_MAX_SUMMARY_CHARACTERS = 200
_ATTEMPT_EVENTS = (
    events.AttemptStarted,
    events.AttemptSucceeded,
    events.AttemptFailed,
    events.AttemptInterrupted,
    events.AttemptCancelled,
)
#: The failures after which the program of an agent is gone.
_AGENT_GONE = frozenset({"AGENT_EXITED", "AGENT_IDLE", "AGENT_NOT_STARTED"})
_SKIP_REASONS = {
    "when": "its condition does not hold",
    "upstream": "what it needs was skipped",
    "denied": "a person said no",
}


# -- details ----------------------------------------------------------------------------------------------------------


@mutable
class Usage:
    """The usage of a node's attempts, from their receipts."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_nanousd: int = 0
    work_ms: int = 0
    #: The cost is only partly known.
    cost_unknown: bool = False

    def add(self, event: receipts.Receipted) -> None:
        """Count one more attempt, however it ended."""
        metrics: Any = event.receipt["metrics"]
        usage: Any = event.spent or {}
        self.tokens_in += metrics["tokens_in"]
        self.tokens_out += metrics["tokens_out"]
        self.cost_nanousd += usage.get("costNanousd", 0)
        self.work_ms += metrics["wall_ms"]

    def document(self) -> JsonObject:
        """Return the usage as the wire shows it."""
        document: dict[str, Json] = {
            "promptTokens": self.tokens_in,
            "completionTokens": self.tokens_out,
            "totalTokens": self.tokens_in + self.tokens_out,
            "costUsd": self.cost_nanousd / 1e9,
            "workMs": self.work_ms,
        }
        if self.cost_unknown:
            document["costUnknown"] = True
        return document


@frozen
class OpenCall:
    """A tool call that is not completed."""

    id: str
    #: The tool that a person is asked about, until the call starts.
    proposal: JsonObject | None = None


@mutable
class NodeDetails:
    """The facts about one node that the wire shows and the kernel's state does not have."""

    last_activity_at: int
    #: When an attempt last started or ended.
    worked_at: int | None = None
    #: When an attempt last ended with a result.
    output_at: int | None = None
    #: The visit that the details are about: plans and live graphs enter a node again and again.
    visit: int = 0
    started_at: int | None = None
    ended_at: int | None = None
    usage: Usage = field(default_factory=Usage)
    inbox_count: int = 0
    open_approvals: int = 0
    approval_prompt: str = ""
    result_text: str = ""
    last_error: str = ""
    verdicts: tuple[JsonObject, ...] = ()
    artifacts: list[JsonObject] = field(default_factory=list[JsonObject])
    #: The artifacts of the last completed turn of a live graph's node.
    last_turn_artifacts: tuple[JsonObject, ...] = ()
    #: The tool calls that were proposed or started and are not completed, by slot.
    open_calls: dict[int, OpenCall] = field(default_factory=dict[int, OpenCall])
    #: The ids of the open calls of an agent.
    agent_calls: dict[str, None] = field(default_factory=dict[str, None])


def update_details(details: NodeDetails, event: events.Event, *, done: bool) -> None:
    """Record a fact about the node that the kernel has already applied; `done` says that the node is done now."""
    details.last_activity_at = event.at
    details.ended_at = (details.ended_at or event.at) if done else None
    if isinstance(event, _ATTEMPT_EVENTS):
        details.worked_at = event.at
    match event:
        case events.AttemptStarted():
            details.inbox_count = 0
            details.started_at = event.at if details.started_at is None else details.started_at
        case events.AttemptSucceeded() | events.AttemptFailed():
            _record_result(details, event)
        case events.AttemptCancelled():
            details.usage.add(event)
        case events.AttemptInterrupted():
            details.usage.add(event)
            details.last_error = f"interrupted by {'a crash' if event.reason == 'crash' else 'a suspension'}"
        case events.NodeSkipped():
            details.inbox_count = 0
            details.result_text = f"skipped: {_SKIP_REASONS[event.reason]}"
        case events.NodeFinished() | events.NodeFailed():
            details.inbox_count = 0
        case events.NodeKept():
            details.inbox_count = 0
            details.result_text = "kept from the run it was forked from"
        case events.NodeUnjudged():
            details.result_text = "done in the run it was forked from, and yet to be judged"
        case events.ItemsKept():
            details.result_text = f"{len(event.items)} items were done in the run it was forked from"
        case events.ApprovalRequested():
            details.open_approvals += 1
            details.approval_prompt = summary_line(event.prompt)
        case events.ApprovalResolved() | events.ApprovalWithdrawn():
            details.open_approvals -= 1
        case events.ArtifactCreated():
            details.artifacts.append({"type": event.artifact["kind"], "ref": f"artifact://{event.artifact['id']}"})
            del details.artifacts[:-MAX_ARTIFACTS]
        case _:
            pass


def reset_details(details: NodeDetails, inbox_count: int) -> None:
    """Forget the node's visit because the node is entered again; `inbox_count` inputs already wait for the next one."""
    details.started_at = None
    details.ended_at = None
    details.inbox_count = inbox_count
    details.result_text = ""
    details.last_error = ""
    details.verdicts = ()
    details.artifacts = []


def _record_result(details: NodeDetails, event: events.AttemptSucceeded | events.AttemptFailed) -> None:
    details.inbox_count = 0
    details.output_at = event.at
    details.usage.add(event)
    details.verdicts = event.verdicts or ()
    if isinstance(event, events.AttemptFailed):
        details.last_error = summary_line(str(event.error["message"]))
    else:
        details.last_error = ""
        details.result_text = summary_line(single_text(event.outputs.get("value")))
        details.last_turn_artifacts = tuple(details.artifacts)


# -- texts ------------------------------------------------------------------------------------------------------------


def single_text(outputs: Json) -> str:
    """Return the only output if it is a text, else an empty text."""
    if isinstance(outputs, dict) and len(outputs) == 1:
        (value,) = outputs.values()
        return value if isinstance(value, str) else ""
    return ""


def turn_text(outputs: Json) -> str:
    """Return the text of a turn in a live graph: the output `message`, else the only output."""
    message = outputs.get("message") if isinstance(outputs, dict) else None
    if isinstance(message, str):
        return message
    return single_text(outputs)


def summary_line(text: str) -> str:
    """Return the first line that is not blank, shortened to 200 characters."""
    line = next((line.strip() for line in text[:4000].splitlines() if line.strip()), "")
    if len(line) <= _MAX_SUMMARY_CHARACTERS:
        return line
    return line[: _MAX_SUMMARY_CHARACTERS - 1] + "…"


# -- the document -----------------------------------------------------------------------------------------------------


def constant_fields(
    run: Run, node: definition.Node, phase: run_status.NodePhase, runs_program: RunsProgram
) -> JsonObject:
    """Return the fields that stay the same for the whole run."""
    has_effect = node.effect != "pure"
    turn = node.turn or definition.Turn(role=node.mode if node.step is None else node.step.op)
    parent_key, _, _ = node.key.rpartition("/")
    return {
        "id": wire_ids.node(run.id, node.key),
        "runId": run.id,
        "key": node.key,
        "label": node.label or node.key,
        "roleTemplate": turn.role,
        "provider": _provider(node) or turn.provider,
        "kind": node.work.performer,
        "mode": node.mode,
        "op": None if node.step is None else node.step.op,
        "phase": phase,
        "effect": node.effect,
        "parent": wire_ids.node(run.id, parent_key) if parent_key in run.workflow.nodes else None,
        "capabilities": {
            "spawnNodes": False,
            "writeCode": has_effect,
            "writeDocs": has_effect,
            "runCommands": node.work.works_in_workspace
            or any(runs_program(gate.type) for gate in (*node.pre_gates, *node.post_gates)),
            "delegateOnly": False,
            **turn.capabilities,
        },
        "permissions": {
            "cliPermissionsMode": _permissions(run, node),
            "spawnRequiresApproval": True,
        },
    }


def current_fields(run: Run, node: NodeState, details: NodeDetails) -> dict[str, Json]:
    """Return the fields that the last fact may have changed."""
    return {
        "status": run_status.node_status(run, node, has_approval=details.open_approvals > 0),
        "outcome": run_status.node_outcome(run, node),
        "summary": _summary(run, node, details),
        "lastActivityAt": envelope.timestamp(details.last_activity_at),
        "startedAt": _optional_timestamp(details.started_at),
        "endedAt": _optional_timestamp(details.ended_at),
        "visits": node.visit,
        "attempts": node.attempts,
        "items": None if node.items is None else run_status.item_counts(node),
        "error": node.error,
        "verdicts": list(details.verdicts),
        "usage": details.usage.document(),
        "inboxCount": details.inbox_count if run.graph_state is None else _unread_count(run.graph_state, node),
        "connection": _connection(run, node, details),
        "session": {
            "sessionId": None if node.session is None else node.session["sessionId"],
            "resetCommands": _reset_commands(run.workflow.nodes[node.key]),
        },
    }


def _reset_commands(node: definition.Node) -> list[Json]:
    """Return the messages that begin a new conversation: handlers and blocks have none."""
    if node.turn is None or not node.work.has_prompt:
        return []
    return [*node.turn.reset_commands]


def _agent(node: definition.Node) -> JsonObject:
    """Return the pinned settings of a node's agent, empty if it has none."""
    pins = node.config.get("pinned")
    agent = pins.get("agent") if isinstance(pins, Mapping) else None
    return agent if isinstance(agent, Mapping) else {}


def _provider(node: definition.Node) -> str:
    """Return the provider of a node's agent, empty if it has none; `custom` for one that the contract does not name."""
    provider = str(_agent(node).get("provider", ""))
    return provider if provider in ("", *CONTRACT_PROVIDERS) else "custom"


def _permissions(run: Run, node: definition.Node) -> str:
    """Return whether a person is asked: about the calls of an agent, else before the node's work."""
    if node.work.makes_calls:
        return str(_agent(node).get("permissions", "gated"))
    return "gated" if visits.asks_person(run, node) else "skip"


def _connection(run: Run, node: NodeState, details: NodeDetails) -> JsonObject | None:
    """Return the state of the model, handler or tool that works for the node; None if a person does its work.

    It follows from the facts, so `streaming` is always false here: the overlay `node.connection` says when text comes.
    """
    if run.workflow.nodes[node.key].work.asks_person:
        return None
    status = "connected" if node.running and not run.ended else "idle"
    if status == "idle" and node.outcome == "failed" and (node.error or {}).get("code") in _AGENT_GONE:
        status = "disconnected"
    return {
        "status": status,
        "streaming": False,
        "lastHeartbeatAt": _optional_timestamp(details.worked_at),
        "lastOutputAt": _optional_timestamp(details.output_at),
    }


def _optional_timestamp(at: int | None) -> str | None:
    return None if at is None else envelope.timestamp(at)


def _unread_count(graph: GraphState, node: NodeState) -> int:
    """Return how much a live graph's node has not read; the input of a turn counts as read once the turn runs."""
    inbox = graph.inboxes[node.key]
    being_read = inbox.taken if node.status in ("active", "asking") else 0
    return len(inbox.messages) - being_read


def _summary(run: Run, node: NodeState, details: NodeDetails) -> str:
    """Return a short text for people: what the node is doing, or how it ended."""
    if details.open_approvals and not run.ended:
        return details.approval_prompt
    outcome = run_status.node_outcome(run, node)
    match outcome:
        case "succeeded" if node.items is not None:
            return f"{len(node.slots)} items{_failed_items(node)}"
        case "succeeded" | "skipped":
            return details.result_text or outcome
        case "failed":
            return str((node.error or {}).get("message", "failed"))[:_MAX_SUMMARY_CHARACTERS]
        case "cancelled":
            return "cancelled"
        case None:
            return _progress(node, details)
        case _:
            assert_never(outcome)


def _failed_items(node: NodeState) -> str:
    if node.failed_slots:
        return f", {node.failed_slots} failed"
    return ""


def _progress(node: NodeState, details: NodeDetails) -> str:
    match node.status:
        case "waiting" | "ready" as status:
            return status
        case "resolving":
            return "ready"
        case "asking":
            return "waiting for a person"
        case "active" if node.items is not None:
            return f"{node.done_slots} of {len(node.slots)} items{_failed_items(node)}"
        case "active" if node.slots[0].state == "waiting":
            return f"will try again: {details.last_error}"
        case "active" if details.last_error:
            return f"attempt {node.slots[0].attempt}, after: {details.last_error}"
        case "active" | "done":
            return f"attempt {node.slots[0].attempt}"
        case _:
            assert_never(node.status)

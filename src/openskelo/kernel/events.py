"""The events of a run: the facts that its log holds, and how their data is written there.

Stored events are never edited, and their meaning never changes: a new meaning gets a new type. Every field holds JSON;
`at` (milliseconds) is the time of the envelope, all other fields are its `data` (`encode`, `decode`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.structs import fields, frozen_data

Ending = Literal["ok", "failed", "cancelled", "budget_exceeded", "denied", "escalated"]
#: What repeats: the output, the verdict about it, and of an agent the files it leaves or the gates that refuse them.
StallKind = Literal["output", "verdict", "diff", "gates"]
Next = Literal["retry", "repair", "bounce", "ask", "go", "keep", "fail"]


@frozen_data
class RunCreated:
    """A run was created. It pins the workflow by hash."""

    at: int
    workflow: str
    workflow_hash: str
    definition: str
    inputs: Stored
    mode: Literal["AUTO", "INTERACTIVE"]
    global_mode: Literal["PLANNING", "IMPLEMENTATION"]
    by: str
    #: The run it was forked from.
    parent: JsonObject | None = None
    #: Those of a plan, read before it started: `{"ctx:name": value}`.
    contexts: Stored | None = None
    #: The start values of a forked plan, each as a step has stored it.
    variables: JsonObject | None = None
    #: Nothing is taken from the cache.
    no_cache: bool | None = None


@frozen_data
class NodeKept:
    """A fork keeps a finished node of its parent."""

    at: int
    node: str
    outcome: Literal["succeeded", "skipped"]
    outputs: Stored | None = None
    #: The outputs of each item of a foreach, null for a failed one.
    items: tuple[Stored | None, ...] | None = None
    #: The failed items (`index`, `code`, `message`), if there are any.
    errors: tuple[JsonObject, ...] | None = None


@frozen_data
class NodeUnjudged:
    """A fork keeps the work of the node it starts with: the work is done, but its gates could not be evaluated."""

    at: int
    node: str
    outputs: Stored


@frozen_data
class ItemsKept:
    """A fork keeps items of a foreach that its parent has done; `node.resolved` says which of its own items they are.

    Each has its `index` in the parent, the digest of the inputs of its work (`inputsHash`) and its `outputs`.
    """

    at: int
    node: str
    items: tuple[JsonObject, ...]


@frozen_data
class NodeResolved:
    """The expressions of a visit have values: transformed inputs, and the items of a foreach."""

    at: int
    node: str
    visit: int
    inputs: Stored | None = None
    items: Stored | None = None
    count: int | None = None
    #: For each item the index of the kept item that it is, or -1.
    taken: tuple[int, ...] | None = None
    #: The digest of the project's code that works on the items.
    code: str | None = None


@frozen_data
class NodeSkipped:
    """The node is skipped: its `when` is false, nodes that it needs were skipped, or a person has denied it."""

    at: int
    node: str
    visit: int
    reason: Literal["when", "upstream", "denied"]


@frozen_data
class NodeFinished:
    """All items of a foreach are done."""

    at: int
    node: str
    visit: int


@frozen_data
class ItemFailed:
    """An item failed without an attempt, by a denial or too many crashes; its foreach keeps failed items."""

    at: int
    node: str
    visit: int
    item: int
    error: JsonObject


@frozen_data
class NodeFailed:
    """The node failed without an attempt: by an expression, a denial or a policy."""

    at: int
    node: str
    visit: int
    error: JsonObject
    ending: Ending = "failed"


@frozen_data
class NodeBounced:
    """A gate or a person sent the work back."""

    at: int
    node: str
    visit: int
    rule: int
    #: The node that the work goes back to.
    route_to: str
    bounce: int
    #: The nodes that are entered again.
    reset: tuple[str, ...]
    feedback: Json = None


@frozen_data
class AttemptStarted:
    """An attempt starts: its intent is durable before its work begins."""

    at: int
    node: str
    visit: int
    attempt: int
    item: int | None = None


@frozen_data
class AttemptSucceeded:
    """The attempt has valid outputs that passed all gates."""

    at: int
    node: str
    visit: int
    attempt: int
    outputs: Stored
    receipt: JsonObject
    item: int | None = None
    verdicts: tuple[JsonObject, ...] | None = None
    spent: JsonObject | None = None
    cached: JsonObject | None = None
    #: The next step of a branch; None ends the plan.
    goto: str | None = None
    #: False if the value of a plan's step is a failing verdict; else it is left out.
    holds: bool | None = None


@frozen_data
class AttemptFailed:
    """The attempt failed; `next` says what happens now.

    A retry (at `retry_at`), a repair (at once), a bounce, a question to a person, another step of the plan (`goto`),
    the other items of a foreach that keeps failed items, or the end.
    """

    at: int
    node: str
    visit: int
    attempt: int
    error: JsonObject
    next: Next
    receipt: JsonObject
    item: int | None = None
    retry_at: int | None = None
    #: The bounce rule by which the work goes back.
    rule: int | None = None
    #: For a repair: what was wrong.
    detail: Json = None
    verdicts: tuple[JsonObject, ...] | None = None
    spent: JsonObject | None = None
    ending: Ending | None = None
    goto: str | None = None
    #: Those of a plan's step (a verdict, or a denial), or of a block whose gates could not be evaluated: its next
    #: attempt only evaluates them.
    outputs: Stored | None = None
    #: The effect may have happened, and is not repeated before a person has answered.
    uncertain: bool | None = None


@frozen_data
class AttemptInterrupted:
    """The attempt was stopped by a crash or a suspension, or because something that it needs is missing here."""

    at: int
    node: str
    visit: int
    attempt: int
    reason: Literal["crash", "suspended", "missing"]
    #: Its effect may have happened, and is not repeated before a person has answered.
    uncertain: bool
    receipt: JsonObject
    item: int | None = None
    #: What it is known to have used, as in the receipt: after a crash, nothing.
    spent: JsonObject | None = None
    #: Those of a block whose gates could not be evaluated, as in `AttemptFailed`.
    outputs: Stored | None = None


@frozen_data
class AttemptCancelled:
    """The attempt was stopped: the run ends, its node is entered again or removed, or a person interrupts it."""

    at: int
    node: str
    visit: int
    attempt: int
    reason: Literal["ending", "bounce", "interrupt", "removed"]
    receipt: JsonObject
    item: int | None = None
    #: What it is known to have used, as in the receipt.
    spent: JsonObject | None = None
    #: What a model or an agent had said so far.
    said: str | None = None


@frozen_data
class SessionOpened:
    """The agent of an attempt has a conversation with its provider, which a later attempt of the node can continue."""

    at: int
    node: str
    visit: int
    attempt: int
    #: Its id, the agent and its provider, whether an earlier conversation is continued, and the snapshot of the
    #: workspace before the attempt.
    session: JsonObject
    item: int | None = None


@frozen_data
class CallStarted:
    """The agent of an attempt is about to call one of its tools."""

    at: int
    node: str
    visit: int
    attempt: int
    #: Its id, tool and kind.
    call: JsonObject
    #: May be large.
    args: Stored
    item: int | None = None
    #: True if it may have an effect that the workspace does not hold. If the attempt is cut before the call is over, a
    #: person is asked before the work is tried again. None for all other calls.
    reaches_outside: bool | None = None


@frozen_data
class CallRuled:
    """It was decided whether the agent of an attempt may make a call that it had begun before it asked.

    The decision about other calls is in `CallStarted.call`.
    """

    at: int
    node: str
    visit: int
    attempt: int
    call_id: str
    #: The decision, its reason, and whether a person was asked.
    gate: JsonObject
    #: The arguments that the decision is about. May be large.
    args: Stored
    item: int | None = None


@frozen_data
class CallCompleted:
    """A call of an agent is over."""

    at: int
    node: str
    visit: int
    attempt: int
    call_id: str
    #: How it ended.
    status: Literal["completed", "failed"]
    duration_ms: int
    #: The answer of the tool.
    result: Stored
    item: int | None = None
    #: That of the command it has run, if the agent tells it.
    exit_code: int | None = None


@frozen_data
class CallGranted:
    """A call of an agent is answered by a person's earlier answer to the same question, which is used up by this."""

    at: int
    node: str
    visit: int
    attempt: int
    call_id: str
    digest: str
    #: The id of that approval (`approvalId`) and its `resolution`.
    grant: JsonObject
    item: int | None = None


@frozen_data
class RetryDue:
    """The wait before the next attempt is over."""

    at: int
    node: str
    visit: int
    item: int | None = None


@frozen_data
class ApprovalRequested:
    """A person is asked. `tool.args` is exactly what is asked."""

    at: int
    approval_id: str
    node: str
    visit: int
    tool: JsonObject
    #: Binds the answer to what is asked.
    digest: str
    prompt: str
    form: JsonObject
    approvers: tuple[str, ...]
    item: int | None = None
    expires_at: int | None = None
    #: Set if the agent of that attempt waits for the answer before it makes a call.
    attempt: int | None = None


@frozen_data
class ApprovalResolved:
    """A person answered, or the driver did as `timer`. A modified answer has a digest of its own.

    An answer that changes the inputs of a foreach has its new items.
    """

    at: int
    approval_id: str
    node: str
    visit: int
    resolution: JsonObject
    by: str
    digest: str
    item: int | None = None
    reason: str | None = None
    items: Stored | None = None
    count: int | None = None


@frozen_data
class ApprovalWithdrawn:
    """The approval was closed without an answer."""

    at: int
    approval_id: str
    node: str
    visit: int
    reason: Literal["ending", "bounce", "interrupt", "removed", "over"]


@frozen_data
class RunStalled:
    """A loop makes no progress; a person is asked before it goes on.

    In a live graph it comes before the end of the turn and holds its handoffs. After a failing verdict in a plan it
    comes before the end of the step and holds the plan there.
    """

    at: int
    node: str
    visit: int
    kind: StallKind
    #: In a live graph it names the edges whose handoffs are held.
    evidence: JsonObject
    item: int | None = None


@frozen_data
class ArtifactCreated:
    """An attempt has left a file, which is kept as an artifact."""

    at: int
    node: str
    visit: int
    attempt: int
    artifact: JsonObject
    item: int | None = None


@frozen_data
class RunRecovered:
    """A new driver took over after the last one died; the attempts in flight were lost."""

    at: int


@frozen_data
class RunTimeSkipped:
    """The system's clock went on without the run: it was set, the machine slept, or no process drove the run.

    The time skipped is in the times of the events, and is no wall time of the run and of its attempts.
    """

    at: int
    skipped_ms: int


@frozen_data
class RunPaused:
    """Nothing new starts until the run is resumed."""

    at: int
    reason: str
    by: str


@frozen_data
class RunResumed:
    """The run goes on."""

    at: int
    by: str


@frozen_data
class RunModeChanged:
    """The run's modes changed; they hold for nodes that are entered, and effects that start, from now on."""

    at: int
    mode: Literal["AUTO", "INTERACTIVE"]
    global_mode: Literal["PLANNING", "IMPLEMENTATION"]
    by: str


@frozen_data
class RunEnding:
    """The ending is decided; attempts in flight are stopped next."""

    at: int
    ending: Ending
    error: JsonObject | None = None
    by: str | None = None


@frozen_data
class RunEnded:
    """The last event of every finished run."""

    at: int
    ending: Ending
    error: JsonObject | None = None
    spent: JsonObject | None = None
    #: The hash of its last receipt, and with it of all before.
    receipt_head: str | None = None


# -- live graphs ------------------------------------------------------------------------------------------------------


@frozen_data
class NodeAdded:
    """A node was added to a live graph."""

    at: int
    node: str
    #: The whole definition of the node.
    definition: JsonObject
    by: str


@frozen_data
class NodeChanged:
    """A node of a live graph has a new definition, from its next turn on."""

    at: int
    node: str
    definition: JsonObject
    by: str


@frozen_data
class NodeRemoved:
    """A node of a live graph was removed, after its turn was stopped and its edges were removed."""

    at: int
    node: str
    by: str


@frozen_data
class EdgeAdded:
    """An edge was added to a live graph: outputs of `source` go to `target`, and back if it is bidirectional."""

    at: int
    edge: str
    source: str
    target: str
    bidirectional: bool
    type: Literal["handoff", "report"]
    label: str
    by: str


@frozen_data
class EdgeRemoved:
    """An edge of a live graph was removed. Messages that it has carried are still read."""

    at: int
    edge: str
    by: str


@frozen_data
class MessageReceived:
    """A person has sent a message to a node."""

    at: int
    node: str
    message_id: str
    role: Literal["user", "system"]
    content: Stored
    interrupt: bool
    by: str
    #: The current turn reads it; otherwise the next one does.
    steers: bool | None = None


@frozen_data
class SessionReset:
    """A node of a live graph begins a new conversation with its next turn: it forgets the turns before."""

    at: int
    node: str
    by: str


@frozen_data
class TurnRetried:
    """A node of a live graph takes its last turn, which failed, again."""

    at: int
    node: str
    by: str


@frozen_data
class HandoffSent:
    """The outputs of `node` in turn `turn` went along an edge into the inbox of `to`."""

    at: int
    node: str
    turn: int
    handoff_id: str
    edge: str
    to: str


GraphEvent: TypeAlias = (
    NodeAdded
    | NodeChanged
    | NodeRemoved
    | EdgeAdded
    | EdgeRemoved
    | MessageReceived
    | SessionReset
    | TurnRetried
    | HandoffSent
)

Event: TypeAlias = (
    AttemptSucceeded
    | AttemptStarted
    | AttemptFailed
    | RunCreated
    | NodeKept
    | NodeUnjudged
    | ItemsKept
    | NodeResolved
    | NodeSkipped
    | NodeFinished
    | ItemFailed
    | NodeFailed
    | NodeBounced
    | AttemptInterrupted
    | AttemptCancelled
    | SessionOpened
    | CallStarted
    | CallRuled
    | CallCompleted
    | CallGranted
    | RetryDue
    | ApprovalRequested
    | ApprovalResolved
    | ApprovalWithdrawn
    | RunStalled
    | ArtifactCreated
    | RunRecovered
    | RunTimeSkipped
    | RunPaused
    | RunResumed
    | RunModeChanged
    | RunEnding
    | RunEnded
    | GraphEvent
)

TYPES: Mapping[str, type[Event]] = {
    "run.created": RunCreated,
    "run.recovered": RunRecovered,
    "run.time_skipped": RunTimeSkipped,
    "run.paused": RunPaused,
    "run.resumed": RunResumed,
    "run.mode": RunModeChanged,
    "run.stalled": RunStalled,
    "run.ending": RunEnding,
    "run.ended": RunEnded,
    "node.kept": NodeKept,
    "node.unjudged": NodeUnjudged,
    "items.kept": ItemsKept,
    "node.resolved": NodeResolved,
    "node.skipped": NodeSkipped,
    "node.finished": NodeFinished,
    "item.failed": ItemFailed,
    "node.failed": NodeFailed,
    "node.bounced": NodeBounced,
    "node.added": NodeAdded,
    "node.changed": NodeChanged,
    "node.removed": NodeRemoved,
    "edge.added": EdgeAdded,
    "edge.removed": EdgeRemoved,
    "message.received": MessageReceived,
    "session.reset": SessionReset,
    "turn.retried": TurnRetried,
    "handoff.sent": HandoffSent,
    "attempt.started": AttemptStarted,
    "attempt.succeeded": AttemptSucceeded,
    "attempt.failed": AttemptFailed,
    "attempt.interrupted": AttemptInterrupted,
    "attempt.cancelled": AttemptCancelled,
    "attempt.due": RetryDue,
    "session.opened": SessionOpened,
    "call.started": CallStarted,
    "call.ruled": CallRuled,
    "call.completed": CallCompleted,
    "call.granted": CallGranted,
    "approval.requested": ApprovalRequested,
    "approval.resolved": ApprovalResolved,
    "approval.withdrawn": ApprovalWithdrawn,
    "artifact.created": ArtifactCreated,
}
NAMES: Mapping[type[Event], str] = {cls: name for name, cls in TYPES.items()}


# -- the data of an event in the log ----------------------------------------------------------------------------------

#: The fields that are lists in JSON and tuples in events.
_TUPLES = frozenset({"verdicts", "reset", "approvers", "items", "taken", "errors"})


def encode(event: Event) -> dict[str, Json]:
    """Return the event's `data`: every field but `at` that is not None."""
    data: dict[str, Json] = {}
    for name, wire_name in _wire_names(type(event)):
        value = getattr(event, name)
        if value is not None:
            data[wire_name] = value
    return data


def decode(event_type: str, data: Mapping[str, Json], at: int) -> Event:
    """Return the event of an envelope; raise KeyError for an unknown type, TypeError for missing or unknown fields.

    The types of the values are not checked: `record.line_check` does that for a log from another host.
    """
    cls: Any = TYPES[event_type]
    arguments: dict[str, Any] = dict(data)
    for name, wire_name in _wire_names(cls):
        if wire_name in arguments:
            value = arguments.pop(wire_name)
            if name in _TUPLES and isinstance(value, list):
                value = tuple(cast("list[Any]", value))
            arguments[name] = value
    return cls(at=at, **arguments)


@functools.cache
def _wire_names(cls: type[Event]) -> tuple[tuple[str, str], ...]:
    """Return each field but `at` with its name in the log."""
    return tuple((field.name, _camel_case(field.name)) for field in fields(cls) if field.name != "at")


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)

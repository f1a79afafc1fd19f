"""The facts of a run. Stored events are never edited: a new meaning is a new type.

Every field is JSON already; `at` (milliseconds) travels in the envelope, everything else in its `data` (`event_data`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from openskelo.frozen import plain
from openskelo.kernel import graph_events
from openskelo.kernel.json import Json, JsonObject, Stored

Ending = Literal["ok", "failed", "cancelled", "budget_exceeded", "denied", "escalated"]
Next = Literal["retry", "repair", "bounce", "ask", "go", "fail"]


@plain
class RunCreated:
    """A run exists: it pins the workflow by hash; `parent` names the run it was forked from.

    A plan's `contexts` (an object: `{"ctx:name": value}`) were read once, before it started; `variables` (each as a
    step has stored it) are those that a fork of a plan goes on with. With `no_cache` nothing is taken from the cache,
    whoever drives the run.
    """

    at: int
    workflow: str
    workflow_hash: str
    definition: str
    inputs: Stored
    mode: Literal["AUTO", "INTERACTIVE"]
    global_mode: Literal["PLANNING", "IMPLEMENTATION"]
    by: str
    parent: JsonObject | None = None
    contexts: Stored | None = None
    variables: JsonObject | None = None
    no_cache: bool | None = None


@plain
class NodeKept:
    """A forked run takes over a finished node of its parent."""

    at: int
    node: str
    outcome: Literal["succeeded", "skipped"]
    outputs: Stored | None = None
    items: tuple[Stored, ...] | None = None


@plain
class NodeUnjudged:
    """A forked run takes over the work of the node that it begins with: it was done, and nobody could judge it."""

    at: int
    node: str
    outputs: Stored


@plain
class ItemsKept:
    """A forked run takes over items of a foreach that its parent had done; `node.resolved` says which of its own.

    Each has the `index` that it had there, the digest of what its work saw (`inputsHash`) and its `outputs`.
    """

    at: int
    node: str
    items: tuple[JsonObject, ...]


@plain
class NodeResolved:
    """The expressions of a visit have values: transformed inputs, and the elements of a foreach.

    `taken` says for each element which of the items that the run has taken over it is, and -1 for none. `code` is the
    digest of the project's code that is to work on the elements.
    """

    at: int
    node: str
    visit: int
    inputs: Stored | None = None
    items: Stored | None = None
    count: int | None = None
    taken: tuple[int, ...] | None = None
    code: str | None = None


@plain
class NodeSkipped:
    """The node does not run: its `when` said no, what it needs was skipped, or a person who may said no to it."""

    at: int
    node: str
    visit: int
    reason: Literal["when", "upstream", "denied"]


@plain
class NodeFinished:
    """All items of a foreach are done."""

    at: int
    node: str
    visit: int


@plain
class NodeFailed:
    """The node failed without an attempt to blame: an expression, a denial, a refusal by policy."""

    at: int
    node: str
    visit: int
    error: JsonObject
    ending: Ending = "failed"


@plain
class NodeBounced:
    """A gate or a person sent the work back to `route_to`; every node of `reset` is entered anew."""

    at: int
    node: str
    visit: int
    rule: int
    route_to: str
    bounce: int
    reset: tuple[str, ...]
    feedback: Json = None


@plain
class AttemptStarted:
    """The intent to work is durable; the work may start."""

    at: int
    node: str
    visit: int
    attempt: int
    item: int | None = None


@plain
class AttemptSucceeded:
    """Valid outputs, judged and kept. `goto` is where the branch of a plan goes; without one it ends the run."""

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
    goto: str | None = None


@plain
class AttemptFailed:
    """The attempt did not succeed, and what happens next.

    A retry (at `retry_at`), a repair (at once, knowing `detail`), a bounce (by `rule`), a question, another step of
    the plan (`goto`), or the end. `outputs` are what a step of a plan leaves all the same (a verdict, or a denial), or
    those of a block that nobody could judge: its next attempt has them judged, and does not do the work again.
    `uncertain`, where it is said: it may have had its effect all the same, and must not be repeated unasked.
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
    rule: int | None = None
    detail: Json = None
    verdicts: tuple[JsonObject, ...] | None = None
    spent: JsonObject | None = None
    ending: Ending | None = None
    goto: str | None = None
    outputs: Stored | None = None
    uncertain: bool | None = None


@plain
class AttemptInterrupted:
    """The attempt was cut. `uncertain`: it may have had its effect, and must not be repeated unasked.

    Its receipt and `spent` say what it is known to have used by then: nothing, after a crash.
    """

    at: int
    node: str
    visit: int
    attempt: int
    reason: Literal["crash", "suspended"]
    uncertain: bool
    receipt: JsonObject
    item: int | None = None
    spent: JsonObject | None = None


@plain
class AttemptCancelled:
    """The attempt was stopped: the run ends, its place is entered anew, a person interrupts, or its node is removed.

    Its receipt and `spent` say what it is known to have used by then.
    """

    at: int
    node: str
    visit: int
    attempt: int
    reason: Literal["ending", "bounce", "interrupt", "removed"]
    receipt: JsonObject
    item: int | None = None
    spent: JsonObject | None = None


@plain
class RetryDue:
    """The wait before the next attempt is over."""

    at: int
    node: str
    visit: int
    item: int | None = None


@plain
class ApprovalRequested:
    """A person is asked. `tool.args` is exactly what is asked for; `digest` binds the answer to it."""

    at: int
    approval_id: str
    node: str
    visit: int
    tool: JsonObject
    digest: str
    prompt: str
    form: JsonObject
    approvers: tuple[str, ...]
    item: int | None = None
    expires_at: int | None = None


@plain
class ApprovalResolved:
    """A person (or the clock, by `timer`) answered. A modified answer has a digest of its own.

    Changed inputs of a foreach come with the elements that it has then.
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


@plain
class ApprovalWithdrawn:
    """The question no longer stands."""

    at: int
    approval_id: str
    node: str
    visit: int
    reason: Literal["ending", "bounce", "interrupt", "removed"]


@plain
class RunStalled:
    """A loop makes no progress; a person is asked before it goes on.

    Said before the turn of a live graph lands, it holds the turn: `evidence.edges` are those it was to be handed along.
    """

    at: int
    node: str
    visit: int
    kind: Literal["output", "verdict"]
    evidence: JsonObject
    item: int | None = None


@plain
class ArtifactCreated:
    """A file was kept."""

    at: int
    node: str
    visit: int
    attempt: int
    artifact: JsonObject
    item: int | None = None


@plain
class RunRecovered:
    """A new driver took over after the last one died; attempts in flight were lost."""

    at: int


@plain
class RunPaused:
    """Nothing new starts until the run is resumed."""

    at: int
    reason: str
    by: str


@plain
class RunResumed:
    """The run goes on."""

    at: int
    by: str


@plain
class RunModeChanged:
    """The run's modes from now on: they hold for nodes that are entered and effects that start after it."""

    at: int
    mode: Literal["AUTO", "INTERACTIVE"]
    global_mode: Literal["PLANNING", "IMPLEMENTATION"]
    by: str


@plain
class RunEnding:
    """The end is decided; what is in flight is being stopped."""

    at: int
    ending: Ending
    error: JsonObject | None = None
    by: str | None = None


@plain
class RunEnded:
    """The last event of every finished run. `receipt_head` names its last receipt, and with it all before."""

    at: int
    ending: Ending
    error: JsonObject | None = None
    spent: JsonObject | None = None
    receipt_head: str | None = None


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
    | NodeFailed
    | NodeBounced
    | AttemptInterrupted
    | AttemptCancelled
    | RetryDue
    | ApprovalRequested
    | ApprovalResolved
    | ApprovalWithdrawn
    | RunStalled
    | ArtifactCreated
    | RunRecovered
    | RunPaused
    | RunResumed
    | RunModeChanged
    | RunEnding
    | RunEnded
    | graph_events.GraphEvent
)

TYPES: Mapping[str, type[Event]] = {
    "run.created": RunCreated,
    "run.recovered": RunRecovered,
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
    "node.failed": NodeFailed,
    "node.bounced": NodeBounced,
    "node.added": graph_events.NodeAdded,
    "node.changed": graph_events.NodeChanged,
    "node.removed": graph_events.NodeRemoved,
    "edge.added": graph_events.EdgeAdded,
    "edge.removed": graph_events.EdgeRemoved,
    "message.received": graph_events.MessageReceived,
    "handoff.sent": graph_events.HandoffSent,
    "attempt.started": AttemptStarted,
    "attempt.succeeded": AttemptSucceeded,
    "attempt.failed": AttemptFailed,
    "attempt.interrupted": AttemptInterrupted,
    "attempt.cancelled": AttemptCancelled,
    "attempt.due": RetryDue,
    "approval.requested": ApprovalRequested,
    "approval.resolved": ApprovalResolved,
    "approval.withdrawn": ApprovalWithdrawn,
    "artifact.created": ArtifactCreated,
}
NAMES: Mapping[type[Event], str] = {cls: name for name, cls in TYPES.items()}

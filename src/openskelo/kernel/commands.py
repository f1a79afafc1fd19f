"""The commands that a run takes. Each carries its time, and everything that had to be computed outside the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.outcome import ArtifactNote, Failure, Outcome
from openskelo.structs import field, frozen_data

Answer = Literal["approved", "denied", "modified"]

#: The pause reason of a run whose driver had to stop; the next driver resumes it.
SUSPENDED = "suspended"
#: The name under which a run is paused because something that its work needs is missing.
ENGINE = "engine"


@frozen_data
class Kept:
    """A finished node that a fork keeps."""

    outcome: Literal["succeeded", "skipped"]
    outputs: Stored | None = None
    #: The outputs of the items of a foreach, null for a failed one.
    items: tuple[Stored | None, ...] | None = None
    #: The failed items of a foreach.
    errors: tuple[JsonObject, ...] = ()


@frozen_data
class KeptItem:
    """A finished item of a foreach that a fork keeps: its index, the digest of its inputs, and its outputs."""

    index: int
    inputs_hash: str
    outputs: Stored


@frozen_data
class CreateRun:
    """Create the run."""

    at: int
    #: The name of the blob that holds the pinned workflow.
    definition: str
    inputs: Stored
    by: str
    mode: Literal["AUTO", "INTERACTIVE"] = "AUTO"
    global_mode: Literal["PLANNING", "IMPLEMENTATION"] = "IMPLEMENTATION"
    parent: JsonObject | None = None
    kept: Mapping[str, Kept] = field(default_factory=dict[str, Kept])
    #: The contexts of a plan, already read.
    contexts: Stored | None = None
    #: The start values of a forked plan.
    variables: Mapping[str, Stored] | None = None
    no_cache: bool = False
    #: The outputs of the node that a fork starts with, if only its gates are left to evaluate.
    unjudged: Stored | None = None
    #: Finished items of nodes that are otherwise done again.
    items: Mapping[str, tuple[KeptItem, ...]] = field(default_factory=dict[str, tuple[KeptItem, ...]])


@frozen_data
class Ask:
    """A question to a person."""

    prompt: str
    #: What is asked; empty if it is large, and then in `stored`.
    args: JsonObject
    form: JsonObject
    #: Binds the answer to the question.
    digest: str
    expires_at: int | None
    stored: Stored | None = None


@frozen_data
class Cached:
    """An earlier result of the same work on the same inputs."""

    outputs: Stored
    inputs_hash: str
    output_hash: str
    source: JsonObject


@frozen_data
class ResolveNode:
    """Give a visit the values of its expressions: skip it, fail it, take its outputs from the cache, ask, or start
    it.
    """

    at: int
    node: str
    visit: int
    skip: bool = False
    failure: Failure | None = None
    inputs: Stored | None = None
    items: Stored | None = None
    count: int | None = None
    ask: Ask | None = None
    cached: Cached | None = None
    #: As in `events.NodeResolved`.
    taken: tuple[int, ...] | None = None
    #: As in `events.NodeResolved`.
    code: str | None = None


@frozen_data
class ReportAttempt:
    """Report the outcome of an attempt."""

    at: int
    node: str
    visit: int
    attempt: int
    outcome: Outcome
    item: int | None = None


@frozen_data
class KeepArtifacts:
    """Keep files of an attempt in flight now, and not with its outcome: a prompt, before the model is asked."""

    at: int
    node: str
    visit: int
    attempt: int
    artifacts: tuple[ArtifactNote, ...]
    item: int | None = None


@frozen_data
class StartedCall:
    """A call that an agent is about to make."""

    #: Its id, tool and kind.
    info: JsonObject
    args: Stored
    #: It may have an effect that the workspace does not hold, so it must not be repeated unasked.
    reaches_outside: bool = False


@frozen_data
class RuledCall:
    """A call that an agent has begun before it asked about it, and what was decided then."""

    call_id: str
    #: The decision, its reason, and whether a person was asked.
    gate: JsonObject
    #: The arguments that the decision is about.
    args: Stored


@frozen_data
class EndedCall:
    """A call of an agent that is over."""

    call_id: str
    status: Literal["completed", "failed"]
    duration_ms: int
    result: Stored
    #: That of the command it has run, if the agent tells it.
    exit_code: int | None = None


CallProgress: TypeAlias = StartedCall | RuledCall | EndedCall


@frozen_data
class ReportProgress:
    """Report what an attempt in flight has done so far: the conversation of its agent, and the agent's calls."""

    at: int
    node: str
    visit: int
    attempt: int
    item: int | None = None
    session: JsonObject | None = None
    calls: tuple[CallProgress, ...] = ()


@frozen_data
class AskAboutCall:
    """Ask a person whether the agent of an attempt in flight may make a call."""

    at: int
    node: str
    visit: int
    attempt: int
    call_id: str
    #: Exactly what is asked: the tool, its arguments, and why the policy asks. Large ones are in `stored` instead.
    args: JsonObject
    prompt: str
    #: Binds the answer to the node, the tool, its arguments and the files of the workspace.
    digest: str
    #: The JSON Schema of the arguments if a person may change them.
    form: JsonObject = field(default_factory=dict[str, Json])
    approvers: tuple[str, ...] = ()
    item: int | None = None
    stored: Stored | None = None


@frozen_data
class ReportInterrupted:
    """Report that the driver has stopped an attempt, because the run is suspended."""

    at: int
    node: str
    visit: int
    attempt: int
    item: int | None = None


@frozen_data
class AnswerApproval:
    """Answer an approval. The engine has checked the values against the form, and computed what follows from the
    answer.

    If a modified answer changes the inputs of a node, its expressions have new values: `skip`, or for a foreach the
    `items` and their `count`.
    """

    at: int
    approval_id: str
    status: Answer
    #: `timer` if the approval has expired.
    by: str
    #: The digest of the question.
    digest: str
    reason: str | None = None
    #: The values of a modified answer; large ones are in `stored` instead.
    args: JsonObject | None = None
    stored: Stored | None = None
    #: The digest of a modified answer.
    new_digest: str | None = None
    #: Those of an approval node, or of an uncertain attempt that did happen.
    outputs: Stored | None = None
    inputs_hash: str = ""
    output_hash: str = ""
    skip: bool = False
    items: Stored | None = None
    count: int | None = None
    #: The system's time of the answer if it differs from the run's (`at`): the approval's deadline is compared with it.
    answered_at: int | None = None
    #: Extends the approval of a call to calls like it, until the end of the turn or of the run.
    remember: Literal["turn", "run"] | None = None


@frozen_data
class Tick:
    """Let the run notice that time has passed."""

    at: int


@frozen_data
class Recover:
    """Take over a run whose driver died: a new driver has folded its log."""

    at: int


@frozen_data
class SkipTime:
    """Leave time out of the run's wall time: up to `at` the system's clock has gone further than time has passed."""

    at: int
    skipped_ms: int


@frozen_data
class PauseRun:
    """Start nothing new until the run is resumed; attempts in flight go on to their end.

    A person may pause a run that is `SUSPENDED`: then the next driver does not resume it.
    """

    at: int
    by: str
    reason: str = "operator"


@frozen_data
class ResumeRun:
    """Go on with a paused run."""

    at: int
    by: str


@frozen_data
class ChangeMode:
    """Change the run's modes; None leaves one as it is."""

    at: int
    by: str
    mode: Literal["AUTO", "INTERACTIVE"] | None = None
    global_mode: Literal["PLANNING", "IMPLEMENTATION"] | None = None


@frozen_data
class CancelRun:
    """End the run as cancelled; attempts in flight are stopped."""

    at: int
    by: str
    reason: str | None = None


@frozen_data
class AddNode:
    """Add a node to a live graph."""

    at: int
    by: str
    node: definition.Node


@frozen_data
class ChangeNode:
    """Replace the definition of the live graph's node `node.key`."""

    at: int
    by: str
    node: definition.Node


@frozen_data
class RemoveNode:
    """Remove a node from a live graph, with its edges; its turn is stopped."""

    at: int
    by: str
    node: str


@frozen_data
class AddEdge:
    """Add an edge to a live graph."""

    at: int
    by: str
    #: Derived from its nodes and its label.
    id: str
    source: str
    target: str
    bidirectional: bool
    type: Literal["handoff", "report"]
    label: str


@frozen_data
class RemoveEdge:
    """Remove an edge from a live graph."""

    at: int
    by: str
    id: str


@frozen_data
class SendMessage:
    """Send a person's message to a node of a live graph."""

    at: int
    by: str
    node: str
    message_id: str
    content: Stored
    role: Literal["user", "system"] = "user"
    #: Stop the node's current turn.
    interrupt: bool = False
    #: The current turn reads it, if its agent can take a message during a turn; otherwise the next turn does.
    steer: bool = False


@frozen_data
class ResetSession:
    """Let a node of a live graph begin a new conversation with its next turn."""

    at: int
    by: str
    node: str


@frozen_data
class RetryTurn:
    """Let a node of a live graph take a turn again: the one under way, which is stopped, or the last, if it failed."""

    at: int
    by: str
    node: str


@frozen_data
class CompleteRun:
    """End a live graph that has nothing left to do as ok."""

    at: int
    by: str


#: The commands that only a live graph takes.
GraphCommand: TypeAlias = (
    AddNode | ChangeNode | RemoveNode | AddEdge | RemoveEdge | SendMessage | ResetSession | RetryTurn | CompleteRun
)

Command: TypeAlias = (
    ReportAttempt
    | ResolveNode
    | Tick
    | AnswerApproval
    | CreateRun
    | KeepArtifacts
    | ReportProgress
    | AskAboutCall
    | ReportInterrupted
    | Recover
    | SkipTime
    | PauseRun
    | ResumeRun
    | ChangeMode
    | CancelRun
    | GraphCommand
)

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
    """A finished node that a fork keeps; failed items of a foreach are null in `items` and listed in `errors`."""

    outcome: Literal["succeeded", "skipped"]
    outputs: Stored | None = None
    items: tuple[Stored | None, ...] | None = None
    errors: tuple[JsonObject, ...] = ()


@frozen_data
class KeptItem:
    """A finished item of a foreach that a fork keeps: its index, the digest of its inputs, and its outputs."""

    index: int
    inputs_hash: str
    outputs: Stored


@frozen_data
class CreateRun:
    """Create the run. `definition` names the blob that holds the pinned workflow.

    A plan's `contexts` have been read; `variables` are the start values of a forked plan. `unjudged` are the
    outputs of the node that a fork starts with, if only its gates are left to evaluate; `items` are finished items of
    nodes that are otherwise done again.
    """

    at: int
    definition: str
    inputs: Stored
    by: str
    mode: Literal["AUTO", "INTERACTIVE"] = "AUTO"
    global_mode: Literal["PLANNING", "IMPLEMENTATION"] = "IMPLEMENTATION"
    parent: JsonObject | None = None
    kept: Mapping[str, Kept] = field(default_factory=dict[str, Kept])
    contexts: Stored | None = None
    variables: Mapping[str, Stored] | None = None
    no_cache: bool = False
    unjudged: Stored | None = None
    items: Mapping[str, tuple[KeptItem, ...]] = field(default_factory=dict[str, tuple[KeptItem, ...]])


@frozen_data
class Ask:
    """A question to a person, rendered and bound by `digest`; large `args` are in `stored` instead."""

    prompt: str
    args: JsonObject
    form: JsonObject
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
    """Give a visit the values of its expressions: skip it, fail it, take its outputs from the cache, ask, or start it.

    `taken` and `code` are those of `events.NodeResolved`.
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
    taken: tuple[int, ...] | None = None
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
    """A call that an agent has made. `info` has its id, tool, kind and title."""

    info: JsonObject
    args: Stored


@frozen_data
class EndedCall:
    """A call of an agent that is over."""

    call_id: str
    status: Literal["completed", "failed"]
    duration_ms: int
    result: Stored


@frozen_data
class ReportProgress:
    """Report what an attempt in flight has done so far: the conversation of its agent, and the agent's calls."""

    at: int
    node: str
    visit: int
    attempt: int
    item: int | None = None
    session: JsonObject | None = None
    calls: tuple[StartedCall | EndedCall, ...] = ()


@frozen_data
class AskAboutCall:
    """Ask a person whether the agent of an attempt in flight may make a call.

    `args` is exactly what is asked (large ones are in `stored` instead): the tool, its arguments, and why the policy
    asks. `form` is the JSON Schema of the arguments if a person may change them. `digest` binds the answer to the node,
    the tool, its arguments and the files of the workspace.
    """

    at: int
    node: str
    visit: int
    attempt: int
    call_id: str
    args: JsonObject
    prompt: str
    digest: str
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
    """Answer an approval. The engine has checked `args` against the form, and computed what follows from the answer.

    `by` is `timer` if the approval has expired. `outputs` are those of an approval node, or of an uncertain attempt
    that did happen. `digest` is that of the question, `new_digest` that of a modified answer, whose large `args` are in
    `stored` instead. If a modified answer changes the inputs of a node, its expressions have new values: `skip`, or for
    a foreach the `items` and their `count`. `answered_at` is the system's time of the answer if it differs from the
    run's (`at`): the approval's deadline is compared with it. `remember` extends the approval of a call to calls like
    it, until the end of the turn or of the run.
    """

    at: int
    approval_id: str
    status: Answer
    by: str
    digest: str
    reason: str | None = None
    args: JsonObject | None = None
    stored: Stored | None = None
    new_digest: str | None = None
    outputs: Stored | None = None
    inputs_hash: str = ""
    output_hash: str = ""
    skip: bool = False
    items: Stored | None = None
    count: int | None = None
    answered_at: int | None = None
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
    """Add an edge to a live graph. `id` is derived from its nodes and its label."""

    at: int
    by: str
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
    """Send a person's message to a node of a live graph; with `interrupt`, stop its current turn.

    With `steer` the current turn reads it, if its agent can take a word during a turn; otherwise the next turn does.
    """

    at: int
    by: str
    node: str
    message_id: str
    content: Stored
    role: Literal["user", "system"] = "user"
    interrupt: bool = False
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
    | PauseRun
    | ResumeRun
    | ChangeMode
    | CancelRun
    | GraphCommand
)

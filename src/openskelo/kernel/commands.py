"""The orders a run may be given. Each carries its time; whatever had to be computed outside is inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from openskelo.frozen import field, plain
from openskelo.kernel import definition, fresh
from openskelo.kernel.json import JsonObject, Stored
from openskelo.kernel.outcome import Failure, Outcome

Answer = Literal["approved", "denied", "modified"]

#: Why a run is paused that nobody wants to be: its driver had to stop.
SUSPENDED = "suspended"


@plain
class Kept:
    """A finished node that a forked run takes over."""

    outcome: Literal["succeeded", "skipped"]
    outputs: Stored | None = None
    items: tuple[Stored, ...] | None = None


@plain
class KeptItem:
    """An item of a foreach that was done: where it stood, the digest of what its work saw, and what came of it."""

    index: int
    inputs_hash: str
    outputs: Stored


@plain
class CreateRun:
    """Begin. `definition` names the blob that holds the pinned workflow.

    A plan's `contexts` have been read; `variables` are those that a fork of a plan goes on with. `unjudged` is what the
    node that a fork begins with gave, where only its judgement is missing; `items` are those that were done of nodes
    that are done again.
    """

    at: int
    definition: str
    inputs: Stored
    by: str
    mode: Literal["AUTO", "INTERACTIVE"] = "AUTO"
    global_mode: Literal["PLANNING", "IMPLEMENTATION"] = "IMPLEMENTATION"
    parent: JsonObject | None = None
    kept: Mapping[str, Kept] = field(default_factory=fresh.a_dict)
    contexts: Stored | None = None
    variables: Mapping[str, Stored] | None = None
    no_cache: bool = False
    unjudged: Stored | None = None
    items: Mapping[str, tuple[KeptItem, ...]] = field(default_factory=fresh.a_dict)


@plain
class Ask:
    """What a person is to be asked, rendered and bound by `digest`; large `args` are `stored` instead."""

    prompt: str
    args: JsonObject
    form: JsonObject
    digest: str
    expires_at: int | None
    stored: Stored | None = None


@plain
class Cached:
    """An earlier result of the same work on the same inputs."""

    outputs: Stored
    inputs_hash: str
    output_hash: str
    source: JsonObject


@plain
class ResolveNode:
    """The values of a visit's expressions: skip it, fail it, answer it from the cache, ask first, or let it start.

    `taken` and `code` are as `node.resolved` has them.
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


@plain
class ReportAttempt:
    """An executor reports the outcome of an attempt."""

    at: int
    node: str
    visit: int
    attempt: int
    outcome: Outcome
    item: int | None = None


@plain
class ReportInterrupted:
    """The driver stopped an attempt because the run is suspended."""

    at: int
    node: str
    visit: int
    attempt: int
    item: int | None = None


@plain
class AnswerApproval:
    """A person answers. The door has checked `args` against the form and computed what the answer yields.

    `by` is `timer` when the clock answers. `outputs` are those of an approval node, or of an uncertain attempt that
    did happen; `digest` is that of what was asked, `new_digest` that of a modified answer, whose large `args` are
    `stored` instead. Where a modified answer changes what a node is to work on, its expressions have come to new
    values: `skip`, or for a foreach the `items` and their `count`.
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


@plain
class Tick:
    """Time has passed."""

    at: int


@plain
class Recover:
    """A new driver has folded the log of a run whose driver died."""

    at: int


@plain
class PauseRun:
    """Start nothing new until the run is resumed; what is under way ends.

    A run that is `SUSPENDED` is paused all the same: then it does not go on with whoever drives it next.
    """

    at: int
    by: str
    reason: str = "operator"


@plain
class ResumeRun:
    """Go on with a paused run."""

    at: int
    by: str


@plain
class ChangeMode:
    """Change the run's modes; None leaves one as it is."""

    at: int
    by: str
    mode: Literal["AUTO", "INTERACTIVE"] | None = None
    global_mode: Literal["PLANNING", "IMPLEMENTATION"] | None = None


@plain
class CancelRun:
    """End the run; what is under way is stopped."""

    at: int
    by: str
    reason: str | None = None


@plain
class AddNode:
    """Add a node to a live graph."""

    at: int
    by: str
    node: definition.Node


@plain
class ChangeNode:
    """Put another definition in the place of a live graph's node; `node.key` says which."""

    at: int
    by: str
    node: definition.Node


@plain
class RemoveNode:
    """Take a node out of a live graph, with its edges and whatever it is doing."""

    at: int
    by: str
    node: str


@plain
class AddEdge:
    """Tie two nodes of a live graph. `id` follows from what the edge ties."""

    at: int
    by: str
    id: str
    source: str
    target: str
    bidirectional: bool
    type: Literal["handoff", "report"]
    label: str


@plain
class RemoveEdge:
    """Hand nothing on along an edge of a live graph any more."""

    at: int
    by: str
    id: str


@plain
class SendMessage:
    """A person says something to a node of a live graph; `interrupt`: instead of letting its turn come to an end."""

    at: int
    by: str
    node: str
    message_id: str
    content: Stored
    role: Literal["user", "system"] = "user"
    interrupt: bool = False


@plain
class CompleteRun:
    """A person is content with a live graph that has nothing left to do."""

    at: int
    by: str


#: The orders that only a live graph may be given.
GraphCommand: TypeAlias = AddNode | ChangeNode | RemoveNode | AddEdge | RemoveEdge | SendMessage | CompleteRun

Command: TypeAlias = (
    ReportAttempt
    | ResolveNode
    | Tick
    | AnswerApproval
    | CreateRun
    | ReportInterrupted
    | Recover
    | PauseRun
    | ResumeRun
    | ChangeMode
    | CancelRun
    | GraphCommand
)

"""The outcome of an attempt: the only thing that an executor reports to the kernel."""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo.errors import Happened
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.structs import field, frozen_data

#: Where the outputs of a live graph's turn go: on along leaving edges, back to the senders of its messages, or both.
Route: TypeAlias = Literal["on", "back", "both", "none"]


@frozen_data
class Metrics:
    """The usage of an attempt."""

    tokens_in: int = 0
    tokens_out: int = 0
    wall_ms: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0


@frozen_data
class Needs:
    """The amounts that work would take from a run's budget."""

    tokens: int
    cost_nanousd: int = 0


@frozen_data
class Failure:
    """The failure of an attempt."""

    code: str
    message: str
    retryable: bool = True
    #: The work has a result, and an attempt that knows what is wrong with it may correct it at once.
    repairable: bool = False
    retry_after_ms: int | None = None
    #: The first gate that failed, if one did.
    gate: str | None = None
    #: The work was not allowed (by the plan's mode, a capability, a spend cap) and has not been done.
    denied: bool = False
    #: A person has to take over; the run ends as escalated.
    escalated: bool = False
    #: Whether the effect has happened all the same; it matters for effects that happen once.
    happened: Happened = "no"
    #: What the work needs in all, if that is more than the run's budget has left.
    needs: Needs | None = None
    #: A secret, a provider or a file is missing here: that says nothing about the work, and the run waits for it.
    missing: bool = False


@frozen_data
class ArtifactNote:
    """A kept file as the log describes it."""

    id: str
    kind: str
    name: str
    #: The name of its bytes in the blob store.
    hash: str
    size: int
    media_type: str = "text/plain"
    #: Says more about a diff: its files, a summary, and how many lines it adds and removes.
    metadata: JsonObject | None = None


@frozen_data
class Outcome:
    """The result of one attempt; the executor has checked the contract and the gates.

    It has either outputs or a failure, or both if the work is done but its gates could not be evaluated: then the next
    attempt only evaluates them.
    """

    inputs_hash: str
    outputs: Stored | None = None
    #: Set if the work produced outputs, even if a contract or a gate refused them (stall detection compares it).
    output_hash: str | None = None
    #: The hash of all that an agent has changed in its workspace (stall detection compares it).
    diff_hash: str | None = None
    failure: Failure | None = None
    #: The results of all gates.
    verdicts: tuple[JsonObject, ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    artifacts: tuple[ArtifactNote, ...] = ()
    #: For a repair (the refused answer, say); the executor limits its size.
    feedback: Json = None
    #: The result of a branch's condition, or the `ok` of a verdict that a step of a plan gives; None for other work.
    holds: bool | None = None
    #: Where the outputs of a live graph's node are handed on.
    route: Route = "on"
    #: What the receipt says of an agent's attempt beside its session: texts and integers.
    evidence: JsonObject | None = None

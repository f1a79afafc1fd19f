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
    """The failure of an attempt. `gate` names the first gate that failed, if one did.

    `repairable`: the work has a result, and an attempt that knows what is wrong with it may correct it at once.
    `denied`: the work was not allowed (by the plan's mode, a capability, a spend cap) and has not been done.
    `escalated`: a person has to take over; the run ends as escalated.
    `needs`: what the work needs in all, if that is more than the run's budget has left.
    `happened`: whether the effect has happened all the same; it matters for effects that happen once.
    """

    code: str
    message: str
    retryable: bool = True
    repairable: bool = False
    retry_after_ms: int | None = None
    gate: str | None = None
    denied: bool = False
    escalated: bool = False
    happened: Happened = "no"
    needs: Needs | None = None


@frozen_data
class ArtifactNote:
    """A kept file as the log describes it; its bytes are in the blob store under `hash`.

    `metadata` says more about a diff: its files, a summary, and how many lines it adds and removes.
    """

    id: str
    kind: str
    name: str
    hash: str
    size: int
    media_type: str = "text/plain"
    metadata: JsonObject | None = None


@frozen_data
class Outcome:
    """The result of one attempt; the executor has checked the contract and the gates.

    It has either `outputs` or a `failure`, or both if the work is done but its gates could not be evaluated: then the
    next attempt only evaluates them. `output_hash` is set if the work produced outputs, even if a contract or a gate
    refused them (stall detection compares it). `verdicts` are the results of all gates. `feedback` is for a repair (the
    refused answer, say); the executor limits its size. `holds` is the result of a branch's condition, or the `ok` of
    a verdict that a step of a plan gives, and None for other work. `route` says where the outputs of a live graph's
    node are handed on.
    """

    inputs_hash: str
    outputs: Stored | None = None
    output_hash: str | None = None
    failure: Failure | None = None
    verdicts: tuple[JsonObject, ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    artifacts: tuple[ArtifactNote, ...] = ()
    feedback: Json = None
    holds: bool | None = None
    route: Route = "on"

"""What an executor says about one attempt: the only thing that comes back from work."""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo.errors import Happened
from openskelo.frozen import field, plain
from openskelo.kernel.json import Json, JsonObject, Stored

#: Where a turn of a live graph is handed on: along the edges that leave its node, back along those it came by, or both.
Route: TypeAlias = Literal["on", "back", "both", "none"]


@plain
class Metrics:
    """What the attempt really used."""

    tokens_in: int = 0
    tokens_out: int = 0
    wall_ms: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0


@plain
class Needs:
    """What work would take of a run's budget."""

    tokens: int
    cost_nanousd: int = 0


@plain
class Failure:
    """Why an attempt did not succeed. `gate` names the first gate that failed, if one did.

    `repairable`: the work produced something, and told what is wrong with it, may well mend it at once.
    `denied`: the work was not allowed (by the plan's mode, a capability, a spend cap) and has not been done.
    `escalated`: the work is a person's from here on; the run ends so.
    `needs`: what the work would take in all, where that is more than the run's budget has left.
    `happened`: whether the effect of the work has happened all the same; it counts where that happens once.
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


@plain
class ArtifactNote:
    """A kept file as the log mentions it; the bytes are in the blob store under `hash`."""

    id: str
    kind: str
    name: str
    hash: str
    size: int
    media_type: str = "text/plain"


@plain
class Outcome:
    """The result of one attempt, judged: contract and gates have been checked by the executor.

    Exactly one of `outputs` and `failure` is given, or both where the work is done and nobody could judge it: then all
    that is left to the next attempt is to have it judged. `output_hash` is set whenever the work produced outputs, also
    when a contract or a gate then refused them (stall detection compares it); `verdicts` are the results of all gates.
    `feedback` is what a repair should know (the refused answer, say), bounded by the executor. `holds` is what the
    condition of a branch or the check of a verify came to, and None for all other work. `route` is what the answer of a
    live graph's node says about where it goes.
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

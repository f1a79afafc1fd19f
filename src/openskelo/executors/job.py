"""One attempt in progress: what the work is given, and what it leaves behind besides its outputs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from openskelo.executors import task
from openskelo.frozen import field, frozen, mutable
from openskelo.kernel import fresh, outcome
from openskelo.kernel.json import JsonObject
from openskelo.values import canonical

#: The hash of no bytes: what stands for inputs that could not be hashed.
NOTHING = canonical.digest_bytes(b"")
_NONE = outcome.Metrics()


@mutable
class Spent:
    """What the attempt has used so far; every call to a model adds to it.

    `waited`: the seconds in which there was no worker process for it, or no turn at its model, which are no part of its
    work; `waits_since` is when it began to wait, by the performance counter, while it does. `asking` says what the
    answer that a model is giving now has taken so far, as far as anybody can tell.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0
    waited: float = 0.0
    waits_since: float | None = None
    asking: Callable[[], outcome.Metrics] | None = None

    def idle(self) -> float:
        """The seconds that it has waited so far."""
        return self.waited if self.waits_since is None else self.waited + time.perf_counter() - self.waits_since

    def count(self, taken: outcome.Metrics) -> None:
        """Add what something took to what the attempt has used."""
        self.tokens_in += taken.tokens_in
        self.tokens_out += taken.tokens_out
        self.cost_nanousd += taken.cost_nanousd

    def so_far(self) -> outcome.Metrics:
        """What it has used if it is stopped now, the answer that is being given included."""
        taken = _NONE if self.asking is None else self.asking()
        return outcome.Metrics(
            tokens_in=self.tokens_in + taken.tokens_in,
            tokens_out=self.tokens_out + taken.tokens_out,
            cost_nanousd=self.cost_nanousd + taken.cost_nanousd,
            tool_nanousd=self.tool_nanousd,
        )


@frozen
class File:
    """Something that the attempt leaves as an artifact, whatever becomes of it."""

    kind: str
    name: str
    text: str
    media_type: str = "text/plain"


@mutable
class Job:
    """`inputs` are the work's own copy, if it may change them; `lines` become the attempt's log, `files` its artifacts
    by name.

    `heard` is what a model has said so far; `answer` its whole answer, once it is there. `holds` is what the check or
    the condition of a plan's step came to, `route` where the turn of a live graph goes. `started` is by the performance
    counter; the hashes are those of what was taken in and given back; `verdicts` are what the gates said.
    """

    task: task.Task
    inputs: JsonObject
    lines: list[str] = field(default_factory=fresh.a_list)
    spent: Spent = field(default_factory=Spent)
    files: dict[str, File] = field(default_factory=fresh.a_dict)
    heard: list[str] = field(default_factory=fresh.a_list)
    answer: str | None = None
    holds: bool | None = None
    route: outcome.Route = "on"
    started: float = field(default_factory=time.perf_counter)
    inputs_hash: str = NOTHING
    output_hash: str | None = None
    verdicts: tuple[JsonObject, ...] = ()


#: Does the work of a node: gives what came back (not yet checked), or raises AttemptFailed.
Work: TypeAlias = Callable[[Job], Awaitable[object]]

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


@mutable
class Spent:
    """What the attempt has used so far; every call to a model adds to it.

    `waited`: the seconds in which there was no worker process for it, or no turn at its model, which are no part of its
    work; `waits_since` is when it began to wait, by the performance counter, while it does.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0
    waited: float = 0.0
    waits_since: float | None = None

    def idle(self) -> float:
        """The seconds that it has waited so far."""
        return self.waited if self.waits_since is None else self.waited + time.perf_counter() - self.waits_since


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
    started: float = 0.0
    inputs_hash: str = NOTHING
    output_hash: str | None = None
    verdicts: list[JsonObject] = field(default_factory=fresh.a_list)


#: Does the work of a node: gives what came back (not yet checked), or raises AttemptFailed.
Work: TypeAlias = Callable[[Job], Awaitable[object]]

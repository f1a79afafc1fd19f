"""Finding artifacts by what refers to them: `artifact://ID`, `artifact://RUN/ID` or `artifact://RUN/NODE:NAME`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

import orjson

from openskelo.kernel.json import Json, JsonObject

if TYPE_CHECKING:
    from openskelo.stores import log as stores

SCHEME = "artifact://"
#: How many runs, the newest first, are searched for an artifact that does not say of which it is.
_RUNS = 200


@runtime_checkable
class Runs(Protocol):
    """Where the logs of runs are (every `stores.log.Log` is one)."""

    async def rows(self, *, limit: int = ...) -> Sequence[stores.RunRow]: ...

    def read(self, run_id: str) -> AsyncIterator[Sequence[bytes]]: ...


class Known:
    """Says which artifacts there are. One that was found once is not looked for again."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._found: set[str] = set()

    async def has(self, reference: str, first: str | None = None) -> bool:
        """Whether some run of the store has kept the artifact; the run `first` is looked at before others."""
        if reference not in self._found and await find(self._runs, reference, first) is not None:
            self._found.add(reference)
        return reference in self._found


async def find(runs: Runs, reference: str, first: str | None = None) -> str | None:
    """The hash of the newest artifact that `reference` names; None when there is none. `first`: as of `Known.has`."""
    run_id, slash, key = reference.removeprefix(SCHEME).partition("/")
    if slash:
        return await _find_in(runs, run_id, key)
    found = None if first is None else await _find_in(runs, first, run_id)
    for row in () if found is not None else await runs.rows(limit=_RUNS):
        found = await _find_in(runs, row.run_id, run_id)
        if found is not None:
            break
    return found


async def _find_in(runs: Runs, run_id: str, key: str) -> str | None:
    """The hash of a run's newest artifact that is called so: by its id, or `NODE:NAME`."""
    found: str | None = None
    async for node, artifact in _of_run(runs, run_id):
        if key in (artifact.get("id"), f"{node}:{artifact.get('name')}"):
            found = str(artifact.get("hash"))
    return found


async def _of_run(runs: Runs, run_id: str) -> AsyncIterator[tuple[Json, JsonObject]]:
    """The node and the note of every artifact of a run, in the order they were kept."""
    async for lines in runs.read(run_id):
        for line in lines:
            if b'"artifact.created"' not in line:
                continue
            event = cast("JsonObject", orjson.loads(line))
            if event["type"] == "artifact.created" and "data" in event:  # else it was pruned, and is gone
                data = cast("Mapping[str, Json]", event["data"])
                yield data["node"], cast("JsonObject", data["artifact"])

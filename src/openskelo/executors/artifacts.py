"""Find artifacts in the logs of runs by reference: `artifact://ID`, `artifact://RUN/ID` or `artifact://RUN/NODE:NAME`.

The log has an `artifact.created` event for every artifact, so it is read; there is no other index.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

import orjson

from openskelo.kernel.json import Json, JsonObject

if TYPE_CHECKING:
    from openskelo.stores import api

SCHEME = "artifact://"
#: How many runs, the newest first, are searched for an artifact whose reference names no run.
_MAX_RUNS = 200


@runtime_checkable
class RunLogs(Protocol):
    """The log reader that artifact references need (every `stores.api.Store` is one)."""

    async def list_runs(self, *, limit: int = ...) -> Sequence[api.RunRow]: ...

    def read_events(self, run_id: str) -> AsyncIterator[Sequence[bytes]]: ...

    async def read_blob(self, name: str) -> bytes: ...


class ArtifactIndex:
    """Answers whether an artifact exists, and remembers the ones it has found."""

    def __init__(self, logs: RunLogs) -> None:
        self._logs = logs
        self._existing: set[str] = set()

    async def has(self, reference: str, first_run: str | None = None) -> bool:
        """True if a run of the store has kept the artifact; `first_run` is searched before the others."""
        if reference not in self._existing and await find(self._logs, reference, first_run) is not None:
            self._existing.add(reference)
        return reference in self._existing

    async def read(self, run_id: str, reference: str) -> bytes | None:
        """Return the newest artifact of this run that a reference names, or `NODE:NAME`; None if there is none."""
        key = reference.removeprefix(SCHEME).removeprefix(f"{run_id}/")
        digest = await _find_in(self._logs, run_id, key)
        return None if digest is None else await self._logs.read_blob(digest)

    async def names(self, run_id: str) -> Sequence[str]:
        """Return the artifacts of a run as `NODE:NAME`, each once, in the order in which they were first kept."""
        found = [f"{node}:{artifact.get('name')}" async for node, artifact in _artifacts_of(self._logs, run_id)]
        return tuple(dict.fromkeys(found))


async def find(logs: RunLogs, reference: str, first_run: str | None = None) -> str | None:
    """Return the hash of the newest artifact that `reference` names, or None."""
    run_id, slash, key = reference.removeprefix(SCHEME).partition("/")
    if slash:
        return await _find_in(logs, run_id, key)
    artifact_id = run_id
    if first_run is not None and (digest := await _find_in(logs, first_run, artifact_id)) is not None:
        return digest
    for row in await logs.list_runs(limit=_MAX_RUNS):
        if (digest := await _find_in(logs, row.run_id, artifact_id)) is not None:
            return digest
    return None


async def _find_in(logs: RunLogs, run_id: str, key: str) -> str | None:
    """Return the hash of a run's newest artifact with this id or `NODE:NAME`."""
    digest: str | None = None
    async for node, artifact in _artifacts_of(logs, run_id):
        if key in (artifact.get("id"), f"{node}:{artifact.get('name')}"):
            digest = str(artifact.get("hash"))
    return digest


async def _artifacts_of(logs: RunLogs, run_id: str) -> AsyncIterator[tuple[Json, JsonObject]]:
    """Yield the node and the description of every artifact of a run, in the order of the log."""
    async for lines in logs.read_events(run_id):
        for line in lines:
            if b'"artifact.created"' not in line:
                continue
            event = cast("JsonObject", orjson.loads(line))
            if event["type"] == "artifact.created" and "data" in event:  # pruned events have no data
                data = cast("Mapping[str, Json]", event["data"])
                yield data["node"], cast("JsonObject", data["artifact"])

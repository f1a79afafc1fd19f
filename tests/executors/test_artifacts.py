"""An artifact is looked for in the run that refers to it, and then in the newest ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import orjson

from openskelo.executors import artifacts
from openskelo.stores import api


class Shelf:
    """Runs that are too old to be among the newest; `looked` has those that were read."""

    def __init__(self, kept: Mapping[str, Sequence[str]]) -> None:
        self.kept = kept
        self.looked: list[str] = []

    async def list_runs(self, *, limit: int = 100) -> Sequence[api.RunRow]:
        return ()

    async def read_events(self, run_id: str) -> AsyncIterator[Sequence[bytes]]:
        self.looked.append(run_id)
        yield [
            orjson.dumps(
                {
                    "type": "artifact.created",
                    "data": {"node": "a", "artifact": {"id": name, "name": "log", "hash": name}},
                }
            )
            for name in self.kept.get(run_id, ())
        ]

    async def read_blob(self, name: str) -> bytes:
        return name.encode()


def test_a_run_refers_to_its_own_artifacts_however_old_it_is() -> None:
    shelf = Shelf({"old": ["x"]})
    known = artifacts.ArtifactIndex(shelf)

    async def story() -> list[bool]:
        return [
            await known.has("artifact://x"),
            await known.has("artifact://y", "old"),
            await known.has("artifact://x", "old"),
            await known.has("artifact://x"),  # it is known by now
        ]

    assert asyncio.run(story()) == [False, False, True, True]
    assert shelf.looked == ["old", "old"]
    assert asyncio.run(artifacts.find(shelf, "artifact://old/a:log")) == "x"

"""Whom the nodes of a run ask is looked up once a run, however many of its attempts want to know."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import openskelo
from openskelo.providers import scripted
from openskelo.server.telemetry import metrics
from openskelo.stores import memory
from tests.engine import stage

ASK = stage.workflow({"id": "ask", "prompt": "Say something.", "outputs": {"text": "string"}})


class Counting(memory.MemoryStore):
    """Counts how often a run's log is read."""

    reads = 0

    async def read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        self.reads += 1
        async for lines in super().read_events(run_id, after=after):
            yield lines


def test_a_log_is_read_once_for_all_attempts_of_its_run(tmp_path: Path) -> None:
    async def story() -> tuple[list[metrics.ModelsByNode], int, metrics.ModelsByNode]:
        store = Counting()
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        provider = scripted.Scripted({"ask": [{"text": "Bees."}]})
        async with await openskelo.Engine.open(project, store=store, provider=provider) as engine:
            run_id = await engine.start(ASK)
            await engine.wait(run_id)
            whom, before = metrics.NodeModels(store), store.reads
            found = [await whom.of_run(run_id) for _ in range(50)]
            reads = store.reads - before
            return found, reads, await whom.of_run("00000000-0000-4000-8000-000000000000")

    found, reads, unknown = stage.play(story)
    assert [list(one) for one in found] == [["ask"]] * 50
    assert (reads, unknown) == (1, {})

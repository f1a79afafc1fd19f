"""Runs that have ended give up what went through them; their records still verify, whenever somebody pulls the plug."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

import openskelo
from openskelo import clock, errors
from openskelo.history import export, prune, replay, signing, verify
from openskelo.kernel.json import Json
from openskelo.record import chain, line_check, receipts
from openskelo.stores import api, memory
from openskelo.stores.sqlite import data_dir as stores_data_dir
from openskelo.stores.sqlite import sqlite_store
from tests.engine import proving, stage

Story = Callable[[openskelo.Engine, str, Path], Awaitable[None]]
#: In an input and so in outputs, long enough for a blob file of its own when it is repeated.
SECRET = "the rabbit is in the hat"


def play(root: Path, story: Story, *, store: api.Store | None = None, draft_size: int = 1) -> None:
    workshop = proving.Workshop()
    workshop.draft_size = draft_size

    async def told() -> None:
        async with workshop.engine(root, store) as engine:
            run_id = await finish(engine)
            await story(engine, run_id, root / ".skelo")

    stage.play(told)


async def finish(engine: openskelo.Engine) -> str:
    run_id = await engine.start(proving.flow(), {"topic": SECRET})
    assert (await engine.wait(run_id))["ending"] == "ok"
    return run_id


def traces(folder: Path) -> list[str]:
    """The files under the folder that still hold what went through the run."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(text in path.read_bytes() for text in (SECRET.encode(), SECRET.upper()[:14].encode()))
    )


async def lines_of(store: api.Store, run_id: str) -> list[bytes]:
    return [line async for lines in store.read_events(run_id) for line in lines]


@pytest.mark.parametrize("delete", [False, True])
def test_what_would_be_freed_is_what_is_freed_then(tmp_path: Path, delete: bool) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        other = await finish(engine)
        both = await prune.measure_blobs(engine.store, [run_id, other], delete=delete)
        promised = await prune.measure_blobs(engine.store, [run_id], delete=delete)
        assert promised == api.SweepResult(), "the other run has logged the same"
        for one in (run_id, other):
            await (prune.delete_run if delete else prune.prune_run)(engine.store, one, data_dir)
        assert await engine.store.sweep_blobs(forget=[run_id, other]) == both
        assert both.blobs == 2, "what was logged, and the definition"

    play(tmp_path, story)


def test_a_pruned_run_verifies_and_keeps_its_receipts(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        store = engine.store
        before = await verify.verify_run(store, run_id, data_dir=data_dir)
        kept = receipts.collect(await lines_of(store, run_id))
        promised = await prune.measure(store, run_id)
        freed = await prune.prune_run(store, run_id, data_dir)
        swept = await store.sweep_blobs(forget=[run_id])
        after = await verify.verify_run(store, run_id, data_dir=data_dir)
        assert freed == promised
        assert freed.events == after.pruned > 4
        assert swept.blobs == 2  # the pinned workflow, and what `draft` logged
        assert (after.intact, after.ended, after.head, after.receipts) == (True, True, before.head, before.receipts)
        assert receipts.collect(await lines_of(store, run_id)) == kept
        assert await prune.prune_run(store, run_id, data_dir) == prune.Freed(run_id=run_id)

    play(tmp_path, story)
    assert traces(tmp_path) == []


def test_large_values_go_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openskelo.stores import blobs

    monkeypatch.setattr(blobs, "GRACE_SECONDS", -1.0)

    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        assert any(path.is_file() for path in (data_dir / "blobs").rglob("*"))
        other = await finish(engine)
        await prune.prune_run(engine.store, run_id, data_dir)
        await engine.store.sweep_blobs(forget=[run_id])
        assert (await verify.verify_run(engine.store, other, data_dir=data_dir)).folded  # they have values in common
        await prune.prune_run(engine.store, other, data_dir)
        await engine.store.sweep_blobs(forget=[run_id, other])
        assert not any(path.is_file() for path in (data_dir / "blobs").rglob("*"))

    play(tmp_path, story, draft_size=100_000)
    assert traces(tmp_path) == []


def test_a_deleted_run_is_gone(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        other = await finish(engine)
        await engine.store.flush()
        freed = await prune.delete_run(engine.store, run_id, data_dir)
        assert freed.gone
        assert freed.events > 8
        await engine.store.sweep_blobs(forget=[run_id])
        assert [row.run_id for row in await engine.store.list_runs()] == [other]
        assert run_id.encode() not in (data_dir / "events" / "000000000001.jsonl").read_bytes()
        with pytest.raises(errors.NotFound):
            await engine.show(run_id)
        assert (await verify.verify_run(engine.store, other, data_dir=data_dir)).folded

    play(tmp_path, story)


def test_the_memory_store_prunes_and_deletes_too(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        other = await finish(engine)
        await prune.prune_run(engine.store, run_id)
        assert (await verify.verify_run(engine.store, run_id)).pruned > 4
        await prune.delete_run(engine.store, run_id)
        await engine.store.sweep_blobs(forget=[run_id])
        assert (await verify.verify_run(engine.store, other)).folded

    play(tmp_path, story, store=memory.MemoryStore())


def test_a_run_that_has_not_ended_is_never_touched(tmp_path: Path) -> None:
    async def story() -> None:
        flow = stage.workflow({"id": "ask", "mode": "approval", "approval": {"prompt": "Well?"}})
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(flow)
            assert (await engine.wait(run_id))["status"] == "paused"
            for doing in (prune.prune_run, prune.delete_run, prune.measure):
                with pytest.raises(errors.Refused) as refused:
                    await doing(engine.store, run_id)
                assert refused.value.code == "RUN_UNFINISHED"
            assert await prune.choose(engine.store, [], prune.Choice(keep=0)) == []

    stage.play(story)


def test_a_rule_chooses_by_age_number_and_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "wall_ms", lambda: 1004)
    before_4 = timedelta(seconds=1)

    async def story() -> None:
        store = memory.MemoryStore()
        names = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(6)]
        for number, name in enumerate(names):
            ending = None if number == 2 else ("ok", "failed")[number % 2]
            status = "running" if ending is None else ("completed", "failed")[number % 2]
            row = api.RunRow(
                run_id=name,
                name="n",
                workflow_hash="",
                status=status,
                ending=ending,
                created_at=number,
                updated_at=number,
            )
            await store.append([api.Append(run_id=name, expected_seq=0, lines=(b"1",), row=row)])

        async def chosen(choice: prune.Choice) -> list[int]:
            return [names.index(run_id) for run_id in await prune.choose(store, [], choice)]

        assert await chosen(prune.Choice(keep=0)) == [5, 4, 3, 1, 0]
        assert await chosen(prune.Choice(keep=2)) == [3, 1, 0]
        assert await chosen(prune.Choice(older_than=before_4)) == [3, 1, 0]
        assert await chosen(prune.Choice(older_than=before_4, keep=4)) == [0]
        assert await chosen(prune.Choice(status="failed", keep=1)) == [3, 1]

    stage.play(story)


def test_a_damaged_record_is_left_as_evidence(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        def tamper(line: bytes) -> bytes:
            return line.replace(b"ABOUT", b"ABOVE")

        await engine.store.rewrite_events(run_id, tamper)
        damaged = await lines_of(engine.store, run_id)
        with pytest.raises(errors.Corrupt, match="HASH_MISMATCH"):
            await prune.prune_run(engine.store, run_id, data_dir)
        assert await lines_of(engine.store, run_id) == damaged
        await engine.store.delete_run(run_id)

    play(tmp_path, story)


def test_what_needs_the_data_says_that_it_was_pruned(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        await signing.sign(engine.store, run_id, data_dir, at=1_800_000_000_000)
        await prune.prune_run(engine.store, run_id, data_dir)
        for asked in (
            engine.show(run_id),
            engine.fork(run_id, node="draft"),
            replay.replay(engine.store, run_id, engine.performer),
        ):
            with pytest.raises(errors.NotFound) as found:
                await asked
            assert found.value.code == "RUN_PRUNED"
        assert (await verify.verify_run(engine.store, run_id, data_dir=data_dir)).signature == "ok"
        exported = await export.export(engine.store, run_id, tmp_path / "pruned.jsonl")
        assert exported.missing == ()
        proved = verify.verify_file(tmp_path / "pruned.jsonl")
        assert (proved.intact, proved.ended, proved.receipts) == (True, True, 5)

    play(tmp_path, story)


def test_the_cache_does_not_keep_what_was_pruned(tmp_path: Path) -> None:
    async def story() -> None:
        calls: list[str] = []

        async def slow(ctx: openskelo.Context) -> dict[str, Json]:
            calls.append("slow")
            return {"text": SECRET}

        flow = stage.workflow(stage.block("slow", outputs={"text": "string"}, effect="pure", cache=True))
        async with stage.engine(tmp_path, slow=slow) as engine:
            first = await engine.start(flow)
            await engine.wait(first)
            second = await engine.start(flow)
            await engine.wait(second)
            assert calls == ["slow"]
            for run_id in (first, second):
                await prune.prune_run(engine.store, run_id, engine.project.data_dir)
            await engine.store.sweep_blobs(forget=[first, second])
            assert traces(tmp_path) == []
            await engine.wait(await engine.start(flow))
            assert calls == ["slow", "slow"]

    stage.play(story)


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from openskelo.record import line_check as pruned
from openskelo.history import prune as pruning
from openskelo.kernel.json import Json
from openskelo.stores.sqlite import data_dir as datadir
from openskelo.stores.sqlite import pruner, sqlite_store

pruner.ROWS_PER_STEP = 1
data_dir, run_id, moment, doing = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
left = moment

def shorten(line):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(line)

async def main():
    store = datadir.open_store(data_dir)
    await (pruning.prune_run if doing == "prune" else pruning.delete_run)(store, run_id, data_dir)

real = pruned.prune
if moment:
    async def measure(*_arguments, **_options):
        return pruning.Freed(run_id=run_id)
    pruning.measure = measure
    pruned.prune = shorten
else:
    async def release_run(*_):
        os.kill(os.getpid(), signal.SIGKILL)
    sqlite_store.SqliteStore.release_run = release_run
asyncio.run(main())
"""


def ended_run(root: Path) -> str:
    found: list[str] = []

    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        found.append(run_id)

    play(root, story)
    return found[0]


def killed(root: Path, run_id: str, moment: int, doing: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(root / ".skelo"), run_id, str(moment), doing],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


async def _again(root: Path, run_id: str) -> list[bytes]:
    store = stores_data_dir.open_store(root / ".skelo")
    try:
        await prune.prune_run(store, run_id, root / ".skelo")
        await store.sweep_blobs(forget=[run_id])
        return await lines_of(store, run_id)
    finally:
        await store.close()


@pytest.mark.parametrize("moment", [0, 1, 3, 5, 8])
def test_a_killed_prune_leaves_a_record_that_verifies_and_is_finished_later(tmp_path: Path, moment: int) -> None:
    run_id = ended_run(tmp_path)
    killed(tmp_path, run_id, moment, "prune")
    found = proving.verified_later(tmp_path, run_id)
    assert (found.intact, found.ended, found.receipts) == (True, True, 5)
    assert (found.pruned > 0) == (moment != 1)
    lines = stage.play(lambda: _again(tmp_path, run_id))
    assert [line_check.prune(line) for line in lines] == lines
    assert proving.verified_later(tmp_path, run_id).intact
    assert traces(tmp_path) == []


def test_a_delete_that_is_killed_leaves_nothing_once_somebody_sweeps(tmp_path: Path) -> None:
    run_id = ended_run(tmp_path)
    killed(tmp_path, run_id, 0, "delete")

    async def story() -> None:
        store = stores_data_dir.open_store(tmp_path / ".skelo")
        assert await store.find_run(run_id) is None
        await store.sweep_blobs(forget=[])
        await store.close()

    stage.play(story)
    assert not (tmp_path / ".skelo" / "runs" / run_id).exists()
    assert traces(tmp_path) == []


def test_a_run_that_is_pruned_while_it_is_verified_is_not_altered(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        file = data_dir / "events" / "000000000001.jsonl"
        await engine.store.flush()
        whole = file.read_bytes()
        assert await engine.store.claim_run(run_id)
        await engine.store.rewrite_events(run_id, line_check.prune)
        file.write_bytes(whole)  # as it is until all of the log is pruned
        found = await verify.verify_run(engine.store, run_id, data_dir=data_dir)
        assert (found.problems, found.pruned > 4) == ((), True)
        assert file.read_bytes() != whole, "what is pruned from the log leaves the files before they are compared"
        await engine.store.release_run(run_id)

    play(tmp_path, story)


class PrunedMeanwhile(sqlite_store.SqliteStore):
    """A store of which the lines are pruned, and their values swept, right after somebody has read them."""

    def __init__(self, data_dir: Path, *, sweeping: bool = True) -> None:
        super().__init__(data_dir)
        self._sweeping = sweeping

    async def read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        async for lines in super().read_events(run_id, after=after):
            yield lines
        await super().rewrite_events(run_id, line_check.prune)
        if self._sweeping:
            await super().sweep_blobs()


def test_values_that_are_swept_while_a_run_is_verified_are_not_missing(tmp_path: Path) -> None:
    made: list[str] = []

    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        made.append(run_id)

    play(tmp_path, story)

    async def meanwhile() -> chain.Verification:
        store = PrunedMeanwhile(tmp_path / ".skelo")
        try:
            return await verify.verify_run(store, made[0], data_dir=tmp_path / ".skelo")
        finally:
            await store.close()

    assert stage.play(meanwhile).problems == ()
    assert traces(tmp_path) == []


def test_a_run_that_is_pruned_while_it_is_exported_is_not_exported_in_parts(tmp_path: Path) -> None:
    made: list[str] = []

    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        made.append(run_id)

    play(tmp_path, story)

    async def meanwhile() -> None:
        store = PrunedMeanwhile(tmp_path / ".skelo", sweeping=False)
        try:
            with pytest.raises(errors.Busy):
                await export.export(store, made[0], tmp_path / "run.jsonl")
            await export.export(store, made[0], tmp_path / "run.jsonl")  # which is not there yet
        finally:
            await store.close()

    stage.play(meanwhile)
    assert verify.verify_file(tmp_path / "run.jsonl").problems == ()


def test_a_dry_run_counts_a_value_that_was_changed_too(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        before = await prune.measure_blobs(engine.store, [run_id])
        with contextlib.closing(sqlite3.connect(data_dir / "log.db")) as database, database:
            assert database.execute("UPDATE blobs SET data = x'00' WHERE number = 1").rowcount == 1
        found = await prune.measure_blobs(engine.store, [run_id])
        assert (found.blobs, found.bytes < before.bytes) == (before.blobs, True)

    play(tmp_path, story)

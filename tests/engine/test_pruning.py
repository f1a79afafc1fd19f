"""Runs that have ended give up what went through them; their records still verify, whenever somebody pulls the plug."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.contract import chain, pruned, receipts
from openskelo.engine import export, pruning, replay, signing, verify
from openskelo.kernel.json import Json
from openskelo.stores import datadir, log, memory, sqlite
from tests.engine import proving, stage

Story = Callable[[openskelo.Engine, str, Path], Awaitable[None]]
#: In an input and so in outputs, long enough for a blob file of its own when it is repeated.
SECRET = "the rabbit is in the hat"


def play(root: Path, story: Story, *, store: log.Log | None = None, draft_size: int = 1) -> None:
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


async def lines_of(store: log.Log, run_id: str) -> list[bytes]:
    return [line async for lines in store.read(run_id) for line in lines]


@pytest.mark.parametrize("delete", [False, True])
def test_what_would_be_freed_is_what_is_freed_then(tmp_path: Path, delete: bool) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        other = await finish(engine)
        both = await pruning.measure_blobs(engine.store, [run_id, other], delete=delete)
        promised = await pruning.measure_blobs(engine.store, [run_id], delete=delete)
        assert promised == log.Swept(), "the other run has logged the same"
        for one in (run_id, other):
            await (pruning.delete if delete else pruning.prune)(engine.store, one, data_dir)
        assert await pruning.sweep(engine.store, [run_id, other]) == both
        assert both.blobs == 2, "what was logged, and the definition"

    play(tmp_path, story)


def test_a_pruned_run_verifies_and_keeps_its_receipts(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        store = engine.store
        before = await verify.verify_run(store, run_id, data_dir=data_dir)
        kept = receipts.collect(await lines_of(store, run_id))
        promised = await pruning.measure(store, run_id)
        freed = await pruning.prune(store, run_id, data_dir)
        swept = await pruning.sweep(store, [run_id])
        after = await verify.verify_run(store, run_id, data_dir=data_dir)
        assert freed == promised
        assert freed.events == after.pruned > 4
        assert swept.blobs == 2  # the pinned workflow, and what `draft` logged
        assert (after.intact, after.ended, after.head, after.receipts) == (True, True, before.head, before.receipts)
        assert receipts.collect(await lines_of(store, run_id)) == kept
        assert await pruning.prune(store, run_id, data_dir) == pruning.Freed(run_id=run_id)

    play(tmp_path, story)
    assert traces(tmp_path) == []


def test_large_values_go_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openskelo.stores import blobs

    monkeypatch.setattr(blobs, "YOUNG_SECONDS", -1.0)

    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        assert any(path.is_file() for path in (data_dir / "blobs").rglob("*"))
        other = await finish(engine)
        await pruning.prune(engine.store, run_id, data_dir)
        await pruning.sweep(engine.store, [run_id])
        assert (await verify.verify_run(engine.store, other, data_dir=data_dir)).folded  # they have values in common
        await pruning.prune(engine.store, other, data_dir)
        await pruning.sweep(engine.store, [run_id, other])
        assert not any(path.is_file() for path in (data_dir / "blobs").rglob("*"))

    play(tmp_path, story, draft_size=5000)
    assert traces(tmp_path) == []


def test_a_deleted_run_is_gone(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        other = await finish(engine)
        await engine.store.flush()
        freed = await pruning.delete(engine.store, run_id, data_dir)
        engine.forget(run_id)
        assert freed.gone
        assert freed.events > 8
        await pruning.sweep(engine.store, [run_id])
        assert [row.run_id for row in await engine.store.rows()] == [other]
        assert [path.name for path in (data_dir / "runs").iterdir()] == [other]
        with pytest.raises(errors.NotFound):
            await engine.show(run_id)
        assert (await verify.verify_run(engine.store, other, data_dir=data_dir)).folded

    play(tmp_path, story)


def test_the_memory_store_prunes_and_deletes_too(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        other = await finish(engine)
        await pruning.prune(engine.store, run_id)
        assert (await verify.verify_run(engine.store, run_id)).pruned > 4
        await pruning.delete(engine.store, run_id)
        await pruning.sweep(engine.store, [run_id])
        assert (await verify.verify_run(engine.store, other)).folded

    play(tmp_path, story, store=memory.MemoryLog())


def test_a_run_that_has_not_ended_is_never_touched(tmp_path: Path) -> None:
    async def story() -> None:
        flow = stage.workflow({"id": "ask", "mode": "approval", "approval": {"prompt": "Well?"}})
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(flow)
            assert (await engine.wait(run_id))["status"] == "paused"
            for doing in (pruning.prune, pruning.delete, pruning.measure):
                with pytest.raises(errors.Refused) as refused:
                    await doing(engine.store, run_id)
                assert refused.value.code == "RUN_UNFINISHED"
            assert await pruning.choose(engine.store, pruning.Rule()) == []

    stage.play(story)


def test_a_rule_chooses_by_age_number_and_status(tmp_path: Path) -> None:
    async def story() -> None:
        store = memory.MemoryLog()
        names = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(6)]
        for number, name in enumerate(names):
            ending = None if number == 2 else ("ok", "failed")[number % 2]
            status = "running" if ending is None else ("completed", "failed")[number % 2]
            row = log.RunRow(
                run_id=name,
                name="n",
                workflow_hash="",
                status=status,
                ending=ending,
                created_at=number,
                updated_at=number,
            )
            await store.append([log.Append(run_id=name, expected_seq=0, lines=(b"1",), row=row)])

        async def chosen(rule: pruning.Rule) -> list[int]:
            return [names.index(row.run_id) for row in await pruning.choose(store, rule)]

        assert await chosen(pruning.Rule()) == [5, 4, 3, 1, 0]
        assert await chosen(pruning.Rule(keep=2)) == [3, 1, 0]
        assert await chosen(pruning.Rule(before=4)) == [3, 1, 0]
        assert await chosen(pruning.Rule(before=4, keep=4)) == [0]
        assert await chosen(pruning.Rule(status="failed", keep=1)) == [3, 1]

    stage.play(story)


def test_a_damaged_record_is_left_as_evidence(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        def tamper(line: bytes) -> bytes:
            return line.replace(b"ABOUT", b"ABOVE")

        await engine.store.rewrite(run_id, tamper)
        damaged = await lines_of(engine.store, run_id)
        with pytest.raises(errors.Corrupt, match="HASH_MISMATCH"):
            await pruning.prune(engine.store, run_id, data_dir)
        assert await lines_of(engine.store, run_id) == damaged
        await engine.store.erase(run_id)

    play(tmp_path, story)


def test_what_needs_the_data_says_that_it_was_pruned(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        await signing.sign(engine.store, run_id, data_dir, at=1_800_000_000_000)
        await pruning.prune(engine.store, run_id, data_dir)
        engine.forget(run_id)
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
                await pruning.prune(engine.store, run_id, engine.project.data_dir)
            await pruning.sweep(engine.store, [first, second])
            assert traces(tmp_path) == []
            await engine.wait(await engine.start(flow))
            assert calls == ["slow", "slow"]

    stage.play(story)


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from openskelo.contract import pruned
from openskelo.engine import pruning
from openskelo.kernel.json import Json
from openskelo.stores import datadir, mirror, pruner

pruner.ROWS = 1
data_dir, run_id, moment, doing = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
left = moment

def shorten(line):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(line)

async def main():
    store = datadir.open_log(data_dir)
    await (pruning.prune if doing == "prune" else pruning.delete)(store, run_id, data_dir)

real = pruned.shorten
if moment:
    async def measure(*_arguments, **_options):
        return pruning.Freed(run_id=run_id)
    pruning.measure = measure
    pruned.shorten = shorten
else:
    gone = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    mirror.Mirror.repair = mirror.Mirror.erase = gone
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
    store = datadir.open_log(root / ".skelo")
    try:
        await pruning.prune(store, run_id, root / ".skelo")
        await pruning.sweep(store, [run_id])
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
    assert [pruned.shorten(line) for line in lines] == lines
    assert proving.verified_later(tmp_path, run_id).intact
    assert traces(tmp_path) == []


def test_a_delete_that_is_killed_leaves_nothing_once_somebody_sweeps(tmp_path: Path) -> None:
    run_id = ended_run(tmp_path)
    killed(tmp_path, run_id, 0, "delete")

    async def story() -> None:
        store = datadir.open_log(tmp_path / ".skelo")
        assert await store.row(run_id) is None
        await pruning.sweep(store, [])
        await store.close()

    stage.play(story)
    assert list((tmp_path / ".skelo" / "runs").iterdir()) == []
    assert traces(tmp_path) == []


def test_a_run_that_is_pruned_while_it_is_verified_is_not_altered(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, run_id: str, data_dir: Path) -> None:
        file = data_dir / "runs" / run_id / "events.jsonl"
        await engine.store.flush()
        whole = file.read_bytes()
        assert await engine.store.claim(run_id)
        await engine.store.rewrite(run_id, pruned.shorten)
        file.write_bytes(whole)  # as it is until all of the log is pruned
        found = await verify.verify_run(engine.store, run_id, data_dir=data_dir)
        assert (found.problems, found.pruned > 4) == ((), True)
        await engine.store.release(run_id)
        found = await verify.verify_run(engine.store, run_id, data_dir=data_dir)
        assert [problem.code for problem in found.problems] == ["FILE_DIFFERS"], "nobody is at it any more"

    play(tmp_path, story)


class PrunedMeanwhile(sqlite.SqliteLog):
    """A store of which the lines are pruned, and their values swept, right after somebody has read them."""

    def __init__(self, data_dir: Path, *, sweeping: bool = True) -> None:
        super().__init__(data_dir)
        self._sweeping = sweeping

    async def read(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        async for lines in super().read(run_id, after=after):
            yield lines
        await super().rewrite(run_id, pruned.shorten)
        if self._sweeping:
            await super().sweep()


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
        before = await pruning.measure_blobs(engine.store, [run_id])
        with contextlib.closing(sqlite3.connect(data_dir / "log.db")) as database, database:
            assert database.execute("UPDATE blobs SET data = x'00' WHERE number = 1").rowcount == 1
        found = await pruning.measure_blobs(engine.store, [run_id])
        assert (found.blobs, found.bytes < before.bytes) == (before.blobs, True)

    play(tmp_path, story)

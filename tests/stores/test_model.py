"""Whatever is done to them in whatever order, the SQLite store and the in-memory store answer the same."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo import errors
from openskelo.stores import api, blobs, memory
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import data_dir

RUNS = ("run-a", "run-b", "run-c")
DATA = b"a small value"
#: Syncs are not what is tested here, and hundreds of data dirs are made: in memory where the system offers it.
FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One Append to be: `off` is how far its expected seq is from the head."""

    run_id: str
    off: int
    lines: tuple[bytes, ...]
    status: str | None
    ends: bool
    opens: str | None
    closes: str | None
    consumes: int | None
    keeps: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Do:
    """Something that one of the two stores over the same data is asked to do."""

    store: int
    what: str
    run_id: str
    batch: tuple[Piece, ...] = ()


Answers: TypeAlias = list[object]

pieces = st.builds(
    Piece,
    run_id=st.sampled_from(RUNS),
    off=st.sampled_from((0, 0, 0, 0, 0, 0, 0, 0, 1, -1)),
    lines=st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b" ")), max_size=3).map(tuple),
    status=st.sampled_from((None, None, "running", "paused")),
    ends=st.sampled_from((False, False, False, True)),
    opens=st.sampled_from((None, None, None, "x", "y")),
    closes=st.sampled_from((None, None, None, "x", "y")),
    consumes=st.sampled_from((None, None, None, None, 1, 2)),
    keeps=st.sampled_from((False, False, False, True)),
)
actions = st.builds(
    Do,
    store=st.sampled_from((0, 1)),
    what=st.sampled_from(("append", "append", "append", "post", "claim", "release", "reopen")),
    run_id=st.sampled_from(RUNS),
    batch=st.lists(pieces, min_size=1, max_size=4).map(tuple),
)


def _row(piece: Piece, seq: int) -> api.RunRow | None:
    if piece.ends:
        return fixtures.row(piece.run_id, seq, status="completed", ending="ok", updated_at=seq)
    return None if piece.status is None else fixtures.row(piece.run_id, seq, status=piece.status, updated_at=seq)


def _batch(do: Do, heads: dict[str, int]) -> list[api.Append]:
    """The Appends that the pieces stand for, after the heads that are known; `heads` becomes those after the batch."""
    batch: list[api.Append] = []
    for piece in do.batch:
        seq = max(0, heads.get(piece.run_id, 0) + piece.off)
        batch.append(
            api.Append(
                run_id=piece.run_id,
                expected_seq=seq,
                lines=piece.lines,
                row=_row(piece, seq),
                opened=() if piece.opens is None else (fixtures.approval(piece.opens, run_id=piece.run_id),),
                closed=() if piece.closes is None else (piece.closes,),
                consumed=() if piece.consumes is None else (piece.consumes,),
                blobs={blobs.name_of(DATA): DATA} if piece.keeps else {},
                cached={"key": {"value": seq}} if piece.keeps else {},
            )
        )
        heads[piece.run_id] = seq + len(piece.lines)
    return batch


async def _act(store: api.Store, do: Do, batch: list[api.Append]) -> object:
    try:
        match do.what:
            case "append":
                await store.append(batch)
                return "appended"
            case "post":
                return await store.queue_command(do.run_id, {"from": do.store})
            case "claim":
                return await store.claim_run(do.run_id)
            case _:
                return await store.release_run(do.run_id)
    except errors.OpenSkeloError as error:
        return error.code


async def _look(store: api.Store) -> Answers:
    found: Answers = [
        await store.list_runs(),
        await store.list_approvals(),
        await store.list_commands(RUNS),
        await store.read_cached_outputs("key"),
    ]
    for run_id in RUNS:
        found.append(await fixtures.lines(store, run_id))
        found.append(await fixtures.lines(store, run_id, after=2))
        found.append(await store.is_driver_alive(run_id))
    try:
        found.append(await store.read_blob(blobs.name_of(DATA)))
    except errors.NotFound as error:
        found.append(error.code)
    return found


async def _play(open_store: fixtures.Open, todo: list[Do]) -> Answers:
    stores = [await open_store(), await open_store()]
    answers: Answers = []
    heads: dict[str, int] = {}
    for do in todo:
        if do.what == "reopen":
            await stores[do.store].close()
            stores[do.store] = await open_store()
            continue
        guessed = dict(heads)
        answer = await _act(stores[do.store], do, _batch(do, guessed))
        if answer == "appended":
            heads = guessed
        answers += [answer, await _look(stores[do.store])]
    answers.append(await _look(stores[0]))
    for store in stores:
        await store.close()
    return answers


@settings(max_examples=60)
@given(todo=st.lists(actions, min_size=1, max_size=14))
def test_both_stores_answer_the_same(todo: list[Do]) -> None:
    data = memory.MemoryData()

    async def in_memory() -> api.Store:
        return memory.MemoryStore(data)

    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:

        async def on_disk() -> api.Store:
            return data_dir.open_store(Path(folder) / "data")

        wanted = asyncio.run(_play(in_memory, todo))
        assert asyncio.run(_play(on_disk, todo)) == wanted
        copy = Path(folder) / "data" / "events" / "000000000001.jsonl"
        assert (copy.read_bytes() if copy.exists() else b"") == b"".join(
            line + b"\n" for run_id, before, after in data.feed for line in data.lines[run_id][before:after]
        )

"""What must be true of a world whose run was cut and has come to its end, however often it was cut."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import TypeAlias, cast

from openskelo.history import export, loading, verify
from openskelo.kernel.json import JsonObject
from openskelo.stores.sqlite import data_dir
from tests.crash.world import World
from tests.record import verifying

TEXT = "a text that is long enough"
WORDS = ["one", "two", "three", "four", "five"]
OUTPUTS = {"text": TEXT, "paid": True, "status": 201, "written": [3, 3, 5, 4, 4], "saved": len(TEXT)}
FILES = {**{f"{index}.txt": word for index, word in enumerate(WORDS)}, "order.txt": TEXT}
#: Every piece of work of the run, and the visit in which it succeeds: the bounce adds a second one.
SUCCEEDED = Counter(
    [("draft", 1, None), ("draft", 2, None), ("judge", 2, None), *(("each", 1, index) for index in range(5))]
    + [(key, 1, None) for key in ("flaky", "fetch", "review", "note", "pay", "order", "save")]
)
ONCE = ("pay", "order")

Piece: TypeAlias = tuple[str, int, int | None]


def confirm(world: World) -> list[JsonObject]:
    """Everything of this module holds; gives the run's events."""
    assert world.result()["ending"] == "ok", world.result()
    assert world.result()["outputs"] == OUTPUTS
    assert world.files() == FILES
    lines = _lines(world)
    _nothing_is_lost(world, lines)
    events = cast("list[JsonObject]", [json.loads(line) for line in lines])
    _no_finished_step_is_repeated(events)
    _once_is_once(world, events)
    _repetitions_carry_their_key(world, events)
    _every_question_is_answered_once(events)
    return events


def piece(event: JsonObject) -> Piece:
    """Which work an event is about: a node's visit, and the item of a foreach."""
    data = cast("JsonObject", event["data"])
    return cast("Piece", (data["node"], data["visit"], data.get("item")))


def pieces(events: list[JsonObject], kind: str) -> Counter[Piece]:
    """How often each piece of work had an event of this type."""
    return Counter(piece(event) for event in events if event["type"] == kind)


def _lines(world: World) -> list[bytes]:
    """The whole record: it verifies, is copied, can be exported, and no process claims to drive the run."""

    async def read() -> list[bytes]:
        store = data_dir.open_store(world.root / ".skelo")
        try:
            (row,) = await store.list_runs()
            lines = [line async for chunk in store.read_events(row.run_id) for line in chunk]
            workflow = (await loading.load(store, row.run_id)).run.workflow
            verified = verifying.lines(lines, workflow=workflow)
            assert (verified.problems, verified.ended, verified.folded) == ((), True, True)
            assert not await store.is_driver_alive(row.run_id)
            assert (await store.list_approvals(), await store.list_commands([row.run_id])) == ([], [])
            copy = world.root / ".skelo" / "events" / "000000000001.jsonl"
            assert copy.read_bytes() == b"".join(line + b"\n" for line in lines)
            exported = await export.export(store, row.run_id, world.root / "exported.jsonl", overwrite=True)
            assert (exported.header.events, exported.missing) == (len(lines), ())
            return lines
        finally:
            await store.close()

    lines = asyncio.run(read())
    _confirm_export(world.root / "exported.jsonl", lines)
    assert list((world.root / ".skelo" / "drivers").iterdir()) == []
    return lines


def _confirm_export(path: Path, lines: list[bytes]) -> None:
    """The file made by `export` has every line of the record, and proves it without the data dir."""
    verified = verify.verify_file(path)
    assert (verified.problems, verified.ended, verified.folded) == ((), True, True)
    assert path.read_bytes().endswith(b"".join(line + b"\n" for line in lines))


def _nothing_is_lost(world: World, lines: list[bytes]) -> None:
    """What was acknowledged is there, in its order, and what every new process found is how the record begins."""
    whole = b"".join(line + b"\n" for line in lines)
    rest = iter(lines)  # a line that was cut between its commit and its acknowledgement is only in the record
    acknowledged = (world.root / "acknowledged.jsonl").read_bytes().splitlines()
    assert acknowledged
    assert all(line in rest for line in acknowledged)
    for found in world.root.glob("found-*.jsonl"):
        assert whole.startswith(found.read_bytes())


def _no_finished_step_is_repeated(events: list[JsonObject]) -> None:
    finished: set[Piece] = set()
    for event in events:
        if event["type"] == "attempt.started":
            assert piece(event) not in finished
        elif event["type"] == "attempt.succeeded":
            finished.add(piece(event))
    assert pieces(events, "attempt.succeeded") == SUCCEEDED
    assert events[-1]["type"] == "run.ended"


def _once_is_once(world: World, events: list[JsonObject]) -> None:
    """Each happened once, and whenever one was cut a person was asked."""
    orders = [request for request in world.site.requests(world.name) if request.method == "POST"]
    assert (len(world.ledger("pay")), len(orders)) == (1, 1)
    cut = [piece(event) for event in events if event["type"] == "attempt.interrupted" and piece(event)[0] in ONCE]
    asked = [piece(event) for event in events if event["type"] == "approval.requested" and _kind(event) == "uncertain"]
    assert sorted(asked) == sorted(cut)


def _kind(event: JsonObject) -> object:
    return cast("JsonObject", cast("JsonObject", event["data"])["tool"])["name"]


def _repetitions_carry_their_key(world: World, events: list[JsonObject]) -> None:
    """No effect without a durable start before it, and one key for all effects of one visit."""
    started = pieces(events, "attempt.started")
    calls = Counter(cast("str", line["node"]) for line in world.ledger())
    for node, times in calls.items():
        assert times <= sum(count for of, count in started.items() if of[0] == node)
        keys = {cast("str", line["key"]) for line in world.ledger(node)}
        assert len(keys) == (2 if node == "draft" else 1)
    requests = world.site.requests(world.name)
    assert sum(request.method == "GET" for request in requests) <= started["fetch", 1, None]


def _every_question_is_answered_once(events: list[JsonObject]) -> None:
    questions = [_approval(event) for event in events if event["type"] == "approval.requested"]
    answers = [_approval(event) for event in events if event["type"] == "approval.resolved"]
    assert len(set(questions)) == len(questions)
    assert sorted(answers) == sorted(questions)


def _approval(event: JsonObject) -> str:
    return cast("str", cast("JsonObject", event["data"])["approvalId"])

"""Hundreds of seeded lives of an engine: handlers dawdle and fail, the store refuses, and the engine is cut anywhere.

Everything runs on the in-memory store, so a life costs a few milliseconds; whoever cuts it counts the turns of the
event loop. A seed that fails is played again with `play(seed)`.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

import openskelo
from openskelo import errors
from openskelo.executors.handlers import invocation
from openskelo.history.run_document import ApprovalDocument, RunDocument
from openskelo.kernel.json import Json
from openskelo.stores import api, memory
from tests.engine import stage
from tests.record import verifying

TEXT: dict[str, Json] = {"text": "string"}
ITEMS = 4
#: So often an engine is cut before one may live to the end, and so often the store refuses. Either cuts the work that
#: is under way, and a piece of work that was cut ten times fails.
CUTS = 6
REFUSALS = 3


class MoodyStore(memory.MemoryStore):
    """Takes its time before and after a commit, and refuses one now and then."""

    def __init__(self, world: World, *, is_moody: bool) -> None:
        super().__init__(world.data)
        self._world = world
        self._chance = world.chance
        self._is_moody = is_moody

    async def append(self, batch: Sequence[api.Append]) -> None:
        await _dawdle(self._chance, 2)
        if self._is_moody and self._world.refusals and self._chance.random() < 0.1:
            self._world.refusals -= 1
            raise errors.StoreFull("no space left")
        await super().append(batch)
        await _dawdle(self._chance, 2)


async def _dawdle(chance: Random, most: int) -> None:
    for _ in range(chance.randint(0, most)):
        await asyncio.sleep(0)


class World:
    """What lasts: the store's data, and what the outside has seen."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.data = memory.MemoryData()
        self.effects: Counter[tuple[str, str]] = Counter()
        self.record: list[bytes] = []
        self.lost = 0
        self.refusals = REFUSALS

    async def work(self, ctx: openskelo.Context) -> dict[str, Json]:
        """Any node's work: it may fail before its effect, and be cut or lose its answer before or after it."""
        await _dawdle(self.chance, 6)
        if self.chance.random() < 0.15:
            raise openskelo.AttemptFailed(f"bad luck {self.chance.random()}", code="BAD_LUCK")
        self._lose_the_answer()
        self.effects[ctx.block_id, ctx.idempotency_key] += 1
        await _dawdle(self.chance, 6)
        self._lose_the_answer()
        return {"text": f"{ctx.block_id} {'' if ctx.item is None else ctx.item}".strip()}

    def _lose_the_answer(self) -> None:
        if self.chance.random() < 0.1:
            self.lost += 1
            raise openskelo.AttemptFailed(f"no answer {self.chance.random()}", code="LOST", happened="unknown")

    def flow(self) -> openskelo.Workflow:
        """`start`, then items beside an effect that happens once, then a person, then another such effect."""
        retry: Json = {"max_attempts": 40, "backoff": "none", "delay_ms": 0}
        after: Json = {"type": "string", "from": "start.text"}
        return stage.workflow(
            stage.block("start", outputs=TEXT, retry=retry),
            stage.block(
                "each",
                inputs={"text": after},
                outputs=TEXT,
                retry=retry,
                foreach={"items": "[0, 1, 2, 3]", "as": "item", "concurrency": self.chance.randint(1, 4)},
            ),
            stage.block("send", inputs={"text": after}, outputs=TEXT, retry=retry, effect="once"),
            {
                "id": "review",
                "mode": "approval",
                "inputs": {
                    "each": {"type": "array", "from": "each.text"},
                    "send": {"type": "string", "from": "send.text"},
                },
                "outputs": {"approved": "boolean"},
                "approval": {"prompt": "Go on?"},
            },
            stage.block(
                "pay",
                inputs={"yes": {"type": "boolean", "from": "review.approved"}},
                outputs=TEXT,
                retry=retry,
                effect="once",
            ),
            outputs={"each": "each.text", "send": "send.text", "pay": "pay.text"},
        )


async def drive(world: World, engine: openskelo.Engine) -> RunDocument:
    """Start or resume the run and answer what is asked, until it has ended; a refusing store is tried again."""
    while True:
        try:
            rows = await engine.store.list_runs()
            if not rows:
                await engine.start(world.flow())
                continue
            run_id = rows[0].run_id
            if rows[0].ending is None:
                await engine.resume(run_id)
            document = await engine.wait(run_id)
            if document["ending"] is not None:
                return document
            for asked in stage.approvals(document):
                await answer(world, engine, asked)
        except errors.StoreFull:
            continue


async def answer(world: World, engine: openskelo.Engine, asked: ApprovalDocument) -> None:
    """Yes; and to what is uncertain, what the outside has seen."""
    node = asked["node"]
    happened = asked["kind"] == "uncertain" and any(name == node for name, _ in world.effects)
    if happened:
        await engine.answer(asked["id"], status="modified", modified_args={"text": node}, by="ann")
    else:
        await engine.answer(asked["id"], status="approved", by="ann")


async def live(world: World, root: Path, turns: int | None) -> RunDocument | None:
    """One life of an engine, cut after so many turns of the event loop; gives the run's document if it has ended."""
    store = MoodyStore(world, is_moody=turns is not None)
    handlers: dict[str, invocation.Handler] = dict.fromkeys(["start", "each", "send", "pay"], world.work)
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    engine = await openskelo.Engine.open(project, store=store, handlers=handlers)
    driving = asyncio.create_task(drive(world, engine))
    if turns is None:
        await driving
    else:
        for _ in range(turns):
            await asyncio.sleep(0)
    await engine.close()  # nothing is suspended first: what is under way just ends
    driving.cancel()
    (found,) = await asyncio.gather(driving, return_exceptions=True)
    if isinstance(found, Exception) and getattr(found, "code", None) != "ENGINE_CLOSED":
        raise found
    return None if isinstance(found, BaseException) else found


def check(world: World) -> None:
    """What holds after every life."""
    if not world.data.lines:
        return
    (lines,) = world.data.lines.values()
    assert lines[: len(world.record)] == world.record
    world.record = list(lines)
    verified = verifying.lines(lines)
    assert verified.problems == ()
    finished: set[tuple[Json, ...]] = set()
    started: Counter[str] = Counter()
    for line in lines:
        event = json.loads(line)
        piece = (event["data"].get("node"), event["data"].get("visit"), event["data"].get("item"))
        if event["type"] == "attempt.started":
            assert piece not in finished
            started[piece[0]] += 1
        elif event["type"] == "attempt.succeeded":
            assert piece not in finished
            finished.add(piece)
    seen: Counter[str] = Counter()
    for (node, _), times in world.effects.items():
        seen[node] += times
        assert times == 1 or node not in ("send", "pay")
    assert all(seen[node] <= started[node] for node in seen)


def play(seed: int, root: Path) -> tuple[int, int]:
    """Everything that happens under one seed; gives how many lives it took, and how many answers were lost."""
    world = World(seed)

    async def story() -> int:
        for number in range(CUTS + 1):
            document = await live(world, root, None if number == CUTS else world.chance.randint(1, 40))
            check(world)
            if document is not None:
                assert (document["ending"], document["outputs"]) == (
                    "ok",
                    {"each": [f"each {item}" for item in range(ITEMS)], "send": "send", "pay": "pay"},
                )
                kinds = Counter(node for node, _ in world.effects)
                assert kinds == {"start": 1, "each": ITEMS, "send": 1, "pay": 1}
                return number + 1
        raise AssertionError("the last life is not cut")

    return stage.play(story), world.lost


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(0, 200, 50)], ids=str)
def test_whatever_cuts_an_engine_its_runs_go_on_to_the_same_end(seeds: range, tmp_path: Path) -> None:
    played = [play(seed, tmp_path) for seed in seeds]
    assert sum(lives for lives, _ in played) > 2 * len(seeds)
    assert sum(lost for _, lost in played) > len(seeds)

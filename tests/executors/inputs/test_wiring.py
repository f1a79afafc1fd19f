"""What nodes are given by the nodes before them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json
from openskelo.stores import memory
from tests.engine import stage


def test_a_foreach_over_nothing_gives_empty_lists(tmp_path: Path) -> None:
    each = stage.block(
        "each", foreach={"items": "inputs.numbers"}, inputs={"numbers": "integer[]"}, outputs={"square": "integer"}
    )
    count = stage.block(
        "count", inputs={"squares": {"type": "array", "from": "each.square"}}, outputs={"squares": "array"}
    )

    async def story() -> RunDocument:
        async with stage.engine(
            tmp_path, each=lambda _: {"square": 0}, count=lambda ctx: {"squares": ctx.inputs["squares"]}
        ) as engine:
            run_id = await engine.start(stage.workflow(each, count), {"numbers": []})
            return await engine.wait(run_id)

    document = stage.play(story)
    assert (document["ending"], document["outputs"]) == ("ok", {"squares": []})


class Counting(memory.MemoryStore):
    """A store that counts what is read back of large values."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    async def read_blob(self, name: str) -> bytes:
        found = await super().read_blob(name)
        self.given += len(found)
        await asyncio.sleep(0)  # as a disk does, it lets others go on
        return found


@pytest.mark.parametrize(
    "gates", [[], [{"type": "expr", "expression": "outputs.size > 0 && size(run.inputs.texts) > 0"}]]
)
def test_the_list_of_a_foreach_is_read_as_often_for_many_items_as_for_few(tmp_path: Path, gates: list[Json]) -> None:
    each = stage.block(
        "each",
        mode="deterministic",
        foreach={"items": "inputs.texts", "as": "text", "concurrency": 32},
        inputs={"texts": "string[]", "text": "string"},
        outputs={"size": "integer"},
        deterministic={"handler": "builtin:transform", "config": {"map": {"size": "size(text)"}}},
        post_gates=gates,
    )

    async def read(count: int) -> int:
        store = Counting()
        async with stage.engine(tmp_path, store) as engine:
            run_id = await engine.start(stage.workflow(each), {"texts": ["x" * (100_000 // count)] * count})
            document = await engine.wait(run_id)
        assert document["outputs"] == {"size": [100_000 // count] * count}
        return store.given // 100_000

    async def story() -> tuple[int, int]:
        return await read(5), await read(100)

    few, many = stage.play(story)
    assert few == many > 0

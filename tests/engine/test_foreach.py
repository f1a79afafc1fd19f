"""A foreach over a large list shares commits as one over a small list does."""

from __future__ import annotations

from pathlib import Path

import pytest

import openskelo
from openskelo.executors import stored_values
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import memory
from tests.engine import stage

ITEMS = 100


def _flow(*, as_port: bool) -> openskelo.Workflow:
    inputs: dict[str, Json] = {"item": {"type": "object"}}
    if as_port:
        inputs["items"] = {"type": "array", "from": "inputs.items"}
    return stage.workflow(
        stage.block(
            "each",
            foreach={"items": "inputs.items" if as_port else "run.inputs.items", "as": "item", "concurrency": ITEMS},
            inputs=inputs,
            outputs={"size": "integer"},
        ),
        inputs={"items": "array"},
        defaults={"concurrency": ITEMS},
    )


async def _each(ctx: openskelo.Context) -> JsonObject:
    item = ctx.inputs["item"]
    assert isinstance(item, dict)
    return {"size": len(str(item["text"]))}


def _count_appends(root: Path, flow: openskelo.Workflow, size: int) -> int:
    """Return how many appends a run of the flow takes over items with a text of this size."""

    async def story() -> int:
        store = memory.MemoryStore()
        async with stage.engine(root, store, each=_each) as engine:
            items: list[Json] = [{"number": number, "text": "x" * size} for number in range(ITEMS)]
            document = await engine.wait(await engine.start(flow, {"items": items}))
            assert document["ending"] == "ok", document
            assert stage.node(document, "each")["outputs"] == {"size": [size] * ITEMS}
            return len(await store.read_feed(after=0, limit=10 * ITEMS))

    return stage.play(story)


@pytest.mark.parametrize("as_port", [True, False])
def test_a_list_above_32_kb_takes_no_more_appends_than_a_small_one(tmp_path: Path, as_port: bool) -> None:
    flow = _flow(as_port=as_port)
    large = 2 * stored_values.INLINE_BYTES // ITEMS
    assert _count_appends(tmp_path, flow, large) <= _count_appends(tmp_path, flow, 1) + 2
    assert _count_appends(tmp_path, flow, 1) < ITEMS / 10

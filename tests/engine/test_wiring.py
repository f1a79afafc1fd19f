"""What nodes are given by the nodes before them."""

from __future__ import annotations

from pathlib import Path

from openskelo.kernel.json import JsonObject
from tests.engine import stage


def test_a_foreach_over_nothing_gives_empty_lists(tmp_path: Path) -> None:
    each = stage.block(
        "each", foreach={"items": "inputs.numbers"}, inputs={"numbers": "integer[]"}, outputs={"square": "integer"}
    )
    count = stage.block(
        "count", inputs={"squares": {"type": "array", "from": "each.square"}}, outputs={"squares": "array"}
    )

    async def story() -> JsonObject:
        async with stage.engine(
            tmp_path, each=lambda _: {"square": 0}, count=lambda ctx: {"squares": ctx.inputs["squares"]}
        ) as engine:
            run_id = await engine.start(stage.workflow(each, count), {"numbers": []})
            return await engine.wait(run_id)

    document = stage.play(story)
    assert (document["ending"], document["outputs"]) == ("ok", {"squares": []})

"""Items of a foreach share inputs: each has its own copy of what it reads, and none of what it does not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

import openskelo
from openskelo.executors.attempt import port_contract
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import memory
from tests.engine import stage

READS: dict[str, Callable[[Any], Any]] = {
    "index": lambda inputs: inputs["words"],
    "get": lambda inputs: inputs.get("words"),
    "items": lambda inputs: dict(inputs.items())["words"],
    "values": lambda inputs: next(iter(inputs.values())),
    "dict": lambda inputs: dict(inputs)["words"],
    "unpacked": lambda inputs: {**inputs}["words"],
    "copy": lambda inputs: inputs.copy()["words"],
    "copy.copy": lambda inputs: copy.copy(inputs)["words"],
    "deepcopy": lambda inputs: copy.deepcopy(inputs)["words"],
    "pop": lambda inputs: inputs.pop("words"),
    "json": lambda inputs: json.loads(json.dumps(inputs))["words"],
    "orjson": lambda inputs: orjson.loads(orjson.dumps(inputs))["words"],
    "iterated": lambda inputs: next(inputs[name] for name in inputs),
    "or": lambda inputs: (inputs | {})["words"],
    "popitem": lambda inputs: [inputs.popitem() for _ in range(2)][-1][1],
    "setdefault": lambda inputs: inputs.setdefault("words", []),
}


@pytest.mark.parametrize("read", READS)
def test_what_one_item_changes_no_other_item_sees(tmp_path: Path, read: str) -> None:
    seen: list[list[str]] = []

    async def change(ctx: openskelo.Context) -> JsonObject:
        words = READS[read](ctx.inputs)
        seen.append(list(words))
        words.append("changed")
        return {"n": len(words)}

    block = stage.block(
        "each",
        foreach={"items": "inputs.words", "as": "word", "concurrency": 1},
        inputs={"words": "string[]", "word": "string"},
        outputs={"n": "integer"},
    )

    async def story() -> None:
        async with stage.open_engine(tmp_path, memory.MemoryStore(), each=change) as engine:
            document = await engine.wait(await engine.start(stage.workflow(block), {"words": ["a", "b"]}))
            assert (document["ending"], document["outputs"]) == ("ok", {"n": [3, 3]})

    stage.play(story)
    assert seen == [["a", "b"], ["a", "b"]]


@pytest.mark.parametrize("count", [10, 200])
def test_an_item_that_does_not_read_the_list_copies_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    copied: list[Json] = []
    copier = port_contract._copier  # pyright: ignore[reportPrivateUsage] - what it copies is counted

    def counting(value: Json) -> Callable[[], Json]:
        make = copier(value)

        def counted() -> Json:
            copied.append(value)
            return make()

        return counted

    monkeypatch.setattr(port_contract, "_copier", counting)

    async def work(ctx: openskelo.Context) -> JsonObject:
        return {"n": ctx.inputs["n"]}

    block = stage.block(
        "each",
        foreach={"items": "inputs.numbers", "as": "n", "concurrency": 50},
        inputs={"numbers": "integer[]", "n": "integer"},
        outputs={"n": "integer"},
    )

    async def story() -> None:
        numbers: list[Json] = list(range(count))
        async with stage.open_engine(tmp_path, memory.MemoryStore(), each=work) as engine:
            document = await engine.wait(await engine.start(stage.workflow(block), {"numbers": numbers}))
            assert document["outputs"] == {"n": numbers}

    stage.play(story)
    assert copied == []

"""Items of a foreach share inputs: each has its own copy of what it reads, and none of what it does not."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

import openskelo
from openskelo.executors.processes import worker_pool
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import memory
from openskelo.values import canonical
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
    "pickle": lambda inputs: pickle.loads(pickle.dumps(inputs))["words"],
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


def test_what_one_item_changes_no_other_item_sees_in_the_same_worker(tmp_path: Path) -> None:
    (tmp_path / "each.py").write_text(
        "def handler(ctx):\n"
        "    seen = list(ctx.inputs['words'])\n"
        "    ctx.inputs['words'].append('changed')\n"
        "    return {'seen': seen, 'changed': len(ctx.inputs['words'])}\n"
    )
    block = stage.block(
        "each",
        foreach={"items": "inputs.words", "as": "word", "concurrency": 1},
        inputs={"words": "string[]", "word": "string"},
        outputs={"seen": "string[]", "changed": "integer"},
        deterministic={"handler": "each.py"},
    )

    async def story() -> None:
        async with stage.open_engine(tmp_path, memory.MemoryStore()) as engine:
            flow = openskelo.from_document({"name": "staged", "blocks": [block]}, root=tmp_path)
            document = await engine.wait(await engine.start(flow, {"words": ["a", "b"]}))
            assert document["outputs"] == {"seen": [["a", "b"], ["a", "b"]], "changed": [3, 3]}

    stage.play(story)


def test_a_worker_is_sent_the_list_of_a_foreach_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that replaces a worker which has ended."""
    sent: list[bytes] = []
    pack = worker_pool.pack

    def recorded(body: bytes) -> bytes:
        sent.append(body)
        return pack(body)

    monkeypatch.setattr(worker_pool, "pack", recorded)
    (tmp_path / "each.py").write_text(
        "import os\n\n"
        "def handler(ctx):\n"
        "    if ctx.item == 'w30' and ctx.attempt == 1:\n"
        "        os._exit(3)\n"
        "    return {'pid': os.getpid(), 'place': ctx.inputs['words'].index(ctx.inputs['word'])}\n"
    )
    block = stage.block(
        "each",
        foreach={"items": "inputs.words", "as": "word", "concurrency": 2},
        inputs={"words": "string[]", "word": "string"},
        outputs={"pid": "integer", "place": "integer"},
        deterministic={"handler": "each.py"},
        retry={"max_attempts": 2},
    )
    words: list[Json] = [f"w{number}" for number in range(60)]

    async def story() -> RunDocument:
        async with stage.open_engine(tmp_path, memory.MemoryStore()) as engine:
            flow = openskelo.from_document({"name": "staged", "blocks": [block]}, root=tmp_path)
            return await engine.wait(await engine.start(flow, {"words": words}))

    document = stage.play(story)
    outputs = cast("dict[str, list[int]]", document["outputs"])
    assert outputs["place"] == list(range(60))
    pids = set(outputs["pid"])
    assert len(sent) == 61
    assert sum(b'"w7","w8","w9"' in body for body in sent) in {len(pids), len(pids) + 1}  # one may have ended first
    assert len(pids) <= 3


@pytest.mark.parametrize("count", [10, 200])
def test_an_item_that_does_not_read_the_list_copies_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    copied: list[Json] = []
    loads = canonical.loads_canonical

    def counting(data: bytes) -> Json:
        value = loads(data)
        if isinstance(value, list):
            copied.append(value)
        return value

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
            monkeypatch.setattr(canonical, "loads_canonical", counting)
            document = await engine.wait(await engine.start(stage.workflow(block), {"numbers": numbers}))
            assert document["outputs"] == {"n": numbers}

    stage.play(story)
    assert copied == []

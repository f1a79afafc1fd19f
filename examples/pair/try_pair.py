"""Play a session of the pair with scripted turns: a task, its answer, a comment on the diff, and the end."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any, cast

import pair

import openskelo
from openskelo.testing import Scripted

TURNS = [
    {"message": "I will round in `total` only. Changed src/shop.py, ran pytest: 12 passed."},
    {"message": "Renamed `t` to `total` in src/shop.py line 7, as you say. 12 passed."},
]


async def main(data_dir: Path) -> None:
    project = openskelo.Project(root=pair.HERE, data_dir=data_dir)
    async with await openskelo.Engine.open(project, provider=Scripted({"pair": TURNS})) as engine:
        run_id = await pair.start(engine)
        graph = engine.graph(run_id)
        for message in ("The total is off by a cent. Fix it.", "src/shop.py:7: `t` says nothing, name it `total`"):
            await graph.say("pair", message, by="ada")
            document = cast("dict[str, Any]", await engine.wait(run_id))
            print(f"ada: {message}")
            print(f"pair: {document['nodes']['pair']['outputs']['message']}")
        assert (await graph.send("pair", "/new", by="ada")).reset
        await graph.complete(by="ada")
        print((await engine.show(run_id))["ending"])


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))

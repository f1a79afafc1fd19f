"""The whole life of a run from Python: load, start, follow, answer, verify what came of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import openskelo

FLOW = Path(__file__).parent / "greet.yaml"


def shout(ctx: openskelo.Context) -> dict[str, object]:
    """A handler of this process: `local:shout` in the file."""
    return {"text": str(ctx.inputs["text"]).upper()}


async def main() -> None:
    workflow = openskelo.load(FLOW)  # InvalidWorkflow lists the Problems of a bad file
    project = openskelo.project_at(FLOW)
    async with await openskelo.Engine.open(project, handlers={"shout": shout}) as engine:
        run_id = await engine.start(workflow, {"name": "Ada"}, by="main.py")
        document = await engine.wait(run_id)  # ended, or waiting for a person
        for asked in cast("list[dict[str, str]]", document["approvals"]):
            await engine.answer(asked["id"], status="modified", modified_args={"text": "hello, Countess"}, by="grace")
        document = await engine.wait(run_id)
        print(document["ending"], document["outputs"])
        async for event in engine.follow(run_id):
            print(event["seq"], event["type"])


asyncio.run(main())

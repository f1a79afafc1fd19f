"""What the tests of proofs share: a small workflow over a real log, started and finished with one line."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

import openskelo
from openskelo.history import verify
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import chain
from openskelo.stores import api
from openskelo.stores.sqlite import data_dir
from tests.engine import stage

TEXT: dict[str, Json] = {"text": "string"}


def flow(*, shout_effect: str = "pure", **top: Json) -> openskelo.Workflow:
    """`draft` -> `shout` (pure) -> `each` over the letters -> `post` (once)."""
    return stage.workflow(
        stage.block("draft", inputs={"topic": "string"}, outputs=TEXT),
        stage.block(
            "shout", inputs={"text": {"type": "string", "from": "draft.text"}}, outputs=TEXT, effect=shout_effect
        ),
        stage.block(
            "each",
            inputs={"text": {"type": "string", "from": "shout.text"}},
            outputs=TEXT,
            effect="pure",
            foreach={"items": "['a', 'b']", "as": "item"},
        ),
        stage.block("post", inputs={"text": {"type": "array", "from": "each.text"}}, outputs=TEXT, effect="once"),
        **top,
    )


class Workshop:
    """Handlers whose calls are counted and whose answers can be made to differ."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.sign = "!"
        self.draft_size = 1

    async def draft(self, ctx: openskelo.Context) -> dict[str, Json]:
        """Idempotent work, large if asked for."""
        self.calls.append("draft")
        ctx.log("drafting")
        return {"text": f"about {ctx.inputs['topic']} " * self.draft_size}

    async def shout(self, ctx: openskelo.Context) -> dict[str, Json]:
        """Pure work, unless a test changes the sign."""
        self.calls.append("shout")
        return {"text": cast("str", ctx.inputs["text"])[:20].upper() + self.sign}

    async def each(self, ctx: openskelo.Context) -> dict[str, Json]:
        """Pure work on one item."""
        self.calls.append(f"each {ctx.item}")
        return {"text": f"{ctx.item}: {ctx.inputs['text']}"}

    async def post(self, ctx: openskelo.Context) -> dict[str, Json]:
        """Work that must never happen again."""
        self.calls.append("post")
        return {"text": f"posted {len(cast('list[Json]', ctx.inputs['text']))}"}

    def engine(self, root: Path, store: api.Store | None = None) -> AbstractAsyncContextManager[openskelo.Engine]:
        """An engine with these handlers."""
        return stage.open_engine(root, store, draft=self.draft, shout=self.shout, each=self.each, post=self.post)


async def finish(
    engine: openskelo.Engine, workflow: openskelo.Workflow | None = None, inputs: JsonObject | None = None
) -> str:
    """Run the workflow to its end; gives the run's id."""
    run_id = await engine.start(workflow or flow(), inputs or {"topic": "bees"})
    document = await engine.wait(run_id)
    assert document["ending"] == "ok", document
    return run_id


def verified_later(root: Path, run_id: str) -> chain.Verification:
    """Verify in a store that is opened anew, as another process would."""

    async def story() -> chain.Verification:
        store = data_dir.open_store(root / ".skelo")
        try:
            return await verify.verify_run(store, run_id, data_dir=root / ".skelo")
        finally:
            await store.close()

    return stage.play(story)

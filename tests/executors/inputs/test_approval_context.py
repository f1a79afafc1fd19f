"""What questions about work say of it: who would do it, what it is given, what it owes."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import openskelo
from openskelo.cli import output, render
from openskelo.executors import stored_values
from openskelo.kernel.json import Json, JsonObject
from tests.engine import stage

TEXT: dict[str, Json] = {"text": "string"}


def sending(**more: Json) -> openskelo.Workflow:
    return stage.workflow(stage.block("send", inputs=TEXT, outputs=TEXT, effect="once", **more))


def owed(**properties: Json) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(properties)}


def test_a_question_before_an_effect_has_the_work_and_all_its_inputs(tmp_path: Path) -> None:
    text = "long " * stored_values.INLINE_BYTES

    async def story() -> None:
        async with stage.engine(tmp_path, send=lambda ctx: {"text": "sent"}) as engine:
            run_id = await engine.start(sending(), {"text": text}, mode="INTERACTIVE")
            (asked,) = stage.approvals(await engine.wait(run_id))
            assert asked["prompt"] == "Let send act (local:send)? It cannot be undone."
            about: JsonObject = {"by": "local:send", "config": {}, "outputs": owed(text={"type": "string"})}
            assert asked.get("work") == {**about, "inputs": {"text": text}}
            (listed,) = await engine.approvals()
            assert (
                listed.get("work") == about
            )  # what is given is as large as it likes: it is read when one run is shown

    stage.play(story)


def test_a_question_before_the_work_of_a_foreach_has_its_items(tmp_path: Path) -> None:
    each = sending(foreach={"items": "inputs.text.split(' ').filter(word, word != 'b')", "as": "word"})

    async def story() -> None:
        async with stage.engine(tmp_path, send=lambda ctx: {"text": "sent"}) as engine:
            run_id = await engine.start(each, {"text": "a b c"}, mode="INTERACTIVE")
            (asked,) = stage.approvals(await engine.wait(run_id))
            work: JsonObject = {
                "by": "local:send",
                "config": {},
                "outputs": owed(text={"type": "string"}),
                "count": 2,
                "inputs": {"text": "a b c"},
                "items": ["a", "c"],
            }
            assert asked.get("work") == work
            assert [one.get("work") for one in await engine.approvals()] == [work]
            assert [line.strip() for line in render.approval_lines(asked, str, output.Painter(io.StringIO()))] == [
                "done by local:send",
                'given   text  "a b c"',
                'for     2 items  ["a","c"]',
            ]

    stage.play(story)


def test_a_cut_effect_has_what_it_was_given(tmp_path: Path) -> None:
    async def story() -> None:
        begun = asyncio.Event()

        async def send(ctx: openskelo.Context) -> dict[str, Json]:
            begun.set()
            await asyncio.sleep(60)
            return {"text": ""}

        each = sending(foreach={"items": "['a']", "as": "word"})
        async with stage.engine(tmp_path, send=send) as engine:
            run_id = await engine.start(each, {"text": "hello"})
            await begun.wait()
        async with stage.engine(tmp_path, send=send) as engine:
            await engine.resume(run_id)
            (asked,) = stage.approvals(await engine.wait(run_id))
            work: JsonObject = {
                "by": "local:send",
                "config": {},
                "outputs": owed(text={"type": "string"}),
                "inputs": {"text": "hello"},
                "item": "a",
            }
            assert (asked["kind"], asked.get("work")) == ("uncertain", work)
            assert [one.get("work") for one in await engine.approvals()] == [work]

    stage.play(story)


def test_a_request_is_shown_as_it_would_be_sent(tmp_path: Path) -> None:
    flow = openskelo.from_document(
        {
            "name": "posts",
            "blocks": [
                {
                    "id": "post",
                    "mode": "deterministic",
                    "inputs": {"user": {"type": "string", "from": "inputs.user"}},
                    "outputs": {"status": "integer"},
                    "deterministic": {
                        "handler": "builtin:http-request",
                        "config": {
                            "url": "http://localhost/users/{{ inputs.user }}",
                            "method": "POST",
                            "headers": {"authorization": "Bearer ${env:KEY}"},
                            "json": {"name": ["{{ inputs.user }}"]},
                        },
                    },
                }
            ],
        }
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(flow, {"user": "nora"}, mode="INTERACTIVE")
            (asked,) = stage.approvals(await engine.wait(run_id))
            work = asked.get("work", {})
            assert work["config"] == {
                "url": "http://localhost/users/nora",
                "method": "POST",
                "headers": {"authorization": "Bearer ${env:KEY}"},
                "json": {"name": ["nora"]},
            }

    stage.play(story)


def test_a_question_for_its_own_sake_and_a_stalled_loop_are_about_no_work(tmp_path: Path) -> None:
    ask = stage.block("ask", mode="approval", outputs={"approved": "boolean"}, approval={"prompt": "Go?"})
    stuck = stage.block(
        "stuck",
        outputs=TEXT,
        retry={"max_attempts": 9},
        post_gates=[{"name": "never", "type": "expr", "expression": "false"}],
    )

    async def story() -> None:
        async with stage.engine(tmp_path, stuck=lambda ctx: {"text": "no"}) as engine:
            for workflow, kind in ((stage.workflow(ask), "approval"), (stage.workflow(stuck), "stalled")):
                (asked,) = stage.approvals(await engine.wait(await engine.start(workflow)))
                assert (asked["kind"], "work" in asked) == (kind, False)

    stage.play(story)

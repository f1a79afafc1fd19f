"""Effects that happen once, through the whole engine: a server counts what really reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import openskelo
from openskelo.history import verify
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from tests.engine import stage
from tests.handlers import web

THREE: Json = {"max_attempts": 3, "backoff": "none", "delay_ms": 1}


@pytest.fixture(name="site")
def _site() -> Iterator[web.Site]:
    with web.serving() as site:
        yield site


def pay(url: str, **more: Json) -> openskelo.Workflow:
    """One block that posts to the address."""
    call: Json = {"handler": "builtin:http-request", "config": {"url": url, "method": "POST", "json": {"amount": 5}}}
    outputs: Json = {"status": "integer"}
    block = stage.block("pay", mode="deterministic", deterministic=call, outputs=outputs, retry=THREE, **more)
    return stage.workflow(block, outputs={"status": "pay.status"})


def at(root: Path) -> openskelo.Project:
    """A project that may reach our server."""
    return openskelo.Project(root=root, data_dir=root / ".skelo", allow_private_addresses=True)


def drive(where: openskelo.Project, workflow: openskelo.Workflow, *answers: dict[str, Any]) -> RunDocument:
    """The run's document after it and these answers; the record it leaves verifies."""

    async def story() -> RunDocument:
        async with await openskelo.Engine.open(where) as engine:
            run_id = await engine.start(workflow)
            document = await engine.wait(run_id)
            for answer in answers:
                (asked,) = stage.approvals(document)
                await engine.answer(asked["id"], by="ann", **answer)
                document = await engine.wait(run_id)
            proof = await verify.verify_run(engine.store, run_id)
            assert proof.intact, proof.problems
            return document

    return stage.play(story)


@pytest.mark.parametrize(
    ("path", "more", "code"), [("/slow", {"timeout_ms": 3000}, "TIMEOUT"), ("/broken", {}, "HTTP_FAILED")]
)
def test_a_request_without_an_answer_is_sent_once_and_asked_about(
    tmp_path: Path, site: web.Site, path: str, more: dict[str, Json], code: str
) -> None:
    drive(at(tmp_path), pay(f"{site.url}/text"))  # imports the client, which takes seconds on a busy machine
    site.seen.clear()
    document = drive(at(tmp_path), pay(site.url + path, **more))
    assert (document["status"], len(site.seen)) == ("paused", 1)
    (asked,) = stage.approvals(document)
    args = asked["args"]
    assert (asked["kind"], asked["node"], args["code"]) == ("uncertain", "pay", code)


def test_a_person_says_that_it_happened(tmp_path: Path, site: web.Site) -> None:
    document = drive(at(tmp_path), pay(f"{site.url}/broken"), {"status": "modified", "modified_args": {"status": 201}})
    assert (document["ending"], document["outputs"], len(site.seen)) == ("ok", {"status": 201}, 1)


def test_a_person_lets_it_be_done_again(tmp_path: Path, site: web.Site) -> None:
    document = drive(
        at(tmp_path), pay(f"{site.url}/broken"), {"status": "approved"}, {"status": "denied", "reason": "no"}
    )
    error = cast("JsonObject", stage.error(document))
    assert (document["ending"], error["code"], len(site.seen)) == ("failed", "UNCERTAIN_EFFECT", 2)


def test_an_answer_that_a_gate_refuses_is_not_asked_for_again(tmp_path: Path, site: web.Site) -> None:
    gate: Json = [{"name": "created", "type": "expr", "expression": "outputs.status == 201"}]
    document = drive(at(tmp_path), pay(f"{site.url}/text", post_gates=gate))
    error = cast("JsonObject", stage.error(document))
    assert (document["ending"], error["code"], len(site.seen)) == ("failed", "POST_GATE_FAILED", 1)
    assert "is not repeated" in str(error["message"])


@pytest.mark.parametrize(("path", "more"), [("/status/503", {}), ("/broken", {"repeatable": True})])
def test_an_error_status_is_tried_again_and_so_is_what_may_be_repeated(
    tmp_path: Path, site: web.Site, path: str, more: dict[str, Json]
) -> None:
    document = drive(at(tmp_path), pay(site.url + path, **more))
    assert (document["ending"], len(site.seen)) == ("failed", 3)


def test_nobody_listening_is_tried_again(tmp_path: Path) -> None:
    with web.serving() as gone:
        url = gone.url
    document = drive(at(tmp_path), pay(url))
    nodes = cast("dict[str, JsonObject]", document["nodes"])
    assert (document["ending"], nodes["pay"]["attempts"]) == ("failed", 3)


TOOL = """
import pathlib, time

def handler(ctx):
    with pathlib.Path("calls").open("a") as calls:
        calls.write("called\\n")
    time.sleep(60)
"""


def test_a_retry_of_a_plan_does_not_call_a_tool_again_that_may_have_worked(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text(TOOL)
    (tmp_path / "skelo.yaml").write_text("tools: {send: {python: tool.py, effect: once, timeout_ms: 5000}}\n")
    plan: JsonObject = {
        "plan_id": "send",
        "budgets": {"max_steps": 20},
        "steps": [
            {"id": "call", "op": "tool_call", "args": {"tool_id": "send", "args": {}}, "save_as": "sent"},
            {"id": "again", "op": "retry", "args": {"step_id": "call", "max_retries": 3}},
            {"id": "end", "op": "emit", "args": {"result_ref": "var:sent"}},
        ],
    }
    workflow = openskelo.from_document(plan, root=tmp_path)
    where = openskelo.project_at(tmp_path / "skelo.yaml")
    document = drive(where, workflow, {"status": "modified", "modified_args": {"sent": "yes"}})
    assert (document["ending"], (tmp_path / "calls").read_text()) == ("ok", "called\n")

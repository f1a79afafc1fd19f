"""`openskelo.run`: a whole run in one call, in a script and where an event loop already runs."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import NotRequired, get_origin, get_type_hints

import pytest

import openskelo
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import JsonObject

DOUBLE: JsonObject = {
    "name": "double",
    "inputs": {"n": "integer"},
    "outputs": {"twice": "double.twice"},
    "blocks": [
        {
            "id": "double",
            "mode": "deterministic",
            "inputs": {"n": {"type": "integer", "from": "inputs.n"}},
            "outputs": {"twice": "integer"},
            "deterministic": {"handler": "local:double"},
        }
    ],
}
ASKING = """\
name: asking
blocks:
  - id: ask
    mode: approval
    outputs: { by: string }
    approval: { prompt: Go on? }
"""


def double(ctx: openskelo.Context) -> dict[str, object]:
    return {"twice": int(str(ctx.inputs["n"])) * 2}


def run_double(project: openskelo.Project) -> openskelo.RunDocument:
    return openskelo.run(
        openskelo.from_document(DOUBLE), {"n": 21}, project=project, handlers={"double": double}, by="ada"
    )


def test_a_script_gets_the_document_of_the_ended_run(tmp_path: Path) -> None:
    document = run_double(openskelo.project_at(tmp_path))
    assert (document["ending"], document["outputs"]) == ("ok", {"twice": 42})


def test_a_notebook_gets_it_while_its_own_loop_runs(tmp_path: Path) -> None:
    async def cell() -> openskelo.RunDocument:
        return run_double(openskelo.project_at(tmp_path))

    assert asyncio.run(cell())["outputs"] == {"twice": 42}


def test_a_file_brings_its_project_and_a_question_ends_the_call(tmp_path: Path) -> None:
    path = tmp_path / "asking.yaml"
    path.write_text(ASKING)
    document = openskelo.run(path)
    (approval,) = document["approvals"]
    assert (document["status"], approval["node"], approval["prompt"]) == ("paused", "ask", "Go on?")
    assert (tmp_path / ".skelo").is_dir()


@pytest.mark.parametrize("in_loop", [False, True])
def test_invalid_input_is_raised_and_nothing_is_started(tmp_path: Path, in_loop: bool) -> None:
    project = openskelo.project_at(tmp_path)

    def call() -> None:
        openskelo.run(openskelo.from_document(DOUBLE), {"n": "x"}, project=project, handlers={"double": double})

    async def cell() -> None:
        call()

    with pytest.raises(openskelo.InvalidInput) as raised:
        asyncio.run(cell()) if in_loop else call()
    assert raised.value.code == "INPUT_INVALID"


def test_an_interrupt_in_a_notebook_leaves_the_run_resumable(tmp_path: Path) -> None:
    project = openskelo.project_at(tmp_path)
    entered = threading.Event()

    async def wait_long(ctx: openskelo.Context) -> dict[str, object]:
        entered.set()
        await asyncio.sleep(60)
        return {"twice": 0}

    def interrupt() -> None:
        entered.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    async def cell() -> None:
        # A notebook's own handler raises KeyboardInterrupt in the cell, as Python's default one does.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            openskelo.run(openskelo.from_document(DOUBLE), {"n": 1}, project=project, handlers={"double": wait_long})

    async def resumed() -> RunDocument:
        async with await openskelo.Engine.open(project, handlers={"double": double}) as engine:
            (listed,) = await engine.runs()
            run_id = str(listed["runId"])
            await engine.resume(run_id)
            return await engine.wait(run_id)

    asyncio.run(cell())
    assert asyncio.run(resumed())["outputs"] == {"twice": 2}


def keys(kind: type) -> tuple[set[str], set[str]]:
    """Return the keys that a document of this type always has, and those that it may have."""
    hints = get_type_hints(kind, include_extras=True)
    optional = {key for key, hint in hints.items() if get_origin(hint) is NotRequired}
    return set(hints) - optional, optional


def test_a_document_has_the_keys_that_its_type_names(tmp_path: Path) -> None:
    document = run_double(openskelo.project_at(tmp_path))
    assert set(document) == keys(openskelo.RunDocument)[0]
    assert set(document["nodes"]["double"]) == keys(openskelo.NodeDocument)[0]
    assert set(document["budget"]) == keys(get_type_hints(openskelo.RunDocument)["budget"])[0]


def test_an_approval_has_the_keys_that_its_type_names(tmp_path: Path) -> None:
    path = tmp_path / "asking.yaml"
    path.write_text(ASKING)
    (approval,) = openskelo.run(path)["approvals"]
    always, optional = keys(openskelo.ApprovalDocument)
    assert always <= set(approval) <= always | optional

"""Every command that one process may queue for another one comes back as it was, at the time of its taking."""

from __future__ import annotations

import asyncio

import pytest

from openskelo import errors
from openskelo.engine.commands import command_codec
from openskelo.kernel import commands
from openskelo.kernel import run as runs
from openskelo.kernel.json import JsonObject
from openskelo.stores import memory
from openskelo.structs import replace
from tests.engine import stage

FLOW = stage.workflow(stage.block("only"))
NODE = FLOW.nodes["only"]
SENT: list[commands.Command] = [
    commands.CancelRun(at=1, by="ann", reason="enough"),
    commands.PauseRun(at=1, by="ann"),
    commands.ResumeRun(at=1, by="ann"),
    commands.ChangeMode(at=1, by="ann", mode="INTERACTIVE"),
    commands.AddNode(at=1, by="ann", node=NODE),
    commands.ChangeNode(at=1, by="ann", node=NODE),
    commands.RemoveNode(at=1, by="ann", node="only"),
    commands.AddEdge(at=1, by="ann", id="e", source="a", target="b", bidirectional=True, type="handoff", label="task"),
    commands.RemoveEdge(at=1, by="ann", id="e"),
    commands.SendMessage(at=1, by="ann", node="only", message_id="m", content={"value": "hello"}, interrupt=True),
    commands.SendMessage(at=1, by="ann", node="only", message_id="m", content={"value": "hello"}, steer=True),
    commands.ResetSession(at=1, by="ann", node="only"),
    commands.RetryTurn(at=1, by="ann", node="only"),
    commands.ReportInterrupted(at=1, node="only", visit=1, attempt=1),
    commands.CompleteRun(at=1, by="ann"),
]


def decode(body: JsonObject) -> commands.Command:
    run = runs.new("00000000-0000-4000-8000-000000000001", FLOW)
    return asyncio.run(command_codec.decode_command(memory.MemoryStore(), run, body, 2))


@pytest.mark.parametrize("command", SENT, ids=lambda command: type(command).__name__)
def test_a_command_comes_back_as_it_was(command: commands.Command) -> None:
    assert decode(command_codec.encode_command(command)) == replace(command, at=2)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "CreateRun", "fields": {"by": "ann"}},
        {"type": "CancelRun", "fields": {"by": 7}},
        {"type": "ChangeMode", "fields": {"by": "ann", "mode": "LOUD"}},
        {"type": "SendMessage", "fields": {"by": "ann"}},
        {"type": "AddNode", "fields": {"by": "ann"}},
    ],
)
def test_a_body_that_is_no_command_is_refused(body: JsonObject) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        decode(body)
    assert refused.value.code == "COMMAND_UNKNOWN"


def test_an_answer_to_an_approval_that_is_not_open_is_refused() -> None:
    with pytest.raises(errors.Refused) as refused:
        decode({"type": "Answer", "approvalId": "a", "fields": {"status": "approved", "by": "ann"}})
    assert refused.value.code == "APPROVAL_CLOSED"


def test_a_command_of_the_driver_itself_cannot_be_queued() -> None:
    with pytest.raises(TypeError):
        command_codec.encode_command(commands.Tick(at=1))

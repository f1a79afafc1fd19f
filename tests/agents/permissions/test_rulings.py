"""Permissions: every call of an agent is allowed, denied, or asked about, over the protocol and by a hook."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

import openskelo
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from tests.agents import repository
from tests.handlers import web

MAKE_TEST: JsonObject = {"command": "make test"}


def _hooked(folder: Path, **agent: Json) -> Path:
    """Return a project whose agent is the scripted one in the place of Claude Code, which asks a hook."""
    command: Json = [sys.executable, str(repository.AGENT)]
    return repository.make(folder, provider="claude", command=command, permissions="gated", **agent)


def _lying(folder: Path, **agent: Json) -> Path:
    """Return the same with the scripted agent that misbehaves."""
    # The second file is what the program imports: a sandbox shows the files that a command names.
    program = str(repository.AGENT.with_name("misbehaving_agent.py"))
    command: Json = [sys.executable, program, str(repository.AGENT)]
    return repository.make(folder, provider="claude", command=command, permissions="gated", **agent)


def _flow(root: Path, *lines: str) -> openskelo.Workflow:
    return openskelo.from_document(repository.block(*lines), root=root)


Answer = Callable[[openskelo.Engine, JsonObject], Awaitable[None]]


def _play(root: Path, lines: tuple[str, ...], *answers: Answer) -> RunDocument:
    """Return the document of a run in which each question gets the next answer."""

    async def story() -> RunDocument:
        async with repository.engine(root) as engine:
            run_id = await engine.start(_flow(root, *lines))
            for answer in answers:
                document = await engine.wait(run_id)
                (approval,) = cast("list[JsonObject]", document["approvals"])
                await answer(engine, approval)
            return await engine.wait(run_id)

    return asyncio.run(asyncio.wait_for(story(), 120))


def _answer(status: str, **more: Any) -> Answer:
    async def give(engine: openskelo.Engine, approval: JsonObject) -> None:
        await engine.answer(str(approval["id"]), status=cast("Any", status), by="ada", **more)

    return give


def _said(document: RunDocument) -> str:
    assert document["ending"] == "ok", document.get("error")
    return str(cast("dict[str, Any]", document["nodes"])["work"]["outputs"]["summary"])


def _calls(root: Path, document: RunDocument) -> list[tuple[str, str, bool]]:
    """Return tool, decision and whether a person was asked, for each call in the record."""
    calls = [
        cast("dict[str, Any]", event["data"])["call"]
        for event in repository.events(root, str(document["runId"]))
        if event["type"] == "call.started"
    ]
    return [(call["tool"], call["gate"]["decision"], call["gate"]["asked"]) for call in calls]


# -- by the hook ------------------------------------------------------------------------------------------------------


def test_an_approved_call_is_made(tmp_path: Path) -> None:
    root = _hooked(tmp_path)
    document = _play(root, ('@hook Bash {"command": "make test"}',), _answer("approved"))
    assert _said(document) == "[allow: ada has allowed it]"
    assert _calls(root, document) == [("Bash", "allow", True)]


def test_a_denied_call_is_not_made_and_the_model_is_told_why(tmp_path: Path) -> None:
    root = _hooked(tmp_path)
    document = _play(root, ('@hook Bash {"command": "make test"}',), _answer("denied", reason="use pytest"))
    assert _said(document) == "[deny: ada has denied it: use pytest]"
    assert _calls(root, document) == [("Bash", "deny", True)]


def test_changed_arguments_reach_the_agent(tmp_path: Path) -> None:
    root = _hooked(tmp_path)
    changed = _answer("modified", modified_args={"command": "make check"})
    document = _play(root, ('@hook Bash {"command": "make test", "timeout": 5}',), changed)
    assert _said(document) == '[allow {"command": "make check", "timeout": 5}: ada has changed and allowed it]'


def test_changed_arguments_of_another_form_are_refused_and_the_question_stays(tmp_path: Path) -> None:
    async def wrong(engine: openskelo.Engine, approval: JsonObject) -> None:
        for values in ({"command": 7}, {"other": "x"}):
            with pytest.raises(openskelo.InvalidInput) as raised:
                await engine.answer(str(approval["id"]), status="modified", modified_args=cast("Any", values), by="ada")
            assert raised.value.code == "APPROVAL_INVALID"
        await engine.answer(str(approval["id"]), status="approved", by="ada")

    assert _said(_play(_hooked(tmp_path), ('@hook Bash {"command": "make test"}',), wrong)).startswith("[allow")


@pytest.mark.parametrize(
    ("line", "changed", "denial"),
    [
        ('Bash {"command": "ls"}', {"command": "curl evil"}, "the project denies it (commands: *curl*)"),
        (
            'Write {"file_path": "a.txt", "content": "x"}',
            {"file_path": "../a.txt"},
            "it would change a file outside of the workspace",
        ),
    ],
)
def test_changed_arguments_that_the_policy_denies_are_denied_with_its_reason(
    tmp_path: Path, line: str, changed: JsonObject, denial: str
) -> None:
    root = _hooked(tmp_path, policy={"deny": [{"commands": ["*curl*"]}]})
    document = _play(root, (f"@hook {line}",), _answer("modified", modified_args=changed))
    assert _said(document) == f"[deny: ada has changed and allowed it, but {denial}]"
    assert _calls(root, document) == [(line.partition(" ")[0], "deny", True)]


def test_what_is_asked_shows_tool_arguments_diff_and_why(tmp_path: Path) -> None:
    shown: list[JsonObject] = []

    async def look(engine: openskelo.Engine, approval: JsonObject) -> None:
        shown.append(approval)
        await engine.answer(str(approval["id"]), status="approved", by="ada")

    _play(_hooked(tmp_path), ('@hook Write {"file_path": "hello.txt", "content": "hello\\nyou\\n"}',), look)
    (approval,) = shown
    assert approval["prompt"] == "helper wants to change hello.txt"
    args = cast("dict[str, Any]", approval["args"])
    assert args["diff"].splitlines()[2:] == ["@@ -1 +1,2 @@", " hello", "+you"]
    assert (args["tool"], args["kind"], args["why"]) == ("Write", "edit", "no rule allows it")
    assert args["rule"] == {"kind": "edit", "paths": ["hello.txt"]}


@pytest.mark.parametrize(("arguments", "folder"), [({}, "."), ({"cwd": "src"}, "src"), ({"cwd": "/etc"}, "/etc")])
def test_what_is_asked_shows_the_folder_of_the_call(tmp_path: Path, arguments: JsonObject, folder: str) -> None:
    shown: list[Json] = []

    async def look(engine: openskelo.Engine, approval: JsonObject) -> None:
        shown.append(cast("dict[str, Any]", approval["args"])["folder"])
        await engine.answer(str(approval["id"]), status="approved", by="ada")

    _play(_hooked(tmp_path), (f"@hook Bash {json.dumps({**MAKE_TEST, **arguments})}",), look)
    assert shown == [folder]


def test_the_policy_decides_without_a_person_where_it_can(tmp_path: Path) -> None:
    policy: Json = {
        "allow": [{"kind": "execute", "commands": ["make *"]}, {"kind": "edit", "paths": ["src/**"]}],
        "deny": [{"commands": ["*curl*"]}, {"paths": ["**/.env"]}],
    }
    root = _hooked(tmp_path, policy=policy)
    lines = (
        '@hook Bash {"command": "make test"}',
        '@hook Bash {"command": "cd x && curl evil"}',
        '@hook Write {"file_path": "src/a.py", "content": "x"}',
        '@hook Write {"file_path": "src/.env", "content": "x"}',
        '@hook Write {"file_path": "../outside.txt", "content": "x"}',
        '@hook Read {"file_path": "hello.txt"}',
        '@hook mcp__skelo__complete {"summary": "x"}',
    )
    document = _play(root, lines)
    assert [decision for _, decision, _ in _calls(root, document)] == [
        *("allow", "deny", "allow", "deny", "deny", "allow", "allow")
    ]
    assert "it would change a file outside of the workspace" in _said(document)


def test_a_command_that_goes_on_with_another_is_asked_about(tmp_path: Path) -> None:
    root = _hooked(tmp_path, policy={"allow": [{"kind": "execute", "commands": ["make *"]}]})
    document = _play(root, ('@hook Bash {"command": "make test; rm -rf x"}',), _answer("denied", reason="no"))
    assert _calls(root, document) == [("Bash", "deny", True)]


def test_skip_allows_what_is_not_denied(tmp_path: Path) -> None:
    command: Json = [sys.executable, str(repository.AGENT)]
    policy: Json = {"deny": [{"commands": ["git push*"]}]}
    root = repository.make(tmp_path, provider="claude", command=command, permissions="skip", policy=policy)
    lines = ('@hook Bash {"command": "make test"}', '@hook Bash {"command": "git push"}')
    assert _calls(root, _play(root, lines)) == [("Bash", "allow", False), ("Bash", "deny", False)]


def test_planning_denies_what_changes_a_file_and_leaves_commands_to_the_rules(tmp_path: Path) -> None:
    root = _hooked(tmp_path, policy={"allow": [{"kind": "edit"}, {"commands": ["git log*"]}]})
    lines = ('@hook Write {"file_path": "hello.txt", "content": "x"}', '@hook Bash {"command": "git log"}')
    document = repository.play(root, repository.block(*lines), global_mode="PLANNING")
    denied = "[deny: the run is in PLANNING mode: look, and say what you would change]"
    assert _said(document) == f"{denied}[allow: the project allows it (commands: git log*)]"
    assert _calls(root, document) == [("Write", "deny", False), ("Bash", "allow", False)]


@pytest.mark.parametrize(("length", "asked"), [("turn", [True, False]), ("run", [True, False])])
def test_an_approval_for_longer_allows_the_same_call_again(tmp_path: Path, length: str, asked: list[bool]) -> None:
    root = _hooked(tmp_path)
    line = '@hook Bash {"command": "make test"}'
    document = _play(root, (line, line), _answer("approved", remember=length))
    assert [was_asked for _, _, was_asked in _calls(root, document)] == asked
    (resolved,) = [
        cast("dict[str, Any]", event["data"])["resolution"]
        for event in repository.events(root, str(document["runId"]))
        if event["type"] == "approval.resolved"
    ]
    assert (resolved["remember"], resolved["rule"]) == (length, {"kind": "execute", "command": "make test"})


def _die_and_answer(root: Path, lines: tuple[str, ...], first: Answer, *others: Answer) -> tuple[str, RunDocument]:
    """Return the id of a question that was open when the process died, and the document of the run after its answer."""
    flow = _flow(root, *lines)

    async def begin() -> str:
        async with repository.engine(root) as engine:
            run_id = await engine.start(flow)
            assert cast("list[Any]", (await engine.wait(run_id))["approvals"])
            return run_id  # closing the engine kills the agent; the question stays open

    async def go_on(run_id: str) -> tuple[str, RunDocument]:
        async with repository.engine(root) as engine:
            (approval,) = cast("list[JsonObject]", (await engine.show(run_id))["approvals"])
            await first(engine, approval)
            await engine.resume(run_id)
            for answer in others:
                (later,) = cast("list[JsonObject]", (await engine.wait(run_id))["approvals"])
                await answer(engine, later)
            return str(approval["id"]), await engine.wait(run_id)

    run_id = asyncio.run(asyncio.wait_for(begin(), 120))
    assert repository.processes_left(root) == []
    return asyncio.run(asyncio.wait_for(go_on(run_id), 120))


def test_a_question_survives_the_death_of_the_process_and_its_answer_is_used_once(tmp_path: Path) -> None:
    root = _hooked(tmp_path)
    line = '@hook Bash {"command": "make test"}'
    once = _answer("denied", reason="once is enough")
    approval_id, document = _die_and_answer(root, (line, "@next", line, line), _answer("approved"), once)
    assert document["ending"] == "ok"
    log = repository.events(root, str(document["runId"]))
    granted = [cast("dict[str, Any]", event["data"]) for event in log if event["type"] == "call.granted"]
    assert [grant["grant"]["approvalId"] for grant in granted] == [approval_id]
    assert [event["type"] for event in log].count("approval.requested") == 2


def test_an_answer_that_is_used_after_a_crash_allows_nothing_that_is_denied(tmp_path: Path) -> None:
    root = _hooked(tmp_path, policy={"deny": [{"commands": ["*curl*"]}]})
    line = '@hook Bash {"command": "ls"}'
    changed = _answer("modified", modified_args={"command": "curl evil"})
    _, document = _die_and_answer(root, (line, "@next", line), changed)
    assert _said(document) == ("[deny: ada has changed and allowed it, but the project denies it (commands: *curl*)]")


def test_changed_arguments_do_not_allow_the_same_call_over_the_protocol(tmp_path: Path) -> None:
    root = _lying(tmp_path)
    lines = ('@hook-as x Bash {"command": "ls"}', "@next", "@ask-as x ls", "@next", "@say I see")
    _, document = _die_and_answer(root, lines, _answer("modified", modified_args={"command": "make test"}))
    assert _said(document) == "I see"
    assert _calls(root, document) == [("Bash", "deny", True)]


def test_a_cancelled_run_withdraws_the_question_and_ends_the_agent(tmp_path: Path) -> None:
    root = _hooked(tmp_path)

    async def story() -> RunDocument:
        async with repository.engine(root) as engine:
            run_id = await engine.start(_flow(root, '@hook Bash {"command": "make test"}'))
            await engine.wait(run_id)
            await engine.cancel(run_id)
            return await engine.wait(run_id)

    assert asyncio.run(asyncio.wait_for(story(), 120))["ending"] == "cancelled"
    assert repository.processes_left(root) == []


# -- a ruling counts once ---------------------------------------------------------------------------------------------


def _asked_and_recorded(root: Path, document: RunDocument) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the commands that a person was asked about, and those in the record with what was decided."""
    asked: list[str] = []
    recorded: list[tuple[str, str]] = []
    for event in repository.events(root, str(document["runId"])):
        data = cast("dict[str, Any]", event["data"])
        if event["type"] == "approval.requested":
            asked.append(data["tool"]["args"]["arguments"]["command"])
        if event["type"] == "call.started" and "gate" in data["call"]:
            recorded.append((data["args"]["value"]["command"], data["call"]["gate"]["decision"]))
    return asked, recorded


def test_the_id_of_an_approved_call_does_not_allow_other_arguments(tmp_path: Path) -> None:
    root = _lying(tmp_path)
    lines = ('@hook-as x Bash {"command": "ls"}', '@hook-as x Bash {"command": "rm -rf ."}')
    document = _play(root, lines, _answer("approved"), _answer("denied", reason="no"))
    assert _said(document) == "[allow][deny]"
    assert _asked_and_recorded(root, document) == (["ls", "rm -rf ."], [("ls", "allow"), ("rm -rf .", "deny")])


def test_an_answer_counts_once_also_for_the_same_call(tmp_path: Path) -> None:
    root = _lying(tmp_path)
    line = '@hook-as x Bash {"command": "make test"}'
    document = _play(root, (line, line), _answer("approved"), _answer("denied", reason="once is enough"))
    assert _said(document) == "[allow][deny]"
    both = [("make test", "allow"), ("make test", "deny")]
    assert _asked_and_recorded(root, document) == (["make test", "make test"], both)


def test_an_answer_counts_once_for_calls_without_an_id(tmp_path: Path) -> None:
    root = _lying(tmp_path)
    line = '@hook-as - Bash {"command": "make test"}'
    document = _play(root, (line, line), _answer("approved"), _answer("denied", reason="once is enough"))
    assert _said(document) == "[allow][deny]"


def test_a_question_says_that_the_id_was_used_before(tmp_path: Path) -> None:
    shown: list[str] = []

    async def look(engine: openskelo.Engine, approval: JsonObject) -> None:
        shown.append(str(cast("dict[str, Any]", approval["args"])["why"]))
        await engine.answer(str(approval["id"]), status="approved", by="ada")

    line = '@hook-as x Bash {"command": "make test"}'
    _play(_lying(tmp_path), (line, line), look, look)
    assert shown == ["no rule allows it", "no rule allows it; its id is that of an earlier call"]


def test_a_call_that_comes_by_the_hook_and_over_the_protocol_is_asked_about_once(tmp_path: Path) -> None:
    root = _lying(tmp_path)
    lines = ('@hook-as x Bash {"command": "make test"}', "@ask-as x make test")
    document = _play(root, lines, _answer("approved"))
    assert _said(document) == "[allow][once]"
    assert _asked_and_recorded(root, document) == (["make test"], [("make test", "allow")])


def test_a_call_that_has_ended_is_asked_about_anew_on_the_other_way(tmp_path: Path) -> None:
    root = _lying(tmp_path)
    push = ('@hook-as x Bash {"command": "git push"}', "@tell-as x completed git push", "@ask-as x git push")
    document = _play(root, (*push, "@next", "@say I see"), _answer("approved"), _answer("denied", reason="once"))
    assert _said(document) == "I see"
    both = [("git push", "allow"), ("git push", "deny")]
    assert _asked_and_recorded(root, document) == (["git push", "git push"], both)


def test_the_other_way_carries_no_other_arguments(tmp_path: Path) -> None:
    root = _lying(tmp_path)
    lines = ('@hook-as x Bash {"command": "ls"}', "@ask-as x rm -rf .", "@next", "@say I see")
    document = _play(root, lines, _answer("approved"), _answer("denied", reason="no"))
    assert _said(document) == "I see"
    assert _asked_and_recorded(root, document) == (["ls", "rm -rf ."], [("ls", "allow"), ("rm -rf .", "deny")])


def test_the_other_way_carries_the_arguments_that_a_person_has_changed(tmp_path: Path) -> None:
    root = _lying(tmp_path)
    lines = ('@hook-as x Bash {"command": "make test"}', "@ask-as x make check", "@ask-as x make test")
    changed = _answer("modified", modified_args={"command": "make check"})
    document = _play(root, lines, changed, _answer("approved"))
    assert _said(document) == '[allow {"command": "make check"}][once][once]'
    assert _asked_and_recorded(root, document)[0] == ["make test", "make test"]


def test_an_answer_is_bound_to_the_files_it_was_given_for(tmp_path: Path) -> None:
    root = _lying(tmp_path)
    lines = ('@hook-as x Bash {"command": "make test"}', "@write Makefile test: evil", "@ask-as x make test")
    document = _play(root, lines, _answer("approved"), _answer("approved"))
    assert _asked_and_recorded(root, document)[0] == ["make test", "make test"]


def test_an_id_of_an_earlier_turn_is_another_call(tmp_path: Path) -> None:
    root = _lying(tmp_path, max_turns=2, until="complete")
    line = '@hook-as x Bash {"command": "make test"}'
    document = _play(root, (line, "@next", line), _answer("approved"), _answer("denied", reason="no"))
    both = [("make test", "allow"), ("make test", "deny")]
    assert _asked_and_recorded(root, document) == (["make test", "make test"], both)


def test_calls_with_the_same_id_are_counted(tmp_path: Path) -> None:
    root = _lying(tmp_path, max_calls=2, policy={"allow": [{"kind": "execute"}]})
    line = '@hook-as x Bash {"command": "make test"}'
    document = _play(root, (line, line, line, "@wait"))
    assert cast("dict[str, Any]", document.get("error"))["code"] == "AGENT_CALLS"


# -- a call that the agent tells of before it asks --------------------------------------------------------------------


def _call_facts(root: Path, document: RunDocument) -> list[tuple[str, Json]]:
    """Return what the record says about calls and questions, in order."""
    facts: list[tuple[str, Json]] = []
    ids: set[str] = set()
    for event in repository.events(root, str(document["runId"])):
        data = cast("dict[str, Any]", event["data"])
        match event["type"]:
            case "call.started":
                ids.add(data["call"]["id"])
                facts.append(("call.started", data["call"].get("gate")))
            case "call.ruled":
                ids.add(data["callId"])
                facts.append(("call.ruled", [data["gate"], data["args"]["value"]]))
            case "call.completed":
                ids.add(data["callId"])
                facts.append(("call.completed", [data["status"], data["result"]["value"]]))
            case "approval.requested":
                ids.add(data["tool"]["id"])
                facts.append(("approval.requested", data["tool"]["args"]["arguments"]))
            case _:
                pass
    assert len(ids) == 1  # all of it is about one call
    return facts


@pytest.mark.parametrize("status", ["approved", "denied"])
def test_what_a_person_decides_about_a_call_that_was_told_before_is_in_the_record(tmp_path: Path, status: str) -> None:
    root = _lying(tmp_path)
    lines = ("@tell-as x in_progress make test", "@ask-as x make test", "@tell-as x completed make test")
    document = _play(root, (*lines, "@next", "@say I see"), _answer(status, reason="so be it"))
    is_allowed = status == "approved"
    assert _said(document) == ("[once]" if is_allowed else "I see")
    why = f"ada has {'allowed' if is_allowed else 'denied'} it: so be it"
    gate: Json = {"decision": "allow" if is_allowed else "deny", "why": why, "asked": True}
    assert _call_facts(root, document) == [
        ("call.started", None),
        ("approval.requested", MAKE_TEST),
        ("call.ruled", [gate, MAKE_TEST]),
        ("call.completed", ["completed", ""] if is_allowed else ["failed", why]),
    ]


def test_what_the_policy_decides_about_a_call_that_was_told_before_is_in_the_record(tmp_path: Path) -> None:
    root = _lying(tmp_path, policy={"deny": [{"commands": ["*curl*"]}]})
    lines = ("@tell-as x in_progress ls", "@ask-as x curl evil", "@next", "@say I see")
    why = "the project denies it (commands: *curl*)"
    gate: Json = {"decision": "deny", "why": why, "asked": False}
    assert _call_facts(root, _play(root, lines)) == [
        ("call.started", None),
        ("call.ruled", [gate, {"command": "curl evil"}]),
        ("call.completed", ["failed", why]),
    ]


# -- over the protocol ------------------------------------------------------------------------------------------------


def _plain(folder: Path, **agent: Json) -> Path:
    return repository.make(folder, permissions="gated", **agent)


def test_a_gated_agent_that_may_act_unasked_is_refused_where_nothing_confines_it(tmp_path: Path) -> None:
    with pytest.raises(openskelo.InvalidInput) as raised:
        _play(_plain(tmp_path, sandbox="none"), ("@say never",))
    assert raised.value.code == "AGENT_GATE"
    assert raised.value.message == (
        "work: helper is gated, but its program may make calls without asking, and it is not confined"
    )
    (tmp_path / "other").mkdir()
    skipping = repository.make(tmp_path / "other", sandbox="none", permissions="skip")
    assert _said(_play(skipping, ("@say done",))) == "done"


def test_a_permission_is_granted_once_never_for_longer(tmp_path: Path) -> None:
    root = _plain(tmp_path)
    document = _play(root, ("@ask make test",), _answer("approved", remember="run"))
    assert _said(document) == "[once]"


def test_a_denied_permission_is_told_with_its_reason_in_the_next_turn(tmp_path: Path) -> None:
    root = _plain(tmp_path)
    document = _play(root, ("@ask make test", "@next", "@say I see"), _answer("denied", reason="use pytest"))
    assert _said(document) == "I see"
    transcript = repository.artifact(root, str(document["runId"]), "transcript.jsonl")
    assert "The call 'make test' was denied: ada has denied it: use pytest" in transcript


def test_arguments_cannot_be_changed_where_the_agent_cannot_take_it(tmp_path: Path) -> None:
    async def change(engine: openskelo.Engine, approval: JsonObject) -> None:
        with pytest.raises(openskelo.InvalidInput) as raised:
            await engine.answer(str(approval["id"]), status="modified", modified_args={"command": "x"}, by="ada")
        assert "deny the call" in str(raised.value.hint)
        await engine.answer(str(approval["id"]), status="approved", by="ada")

    assert _said(_play(_plain(tmp_path), ("@ask make test",), change)) == "[once]"


def test_a_question_of_the_agents_own_is_a_form(tmp_path: Path) -> None:
    root = _plain(tmp_path)
    document = _play(root, ("@question Which colour?",), _answer("modified", modified_args={"colour": "red"}))
    assert _said(document) == "[accept red]"


def test_a_person_may_decline_a_question_of_the_agents_own(tmp_path: Path) -> None:
    root = _plain(tmp_path)
    document = _play(root, ("@question Which colour?",), _answer("denied", reason="none"))
    assert _said(document) == "[decline None]"


_ASK = '@tell-tool ask_human {"question": "Which colour?"}'
_CHOOSE = '@tell-tool ask_human {"question": "Which colour?", "options": ["red", "blue"]}'
_NO_ANSWER = "[The person gives no answer, and says why: look at the brief\nDecide yourself, or end.]"


@pytest.mark.parametrize(
    ("line", "answer", "told"),
    [
        (_ASK, _answer("modified", modified_args={"answer": "green"}), "[green]"),
        (_CHOOSE, _answer("modified", modified_args={"answer": "red"}), "[red]"),
        (_ASK, _answer("denied", reason="look at the brief"), _NO_ANSWER),
        (_CHOOSE, _answer("denied", reason="look at the brief"), _NO_ANSWER),
    ],
)
def test_the_tool_ask_human_tells_the_model_what_a_person_answers(
    tmp_path: Path, line: str, answer: Answer, told: str
) -> None:
    shown: list[JsonObject] = []

    async def look(engine: openskelo.Engine, approval: JsonObject) -> None:
        shown.append(approval)
        await answer(engine, approval)

    root = _plain(tmp_path, command=[sys.executable, str(repository.AGENT), "--tools"])
    assert _said(_play(root, (line,), look)) == told
    (approval,) = shown
    field: JsonObject = {"type": "string", "title": "Which colour?"}
    options: JsonObject = {"enum": ["red", "blue"]} if line is _CHOOSE else {}
    form: JsonObject = {"type": "object", "properties": {"answer": {**field, **options}}, "required": ["answer"]}
    assert (approval["prompt"], approval["form"]) == ("helper asks: Which colour?", form)


def test_an_answer_to_ask_human_is_one_of_its_options(tmp_path: Path) -> None:
    async def other(engine: openskelo.Engine, approval: JsonObject) -> None:
        with pytest.raises(openskelo.InvalidInput) as raised:
            await engine.answer(str(approval["id"]), status="modified", modified_args={"answer": "green"}, by="ada")
        assert raised.value.code == "APPROVAL_INVALID"
        await engine.answer(str(approval["id"]), status="modified", modified_args={"answer": "blue"}, by="ada")

    root = _plain(tmp_path, command=[sys.executable, str(repository.AGENT), "--tools"])
    assert _said(_play(root, (_CHOOSE,), other)) == "[blue]"


def test_a_form_that_names_an_address_is_declined_and_nothing_is_fetched(tmp_path: Path) -> None:
    root = _plain(tmp_path)
    with web.serving() as site:
        form = json.dumps({"$schema": site.url, "type": "object", "properties": {"colour": {"type": "string"}}})
        assert _said(_play(root, (f"@form {form}",))) == "[decline None]"
        assert site.seen == []


def test_waiting_for_a_person_is_no_idle_agent_and_no_used_time(tmp_path: Path) -> None:
    root = _plain(tmp_path, idle_ms=4_000, wall_ms=6_000)  # far above what a busy machine takes to start the agent

    async def late(engine: openskelo.Engine, approval: JsonObject) -> None:
        await asyncio.sleep(7)
        await engine.answer(str(approval["id"]), status="approved", by="ada")

    assert _said(_play(root, ("@ask make test",), late)) == "[once]"

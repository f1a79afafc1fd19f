"""The conformance suite for agents: what any ACP program must do to work in a run, as tests that pytest collects.

    class TestMyAgent(testing.AgentConformance):
        @pytest.fixture
        def agent(self) -> testing.AgentUnderTest:
            return testing.AgentUnderTest(settings=lambda model_url: AgentSettings(name="mine", ...))

Each check starts the real program through the same session pool, permissions and protocol client as a run, in an empty
folder of its own, and lets it talk to a scripted model (`scripted_model_server`): the script is in the prompt. So a
check does not depend on what a model says, needs no key and no network. When it ends, no process of the agent may be
left. `docs/extending/agent.md` shows how a new agent is checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Literal, TypeAlias

from openskelo import agent_settings, errors
from openskelo.agents import profiles, programs, sessions
from openskelo.agents.acp import acp_client
from openskelo.agents.gateway import gateway
from openskelo.agents.permissions import policy, rulings
from openskelo.agents.workspace import create_workspace, workspace
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.structs import frozen, replace
from openskelo.testing import scripted_model_server

Decision: TypeAlias = Literal["allow", "deny", "hold"]
#: The result that the tool `complete` takes in the checks.
_RESULT: JsonObject = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
_NODE = "work"
_POLL_SECONDS = 0.05


@frozen
class AgentUnderTest:
    """An agent, and what it does by design. The checks fail if one of these is not true."""

    #: Returns what a project would say about the agent, for the address of the scripted model.
    settings: Callable[[str], agent_settings.AgentSettings]
    #: The place where its program is installed, unless the settings have a `command`.
    data_dir: Path | None = None
    #: It asks before it runs a command.
    asks: bool = True
    #: It asks before it changes a file.
    asks_about_edits: bool = True
    #: It offers our MCP tools to its model.
    has_tools: bool = True
    #: Another process of it can continue a conversation; None if it can only at some times, and says so.
    resumes: bool | None = True
    #: The limit of each check.
    seconds: float = 90.0


class Person(acp_client.Listener, rulings.Asker, gateway.Meter):
    """Listens to a turn, answers every question about a call in the same way, and counts the calls of the model."""

    def __init__(self, permissions: rulings.SessionPermissions, decision: Decision) -> None:
        self._permissions = permissions
        self._decision = decision
        self._released = asyncio.Event()
        self.pieces: list[str] = []
        self.permissions: list[acp_client.PermissionRequest] = []
        self.questions: list[rulings.Question] = []
        self.forms: list[str] = []
        self.model_calls = 0

    def release(self) -> None:
        """End the wait of every question that is held, as denied."""
        self._released.set()

    def on_text(self, text: str) -> None:
        self.pieces.append(text)

    def on_call(self, call: acp_client.ToolCall) -> None:
        """Do nothing: the checks read the calls from the turn."""

    def on_activity(self, summary: str) -> None:
        """Do nothing: no check looks at thoughts and plans."""

    async def on_permission(self, request: acp_client.PermissionRequest) -> str | None:
        self.permissions.append(request)
        ruling = await self._permissions.permit(request)
        return request.option("allow_once" if ruling.is_allowed else "reject_once")

    async def on_question(self, prompt: str, schema: JsonObject) -> JsonObject | None:
        return (await self.ask_form(prompt, schema)).values

    async def ask_about(self, question: rulings.Question) -> rulings.Ruling:
        self.questions.append(question)
        if self._decision == "hold":
            await self._released.wait()
        return rulings.Ruling(is_allowed=self._decision == "allow", why="the test says so", was_asked=True)

    async def ask_form(self, prompt: str, schema: JsonObject) -> rulings.FormAnswer:
        self.forms.append(prompt)
        return rulings.FormAnswer()

    async def tree(self) -> str:
        return ""

    async def on_ruling(self, call_id: rulings.CallId, call: policy.Call, ruling: rulings.Ruling) -> None:
        """Do nothing: the checks look at the questions instead."""

    def remembered_rules(self) -> tuple[JsonObject, ...]:
        return ()

    def spent_usd(self) -> float:
        return 0.0

    async def claim(self, call: gateway.Call) -> None:
        """Grant every call."""

    def settle(self, call: gateway.Call) -> None:
        self.model_calls += 1

    def on_sign(self) -> None:
        """Do nothing: each check has its own time limit."""

    def stop(self, failure: errors.AttemptFailed) -> None:
        """Do nothing: every call is granted, so no turn is stopped."""

    def note(self, line: str) -> None:
        """Do nothing: the checks read no log."""


class Conversation:
    """One open session of the agent, and the person who answers it."""

    def __init__(self, session: sessions.Session, place: workspace.Workspace, idle_ms: int) -> None:
        self.session = session
        self.folder = place.folder
        self._idle_ms = idle_ms
        self.person = Person(session.permissions, "allow")

    async def take_turn(self, *lines: str, decision: Decision = "allow") -> acp_client.Turn:
        """Return the account of a turn in which the model plays these lines."""
        return await self.start_turn(*lines, decision=decision)

    def start_turn(self, *lines: str, decision: Decision = "allow") -> asyncio.Task[acp_client.Turn]:
        """Start a turn; its reports go to a new `person`."""
        self.person = Person(self.session.permissions, decision)
        return asyncio.create_task(self._prompt("\n".join(lines), self.person))

    async def _prompt(self, text: str, person: Person) -> acp_client.Turn:
        session, turn = self.session, acp_client.Turn()
        session.result.begin_turn()
        session.permissions.open(person)
        if session.gateway is not None:
            session.gateway.begin_turn(person)
        try:
            await session.client.prompt(session.id, text, turn, person, idle_ms=self._idle_ms)
        finally:
            if session.gateway is not None:
                session.gateway.end_turn()
            session.result.end_turn()
            session.permissions.close()
            person.release()
        return turn

    async def interrupt(self, turn: asyncio.Task[acp_client.Turn]) -> None:
        """Interrupt a turn as a run does; raise AssertionError if the agent does not end it when it is asked to."""
        turn.cancel()
        await asyncio.wait({turn})
        assert turn.cancelled(), "the turn ended before it was interrupted"
        assert not self.session.client.has_open_turn, "the agent did not end its turn when it was asked to"

    def kill(self) -> None:
        """Kill the program, as the system might."""
        os.killpg(self.session.process.pid, signal.SIGKILL)


class Stage:
    """A folder for one agent, a scripted model, and the sessions in between."""

    def __init__(self, agent: AgentUnderTest, folder: Path, model: scripted_model_server.ScriptedModelServer) -> None:
        self.settings = agent.settings(model.url)
        self.model = model
        self.project = Project(root=folder, data_dir=agent.data_dir or folder)
        self._work = Project(root=folder, data_dir=folder)
        self._run_id = str(uuid.uuid4())

    @contextlib.asynccontextmanager
    async def converse(self, *, resume: str | None = None) -> AsyncGenerator[Conversation]:
        """Yield a conversation with a new process of the agent, in the same workspace and home as the last one."""
        workspace_settings = agent_settings.WorkspaceSettings(kind="none")
        place = await create_workspace.open_workspace(
            self._work, workspace_settings, self._run_id, _NODE, create_workspace.WorkspaceNotes()
        )
        request = sessions.SessionRequest(
            agent=self.settings, place=place, result=sessions.ResultTool(_RESULT), resume=resume
        )
        pool = sessions.SessionPool(self.project)
        try:
            async with pool.use((self._run_id, _NODE), request) as session:
                yield Conversation(session, place, self.settings.idle_ms)
        finally:
            await pool.close()
        remaining_processes = processes_with(str(place.home))
        assert not remaining_processes, f"processes of the agent are left: {remaining_processes}"

    def disturb(self) -> None:
        """Let the next process of the agent write lines among its messages that are no part of the protocol.

        It is not confined: a sandbox shows the program that it starts, and not the programs that this one starts.
        """
        arguments = () if self.settings.command else profiles.PROFILES[self.settings.provider].arguments
        argv = (*programs.find(self.project.data_dir, self.settings), *arguments)
        noisy = (sys.executable, "-m", "openskelo.testing.noisy_program", *argv)
        self.settings = replace(self.settings, command=noisy, sandbox="none", permissions="skip")


def processes_with(text: str) -> list[str]:
    """Return the command lines of processes that have this text in their environment or their command line."""
    found_processes: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            if text.encode() in command + (entry / "environ").read_bytes():
                found_processes.append(command.replace(b"\0", b" ").decode("utf-8", "replace").strip())
    return found_processes


Story: TypeAlias = Callable[[Stage], Coroutine[Any, Any, None]]


def play(agent: AgentUnderTest, folder: Path, story: Story) -> None:
    """Play a story with an agent in an empty folder; raise TimeoutError if it does not end."""
    with scripted_model_server.serve() as model:
        asyncio.run(asyncio.wait_for(story(Stage(agent, folder, model)), agent.seconds))


class AgentConformance:
    """The checks. A subclass has a fixture `agent` that returns the `AgentUnderTest`."""

    def test_it_says_who_it_is(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                info = talk.session.client.info
                assert info is not None
                assert info.name
                assert info.version
                assert talk.session.id
                assert info.can_resume or info.can_load or not agent.resumes
                assert not stage.model.texts(), "opening a session asks the model"

        play(agent, tmp_path, story)

    def test_a_turn_with_text(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                turn = await talk.take_turn("@say Hello, this is the model.")
                _equal(_text(turn), "Hello, this is the model.")
                _equal(turn.stop_reason, "end_turn")
                _equal(_text(await talk.take_turn("@say Once more.")), "Once more.")

        play(agent, tmp_path, story)

    def test_pieces_of_a_text_come_in_order(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                turn = await talk.take_turn("@slow 1")
                _equal(_text(turn), scripted_model_server.SLOW_TEXT)
                _equal(talk.person.pieces, turn.text)
                assert len(turn.text) > 1, "the text came in one piece"

        play(agent, tmp_path, story)

    def test_an_edit(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                file = talk.folder / "new.txt"
                turn = await talk.take_turn(f"@write {file} one\\ntwo\\n", "@say Done.")
                _equal(file.read_text(), "one\ntwo\n")
                _equal([call.status for call in turn.calls.values()], ["completed"])
                _equal(
                    [question.call.paths for question in talk.person.questions], [("new.txt",)] * agent.asks_about_edits
                )

        play(agent, tmp_path, story)

    def test_a_command_that_is_allowed_is_run(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                turn = await talk.take_turn("@run touch made.txt", "@say Done.")
                _equal((talk.folder / "made.txt").exists(), True)
                _equal(_text(turn)[-5:], "Done.")
                _equal([question.call.kind for question in talk.person.questions], ["execute"] * agent.asks)

        play(agent, tmp_path, story)

    def test_a_command_that_is_denied_is_not_run(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                await talk.take_turn("@run touch made.txt", "@say I see.", decision="deny")
                _equal((talk.folder / "made.txt").exists(), not agent.asks)
                _equal(_text(await talk.take_turn("@say Going on.")), "Going on.")

        play(agent, tmp_path, story)

    def test_a_turn_is_cancelled_while_a_question_is_open(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                turn = talk.start_turn("@run touch made.txt", "@slow 20", decision="hold")
                await until(lambda: bool(talk.person.questions if agent.asks else _spoken(talk)), turn)
                await talk.interrupt(turn)
                _equal((talk.folder / "made.txt").exists(), not agent.asks)
                _equal(_text(await talk.take_turn("@say Going on.")), "Going on.")

        play(agent, tmp_path, story)

    def test_a_turn_is_interrupted_while_the_model_talks(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                turn = talk.start_turn("@slow 20")
                await until(lambda: bool(_spoken(talk)), turn)
                await talk.interrupt(turn)
                _equal(_text(await talk.take_turn("@say Going on.")), "Going on.")

        play(agent, tmp_path, story)

    def test_a_killed_agent_fails_its_turn_and_is_continued(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            session_id = ""
            with contextlib.suppress(_Killed):
                async with stage.converse() as talk:
                    session_id = talk.session.id
                    await talk.take_turn("@say Noted.", "@next", "@say I remember.")
                    turn = talk.start_turn("@slow 20", "@next", "@say I remember.")
                    await until(lambda: bool(_spoken(talk)), turn)
                    talk.kill()
                    raise _Killed(await _failure(turn))
            async with stage.converse(resume=session_id) as talk:
                is_continued = talk.session.is_continued if agent.resumes is None else agent.resumes
                _equal(talk.session.is_continued, is_continued)
                _equal(talk.session.id == session_id, is_continued)
                if is_continued:  # without the earlier prompts there is no script, and the model says "done"
                    reply = _text(await talk.take_turn("Go on."))
                    # Some agents join the prompt with the one that was not answered, whose script then begins anew.
                    _equal(reply in ("I remember.", scripted_model_server.SLOW_TEXT), True)
                _equal(_text(await talk.take_turn("@say Going on.")), "Going on.")

        play(agent, tmp_path, story)

    def test_a_session_that_is_lost_begins_anew(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            lost_session_id = str(uuid.uuid4())
            async with stage.converse(resume=lost_session_id) as talk:
                assert not talk.session.is_continued
                assert talk.session.id != lost_session_id
                _equal(_text(await talk.take_turn("@say Hello.")), "Hello.")

        play(agent, tmp_path, story)

    def test_huge_output_ends_no_turn(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                command = "head -c 2000000 /dev/zero | tr '\\0' x"
                turn = await talk.take_turn(f"@run {command}", "@long 200000")
                assert len(_text(turn)) >= 190_000, f"{len(_text(turn))} characters of the text came"
                assert len(talk.session.client.take_transcript()) <= acp_client.MAX_TRANSCRIPT_BYTES + 1_000_000

        play(agent, tmp_path, story)

    def test_lines_that_are_no_part_of_the_protocol_do_no_harm(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            stage.disturb()
            async with stage.converse() as talk:
                turn = await talk.take_turn("@run touch made.txt", "@say Done.")
                _equal((talk.folder / "made.txt").exists(), True)
                _equal(_text(turn)[-5:], "Done.")

        play(agent, tmp_path, story)

    def test_it_hands_in_its_result_with_our_tool(self, agent: AgentUnderTest, tmp_path: Path) -> None:
        async def story(stage: Stage) -> None:
            async with stage.converse() as talk:
                call = '@tool complete {"summary": "all done"}' if agent.has_tools else "@say No tool."
                await talk.take_turn(call, "@say Done.")
                _equal(talk.session.result.result, ({"summary": "all done"} if agent.has_tools else None))
                assert not talk.person.questions, "our own tools need no permission"

        play(agent, tmp_path, story)


class _Killed(Exception):
    """The check has killed the agent; the session is to be closed as a broken one."""


async def until(condition: Callable[[], bool], turn: asyncio.Task[acp_client.Turn]) -> None:
    """Wait until the condition holds; raise AssertionError if the turn ends before that."""
    while not condition():
        assert not turn.done(), f"the turn ended too early: {await turn}"
        await asyncio.sleep(_POLL_SECONDS)


async def _failure(turn: Awaitable[acp_client.Turn]) -> str:
    """Return the code with which a turn of a killed agent failed."""
    try:
        await turn
    except errors.AttemptFailed as failure:
        _equal(failure.code, "AGENT_EXITED")
        return failure.code
    raise AssertionError("the turn of a killed agent did not fail")


def _equal(seen: object, wanted: object) -> None:
    """Raise AssertionError, with both values, unless they are equal: pytest explains no asserts outside of tests."""
    assert seen == wanted, f"{seen!r} instead of {wanted!r}"


def _spoken(talk: Conversation) -> str:
    return "".join(talk.person.pieces)


def _text(turn: acp_client.Turn) -> str:
    return "".join(turn.text).strip()

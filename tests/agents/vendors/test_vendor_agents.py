"""Claude Code, Codex and Gemini CLI in runs, against a scripted model. `make test-agents` installs them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import openskelo
from openskelo.agent_settings import Provider
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.testing import agent_conformance, scripted_model_server
from tests.agents import agents_under_test, repository
from tests.agents.agents_under_test import MODELS
from tests.cli.conftest import Skelo

OUTPUTS: Json = {"count": {"type": "integer"}, "files_changed": {"type": "array", "items": {"type": "string"}}}
#: Where each keeps its conversations, below its home.
SESSIONS = {"claude": ".claude/projects", "codex": ".codex", "gemini": ".gemini/tmp"}
#: How the result of a command is marked there, and in what the model is told.
RESULTS = {"claude": "tool_result", "codex": "function_call_output", "gemini": "functionResponse"}
#: Bounds a story: these programs take many seconds to start on a busy machine.
SECONDS = 400

pytestmark = pytest.mark.timeout(3 * SECONDS)


class Project:
    """A repository with one agent, and its scripted model. TREE in a line is the folder of the workspace."""

    def __init__(self, folder: Path, provider: Provider, model: scripted_model_server.ScriptedModelServer) -> None:
        self.root = repository.make(folder)
        self.provider: Provider = provider
        self.model = model
        self.run_id = str(uuid.uuid4())
        self.place = self.root / ".skelo" / "workspaces" / self.run_id / "work"
        (self.root / ".skelo").mkdir()
        (self.root / ".skelo" / "agents").symlink_to(agents_under_test.INSTALLED / "agents")

    def configure(self, **agent: Json) -> Project:
        """Write what the project says about its agent."""
        settings = {
            "provider": self.provider,
            "permissions": "skip",
            "base_url": self.model.url,
            "api_key": "${env:MODEL_KEY}",
            "model": MODELS[self.provider],
            "start_ms": SECONDS * 1000,
            **agent,
        }
        (self.root / "skelo.yaml").write_text(yaml.safe_dump({"agents": {"helper": settings}}))
        repository.git(self.root, "commit", "--quiet", "--all", "-m", "two")
        return self

    def document(self, *lines: str, **block: Json) -> JsonObject:
        """Return the workflow with one block that lets the model play these lines."""
        tree = str(self.place / "tree")
        return repository.block(*(line.replace("TREE", tree) for line in lines), **block)

    def play(self, *lines: str, answers: tuple[Answer, ...] = (), **block: Json) -> RunDocument:
        """Return the document of a run in which each question gets the next answer."""

        async def story() -> RunDocument:
            async with repository.engine(self.root) as engine:
                flow = openskelo.from_document(self.document(*lines, **block), root=self.root)
                await engine.start(flow, run_id=self.run_id)
                for answer in answers:
                    (approval,) = cast("list[JsonObject]", (await engine.wait(self.run_id))["approvals"])
                    await answer(engine, approval)
                return await engine.wait(self.run_id)

        document = asyncio.run(asyncio.wait_for(story(), SECONDS))
        assert agent_conformance.processes_with(str(self.place)) == []
        return document

    def go_on(self) -> RunDocument:
        """Return the document of the run after another engine has resumed it."""

        async def story() -> RunDocument:
            async with repository.engine(self.root) as engine:
                await engine.resume(self.run_id)
                return await engine.wait(self.run_id)

        return asyncio.run(asyncio.wait_for(story(), SECONDS))

    def sessions(self) -> list[dict[str, Any]]:
        """Return the sessions that the record of the run has."""
        log = repository.events(self.root, self.run_id)
        return [cast("dict[str, Any]", event["data"])["session"] for event in log if event["type"] == "session.opened"]

    def has_kept_a_result(self) -> bool:
        """True if the agent has told its model the result of a command, and has put it into its session, if it does."""
        mark = RESULTS[self.provider]
        if self.provider == "gemini" or mark not in self.told():
            return mark in self.told()
        kept = (self.place / "home" / SESSIONS[self.provider]).rglob("*.jsonl")
        return any(mark in file.read_text("utf-8", "replace") for file in kept)

    def told(self) -> str:
        """Return everything that the model was told."""
        return "\n".join(self.model.texts())


Answer = Callable[[openskelo.Engine, JsonObject], Awaitable[None]]
MakeProject = Callable[[Provider], Project]


def _answer(status: str, **more: Any) -> Answer:
    async def give(engine: openskelo.Engine, approval: JsonObject) -> None:
        await engine.answer(str(approval["id"]), status=cast("Any", status), by="ada", **more)

    return give


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[MakeProject]:
    """Return a function that makes the project of a provider."""
    monkeypatch.setenv("MODEL_KEY", "worthless")
    with scripted_model_server.serve() as model:
        yield lambda provider: Project(tmp_path, provider, model)


def _outputs(document: RunDocument) -> dict[str, Any]:
    assert document["ending"] == "ok", document.get("error")
    return cast("dict[str, Any]", cast("dict[str, Any]", document["nodes"])["work"]["outputs"])


def _error(document: RunDocument) -> dict[str, Any]:
    return cast("dict[str, Any]", document.get("error"))


# -- a turn -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", MODELS)
def test_it_opens_a_session_without_asking_its_model(project: MakeProject, provider: Provider) -> None:
    made = project(provider).configure()
    checked = Skelo(folder=made.root)("agents", "check", "helper", "--json", env={"MODEL_KEY": "worthless"})
    assert checked.document["ok"], checked.document
    assert not [path for path, _ in made.model.requests if path.endswith(("messages", "responses", "Content"))]


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock", "none"])
@pytest.mark.parametrize("provider", MODELS)
def test_it_writes_a_file_runs_a_command_and_hands_in_typed_outputs(
    project: MakeProject, provider: Provider, sandbox: str
) -> None:
    made = project(provider).configure(sandbox=sandbox)
    # Gemini has no MCP tools in a folder that is not trusted: it hands in JSON.
    hand_in = ('@say {"count": 2}',) if provider == "gemini" else ('@tool complete {"count": 2}', "@say Done.")
    document = made.play("@write TREE/new.txt one\\n", "@run cp new.txt copied.txt", *hand_in, outputs=OUTPUTS)
    assert _outputs(document) == {"count": 2, "files_changed": ["copied.txt", "new.txt"]}
    assert any(MODELS[provider] in f"{path} {body.get('model', '')}" for path, body in made.model.requests)


# -- permissions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", MODELS)
def test_a_command_that_a_person_approves_is_run(project: MakeProject, provider: Provider) -> None:
    made = project(provider).configure(permissions="gated")
    document = made.play("@run touch made.txt", "@say Done.", answers=(_answer("approved"),))
    assert _outputs(document)["files_changed"] == ["made.txt"]


@pytest.mark.parametrize("provider", MODELS)
def test_a_command_that_a_person_denies_is_not_run_and_the_model_is_told_why(
    project: MakeProject, provider: Provider
) -> None:
    made = project(provider).configure(permissions="gated")
    denied = _answer("denied", reason="use pytest for it")
    document = made.play("@run touch made.txt", "@say I see.", "@next", "@say Well.", answers=(denied,))
    assert _outputs(document)["files_changed"] == []
    assert "use pytest for it" in made.told()


@pytest.mark.parametrize("provider", ["claude", "codex"])
def test_a_command_that_a_person_changes_is_run_as_changed(project: MakeProject, provider: Provider) -> None:
    made = project(provider).configure(permissions="gated")
    changed = _answer("modified", modified_args={"command": "touch other.txt"})
    document = made.play("@run touch made.txt", "@say Done.", answers=(changed,))
    assert _outputs(document)["files_changed"] == ["other.txt"]


def test_a_question_of_its_own_is_a_form_and_its_answer_reaches_the_model(project: MakeProject) -> None:
    made = project("claude").configure(permissions="gated")
    options = '[{"label": "crimson", "description": "r"}, {"label": "azure", "description": "b"}]'
    question = f'{{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": {options}}}'
    shown: list[JsonObject] = []

    async def answer(engine: openskelo.Engine, approval: JsonObject) -> None:
        shown.append(approval)
        form = cast("dict[str, Any]", approval["form"])
        (name, *_) = form["properties"]
        await engine.answer(str(approval["id"]), status="modified", modified_args={name: "azure"}, by="ada")

    lines = (f'@tool AskUserQuestion {{"questions": [{question}]}}', "@say Thanks.")
    document = made.play(*lines, answers=(answer,))
    assert _outputs(document)["summary"] == "Thanks."
    assert "Which colour?" in str(shown[0]["prompt"])
    results = made.model.texts()[-1].rpartition("tool_result")[2]
    assert "azure" in results


# -- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", MODELS)
def test_a_cancelled_run_ends_the_agent_and_keeps_what_was_done(project: MakeProject, provider: Provider) -> None:
    made = project(provider).configure()

    async def story() -> RunDocument:
        async with repository.engine(made.root) as engine:
            flow = openskelo.from_document(made.document("@run touch made.txt", "@slow 60"), root=made.root)
            await engine.start(flow, run_id=made.run_id)
            await repository.until((made.place / "tree" / "made.txt").exists)
            await engine.cancel(made.run_id)
            return await engine.wait(made.run_id)

    assert asyncio.run(asyncio.wait_for(story(), SECONDS))["ending"] == "cancelled"
    assert agent_conformance.processes_with(str(made.place)) == []
    assert (made.place / "tree" / "made.txt").exists()


@pytest.mark.parametrize("provider", MODELS)
def test_an_agent_that_is_killed_in_a_turn_fails_it_with_what_it_has_done(
    project: MakeProject, provider: Provider
) -> None:
    made = project(provider).configure(sandbox="none")

    async def story() -> RunDocument:
        async with repository.engine(made.root) as engine:
            flow = openskelo.from_document(made.document("@run touch made.txt", "@slow 60"), root=made.root)
            await engine.start(flow, run_id=made.run_id)
            while "call.completed" not in await _event_types(engine, made.run_id):  # noqa: ASYNC110 -- a log has no events of asyncio
                await asyncio.sleep(0.05)
            for pid in _pids(str(made.place / "home")):
                os.kill(pid, signal.SIGKILL)
            return await engine.wait(made.run_id)

    document = asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert (document["ending"], _error(document)["code"]) == ("failed", "AGENT_EXITED")
    assert "made.txt" in repository.artifact(made.root, made.run_id, "diff.partial.patch")
    assert agent_conformance.processes_with(str(made.place)) == []


async def _event_types(engine: openskelo.Engine, run_id: str) -> list[str]:
    return [json.loads(line)["type"] async for lines in engine.store.read_events(run_id) for line in lines]


def _pids(text: str) -> list[int]:
    """Return the processes that have this text in their environment."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_hanging_model_ends_the_turn_after_the_idle_time(project: MakeProject) -> None:
    made = project("codex").configure(idle_ms=3000)
    document = made.play("@run touch made.txt", "@hang")
    assert (document["ending"], _error(document)["code"]) == ("failed", "AGENT_IDLE")


#: A process that drives the run of the file `flow.json`.
_SERVER = """
import asyncio, json, sys
from pathlib import Path
import openskelo
from tests.agents import repository

async def main(root, run_id):
    async with repository.engine(root) as engine:
        flow = openskelo.from_document(json.loads((root / "flow.json").read_text()), root=root)
        await engine.start(flow, run_id=run_id)
        await asyncio.sleep(600)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


def _start_and_kill(made: Project, lines: tuple[str, ...], is_time: Callable[[], bool]) -> None:
    """Run the lines in a process of its own, and kill that process with SIGKILL when it is time."""
    (made.root / "flow.json").write_text(json.dumps(made.document(*lines)))

    async def story() -> None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _SERVER, str(made.root), made.run_id),
            cwd=Path(__file__).parents[3],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await repository.until(lambda: is_time() or process.returncode is not None)
            assert process.returncode is None, "the run ended before it could be killed"
        finally:
            process.kill()
            await process.wait()
        await repository.until(lambda: not agent_conformance.processes_with(str(made.place)))

    asyncio.run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("provider", MODELS)
def test_a_question_outlives_the_server_and_its_answer_is_used(project: MakeProject, provider: Provider) -> None:
    made = project(provider).configure(permissions="gated")
    command = "@run touch made.txt"

    def is_asked() -> bool:
        listed = [sys.executable, "-m", "openskelo.cli.main", "approvals", "--json"]
        done = subprocess.run(listed, cwd=made.root, capture_output=True, text=True, check=False)
        return "touch made.txt" in done.stdout

    _start_and_kill(made, (command, "@say Done.", "@next", command, "@say Done."), is_asked)

    async def story() -> RunDocument:
        async with repository.engine(made.root) as engine:
            (approval,) = cast("list[JsonObject]", (await engine.show(made.run_id))["approvals"])
            await engine.answer(str(approval["id"]), status="approved", by="ada")
            await engine.resume(made.run_id)
            return await engine.wait(made.run_id)

    document = asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert _outputs(document)["files_changed"] == ["made.txt"]
    types = [event["type"] for event in repository.events(made.root, made.run_id)]
    assert (types.count("approval.requested"), types.count("call.granted")) == (1, 1)


@pytest.mark.parametrize("provider", MODELS)
def test_a_killed_server_resumes_the_conversation_where_the_agent_can(project: MakeProject, provider: Provider) -> None:
    made = project(provider).configure(on_crash="keep")
    resumes = agents_under_test.vendor(provider).resumes
    lines = ("@run touch first.txt", "@slow 5", "@next", "@run touch second.txt", "@say Resumed.")
    _start_and_kill(made, lines, made.has_kept_a_result)
    outputs = _outputs(made.go_on())
    first, second = (session["continued"] for session in made.sessions())
    assert not first
    assert resumes is None or second == resumes
    assert outputs["files_changed"] == (["first.txt", "second.txt"] if second else ["first.txt"])


@pytest.mark.parametrize("provider", MODELS)
def test_a_conversation_that_is_lost_begins_anew_with_the_whole_prompt(
    project: MakeProject, provider: Provider
) -> None:
    made = project(provider).configure()
    lines = ("@run touch first.txt", "@slow 3", "@next", "@say not reached")
    _start_and_kill(made, lines, (made.place / "tree" / "first.txt").exists)
    shutil.rmtree(made.place / "home" / SESSIONS[provider])
    document = made.go_on()
    assert _outputs(document)["files_changed"] == ["first.txt"]
    assert [session["continued"] for session in made.sessions()] == [False, False]
    assert repository.artifact(made.root, made.run_id, "prompt.sent.txt") == repository.artifact(
        made.root, made.run_id, "prompt.full.txt"
    )

"""The examples of `docs/extending/`: added as one file each, they are loaded, run, and written to the reference."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

import orjson
import pytest
import yaml
from scripts import reference

import openskelo
from openskelo import agent_settings, gates, ops
from openskelo.agents import profiles
from openskelo.cli import main
from openskelo.engine import planning
from openskelo.executors import gate_evaluation
from openskelo.executors import kinds as executors
from openskelo.handlers import builtin
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.ops import checkers, tools, transforms
from openskelo.providers import kinds
from openskelo.server.stream import run_tracks
from openskelo.structs import replace
from openskelo.workflows import load
from openskelo.workflows.blocks import block as blocks
from openskelo.workflows.project import agents as project_agents
from openskelo.workflows.project import project_file
from tests.repo import tracked

#: The package and its catalog, by the constant that an example defines.
_PACKAGES: dict[str, tuple[ModuleType, Mapping[str, object]]] = {
    "HANDLER": (builtin, builtin.HANDLERS),
    "GATE": (gates, gates.GATES),
    "OP": (ops, ops.OPS),
    "CHECKER": (checkers, checkers.CHECKERS),
    "TOOL": (tools, tools.TOOLS),
    "TRANSFORM": (transforms, transforms.TRANSFORMS),
    "KIND": (kinds, kinds.KINDS),
}
#: A folder of `src` in which the examples of a page would be, where ruff has rules of its own for it.
_FOLDERS = {"executor.md": "executors/kinds"}
_PAGES = tracked.ROOT / "docs" / "extending"


class Add(Protocol):
    """Adds the examples of a page; the fields named after a constant are added to its definition."""

    def __call__(self, page: str, **fields: str) -> None: ...


def _examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (_PAGES / page).read_text("utf-8"), re.DOTALL)


def _pages_with_code() -> list[str]:
    return sorted(path.name for path in _PAGES.glob("*.md") if _examples(path.name))


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """Add the examples of a page to their packages, as files would."""
    added: list[tuple[str, Mapping[str, object]]] = []

    def add_examples(page: str, **fields: str) -> None:
        for example in _examples(page):
            constant = re.findall(r"^([A-Z]+) = ", example, re.MULTILINE)[-1]
            code = re.sub(r"\)\n\Z", lambda _, constant=constant: f"    {fields.get(constant, '')}\n)\n", example)
            name = re.findall(r'name="(?:builtin:)?([^"]+)"', code)[-1].replace("-", "_")
            package, catalog = _PACKAGES[constant]
            folder = tmp_path / "more" / constant
            folder.mkdir(parents=True)
            (folder / f"{name}.py").write_text(code, "utf-8")
            monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
            vars(catalog).pop("_modules", None)
            added.append((f"{package.__name__}.{name}", catalog))
        importlib.invalidate_caches()

    yield add_examples
    for module, catalog in added:
        vars(catalog).pop("_modules", None)
        sys.modules.pop(module, None)


def _run(capsys: pytest.CaptureFixture[str], folder: Path, workflow: object) -> dict[str, object]:
    path = folder / "workflow.json"
    path.write_text(json.dumps(workflow), "utf-8")
    code = main.main(["run", str(path), "--json", "--data-dir", str(folder / "data")])
    captured = capsys.readouterr()
    assert code in (0, 1), captured
    return json.loads(captured.out)


def _written(page: str) -> str:
    return reference.texts()[tracked.ROOT / "docs" / "reference" / page]


def _schema(name: str) -> str:
    return reference.texts()[tracked.ROOT / "src" / "openskelo" / "workflows" / "schema" / name]


def test_a_handler_is_one_file(add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add("handler.md")
    block = {
        "id": "count",
        "mode": "deterministic",
        "inputs": {"text": {"type": "string", "default": "a b 1"}},
        "outputs": {"letters": "integer"},
        "deterministic": {"handler": "builtin:count-letters", "config": {"text_from": "text"}},
    }
    assert _run(capsys, tmp_path, {"blocks": [block]})["outputs"] == {"letters": 2}
    assert "| `text_from` | input port | required | the text |" in _written("builtin-handlers.md")
    assert "builtin:count-letters" in _schema("blocks.schema.json")


@pytest.mark.parametrize(("text", "status"), [("LOUD", "completed"), ("quiet", "failed")])
def test_a_gate_is_one_file(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, status: str
) -> None:
    add("gate.md")
    block = {
        "id": "same",
        "mode": "deterministic",
        "inputs": {"text": {"type": "string", "default": text}},
        "outputs": {"text": "string"},
        "deterministic": {"handler": "builtin:pass"},
        "post_gates": [{"type": "in_capitals", "port": "text"}],
    }
    assert _run(capsys, tmp_path, {"blocks": [block]})["status"] == status
    assert "## `in_capitals`" in _written("gates.md")
    assert "in_capitals" in _schema("blocks.schema.json")


def test_a_checker_a_tool_and_a_transform_are_one_file_each(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add("checker.md")
    steps = [
        {"id": "list", "op": "tool_call", "args": {"tool_id": "list-files"}, "save_as": "files"},
        {"id": "loud", "op": "transform", "args": {"fn": "upper", "from_ref": "input:text"}, "save_as": "loud"},
        {
            "id": "check",
            "op": "verify",
            "args": {"checker_id": "starts_with", "input_ref": "var:loud", "start": "SH"},
            "save_as": "verdict",
        },
        {"id": "end", "op": "emit", "args": {"result_ref": "var:verdict", "audit_refs": ["var:files", "var:loud"]}},
    ]
    shown = _run(capsys, tmp_path, {"plan_id": "three", "inputs": {"text": "short"}, "steps": steps})
    assert shown["outputs"] == {"result": {"ok": True}, "audit": [["workflow.json"], "SHORT"]}
    page = _written("ops.md")
    assert "| `starts_with` | `start` | the text starts with `start` |" in page
    assert "| `list-files` |  | pure | the names of the files in the project's root |" in page
    assert "| `upper` | `from_ref` | the text in capitals |" in page


def test_a_provider_is_one_file(add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add("provider.md")
    (tmp_path / "skelo.yaml").write_text("providers: {loud: {kind: shout}}\n", "utf-8")
    block = {"id": "ask", "prompt": "hello", "provider": "loud", "outputs": {"text": "string"}}
    assert "HELLO" in str(_run(capsys, tmp_path, {"blocks": [block]})["outputs"])
    assert "Answers with the last message in capitals, in every port." in _written("blocks-file.md")


def test_an_executor_is_one_file_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = _examples("executor.md")
    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds" / "sleep.py").write_text(code, "utf-8")
    monkeypatch.setattr(executors, "__path__", [*executors.__path__, str(tmp_path / "kinds")])
    monkeypatch.setitem(definition.WORK_KINDS, "sleep", definition.WorkKind(badge="SLEEP"))  # pyright: ignore[reportArgumentType] -- that line
    monkeypatch.setattr(blocks, "MODES", (*blocks.MODES, "sleep"))  # made of the line
    (text,) = re.findall(r"    blocks:\n(?:      .*\n)+", (_PAGES / "executor.md").read_text("utf-8"))
    shown = _run(capsys, tmp_path, yaml.safe_load(text))
    assert shown["outputs"] == {"slept": 0.1}
    (block,) = yaml.safe_load(text)["blocks"]
    long = {**block, "timeout_ms": 50, "inputs": {"seconds": {"type": "number", "default": 100}}}
    late = _run(capsys, tmp_path, {"blocks": [long]})
    assert cast("JsonObject", late["error"])["code"] == "TIMEOUT"
    (tmp_path / "estimated.json").write_text(json.dumps({"blocks": [{**block, "estimate": {"tokens": 5}}]}), "utf-8")
    assert main.main(["validate", str(tmp_path / "estimated.json")]) == 2
    assert "`tokens` must be 0: a block of mode sleep calls no model of the project" in capsys.readouterr().err
    assert '"sleep"' in _schema("blocks.schema.json")
    sys.modules.pop("openskelo.executors.kinds.sleep")
    executors.get.cache_clear()


def test_an_agent_is_one_file_and_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "quill.py").write_text(
        "from openskelo.agents import profiles\n"
        'PROFILE = profiles.Profile(name="quill", doc="Quill", program="quill-acp")\n',
        "utf-8",
    )
    monkeypatch.setattr(profiles, "__path__", [*profiles.__path__, str(tmp_path / "profiles")])
    monkeypatch.setattr(project_agents, "PROVIDERS", (*project_agents.PROVIDERS, "quill"))  # the word in `Provider`
    monkeypatch.chdir(tmp_path)
    vars(profiles.PROFILES).pop("_modules", None)
    (tmp_path / "skelo.yaml").write_text("agents: {writer: {provider: quill}}\n", "utf-8")
    assert main.main(["agents"]) == 0
    assert capsys.readouterr().out.startswith("writer  quill, not installed, ")
    program = tmp_path / "quill-acp"
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert main.main(["agents"]) == 0
    assert capsys.readouterr().out.startswith("writer  quill, installed, ")
    vars(profiles.PROFILES).pop("_modules", None)
    sys.modules.pop("openskelo.agents.profiles.quill")


#: A block with the gate of the page.
_GATED: JsonObject = {
    "id": "same",
    "mode": "deterministic",
    "inputs": {"text": {"type": "string", "default": "LOUD"}},
    "outputs": {"text": "string"},
    "deterministic": {"handler": "builtin:pass"},
    "post_gates": [{"type": "in_capitals", "port": "text"}],
}


@pytest.mark.parametrize("runs_program", [True, False])
def test_a_gate_that_starts_a_program_is_shown_and_needs_the_agents_workspace(
    add: Add, tmp_path: Path, runs_program: bool
) -> None:
    add("gate.md", GATE=f"runs_program={runs_program},")
    workflow = load.from_document({"name": "gated", "blocks": [_GATED]}, root=tmp_path)

    async def show() -> JsonObject:
        async with await openskelo.Engine.open(openskelo.Project(root=tmp_path, data_dir=tmp_path / "data")) as engine:
            run_id = await engine.start(workflow)
            await engine.wait(run_id)
            tracks = run_tracks.RunTracks(engine.store)
            return orjson.loads((await tracks.at_head(run_id)).snapshot())

    (node,) = cast("Mapping[str, JsonObject]", asyncio.run(show())["nodes"]).values()
    assert cast("JsonObject", node["capabilities"])["runCommands"] is runs_program
    agent = agent_settings.AgentSettings(name="a", provider="custom")
    agents_node = replace(workflow.nodes["same"], config={"pinned": {"agent": agent_settings.encode(agent)}})
    assert gate_evaluation.can_judge_later(agents_node) is not runs_program


def test_a_script_answers_for_a_gate_that_asks_a_model(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add("gate.md", GATE="asks_model=True,")
    (tmp_path / "same.json").write_text(json.dumps({"blocks": [_GATED]}), "utf-8")
    script = tmp_path / "same.test.json"
    script.write_text(json.dumps({"tests": [{"name": "it", "answers": {"same:in_capitals": []}}]}), "utf-8")
    assert main.main(["test", str(tmp_path / "same.json"), "--script", str(script)]) == 0, capsys.readouterr()


def _plan(*steps: JsonObject) -> JsonObject:
    return {"plan_id": "some", "inputs": {"text": "short"}, "steps": list(steps)}


def test_a_checker_that_runs_a_command_needs_a_project_that_allows_commands(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add("checker.md", CHECKER="runs_command=True,")
    args: JsonObject = {"checker_id": "starts_with", "input_ref": "input:text", "start": "sh"}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(_plan({"id": "check", "op": "verify", "args": args, "save_as": "v"})), "utf-8")
    assert main.main(["validate", str(path)]) == 2
    assert "COMMANDS_NOT_ALLOWED" in capsys.readouterr().err


@pytest.mark.parametrize(("fields", "ok"), [("", True), ('constant_args=frozenset({"start"}),', False)])
def test_a_ref_in_a_constant_argument_is_text(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str], fields: str, ok: bool
) -> None:
    add("checker.md", CHECKER=fields)
    args: JsonObject = {"checker_id": "starts_with", "input_ref": "input:text", "start": "input:text"}
    check: JsonObject = {"id": "check", "op": "verify", "args": args, "save_as": "v"}
    end: JsonObject = {"id": "end", "op": "emit", "args": {"result_ref": "var:v.ok"}}
    assert _run(capsys, tmp_path, _plan(check, end))["outputs"] == {"result": ok, "audit": []}


def test_a_transform_has_arguments_by_default(add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add("checker.md", TRANSFORM='default_args={"from_ref": "input:text", "more_ref": "input:missing"},')
    loud: JsonObject = {"id": "loud", "op": "transform", "args": {"fn": "upper"}, "save_as": "loud"}
    end: JsonObject = {"id": "end", "op": "emit", "args": {"result_ref": "var:loud"}}
    assert _run(capsys, tmp_path, _plan(loud, end))["outputs"] == {"result": "SHORT", "audit": []}


def test_an_op_says_what_it_does_and_where_no_ref_is(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = 'words=lambda ctx: f"counts {ctx.arg(\'text_ref\')}", mark="#",'
    add("op.md", OP=f'{words} free_paths=frozenset({{("text_ref",)}}),')
    count: JsonObject = {"id": "count", "op": "word_count", "args": {"text_ref": "input:text"}, "save_as": "words"}
    end: JsonObject = {"id": "end", "op": "emit", "args": {"result_ref": "var:words"}}
    plan = {**_plan(count, end), "inputs": {"text": "three short words"}}
    assert _run(capsys, tmp_path, plan)["outputs"] == {"result": 1, "audit": []}  # of the text "input:text"
    assert main.main(["explain", str(tmp_path / "workflow.json")]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "word_count" in line)
    assert line.split() == ["#", "DET", "count", "word_count", "counts", "input:text", "=", "var:words"]


def test_a_provider_says_how_long_a_plan_it_may_draft(add: Add, tmp_path: Path) -> None:
    add("provider.md", KIND="max_draft_tokens=77,")
    (tmp_path / "skelo.yaml").write_text(
        "providers: {loud: {kind: shout}}\nexperts: {writer: {provider: loud}}\n", "utf-8"
    )
    document = planning.workflow(project_file.project_at(tmp_path), "writer", 0)
    assert "'max_tokens': 77" in str(document["blocks"])


@pytest.mark.parametrize("page", _pages_with_code())
def test_the_examples_of_a_page_keep_the_rules_of_this_repository(page: str, tmp_path: Path) -> None:
    """As a file of `src`: ruff finds nothing in it, and would write it as it is."""
    ruff = Path(sys.executable).with_name("ruff")
    for index, code in enumerate(_examples(page)):
        name = str(tracked.ROOT / "src" / "openskelo" / _FOLDERS.get(page, "examples") / f"example_{index}.py")
        for words in (["check", "--quiet"], ["format", "--check", "--quiet"]):
            found = subprocess.run(
                [ruff, *words, "--no-cache", "--stdin-filename", name, "-"],
                input=code, capture_output=True, text=True, cwd=tracked.ROOT, check=False,
            )  # fmt: skip
            assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_an_op_is_one_file(add: Add) -> None:
    add("op.md")  # tests/ops/test_new_op.py runs it
    assert "### word_count" in _written("plan.md")
    assert '"word_count"' in _schema("plan.schema.json")

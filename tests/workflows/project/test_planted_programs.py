"""A program that data has written into a write root is started by no part of a project, whichever names it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import openskelo
from openskelo.handlers import file_access
from openskelo.workflows import load
from openskelo.workflows.project import project_file
from tests.workflows import marking

SETTINGS = """\
allow: {commands: true}
mcp: {it: {command: COMMAND}}
agents: {it: {provider: custom, command: COMMAND}}
checkers: {it: {builtin: tests_pass, config: {argv: COMMAND}}}
"""
FLOW = """\
name: flow
blocks:
  - id: plant
    inputs: {path: string, text: string}
    outputs: {file_path: string}
    mode: deterministic
    deterministic: {handler: builtin:write-file, config: {path_from: path, content_from: text}}
  - id: use
    after: [plant]
    inputs: {}
    outputs: {}
    mode: deterministic
    deterministic: {handler: builtin:pass}
    pre_gates: [{type: command, argv: COMMAND}]
"""
COMMANDS = [
    "[out/server.py]",
    "[./link.py]",
    "[python3, out/server.py]",
    "[env, python3, -I, link.py]",
    "[nice, -n, '10', out/server.py]",
    "[timeout, '60', python3, link.py]",
    "[timeout, -k, '5', '60', nice, python3, link.py]",
    "[uv, run, out/server.py]",
    "[npx, tsx, link.py]",
    "[tsx, out/server.ts]",
]


def project(root: Path, command: str = "[python3, -V]") -> Path:
    root.mkdir(exist_ok=True)
    (root / "out").mkdir()
    (root / "link.py").symlink_to("out/server.py")
    (root / "skelo.yaml").write_text(SETTINGS.replace("COMMAND", command))
    return root


@pytest.mark.parametrize("command", COMMANDS)
def test_a_project_file_may_not_name_a_program_in_a_write_root(command: str, tmp_path: Path) -> None:
    found = marking.errors(project_file.check(project(tmp_path, command))[1])
    assert [(code, line) for code, line, _ in found] == [("CODE_IN_WRITE_ROOT", line) for line in (2, 3, 4)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_gate_may_not_name_a_program_in_a_write_root(command: str, tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "flow.yaml").write_text(FLOW.replace("COMMAND", command))
    assert [code for code, *_ in marking.errors(load.check(root / "flow.yaml")[1])] == ["CODE_IN_WRITE_ROOT"]


def test_a_program_may_not_start_in_a_write_root(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "skelo.yaml").write_text("mcp: {it: {command: [python3, -m, server], folder: out}}\n")
    assert [code for code, *_ in marking.errors(project_file.check(root)[1])] == ["CODE_IN_WRITE_ROOT"]


@pytest.mark.parametrize(
    "argv",
    [
        ["python3", "check.py", "out/report.md"],
        ["cat", "out/report.md"],
        ["python3", "-c", "1", "out/a"],
        ["python3", "x" * 300],
        ["timeout", "60", "cat", "out/report.md"],
        ["nice", "-n", "10", "env", "A=b", "cat", "out/report.md"],
        ["timeout", "60", "python3", "check.py", "out/report.md"],
        [],
    ],
)
def test_a_file_of_a_write_root_may_be_an_argument(argv: list[str], tmp_path: Path) -> None:
    (tmp_path / "check.py").touch()
    assert file_access.find_planted(argv, tmp_path, [tmp_path / "out"]) is None


def test_a_program_that_becomes_a_link_into_a_write_root_is_not_started(tmp_path: Path) -> None:
    """Data plants the file; a folder that the author named is replaced by a link after the workflow was loaded."""
    root = project(tmp_path / "project")
    (root / "tools").mkdir()
    (root / "tools" / "server.py").write_text("raise SystemExit(0)\n")
    swap = root / "handlers" / "swap.py"
    swap.parent.mkdir()
    swap.write_text(
        f"import os, shutil\ndef handler(ctx):\n    os.chdir({str(root)!r})\n    shutil.rmtree('tools')\n"
        "    os.symlink('out', 'tools')\n    return {'done': True}\n"
    )
    command = f"[{sys.executable}, tools/server.py]"
    flow = FLOW.replace("COMMAND", command).replace("after: [plant]", "after: [swap]")
    flow += "  - {id: swap, after: [plant], outputs: {done: boolean}, mode: deterministic,\n"
    flow += "     deterministic: {handler: handlers/swap.py}}\n"
    (root / "flow.yaml").write_text(flow)
    code = f"open({str(tmp_path / 'planted')!r}, 'w')\n"
    document = openskelo.run(root / "flow.yaml", {"path": "out/server.py", "text": code})
    assert "error" in document
    assert document["error"]["code"] == "CODE_IN_WRITE_ROOT"
    assert (root / "out" / "server.py").read_text() == code
    assert not os.path.lexists(tmp_path / "planted")


def test_a_test_that_data_has_planted_is_not_run_by_a_gate_that_searches_for_tests(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    (root / "test_own.py").write_text("def test_own():\n    pass\n")
    (root / "flow.yaml").write_text(FLOW.replace("COMMAND", f"[{sys.executable}, -m, pytest, -p, 'no:cacheprovider']"))
    code = f"open({str(tmp_path / 'planted')!r}, 'w')\n"
    for name in ("test_it.py", "conftest.py"):
        document = openskelo.run(root / "flow.yaml", {"path": f"out/{name}", "text": code})
        assert document["ending"] == "ok"
        assert (root / "out" / name).read_text() == code
    assert not (tmp_path / "planted").exists()


#: A repository without `.git`, as data could write it file by file: looking for its missing commit runs a command.
REPOSITORY = {
    "HEAD": "ref: refs/heads/main\n",
    "objects/none": "",
    "refs/heads/main": f"{'1' * 40}\n",
    "config": """\
[core]
repositoryformatversion = 1
worktree = ..
[extensions]
partialClone = it
[remote "it"]
url = ext::sh -c touch% PLANTED
promisor = true
[protocol]
allow = always
""",
}
LOOK = """\
plan_id: look
steps:
  - {id: look, op: tool_call, args: {tool_id: TOOL, args: ARGS}, save_as: seen}
  - {id: end, op: emit, args: {result_ref: "var:seen"}}
"""


@pytest.mark.parametrize(("folder", "code"), [("out/it", "CODE_IN_WRITE_ROOT"), ("vendor/it", "GIT_FAILED")])
@pytest.mark.parametrize(("tool", "more"), [("git-log", ""), ("git-diff", ", range: HEAD"), ("git-show", ", path: a")])
def test_a_command_that_a_planted_repository_names_is_not_run(
    folder: str, code: str, tool: str, more: str, tmp_path: Path
) -> None:
    root = project(tmp_path / "project")
    for name, text in REPOSITORY.items():
        path = root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("PLANTED", str(tmp_path / "planted")))
    (root / "look.yaml").write_text(LOOK.replace("TOOL", tool).replace("ARGS", f"{{repo: {folder}{more}}}"))
    document = openskelo.run(root / "look.yaml")
    assert "error" in document
    assert document["error"]["code"] == code
    assert not (tmp_path / "planted").exists()

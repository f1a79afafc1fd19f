"""`skelo validate FILE…`: list every Problem of workflows, their test scripts, and a project's file; run nothing."""

from __future__ import annotations

import argparse
from pathlib import Path

from openskelo import errors
from openskelo.cli import exits, output, place, problems
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.workflows import load, project
from openskelo.workflows.problems import Problem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="a workflow file (YAML or JSON), its NAME.test.yaml, or skelo.yaml"
    )
    parser.epilog = "exit codes: 0 no problems, 2 problems found"


@frozen
class _Script:
    """The scripted runs of a workflow."""

    name: str
    tests: int


@frozen
class _Checked:
    """What became of one file; `of` is what it holds, None after an error."""

    file: str
    of: definition.Workflow | project.ProjectFile | _Script | None
    problems: tuple[Problem, ...]


def run(args: argparse.Namespace) -> int:
    checked = [_check(file, place.workflow_file(file)) for file in args.files]
    wrong = [problem for one in checked for problem in one.problems if problem.severity == "error"]
    doubts = [problem for one in checked for problem in one.problems if problem.severity == "warning"]
    if args.json:
        output.document(
            {
                "problems": [problems.as_document(problem) for problem in wrong],
                "warnings": [problems.as_document(problem) for problem in doubts],
                "files": [_entry(one) for one in checked],
            }
        )
        return exits.INVALID if wrong else exits.COMPLETED
    for problem in (*wrong, *doubts):
        problems.line(problem)
    for one in checked:
        if one.of is not None:
            output.say(f"{one.file}: valid, {_summary(one.of)}")
    if wrong:
        output.note(problems.count(wrong))
    return exits.INVALID if wrong else exits.COMPLETED


def _check(file: str, path: Path) -> _Checked:
    tested = place.tested_by(path)
    if tested is not None:
        return _check_script(file, path, tested)
    if not load.is_project(path):
        workflow, found = load.check(path)
        return _Checked(file=file, of=workflow, problems=found)
    settings, found = project.check_file(path)
    failed = any(problem.severity == "error" for problem in found)
    return _Checked(file=file, of=None if failed else settings, problems=found)


def _check_script(file: str, path: Path, tested: Path) -> _Checked:
    """A script is right or wrong about its workflow; where that has errors, they are what is to be mended first."""
    from openskelo.cli import script  # noqa: PLC0415 - it brings the engine, which workflows are checked without

    workflow, found = load.check(tested)
    if workflow is None:
        return _Checked(file=file, of=None, problems=found)
    try:
        cases = script.read(path, workflow)
    except errors.InvalidWorkflow as error:
        return _Checked(file=file, of=None, problems=tuple(one for one in error.problems if isinstance(one, Problem)))
    return _Checked(file=file, of=_Script(name=workflow.name, tests=len(cases)), problems=())


def _entry(one: _Checked) -> dict[str, Json]:
    return {
        "file": one.file,
        "valid": one.of is not None,
        "name": one.of.name if one.of is not None else None,
        "hash": one.of.hash if isinstance(one.of, definition.Workflow) else None,
    }


def _summary(of: definition.Workflow | project.ProjectFile | _Script) -> str:
    if isinstance(of, _Script):
        return f"{output.count(of.tests, 'test')} of {of.name}"
    if isinstance(of, project.ProjectFile):
        return "a project's file"
    if of.plan is not None:
        return f"a plan, {output.count(len(of.nodes), 'step')}, {output.count(len(of.inputs), 'input')}"
    edges = sum(bool(binding.node) for node in of.nodes.values() for binding in node.bindings.values())
    words = [
        output.count(len(of.nodes), "block"),
        output.count(edges, "edge"),
        output.count(len(of.inputs), "input"),
    ]
    return ", ".join(words)

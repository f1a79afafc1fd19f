"""`skelo validate FILE…`: list every Problem of workflows, test scripts and project files, without running them."""

from __future__ import annotations

import argparse
from pathlib import Path

from openskelo import errors
from openskelo.cli import exit_codes, output, project_context
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.structs import frozen
from openskelo.workflows import load
from openskelo.workflows.project import project_file
from openskelo.workflows.text.problems import Problem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="a workflow file (YAML or JSON), its NAME.test.yaml, or skelo.yaml"
    )
    parser.epilog = "exit codes: 0 no problems, 2 problems found"


@frozen
class _Script:
    """A test script, with the name of its workflow."""

    name: str
    tests: int


@frozen
class _Checked:
    """The result of checking one file."""

    file: str
    #: None after an error.
    content: definition.Workflow | project_file.ProjectFile | _Script | None
    problems: tuple[Problem, ...]


def run(args: argparse.Namespace) -> int:
    results = [_check(file, project_context.workflow_file(file), args.data_dir) for file in args.files]
    errors_found = [problem for result in results for problem in result.problems if problem.severity == "error"]
    warnings = [problem for result in results for problem in result.problems if problem.severity == "warning"]
    if args.json:
        output.document(
            {
                "problems": [output.problem_document(problem) for problem in errors_found],
                "warnings": [output.problem_document(problem) for problem in warnings],
                "files": [_entry(result) for result in results],
            }
        )
        if errors_found:
            return exit_codes.INVALID
        return exit_codes.COMPLETED
    for problem in (*errors_found, *warnings):
        output.print_problem(problem)
    for result in results:
        if result.content is not None:
            output.say(f"{result.file}: valid, {_summary(result.content)}")
    if errors_found:
        output.note(output.count_problems(errors_found))
    if errors_found:
        return exit_codes.INVALID
    return exit_codes.COMPLETED


def _check(file: str, path: Path, data_dir: str | None) -> _Checked:
    workflow_path = project_context.tested_by(path)
    if workflow_path is not None:
        return _check_script(file, path, workflow_path, data_dir)
    if not load.is_project(path):
        workflow, problems_found = load.check(path, data_dir=data_dir)
        return _Checked(file=file, content=workflow, problems=problems_found)
    settings, problems_found = project_file.check_file(path)
    has_errors = any(problem.severity == "error" for problem in problems_found)
    return _Checked(file=file, content=None if has_errors else settings, problems=problems_found)


def _check_script(file: str, path: Path, workflow_path: Path, data_dir: str | None) -> _Checked:
    """Check a test script against its workflow; if the workflow has errors, return those."""
    from openskelo.cli import scripted_tests  # noqa: PLC0415 - it imports the engine, which a check of workflows does not need

    workflow, problems_found = load.check(workflow_path, data_dir=data_dir)
    if workflow is None:
        return _Checked(file=file, content=None, problems=problems_found)
    try:
        cases = scripted_tests.read(path, workflow)
    except errors.InvalidWorkflow as error:
        return _Checked(
            file=file,
            content=None,
            problems=tuple(problem for problem in error.problems if isinstance(problem, Problem)),
        )
    return _Checked(file=file, content=_Script(name=workflow.name, tests=len(cases)), problems=())


def _entry(result: _Checked) -> dict[str, Json]:
    return {
        "file": result.file,
        "valid": result.content is not None,
        "name": result.content.name if result.content is not None else None,
        "hash": result.content.hash if isinstance(result.content, definition.Workflow) else None,
    }


def _summary(content: definition.Workflow | project_file.ProjectFile | _Script) -> str:
    if isinstance(content, _Script):
        return f"{output.count(content.tests, 'test')} of {content.name}"
    if isinstance(content, project_file.ProjectFile):
        return "a project file"
    if content.plan is not None:
        return f"a plan, {output.count(len(content.nodes), 'step')}, {output.count(len(content.inputs), 'input')}"
    edges = sum(bool(binding.node) for node in content.nodes.values() for binding in node.bindings.values())
    words = [
        output.count(len(content.nodes), "block"),
        output.count(edges, "edge"),
        output.count(len(content.inputs), "input"),
    ]
    return ", ".join(words)

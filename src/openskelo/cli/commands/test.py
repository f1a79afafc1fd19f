"""`skelo test FILE`: run a workflow against scripted answers, in a temporary copy of the project."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from openskelo import errors
from openskelo.cli import exit_codes, output, project_context, scripted_tests
from openskelo.kernel.json import Json
from openskelo.project import Project
from openskelo.workflows import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a workflow file (YAML or JSON), or its NAME.test.yaml")
    parser.add_argument("--script", metavar="F", help="the scripted runs (default: FILE's name with .test.yaml)")
    parser.add_argument("--only", metavar="TEXT", help="only tests whose name contains this")
    parser.epilog = (
        "Handlers, tools and checkers run for real, in a temporary copy of the project; the script "
        "answers for models and people, and for the tools and checkers that it has results for.\n\n"
        "exit codes: 0 all as expected, 1 not as expected, 2 the files are invalid"
    )


def run(args: argparse.Namespace) -> int:
    path = _workflow_of(project_context.workflow_file(args.file), args.script)
    where = project_context.from_args(args, path)
    workflow = load.load(path, root=where.root, data_dir=where.data_dir)
    script_path = Path(args.script) if args.script else project_context.script_of(path)
    if not project_context.path_exists(script_path):
        raise errors.InvalidInput(
            f"there is no script {script_path}", code="FILE_NOT_FOUND", hint="write it, or name another with --script"
        )
    cases = [case for case in scripted_tests.read(script_path, workflow) if not args.only or args.only in case.name]
    if not cases:
        raise errors.InvalidInput(f"no test has {args.only!r} in its name", code="USAGE")
    verdicts = [_run_case(args, where, path, case) for case in cases]
    failure_count = sum(bool(verdict.differences) for verdict in verdicts)
    if args.json:
        output.document(_document(verdicts, failure_count))
    else:
        output.say(f"{len(verdicts) - failure_count} passed, {failure_count} failed")
    if failure_count:
        return exit_codes.FAILED
    return exit_codes.COMPLETED


def _workflow_of(path: Path, named: str | None) -> Path:
    """Return the workflow: the one beside `path` if that is a test script, else `path` itself."""
    if named or project_context.path_exists(project_context.script_of(path)):
        return path
    return project_context.tested_by(path) or path


def _run_case(
    args: argparse.Namespace, where: Project, path: Path, case: scripted_tests.Case
) -> scripted_tests.Verdict:
    if not path.resolve().is_relative_to(where.root):
        raise errors.InvalidInput(
            f"{path} leads out of the project {where.root}", code="FILE_OUTSIDE", hint="test the file it points to"
        )
    with tempfile.TemporaryDirectory(prefix="skelo-test-", ignore_cleanup_errors=True) as folder:
        project = scripted_tests.copy_project(where, Path(folder))
        path_in_copy = project.root / path.resolve().relative_to(where.root)
        verdict = asyncio.run(scripted_tests.run_case(project, load.load(path_in_copy, root=project.root), case))
    if not args.json:
        _print(verdict)
    return verdict


def _print(verdict: scripted_tests.Verdict) -> None:
    painter = output.Painter(sys.stdout)
    word = painter.paint("failed", "red") if verdict.differences else painter.paint("passed", "green")
    output.say(f"{word}  {output.one_line(verdict.name)}")
    for difference in verdict.differences:
        output.say(f"        {output.one_line(difference)}")


def _document(verdicts: list[scripted_tests.Verdict], failed: int) -> dict[str, Json]:
    tests: list[Json] = [
        {"name": verdict.name, "passed": not verdict.differences, "differences": list(verdict.differences)}
        for verdict in verdicts
    ]
    return {"passed": len(verdicts) - failed, "failed": failed, "tests": tests}

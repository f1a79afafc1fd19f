"""`skelo test FILE`: run a workflow against scripted answers, in a copy of the project, keeping nothing."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from openskelo import errors
from openskelo.cli import exits, ink, output, place, script, trial
from openskelo.executors import task
from openskelo.kernel.json import Json
from openskelo.workflows import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a workflow file (YAML or JSON), or its NAME.test.yaml")
    parser.add_argument("--script", metavar="F", help="the scripted runs (default: FILE's name with .test.yaml)")
    parser.add_argument("--only", metavar="TEXT", help="only tests whose name contains this")
    parser.epilog = (
        "Handlers, tools and checkers run for real, in a temporary copy of the project; models and people are "
        "played by the script, and of a plan's tools and checkers those that it has results for.\n\n"
        "exit codes: 0 all as expected, 1 not, 2 the files are invalid"
    )


def run(args: argparse.Namespace) -> int:
    path = _tested(place.workflow_file(args.file), args.script)
    where = place.of_args(args, path)
    workflow = load.load(path, root=where.root)
    script_path = Path(args.script) if args.script else place.script_of(path)
    if not place.is_there(script_path):
        raise errors.InvalidInput(
            f"there is no script {script_path}", code="FILE_NOT_FOUND", hint="write it, or name another with --script"
        )
    cases = [case for case in script.read(script_path, workflow) if not args.only or args.only in case.name]
    if not cases:
        raise errors.InvalidInput(f"no test has {args.only!r} in its name", code="USAGE")
    verdicts = [_hold(args, where, path, case) for case in cases]
    failed = sum(bool(verdict.differences) for verdict in verdicts)
    if args.json:
        output.document(_document(verdicts, failed))
    else:
        output.say(f"{len(verdicts) - failed} passed, {failed} failed")
    return exits.FAILED if failed else exits.COMPLETED


def _tested(path: Path, named: str | None) -> Path:
    """The workflow that is meant: the one beside `path` when that is its script and no other was named."""
    if named or place.is_there(place.script_of(path)):
        return path
    return place.tested_by(path) or path


def _hold(args: argparse.Namespace, where: task.Project, path: Path, case: script.Case) -> trial.Verdict:
    if not path.resolve().is_relative_to(where.root):
        raise errors.InvalidInput(
            f"{path} leads out of the project {where.root}", code="FILE_OUTSIDE", hint="test the file it points to"
        )
    with tempfile.TemporaryDirectory(prefix="skelo-test-", ignore_cleanup_errors=True) as folder:
        project = trial.copy_project(where, Path(folder))
        copied = project.root / path.resolve().relative_to(where.root)
        verdict = asyncio.run(trial.hold(project, load.load(copied, root=project.root), case))
    if not args.json:
        _say(verdict)
    return verdict


def _say(verdict: trial.Verdict) -> None:
    painter = ink.Ink(sys.stdout)
    word = painter.paint("failed", "red") if verdict.differences else painter.paint("passed", "green")
    output.say(f"{word}  {ink.one_line(verdict.name)}")
    for difference in verdict.differences:
        output.say(f"        {ink.one_line(difference)}")


def _document(verdicts: list[trial.Verdict], failed: int) -> dict[str, Json]:
    tests: list[Json] = [
        {"name": verdict.name, "passed": not verdict.differences, "differences": list(verdict.differences)}
        for verdict in verdicts
    ]
    return {"passed": len(verdicts) - failed, "failed": failed, "tests": tests}

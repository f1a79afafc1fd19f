"""`skelo check all`: run every check that applies to a project, and its tests."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from pathlib import Path

from openskelo import errors
from openskelo.checks import all_checks
from openskelo.cli import exit_codes, output, parsing
from openskelo.handlers import file_access
from openskelo.workflows.project import project_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", nargs="?", default=".", help="the project (default: here)")
    parser.add_argument("--allowlist", metavar="FILE", help="for `check scope` (default: allowlist.json in DIR)")
    parser.add_argument("--base", metavar="REV", default="HEAD", help="for `check scope` (default: HEAD)")
    parser.add_argument(
        "--code",
        metavar="PATH",
        action="append",
        default=[],
        help="what has to run in a synchronous worker (default: DIR); may be given several times",
    )
    parser.add_argument("--tests", metavar="COMMAND", help=f"runs the tests (default: {' '.join(all_checks.PYTEST)})")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=parsing.count, default=1800, help="for the tests (default: 1800)"
    )
    parser.epilog = (
        "scope applies where an allowlist is, sync-celery where Python files are, trace-map to every trace_map.json, "
        "artifacts to every folder of artifacts; the tests always apply. With pytest at least one test has to pass.\n\n"
        "exit codes: 0 all checks pass, 1 one does not or cannot be made, 2 no such folder"
    )


def run(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    project = project_file.project_at(folder)
    options = all_checks.Options(
        allowlist=None if args.allowlist is None else Path(args.allowlist),
        base=args.base,
        code=[Path(path) for path in args.code],
        tests=_split(args.tests),
        timeout_ms=args.timeout * 1000,
        environment=file_access.hide_from_pytest(file_access.writable_roots(project.root, project.write_roots)),
    )
    results, absent = asyncio.run(all_checks.check(folder, options))
    ok = all(result.ok for result in results)
    if args.json:
        output.document(
            {
                "ok": ok,
                "checks": [result.document() for result in results],
                "notApplicable": [{"check": other.check, "why": other.why} for other in absent],
            }
        )
        return exit_codes.COMPLETED if ok else exit_codes.FAILED
    paint = output.Painter(sys.stdout).paint
    for result in results:
        word = paint("passed", "green") if result.ok else paint("failed", "red")
        output.say(f"{word}  {result.check}: {output.one_line(result.target)}")
        for reason in result.reasons:
            output.say(f"        {output.one_line(reason)}")
    for other in absent:
        output.say(paint(f"absent  {other.check}: {other.why}", "dim"))
    return exit_codes.COMPLETED if ok else exit_codes.FAILED


def _split(command: str | None) -> tuple[str, ...]:
    """Return the words of a command (InvalidInput USAGE)."""
    if command is None:
        return ()
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise errors.InvalidInput(f"--tests is no command: {error}", code="USAGE") from error
    if not words:
        raise errors.InvalidInput("--tests is empty", code="USAGE", hint="name a program, or leave it out")
    return tuple(words)

"""`skelo check sync-celery`: find code that a synchronous Celery worker cannot run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from openskelo.checks import sync_celery
from openskelo.cli import exit_codes, output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a Python file, or a folder with Python files")
    parser.epilog = (
        "Codes: ASYNC_SYNTAX, ASYNC_LIBRARY, EVENT_LOOP, BACKGROUND, PROCESS, NO_TIMEOUT. A comment "
        "`# sync-ok: REASON` in the line of a finding accepts it; the reason needs 10 characters.\n\n"
        "exit codes: 0 clean, 1 not clean (also where a file cannot be read), 2 no such path"
    )


def run(args: argparse.Namespace) -> int:
    reports = [(path, sync_celery.check_paths([path])) for path in args.paths]
    report = sync_celery.join([report for _, report in reports])
    if args.json:
        output.document(report.document())
    else:
        for path, part in reports:
            _print(part, Path(path))
        _print_count(report)
    return exit_codes.COMPLETED if report.ok else exit_codes.FAILED


def _print(report: sync_celery.Report, path: Path) -> None:
    paint = output.Painter(sys.stdout).paint
    folder = path if path.is_dir() else Path()
    for unreadable in report.unreadable:
        place = output.one_line(f"{folder / unreadable.file}:{unreadable.line}:")
        output.say(f"{paint(place, 'bold')} {output.one_line(unreadable.message)}")
    for found in report.violations:
        place = output.one_line(f"{folder / found.file}:{found.line}:{found.column}:")
        hint = paint(f" ({found.hint})", "dim")
        output.say(f"{paint(place, 'bold')} {paint(found.code, 'red')} {output.one_line(found.message)}{hint}")


def _print_count(report: sync_celery.Report) -> None:
    parts = [
        output.count(report.files, "file"),
        output.count(len(report.violations), "violation"),
        f"{len(report.suppressed)} accepted by `# sync-ok`",
        f"{len(report.unreadable)} unreadable",
    ]
    output.note(", ".join(parts))

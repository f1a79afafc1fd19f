"""`skelo check scope`: find changes of a repository that are outside of an allowlist."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from openskelo.checks import scope
from openskelo.cli import exit_codes, output
from openskelo.values import path_scope


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allowlist",
        metavar="FILE",
        required=True,
        help="JSON with allowed_paths, forbidden_paths and max_changed_files",
    )
    parser.add_argument("--repo", metavar="DIR", default=".", help="the top of a git repository (default: here)")
    parser.add_argument(
        "--base", metavar="REV", default="HEAD", help="the commit that the files are compared with (default: HEAD)"
    )
    parser.add_argument(
        "--protected",
        metavar="GLOB",
        action="append",
        help="a pattern of paths that may never change, in place of the usual ones; may be given several times",
    )
    parser.epilog = (
        "Untracked and deleted files count. Files that the commit's own .gitignore ignores do not.\n\n"
        "exit codes: 0 all changes are in the scope, 1 some are not, 2 no such repository, commit or allowlist"
    )


def run(args: argparse.Namespace) -> int:
    allowlist = Path(args.allowlist)
    allowed = scope.read_allowlist(allowlist, args.protected or path_scope.PROTECTED_PATHS)
    report = asyncio.run(scope.check(Path(args.repo), allowed, base=args.base, allowlist=allowlist))
    if args.json:
        output.document(report.document())
    else:
        for line in report.reasons():
            output.say(output.one_line(line))
        output.note(f"{output.count(len(report.changes), 'change')}, {len(report.outside)} outside of the scope")
    return exit_codes.COMPLETED if report.ok else exit_codes.FAILED

"""`skelo check artifacts`: find artifacts that are missing, or not as the manifest says."""

from __future__ import annotations

import argparse
from pathlib import Path

from openskelo.checks import artifacts
from openskelo.cli import exit_codes, output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a folder with manifest.json")
    parser.epilog = (
        "exit codes: 0 everything that the steps require is there, 1 not (also without a manifest), 2 no such folder"
    )


def run(args: argparse.Namespace) -> int:
    report = artifacts.check(Path(args.folder))
    if args.json:
        output.document(report.document())
    else:
        for line in report.reasons():
            output.say(output.one_line(line))
        output.note(
            f"{output.count(report.artifacts, 'artifact')}, {len(report.missing)} missing, {len(report.broken)} broken"
        )
    return exit_codes.COMPLETED if report.ok else exit_codes.FAILED

"""`skelo doctor`: check this machine and project, and print one line for each finding."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from openskelo import errors
from openskelo.cli import exit_codes, output, project_context
from openskelo.engine import health


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "exit codes: 0 no failures (warnings are allowed), 1 something will not work"


def run(args: argparse.Namespace) -> int:
    findings = _examine(args)
    bad = any(finding.state == "fail" for finding in findings)
    if args.json:
        output.document(
            {
                "ok": not bad,
                "checks": [
                    {"name": finding.name, "state": finding.state, "detail": finding.detail, "hint": finding.hint}
                    for finding in findings
                ],
            }
        )
        return exit_codes.FAILED if bad else exit_codes.COMPLETED
    painter = output.Painter(sys.stdout)
    colours = {"ok": "green", "warn": "yellow", "fail": "red"}
    size = max(len(finding.name) for finding in findings)
    for finding in findings:
        state = painter.paint(f"{finding.state:<4}", colours[finding.state])
        output.say(f"{state}  {finding.name:<{size}}  {output.one_line(finding.detail)}")
        if finding.hint:
            output.say(f"{'':<{size + 8}}{painter.paint(output.one_line(finding.hint), 'dim')}")
    return exit_codes.FAILED if bad else exit_codes.COMPLETED


def _examine(args: argparse.Namespace) -> Sequence[health.Finding]:
    try:
        where = project_context.from_args(args)
    except errors.InvalidWorkflow as error:
        details = "; ".join(str(problem) for problem in error.problems)
        finding = health.Finding(name="project", state="fail", detail=details, hint="fix skelo.yaml")
        return [*health.machine(), finding]
    return asyncio.run(health.doctor(where))

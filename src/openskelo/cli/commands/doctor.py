"""`skelo doctor`: check this machine and project, one line a finding."""

from __future__ import annotations

import argparse
import sys

from openskelo.cli import exits, health, ink, output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "exit codes: 0 all is well (warnings included), 1 something will not work"


def run(args: argparse.Namespace) -> int:
    findings = health.examine(args)
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
        return exits.FAILED if bad else exits.COMPLETED
    painter = ink.Ink(sys.stdout)
    colours = {"ok": "green", "warn": "yellow", "fail": "red"}
    size = max(len(finding.name) for finding in findings)
    for finding in findings:
        state = painter.paint(f"{finding.state:<4}", colours[finding.state])
        output.say(f"{state}  {finding.name:<{size}}  {ink.one_line(finding.detail)}")
        if finding.hint:
            output.say(f"{'':<{size + 8}}{painter.paint(ink.one_line(finding.hint), 'dim')}")
    return exits.FAILED if bad else exits.COMPLETED

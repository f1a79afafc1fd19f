"""`skelo hash FILE…`: print the hash that a run of this file would pin."""

from __future__ import annotations

import argparse

from openskelo.cli import exit_codes, output, project_context
from openskelo.workflows import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a workflow file (YAML or JSON)")
    parser.epilog = (
        "The hash is over the checked definition, so comments, spacing and the order of keys do not change it."
    )


def run(args: argparse.Namespace) -> int:
    workflows = [(file, load.load(project_context.workflow_file(file), data_dir=args.data_dir)) for file in args.files]
    if args.json:
        output.document({"files": [{"file": file, "name": flow.name, "hash": flow.hash} for file, flow in workflows]})
        return exit_codes.COMPLETED
    for file, workflow in workflows:
        output.say(f"{workflow.hash}  {file}")
    return exit_codes.COMPLETED

"""`skelo hash FILE…`: the hash that a run of this file would pin."""

from __future__ import annotations

import argparse

from openskelo.cli import exits, output, place
from openskelo.workflows import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a workflow file (YAML or JSON)")
    parser.epilog = (
        "The hash is over the checked definition, so comments, spacing and the order of keys do not change it."
    )


def run(args: argparse.Namespace) -> int:
    found = [(file, load.load(place.workflow_file(file))) for file in args.files]
    if args.json:
        output.document({"files": [{"file": file, "name": flow.name, "hash": flow.hash} for file, flow in found]})
        return exits.COMPLETED
    for file, workflow in found:
        output.say(f"{workflow.hash}  {file}")
    return exits.COMPLETED

"""`skelo validate FILE…`: list every Problem of workflow files; run nothing."""

from __future__ import annotations

import argparse

from openskelo.cli import exits, output, place, problems
from openskelo.kernel import definition
from openskelo.workflows import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a workflow file (YAML or JSON)")
    parser.epilog = "exit codes: 0 no problems, 2 problems found"


def run(args: argparse.Namespace) -> int:
    checked = [(file, *load.check(place.workflow_file(file))) for file in args.files]
    wrong = [problem for _, _, found in checked for problem in found if problem.severity == "error"]
    doubts = [problem for _, _, found in checked for problem in found if problem.severity == "warning"]
    if args.json:
        output.document(
            {
                "problems": [problems.as_document(problem) for problem in wrong],
                "warnings": [problems.as_document(problem) for problem in doubts],
                "files": [_entry(file, workflow) for file, workflow, _ in checked],
            }
        )
        return exits.INVALID if wrong else exits.COMPLETED
    for problem in (*wrong, *doubts):
        problems.line(problem)
    for file, workflow, _ in checked:
        if workflow is not None:
            output.say(f"{file}: valid, {_summary(workflow)}")
    if wrong:
        output.note(problems.count(wrong))
    return exits.INVALID if wrong else exits.COMPLETED


def _entry(file: str, workflow: definition.Workflow | None) -> dict[str, str | bool | None]:
    return {
        "file": file,
        "valid": workflow is not None,
        "name": workflow.name if workflow else None,
        "hash": workflow.hash if workflow else None,
    }


def _summary(workflow: definition.Workflow) -> str:
    edges = sum(bool(binding.node) for node in workflow.nodes.values() for binding in node.bindings.values())
    words = [
        output.count(len(workflow.nodes), "block"),
        output.count(edges, "edge"),
        output.count(len(workflow.inputs), "input"),
    ]
    return ", ".join(words)

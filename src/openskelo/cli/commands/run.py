"""`skelo run FILE`: start a workflow and drive it until it ends or waits for a person."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import drive, exits, identity, inputs, output, place, terminal
from openskelo.engine import door, local, words
from openskelo.executors import task
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a workflow file (YAML or JSON)")
    parser.add_argument(
        "--input",
        metavar="K=V",
        action="append",
        default=[],
        help="an input; V is JSON unless the port is a string; K=@FILE reads it from a file (repeatable)",
    )
    parser.add_argument("--inputs", metavar="F.json", help="all inputs as one JSON object (- reads standard input)")
    parser.add_argument(
        "--context",
        metavar="K=V",
        action="append",
        default=[],
        help="what a plan's ctx:NAME or snap:NAME stands for: a text, or K=@FILE, of a .json file its value"
        " (repeatable)",
    )
    parser.add_argument("--dry-run", action="store_true", help="validate, explain and stop: nothing is started")
    parser.add_argument(
        "--mode",
        choices=("auto", "interactive"),
        default="auto",
        help="interactive asks before each effect that cannot be repeated (default: auto)",
    )
    parser.add_argument("--planning", action="store_true", help="refuse every effect that is not pure")
    drive.cache_argument(parser, begins=True)
    drive.add_arguments(parser)
    parser.epilog = (
        "On a terminal, missing inputs and approvals are asked for. Ctrl-C suspends the run "
        "(exit 3, `skelo resume` goes on), a second one cancels it (exit 130)."
    )


def run(args: argparse.Namespace) -> int:
    path = place.workflow_file(args.file)
    where = place.of_args(args, path)
    workflow = load.load(path, root=where.root)
    given = inputs.of_run(workflow.inputs, args.input, args.inputs)
    if args.dry_run:
        return _dry(args, where, workflow, given)
    return asyncio.run(_run(args, where, workflow, given))


async def _run(
    args: argparse.Namespace, where: task.Project, workflow: definition.Workflow, given: dict[str, Json]
) -> int:
    if terminal.is_interactive(as_json=args.json):
        given |= await _ask_missing(workflow, given)
    contexts = inputs.contexts(args.context)
    async with await local.Engine.open(where, store=place.make_log(where), cache=args.cache) as engine:
        run_id = await engine.start(
            workflow,
            given,
            by=identity.user(),
            mode=words.mode(args.mode),
            global_mode="PLANNING" if args.planning else "IMPLEMENTATION",
            contexts=contexts,
        )
        if not args.quiet:
            output.note(f"run {run_id}")
        return await drive.to_end(engine, run_id, args)


async def _ask_missing(workflow: definition.Workflow, given: dict[str, Json]) -> dict[str, Json]:
    lines = terminal.Lines()
    asked: dict[str, Json] = {}
    for port in workflow.inputs:
        if port.name in given or port.has_default or not port.required:
            continue
        schema = {"description": port.description, **port.schema} if port.description else port.schema
        try:
            asked[port.name] = await terminal.ask_value(lines, port.name, schema, default=None, required=True)
        except EOFError:
            break  # whoever was there has left: the engine names what is missing
    return asked


def _dry(args: argparse.Namespace, where: task.Project, workflow: definition.Workflow, given: dict[str, Json]) -> int:
    from openskelo.cli import explaining  # noqa: PLC0415 - for a dry run only
    from openskelo.engine import outlook  # noqa: PLC0415 - for a dry run only

    values = door.run_inputs(workflow, given, where)
    if any(port.kind == "artifact" and port.name in values for port in workflow.inputs):
        asyncio.run(_check_artifacts(where, workflow, values))
    explaining.show(workflow, outlook.basis(workflow, where, None, items=10), as_json=args.json)
    if not args.json:
        output.say()
        output.say("dry run: the workflow and its inputs are valid, nothing was started")
    return exits.COMPLETED


async def _check_artifacts(where: task.Project, workflow: definition.Workflow, values: JsonObject) -> None:
    async with place.reading(where) as log:
        await door.check_artifacts(workflow.inputs, values, log)

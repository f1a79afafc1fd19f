"""`skelo run FILE`: start a workflow and drive it until it ends or waits for a person."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.cli import drive, exits, identity, ink, inputs, loaded, output, place, terminal
from openskelo.engine import door, local, words
from openskelo.executors import task
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject

_REFERRING = {"file": "the path of a file", "artifact": "artifact://… of a kept file"}


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
    workflow = loaded.workflow(args.file, path, where.root, quiet=args.quiet or args.json)
    given = inputs.of_run(workflow.inputs, args.input, args.inputs)
    if args.dry_run:
        return _dry(args, where, workflow, given)
    return asyncio.run(_run(args, where, workflow, given))


async def _run(
    args: argparse.Namespace, where: task.Project, workflow: definition.Workflow, given: dict[str, Json]
) -> int:
    contexts = inputs.contexts(args.context)
    if terminal.is_interactive(as_json=args.json):
        given |= await _ask_missing(workflow, given, where)
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


async def _ask_missing(workflow: definition.Workflow, given: dict[str, Json], where: task.Project) -> dict[str, Json]:
    """What nobody has given yet, asked for once the rest is known to be right."""
    missing = [port for port in workflow.inputs if port.required and not port.has_default and port.name not in given]
    asked: dict[str, Json] = {}
    if not missing:
        return asked
    door.Inputs(workflow).check(given, where)
    lines = terminal.Lines()
    for port in missing:
        try:
            asked[port.name] = await _ask(lines, port, where)
        except EOFError:
            break  # whoever was there has left: the engine names what is missing
    return asked


async def _ask(lines: terminal.Lines, port: definition.Port, where: task.Project) -> Json:
    """A value of a port, asked for again while it names a file that is not there."""
    about = port.description or _REFERRING.get(port.kind, "")
    schema = {"description": about, **port.schema} if about else port.schema
    while True:
        value = await terminal.ask_value(lines, port.name, schema, default=None, required=True)
        try:
            door.check_references([port], {port.name: value}, where)
        except errors.InvalidInput as error:
            output.note(f"  {ink.one_line(error.message)}")
        else:
            return value


def _dry(args: argparse.Namespace, where: task.Project, workflow: definition.Workflow, given: dict[str, Json]) -> int:
    from openskelo.cli import explaining  # noqa: PLC0415 - for a dry run only
    from openskelo.engine import outlook  # noqa: PLC0415 - for a dry run only

    values = door.Inputs(workflow).complete(given, where)
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

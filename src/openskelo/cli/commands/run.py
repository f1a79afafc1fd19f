"""`skelo run FILE`: start a workflow and drive it until it ends or waits for a person."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.cli import drive, exit_codes, inputs, output, project_context
from openskelo.engine import api as engine_api
from openskelo.engine.commands import input_checks
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project

_KIND_HINTS = {"file": "the path of a file", "artifact": "artifact://… of a kept file"}


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
        help="the value of a plan's ctx:NAME or snap:NAME: a text, or K=@FILE; a .json file is read as JSON"
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
    drive.add_cache_argument(parser, starts=True)
    drive.add_arguments(parser)
    parser.epilog = (
        "On a terminal, missing inputs and approvals are asked for. Ctrl-C suspends the run "
        "(exit 3, `skelo resume` continues it), a second one cancels it (exit 130)."
    )


def run(args: argparse.Namespace) -> int:
    path = project_context.workflow_file(args.file)
    where = project_context.from_args(args, path)
    workflow = project_context.load_workflow(args.file, path, where, quiet=args.quiet or args.json)
    given_inputs = inputs.of_run(workflow.inputs, args.input, args.inputs)
    if args.dry_run:
        return _dry_run(args, where, workflow, given_inputs)
    return asyncio.run(_run(args, where, workflow, given_inputs))


async def _run(
    args: argparse.Namespace, where: Project, workflow: definition.Workflow, given_inputs: dict[str, Json]
) -> int:
    contexts = inputs.contexts(args.context)
    if inputs.is_interactive(as_json=args.json):
        given_inputs |= await _ask_missing(workflow, given_inputs, where)
    async with engine_api.open_engine(where, store=project_context.open_store(where), cache=args.cache) as engine:
        run_id = await engine.start(
            workflow,
            given_inputs,
            by=project_context.current_user(),
            mode=input_checks.run_mode(args.mode),
            global_mode="PLANNING" if args.planning else "IMPLEMENTATION",
            contexts=contexts,
        )
        if not args.quiet:
            output.note(f"run {run_id}")
            if args.data_dir is None:
                project_context.note_place(where)
        return await drive.follow_to_end(engine, run_id, args)


async def _ask_missing(workflow: definition.Workflow, given_inputs: dict[str, Json], where: Project) -> dict[str, Json]:
    """Ask for the missing inputs, after the other ones are checked, and return them."""
    missing = [
        port for port in workflow.inputs if port.required and not port.has_default and port.name not in given_inputs
    ]
    answers: dict[str, Json] = {}
    if not missing:
        return answers
    input_checks.Inputs(workflow).check(given_inputs, where)
    lines = inputs.Lines()
    for port in missing:
        try:
            answers[port.name] = await _ask(lines, port, where)
        except EOFError:
            break  # the engine reports what is missing
    return answers


async def _ask(lines: inputs.Lines, port: definition.Port, where: Project) -> Json:
    """Ask for the value of a port, again as long as it names a file that does not exist."""
    description = port.description or _KIND_HINTS.get(port.kind, "")
    schema = {"description": description, **port.schema} if description else port.schema
    while True:
        value = await inputs.ask_value(lines, port.name, schema, default=None, required=True)
        try:
            input_checks.check_references([port], {port.name: value}, where)
        except errors.InvalidInput as error:
            output.note(f"  {output.one_line(error.message)}")
        else:
            return value


def _dry_run(
    args: argparse.Namespace, where: Project, workflow: definition.Workflow, given_inputs: dict[str, Json]
) -> int:
    from openskelo.cli import explanation  # noqa: PLC0415 - for a dry run only
    from openskelo.history import run_estimate  # noqa: PLC0415 - for a dry run only

    values = input_checks.Inputs(workflow).complete(given_inputs, where)
    if any(port.kind == "artifact" and port.name in values for port in workflow.inputs):
        asyncio.run(_check_artifacts(where, workflow, values))
    explanation.show(workflow, run_estimate.basis(workflow, where, None, items=10), as_json=args.json)
    if not args.json:
        output.say()
        output.say("dry run: the workflow and its inputs are valid, nothing was started")
    return exit_codes.COMPLETED


async def _check_artifacts(where: Project, workflow: definition.Workflow, values: JsonObject) -> None:
    async with project_context.reading(where) as log:
        await input_checks.check_artifacts(workflow.inputs, values, log)

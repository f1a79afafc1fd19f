"""`skelo plan GOAL`: a model drafts a plan, the loader checks it, and a person decides whether it is run."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shlex
import sys
from pathlib import Path

from openskelo import errors
from openskelo.cli import drive, exit_codes, explanation, inputs, output, project_context, render
from openskelo.engine import api as engine_api
from openskelo.engine import planning
from openskelo.history import run_estimate
from openskelo.history.run_document import RunDocument
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.workflows import load

#: The longest file name that is made from a plan's name, in bytes.
_MAX_NAME_BYTES = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "goal", metavar="GOAL", nargs="?", help="what the plan is for, in words; - reads standard input"
    )
    parser.add_argument(
        "--resume", metavar="RUN", help="continue a run that was writing a plan, or use the plan that it wrote"
    )
    parser.add_argument(
        "--expert", metavar="NAME", help="the expert that writes it (default: the project's default expert)"
    )
    parser.add_argument("--out", metavar="FILE", help="the file to write (default: PLAN_ID.plan.json)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument(
        "--repairs",
        metavar="N",
        type=int,
        default=planning.REPAIRS,
        help=f"how often a plan with problems goes back to the expert (default: {planning.REPAIRS})",
    )
    parser.add_argument("--approve", action="store_true", help="run the plan right away if it has no problems")
    drive.add_arguments(parser)
    parser.epilog = (
        "The question, every draft and the checker's findings are recorded as a run of their own. The plan itself "
        "is never run without --approve or a yes at the terminal.\n\nexit codes: 0 written, 1 no plan without "
        "problems, 2 invalid input, 3 interrupted before the plan was written (--resume continues), 130 "
        "cancelled; if the plan is run, those of `skelo run`"
    )


def run(args: argparse.Namespace) -> int:
    if not 0 <= args.repairs <= 10:
        raise errors.InvalidInput("--repairs must be between 0 and 10", code="USAGE")
    if (args.goal is None) == (args.resume is None):
        raise errors.InvalidInput("give a GOAL, or --resume RUN", code="USAGE")
    goal = sys.stdin.read() if args.goal == "-" else args.goal
    if goal is not None and not goal.strip():
        raise errors.InvalidInput("the goal is empty", code="USAGE")
    out = None if args.out is None else Path(args.out)
    if out is not None:
        _check_writable(out, force=args.force)
    return asyncio.run(_plan(args, project_context.from_args(args, out), goal, out))


async def _plan(args: argparse.Namespace, where: Project, goal: str | None, out: Path | None) -> int:
    document, write_command = await _draft_plan(args, where, goal)
    run_id = document["runId"]
    if document.get("ending") in (None, "cancelled"):
        return _report_stopped(args, document, write_command)
    plan_outcome = planning.outcome(document, where.root)
    if plan_outcome.plan is None or plan_outcome.workflow is None:
        return _report_no_plan(args, plan_outcome, write_command)
    path = out or Path(f"{_file_name(plan_outcome.workflow.name)}.plan.json")
    other_file = write_command(f"skelo plan --resume {run_id} --out FILE")
    _check_writable(path, force=args.force, hint=other_file)
    _write(path, plan_outcome.plan, hint=other_file)
    if not args.json:
        for warning in plan_outcome.problems:
            output.print_problem(warning)
        explanation.show(
            plan_outcome.workflow, run_estimate.basis(plan_outcome.workflow, where, None, items=10), as_json=False
        )
    output.note(f"{path}: written; its drafts: {write_command(f'skelo show {run_id}')}")
    try:
        is_approved = args.approve or await _ask_to_run(args)
    except drive.Interrupted:
        output.note(f"\nthe plan was not run; to run it: skelo run {_quote(path)}")
        return exit_codes.CANCELLED
    if is_approved:
        return await _run_plan(args, where, path)
    if args.json:
        output.document({**plan_outcome.document(), "file": str(path)})
    else:
        output.note(f"the plan was not run; to run it: skelo run {_quote(path)}")
    return exit_codes.COMPLETED


async def _draft_plan(
    args: argparse.Namespace, where: Project, goal: str | None
) -> tuple[RunDocument, render.WriteCommand]:
    """Drive the run that writes the plan until it ends or the user stops it.

    Return its document, and what writes the commands about it.
    """
    store = project_context.open_existing_store(where) if goal is None else project_context.open_store(where)
    async with engine_api.open_engine(where, store=store, handlers=planning.handlers(where)) as engine:
        run_id = await (_resume(engine, args.resume) if goal is None else _start(engine, args, goal))
        if not args.quiet:
            output.note(f"run {run_id} writes the plan")
        with drive.Interrupts() as stop:
            try:
                document = await stop.until(engine.wait(run_id))
            except drive.Interrupted as interruption:
                document = await drive.suspend(engine, run_id, stop, wait_for_second=not interruption.hurried)
        return document, await drive.command_hint(engine, document)


async def _start(engine: engine_api.Engine, args: argparse.Namespace, goal: str) -> str:
    """Start a run that writes a plan, and return its id."""
    return await planning.start(
        engine, goal, expert=args.expert, repairs=args.repairs, by=project_context.current_user()
    )


async def _resume(engine: engine_api.Engine, named: str) -> str:
    """Resume a run that was writing a plan, unless it has ended, and return its id."""
    row = await engine.history.find_run(named)
    if row.name != planning.NAME:
        write_command = await drive.command_hint(engine, await engine.show(row.run_id))
        raise errors.InvalidInput(
            f"run {row.run_id} is not writing a plan",
            code="USAGE",
            hint=f"{write_command(f'skelo resume {row.run_id}')} continues it",
        )
    if row.ending is None:
        await engine.resume(row.run_id, by=project_context.current_user())
    return row.run_id


def _report_stopped(args: argparse.Namespace, document: RunDocument, write_command: render.WriteCommand) -> int:
    """Report that the run was interrupted before it had written a plan, and return the exit code."""
    run_id = document["runId"]
    if args.json:
        output.document({**planning.Planned(run_id=run_id).document(), "file": None})
    is_cancelled = document["ending"] == "cancelled"
    state = "cancelled" if is_cancelled else f"continue with: {write_command(f'skelo plan --resume {run_id}')}"
    output.note(f"no plan was written; {state}")
    if is_cancelled:
        return exit_codes.CANCELLED
    return exit_codes.UNFINISHED


def _report_no_plan(args: argparse.Namespace, planned: planning.Planned, write_command: render.WriteCommand) -> int:
    if args.json:
        output.document({**planned.document(), "file": None})
        return exit_codes.FAILED
    for problem in planned.problems:
        output.print_problem(problem, in_file=False)
    error = planned.error
    why = f"{error['code']} {error['message']}" if error else "no draft was without problems"
    output.note(f"there is no plan: {why}; the drafts are kept: {write_command(f'skelo show {planned.run_id}')}")
    return exit_codes.FAILED


async def _ask_to_run(args: argparse.Namespace) -> bool:
    """True if the user at the terminal wants to run the plan now; without a terminal False. Raise Interrupted."""
    if not inputs.is_interactive(as_json=args.json):
        return False
    try:
        with drive.Interrupts() as stop:
            answer = await stop.until(inputs.Lines().ask("run it now? [y/N] "))
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


async def _run_plan(args: argparse.Namespace, where: Project, path: Path) -> int:
    workflow = load.load(path, root=where.root, data_dir=where.data_dir)
    missing = _missing_inputs(workflow)
    if missing:
        raise errors.InvalidInput(
            f"the plan needs {', '.join(missing)}",
            code="INPUT_MISSING",
            hint=f"skelo run {_quote(path)} --input NAME=VALUE",
        )
    async with engine_api.open_engine(where, store=project_context.open_store(where)) as engine:
        run_id = await engine.start(workflow, {}, by=project_context.current_user())
        if not args.quiet:
            output.note(f"run {run_id}")
        return await drive.follow_to_end(engine, run_id, args)


def _missing_inputs(workflow: definition.Workflow) -> list[str]:
    return [port.name for port in workflow.inputs if port.required and not port.has_default]


def _file_name(name: str) -> str:
    """Return a plan's name as a file name: letters and digits of any script, and dashes between them."""
    plain = re.sub(r"[^\w-]+", "-", name).encode()[:_MAX_NAME_BYTES].decode(errors="ignore").strip("-")
    return plain or "plan"


def _quote(path: Path) -> str:
    """Return the path quoted for the shell; a leading dash must not look like an option."""
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def _check_writable(path: Path, *, force: bool, hint: str = "name another with --out, or --force") -> None:
    """Raise InvalidInput if `path` cannot be written."""
    if project_context.path_exists(path) and (path.is_dir() or not force):
        raise errors.InvalidInput(f"{path} already exists", code="FILE_EXISTS", hint=hint)
    if not path.parent.is_dir():
        raise errors.InvalidInput(f"there is no folder {path.parent}", code="FILE_NOT_FOUND", hint=hint)


def _write(path: Path, document: JsonObject, *, hint: str) -> None:
    try:
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise errors.InvalidInput(f"{path} cannot be written: {error}", code="FILE_UNWRITABLE", hint=hint) from error

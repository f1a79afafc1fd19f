"""`skelo plan GOAL`: a model writes a plan, the checker holds it to the rules, a person decides what becomes of it."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shlex
import sys
from pathlib import Path

from openskelo import errors
from openskelo.cli import (
    drive,
    exits,
    explaining,
    identity,
    interrupts,
    output,
    place,
    problems,
    runref,
    terminal,
)
from openskelo.engine import local, outlook, planning
from openskelo.executors import task
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.workflows import load

#: So many bytes of a plan's name are in that of its file.
_LONGEST_NAME = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "goal", metavar="GOAL", nargs="?", help="what the plan is for, in words; - reads standard input"
    )
    parser.add_argument(
        "--resume", metavar="RUN", help="go on with a run that was writing a plan, or take what it wrote"
    )
    parser.add_argument("--expert", metavar="NAME", help="who writes it (default: the project's default expert)")
    parser.add_argument("--out", metavar="FILE", help="where the plan goes (default: PLAN_ID.plan.json)")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument(
        "--repairs",
        metavar="N",
        type=int,
        default=planning.REPAIRS,
        help=f"how often a plan with problems goes back to who wrote it (default: {planning.REPAIRS})",
    )
    parser.add_argument("--approve", action="store_true", help="run the plan at once when it has no problems")
    drive.add_arguments(parser)
    parser.epilog = (
        "What was asked, every draft and what the checker said about it are a run of their own. The plan itself "
        "is never run without --approve or a yes at the terminal.\n\nexit codes: 0 written, 1 no plan without "
        "problems came of it, 2 invalid input, 3 interrupted before it was written (--resume goes on), 130 "
        "cancelled; with a run of the plan, those of `skelo run`"
    )


def run(args: argparse.Namespace) -> int:
    if not 0 <= args.repairs <= 10:
        raise errors.InvalidInput("--repairs is 0 to 10", code="USAGE")
    if (args.goal is None) == (args.resume is None):
        raise errors.InvalidInput("give a GOAL, or --resume RUN", code="USAGE")
    goal = sys.stdin.read() if args.goal == "-" else args.goal
    if goal is not None and not goal.strip():
        raise errors.InvalidInput("the goal is empty", code="USAGE")
    out = None if args.out is None else Path(args.out)
    if out is not None:
        _free(out, force=args.force)
    return asyncio.run(_plan(args, place.of_args(args, out), goal, out))


async def _plan(args: argparse.Namespace, where: task.Project, goal: str | None, out: Path | None) -> int:
    run_id, ended = await _drafted(args, where, goal)
    if ended.get("ending") in (None, "cancelled"):
        return _stopped(args, run_id, ended)
    planned = planning.outcome(ended, where.root)
    if planned.plan is None or planned.workflow is None:
        return _refused(args, planned)
    path = out or Path(f"{_file_name(planned.workflow.name)}.plan.json")
    _free(path, force=args.force, run_id=run_id)
    _write(path, planned.plan, run_id)
    if not args.json:
        for warning in planned.problems:
            problems.line(warning)
        explaining.show(planned.workflow, outlook.basis(planned.workflow, where, None, items=10), as_json=False)
    output.note(f"{path}: written; how it came about: skelo show {run_id}")
    try:
        wanted = args.approve or await _is_wanted(args)
    except interrupts.Interrupted:
        output.note(f"\nnothing of it was run; to run it: skelo run {_typed(path)}")
        return exits.CANCELLED
    if wanted:
        return await _executed(args, where, path)
    if args.json:
        output.document({**planned.document(), "file": str(path)})
    else:
        output.note(f"nothing of it was run; to run it: skelo run {_typed(path)}")
    return exits.COMPLETED


async def _drafted(args: argparse.Namespace, where: task.Project, goal: str | None) -> tuple[str, JsonObject]:
    """The run in which the plan is written, to its end, or as far as it came before somebody stopped it."""
    store = place.open_log(where) if goal is None else place.make_log(where)
    async with await local.Engine.open(where, store=store, handlers=planning.handlers(where)) as engine:
        run_id = await (_resumed(engine, args.resume) if goal is None else _asked(engine, args, goal))
        if not args.quiet:
            output.note(f"run {run_id} writes the plan")
        with interrupts.Interrupts() as stop:
            try:
                return run_id, await stop.until(engine.wait(run_id))
            except interrupts.Interrupted as interruption:
                return run_id, await drive.suspended(engine, run_id, stop, patient=not interruption.hurried)


async def _asked(engine: local.Engine, args: argparse.Namespace, goal: str) -> str:
    """A new run that writes a plan."""
    return await planning.start(engine, goal, expert=args.expert, repairs=args.repairs, by=identity.user())


async def _resumed(engine: local.Engine, named: str) -> str:
    """A run that was writing a plan, under way again unless it has ended."""
    row = await runref.resolve(engine.store, named)
    if row.name != planning.NAME:
        raise errors.InvalidInput(
            f"run {row.run_id} writes no plan", code="USAGE", hint=f"skelo resume {row.run_id} goes on with it"
        )
    if row.ending is None:
        await engine.resume(row.run_id, by=identity.user())
    return row.run_id


def _stopped(args: argparse.Namespace, run_id: str, ended: JsonObject) -> int:
    """What is said about a run that was interrupted before it had written a plan."""
    if args.json:
        output.document({**planning.Planned(run_id=run_id).document(), "file": None})
    cancelled = ended.get("ending") == "cancelled"
    more = "cancelled" if cancelled else f"go on with: skelo plan --resume {run_id}"
    output.note(f"no plan was written; {more}")
    return exits.CANCELLED if cancelled else exits.UNFINISHED


def _refused(args: argparse.Namespace, planned: planning.Planned) -> int:
    if args.json:
        output.document({**planned.document(), "file": None})
        return exits.FAILED
    for problem in planned.problems:
        problems.line(problem, in_file=False)
    error = planned.error
    why = f"{error['code']} {error['message']}" if error else "no draft was without problems"
    output.note(f"no plan came of it: {why}; the drafts are kept: skelo show {planned.run_id}")
    return exits.FAILED


async def _is_wanted(args: argparse.Namespace) -> bool:
    """Whether the person at the terminal wants the plan to be run now; nobody there is a no (Interrupted: Ctrl-C)."""
    if not terminal.is_interactive(as_json=args.json):
        return False
    try:
        with interrupts.Interrupts() as stop:
            answer = await stop.until(terminal.Lines().ask("run it now? [y/N] "))
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


async def _executed(args: argparse.Namespace, where: task.Project, path: Path) -> int:
    workflow = load.load(path, root=where.root)
    missing = _missing(workflow)
    if missing:
        raise errors.InvalidInput(
            f"the plan needs {', '.join(missing)}",
            code="INPUT_MISSING",
            hint=f"skelo run {_typed(path)} --input NAME=VALUE",
        )
    async with await local.Engine.open(where, store=place.make_log(where)) as engine:
        run_id = await engine.start(workflow, {}, by=identity.user())
        if not args.quiet:
            output.note(f"run {run_id}")
        return await drive.to_end(engine, run_id, args)


def _missing(workflow: definition.Workflow) -> list[str]:
    return [port.name for port in workflow.inputs if port.required and not port.has_default]


def _file_name(name: str) -> str:
    """A plan's name as that of a file: letters and digits of any script, and dashes between them."""
    plain = re.sub(r"[^\w-]+", "-", name).encode()[:_LONGEST_NAME].decode(errors="ignore").strip("-")
    return plain or "plan"


def _typed(path: Path) -> str:
    """The path as it is to be typed behind a command, where a dash would begin an option."""
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def _free(path: Path, *, force: bool, run_id: str | None = None) -> None:
    """Refuse a place that cannot be written to; what was written before (by `run_id`) can still be had."""
    again = "name another with --out, or --force" if run_id is None else f"skelo plan --resume {run_id} --out FILE"
    if place.is_there(path) and (path.is_dir() or not force):
        raise errors.InvalidInput(f"{path} is there already", code="FILE_EXISTS", hint=again)
    if not path.parent.is_dir():
        raise errors.InvalidInput(f"there is no folder {path.parent}", code="FILE_NOT_FOUND", hint=again)


def _write(path: Path, document: JsonObject, run_id: str) -> None:
    try:
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise errors.InvalidInput(
            f"{path} cannot be written: {error}",
            code="FILE_UNWRITABLE",
            hint=f"skelo plan --resume {run_id} --out FILE",
        ) from error

"""`skelo fork RUN --from NODE`: a new run that keeps what came before a node and does the rest again."""

from __future__ import annotations

import argparse
import asyncio
import re

from openskelo.cli import drive, identity, ink, inputs, output, parsing, place, runref, workflow_changes
from openskelo.engine import fork_items, forking, loading
from openskelo.executors import task
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Run
from openskelo.workflows import load

#: One item of a foreach, or some that follow each other; it has at most 10,000.
_INDEXES = re.compile(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("--from", dest="node", metavar="NODE", required=True, help="the first node to do again")
    parser.add_argument(
        "--set",
        metavar="K=V",
        action="append",
        default=[],
        help="change an input of the node, else of the run; give one that --workflow adds; V as for `run --input`"
        " (repeatable)",
    )
    parser.add_argument(
        "--workflow", metavar="FILE", help="go on with this changed workflow (the changes are shown first)"
    )
    parser.add_argument(
        "--items",
        metavar="WHICH",
        type=_items,
        help="of a foreach, which items to do again: `all`, `unfinished`, or those and some more by their indexes,"
        " such as 3,7-9 (default: unfinished, or all where none is left)",
    )
    drive.cache_argument(parser, begins=True)
    drive.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    path = place.workflow_file(args.workflow) if args.workflow else None
    where = place.of_args(args, path)
    changed = load.load(path, root=where.root) if path else None
    return asyncio.run(_fork(args, where, changed))


async def _fork(args: argparse.Namespace, where: task.Project, changed: definition.Workflow | None) -> int:
    async with drive.engine_at(where, cache=args.cache) as engine:
        row = await runref.resolve(engine.store, args.run_id)
        parent = (await loading.load(engine.store, row.run_id)).run
        if changed:
            workflow_changes.note(parent.workflow, changed)
        values = inputs.from_pairs(args.set, _schemas(changed or parent.workflow, args.node))
        run_id = await engine.fork(
            row.run_id, node=args.node, inputs=values, workflow=changed, items=args.items, by=identity.user()
        )
        if not args.quiet:
            output.note(f"run {run_id}, forked from {row.run_id}")
            if args.items is None and args.cache:
                _note_items(parent, (await loading.load(engine.store, run_id)).run, args.node)
        return await drive.to_end(engine, run_id, args)


def _note_items(parent: Run, forked: Run, key: str) -> None:
    """Say so where items that were done are not taken over, although nobody has asked for that."""
    state, begun = parent.nodes.get(key), forked.nodes.get(key)
    if state is None or begun is None or state.items is None or state.outcome == "succeeded" or not state.done_slots:
        return
    if key not in forked.earlier and not begun.kept_slots:
        done = output.count(state.done_slots, "item")
        output.note(
            f"{ink.one_line(key)} had done {done}: they are done again, as its definition, its code or what it is given"
            " has changed; --items unfinished takes over those that are given the same"
        )


def _items(text: str) -> fork_items.Again:
    """What `--items` says."""
    said = text.strip()
    if said in ("all", "unfinished"):
        return said
    found: set[int] = set()
    for part in said.split(","):
        named = _INDEXES.fullmatch(part)
        first, last = (0, -1) if named is None else (int(named[1]), int(named[2] or named[1]))
        if first > last:
            raise argparse.ArgumentTypeError(f"{text!r} is not `all`, `unfinished` or indexes such as 3,7-9")
        found.update(range(first, last + 1))
    return frozenset(found)


def _schemas(workflow: definition.Workflow, key: str) -> dict[str, JsonObject]:
    """What a change must fit: an input of the node, else one of the run."""
    node = workflow.nodes.get(forking.beginning(workflow, key))
    ports = (*workflow.inputs, *(node.inputs if node else ()))
    return {port.name: port.schema for port in ports}

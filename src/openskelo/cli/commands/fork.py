"""`skelo fork RUN --from NODE`: start a run that keeps what came before a node and does the rest again."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys

from openskelo.cli import drive, inputs, output, parsing, project_context
from openskelo.engine import forking
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Run
from openskelo.project import Project
from openskelo.structs import as_dict
from openskelo.workflows import load

#: An index of a foreach item, or a range of them; a foreach has at most 10,000 items.
_INDEXES = re.compile(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("--from", dest="node", metavar="NODE", required=True, help="the first node to do again")
    parser.add_argument(
        "--set",
        metavar="K=V",
        action="append",
        default=[],
        help="change an input of the node, else of the run; or set one that --workflow adds; V as for `run --input`"
        " (repeatable)",
    )
    parser.add_argument("--workflow", metavar="FILE", help="use this changed workflow (the changes are shown first)")
    parser.add_argument(
        "--items",
        metavar="WHICH",
        type=_items,
        help="which items of a foreach to do again: `all`, `unfinished`, or the unfinished ones and some indexes,"
        " such as 3,7-9 (default: unfinished, or all if none is unfinished)",
    )
    drive.add_cache_argument(parser, starts=True)
    drive.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    path = project_context.workflow_file(args.workflow) if args.workflow else None
    where = project_context.from_args(args, path)
    new_workflow = load.load(path, root=where.root, data_dir=where.data_dir) if path else None
    return asyncio.run(_fork(args, where, new_workflow))


async def _fork(args: argparse.Namespace, where: Project, changed: definition.Workflow | None) -> int:
    async with drive.engine_at(where, cache=args.cache) as engine:
        row = await engine.history.find_run(args.run_id)
        parent = await engine.history.load_run(row.run_id)
        if changed:
            _note_changes(parent.workflow, changed)
        values = inputs.from_pairs(args.set, _schemas(changed or parent.workflow, args.node))
        run_id = await engine.fork(
            row.run_id,
            node=args.node,
            inputs=values,
            workflow=changed,
            items=args.items,
            by=project_context.current_user(),
        )
        if not args.quiet:
            output.note(f"run {run_id}, forked from {row.run_id}")
            if args.items is None and args.cache:
                _note_items(parent, await engine.history.load_run(run_id), args.node)
        return await drive.follow_to_end(engine, run_id, args)


def _note_items(parent: Run, forked: Run, key: str) -> None:
    """Note that finished items are done again although the user did not ask for it."""
    before = parent.nodes.get(key)
    after = forked.nodes.get(key)
    if before is None or after is None or before.items is None:
        return
    success_count = before.done_slots - before.failed_slots
    if before.outcome == "succeeded" or not success_count:
        return
    if key not in forked.kept_items and not after.kept_slots:
        success_text = output.count(success_count, "item")
        output.note(
            f"{output.one_line(key)} had done {success_text}: they are done again, because its definition, its code or"
            " its inputs have changed; --items unfinished takes over those with the same inputs"
        )


def _items(text: str) -> forking.ItemsToRedo:
    """Return the value of `--items`. Raise ArgumentTypeError."""
    value = text.strip()
    if value in ("all", "unfinished"):
        return value
    indexes: set[int] = set()
    for part in value.split(","):
        match = _INDEXES.fullmatch(part)
        first, last = (0, -1) if match is None else (int(match[1]), int(match[2] or match[1]))
        if first > last:
            raise argparse.ArgumentTypeError(f"{text!r} is not `all`, `unfinished` or indexes such as 3,7-9")
        indexes.update(range(first, last + 1))
    return frozenset(indexes)


def _schemas(workflow: definition.Workflow, key: str) -> dict[str, JsonObject]:
    """Return the schemas of the inputs that may be changed: those of the node and of the run."""
    node = workflow.nodes.get(forking.first_node(workflow, key))
    ports = (*workflow.inputs, *(node.inputs if node else ()))
    return {port.name: port.schema for port in ports}


def _note_changes(before: definition.Workflow, after: definition.Workflow) -> None:
    """Print every node that was added, removed or changed on stderr."""
    painter = output.Painter(sys.stderr)
    if before.hash == after.hash:
        output.note("the workflow has not changed")
        return
    output.note(f"workflow {before.hash[:19]}… becomes {after.hash[:19]}…")
    for key in dict.fromkeys((*before.nodes, *after.nodes)):
        if key not in before.nodes:
            output.note(painter.paint(f"  + {key}", "green"))
        elif key not in after.nodes:
            output.note(painter.paint(f"  - {key}", "red"))
        elif before.nodes[key] != after.nodes[key]:
            parts = ", ".join(_changed_fields(before.nodes[key], after.nodes[key]))
            output.note(painter.paint(f"  ~ {key} ({parts})", "yellow"))


def _changed_fields(before: definition.Node, after: definition.Node) -> list[str]:
    then = as_dict(before)
    return [name for name, now in as_dict(after).items() if then[name] != now]

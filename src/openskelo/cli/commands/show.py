"""`skelo show RUN`: print the state of a run from the log, without changing anything."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter

import orjson

from openskelo.cli import exit_codes, output, parsing, project_context, render, run_view
from openskelo.history import listing, run_document
from openskelo.kernel import definition
from openskelo.project import Project
from openskelo.stores import api


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("--logs", action="store_true", help="also print what each attempt has logged, newest last")
    parser.epilog = "exits with the run's code: 0, 1, 4 or 130 if it has ended, 3 if not"


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_show(args, project_context.with_runs(project_context.from_args(args))))


async def _count_calls(log: api.RunLog, document: run_document.RunDocument) -> None:
    """Add the number of calls of each agent to the nodes of a run's document; those in pruned events do not count."""
    agents = [key for key, node in document["nodes"].items() if definition.work_kind(node["mode"]).makes_calls]
    if not agents:
        return
    calls: Counter[str] = Counter()
    async for lines in log.read_events(document["runId"]):
        for line in lines:
            if b'"call.started"' in line:
                envelope = orjson.loads(line)
                calls[str(run_view.data_of(envelope).get("node"))] += envelope.get("type") == "call.started"
    for key in agents:
        document["nodes"][key]["calls"] = calls[key]


async def _show(args: argparse.Namespace, where: Project) -> int:
    async with project_context.reading(where) as log:
        row = await listing.find_run(log, args.run_id)
        document = await project_context.read_document(log, row.run_id)
        await _count_calls(log, document)
        logs = await project_context.read_logs(log, row.run_id) if args.logs else None
        is_driven = await log.is_driver_alive(row.run_id)
        approval_ids = [approval["id"] for approval in document["approvals"]]
        short_ids = await listing.short_ids(log, {row.run_id: approval_ids})
    if args.json:
        output.document(document if logs is None else {**document, "logs": logs})
    else:
        write_command = project_context.CommandHint(where, short_ids)
        render.full(document, write_command, title=row.name)
        render.logs(logs or ())
        if document["ending"] is None and not is_driven and not document["approvals"]:
            command = write_command(f"skelo resume {row.run_id}")
            output.note(f"no process drives this run; continue it with: {command}")
    return exit_codes.of_run(document)

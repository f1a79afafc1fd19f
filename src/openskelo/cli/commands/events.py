"""`skelo events RUN [--follow]`: the log of a run, exactly as stored or in words."""

from __future__ import annotations

import argparse
import asyncio
import sys

import orjson

from openskelo.cli import exits, ink, interrupts, members, output, parsing, place, runref, streams, view
from openskelo.executors import task
from openskelo.kernel.json import JsonObject
from openskelo.stores import log as stores_log

_POLL_SECONDS = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="wait for more until the run ends")
    parser.add_argument(
        "--after", metavar="SEQ", type=parsing.count, default=0, help="only events after this sequence number"
    )
    parser.epilog = "With --json every line is one event, byte for byte as the log holds it."


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_events(args, place.of_args(args)))


async def _events(args: argparse.Namespace, where: task.Project) -> int:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        seen = args.after
        async for lines in log.read(row.run_id, after=args.after):
            for line in lines:
                seen += 1
                _print(line, as_json=args.json)
        if args.follow and row.ending is None:
            with interrupts.Interrupts() as stop:
                try:
                    await stop.until(_follow(log, row.run_id, seen, as_json=args.json))
                except interrupts.Interrupted:
                    return exits.CANCELLED
    return exits.COMPLETED


async def _follow(log: stores_log.Log, run_id: str, seen: int, *, as_json: bool) -> None:
    """Print what other processes append, until the run's last event, or until nothing can be printed any more."""
    while True:
        sys.stdout.flush()
        if streams.lost() is not None:
            return
        if not await log.changed():
            await asyncio.sleep(_POLL_SECONDS)
            continue
        async for lines in log.read(run_id, after=seen):
            for line in lines:
                seen += 1
                _print(line, as_json=as_json)
        row = await log.row(run_id)
        if row is not None and row.ending is not None:
            return


def _print(line: bytes, *, as_json: bool) -> None:
    if as_json:
        output.raw_line(line)
        return
    try:
        words = _words(orjson.loads(line))
    except (ValueError, TypeError, LookupError, AttributeError):  # a damaged log is looked at, too
        words = f"    ?  not an event: {ink.one_line(line.decode(errors='replace'))[:100]}"
    output.say(words)


def _words(envelope: JsonObject) -> str:
    node = view.data_of(envelope).get("node")
    words = "pruned" if "dataHash" in envelope else view.sentence(envelope) or _beside(envelope)
    head = f"{envelope.get('seq'):>5}  {envelope.get('ts')}  {envelope.get('type'):<20}"
    return f"{head}  {ink.one_line(str(node)) + ' ' if node else ''}{words}".rstrip()


def _beside(envelope: JsonObject) -> str:
    """What is no news while a run goes, and part of its story."""
    data = view.data_of(envelope)
    item = f" item {data['item']}" if data.get("item") is not None else ""
    match envelope.get("type"):
        case "run.created":
            return f"run of {ink.one_line(str(data.get('workflow')))} by {ink.one_line(str(data.get('by')))}"
        case "run.ended":
            return f"run ended: {data.get('ending')}"
        case "artifact.created":
            kept = ink.one_line(members.text_at(members.object_at(data, "artifact"), "name"))
            return f"keeps {kept}{item and f' of{item}'}"
        case "attempt.due":
            return f"due again{item}"
        case "node.resolved":
            return "has its values"
        case _:
            return ""

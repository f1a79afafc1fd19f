"""`skelo events RUN [--follow]`: print the log of a run, exactly as stored or in words."""

from __future__ import annotations

import argparse
import asyncio
import sys

import orjson

from openskelo.cli import drive, exit_codes, json_fields, output, parsing, project_context, run_view
from openskelo.history import listing
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.stores import api

_POLL_SECONDS = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="wait for more until the run ends")
    parser.add_argument(
        "--after", metavar="SEQ", type=parsing.count, default=0, help="only events after this sequence number"
    )
    parser.epilog = "With --json every line is one event, byte for byte as the log holds it."


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_events(args, project_context.from_args(args)))


async def _events(args: argparse.Namespace, where: Project) -> int:
    async with project_context.reading(where) as log:
        row = await listing.find_run(log, args.run_id)
        after_seq = args.after
        async for lines in log.read_events(row.run_id, after=args.after):
            for line in lines:
                after_seq += 1
                _print(line, as_json=args.json)
        if args.follow and row.ending is None:
            with drive.Interrupts() as stop:
                try:
                    await stop.until(_follow(log, row.run_id, after_seq, as_json=args.json))
                except drive.Interrupted:
                    return exit_codes.CANCELLED
    return exit_codes.COMPLETED


async def _follow(log: api.Store, run_id: str, seen: int, *, as_json: bool) -> None:
    """Print what other processes append, until the run's last event or until standard output fails."""
    while True:
        sys.stdout.flush()
        if output.write_failure() is not None:
            return
        if not await log.has_changed():
            await asyncio.sleep(_POLL_SECONDS)
            continue
        row = await log.find_run(run_id)  # before the lines: an end that is committed in between is not missed
        async for lines in log.read_events(run_id, after=seen):
            for line in lines:
                seen += 1
                _print(line, as_json=as_json)
        if row is not None and row.ending is not None:
            return


def _print(line: bytes, *, as_json: bool) -> None:
    if as_json:
        output.raw_line(line)
        return
    try:
        words = _words(orjson.loads(line))
    except (ValueError, TypeError, LookupError, AttributeError):  # a damaged log must be printable, too
        words = f"    ?  not an event: {output.one_line(line.decode(errors='replace'))[:100]}"
    output.say(words)


def _words(envelope: JsonObject) -> str:
    node = run_view.data_of(envelope).get("node")
    words = "pruned" if "dataHash" in envelope else run_view.sentence(envelope) or _more_words(envelope)
    head = f"{envelope.get('seq'):>5}  {envelope.get('ts')}  {envelope.get('type'):<20}"
    return f"{head}  {output.one_line(str(node)) + ' ' if node else ''}{words}".rstrip()


def _more_words(envelope: JsonObject) -> str:
    """Return words for events that the view of a running run does not show."""
    data = run_view.data_of(envelope)
    item = f" item {data['item']}" if data.get("item") is not None else ""
    match envelope.get("type"):
        case "run.created":
            return f"run of {output.one_line(str(data.get('workflow')))} by {output.one_line(str(data.get('by')))}"
        case "run.ended":
            return f"run ended: {data.get('ending')}"
        case "artifact.created":
            name = output.one_line(json_fields.text_at(json_fields.object_at(data, "artifact"), "name"))
            return f"artifact {name}{item and f' of{item}'}"
        case "attempt.due":
            return f"due again{item}"
        case "call.started":
            gate = run_view.gate_of(data)
            why = f" ({output.one_line(str(gate.get('why')), 80)})" if gate else ""
            return f"{'may not call' if run_view.is_denied(data) else 'calls'} {run_view.call_words(data)}{why}"
        case "call.ruled":
            why = output.one_line(str(run_view.gate_of(data).get("why")), 80)
            return f"call {'denied' if run_view.is_denied(data) else 'allowed'} ({why})"
        case "call.completed":
            return f"call {data.get('status')} in {data.get('durationMs')} ms"
        case "node.resolved":
            return "inputs resolved"
        case _:
            return ""

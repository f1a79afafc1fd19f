"""`skelo output RUN [KEY]`: the outputs of a run, one of them, or a file that it has kept."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.cli import artifacts, exits, members, output, parsing, place, runref
from openskelo.executors import task
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import suggest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument(
        "key",
        metavar="KEY",
        nargs="?",
        help="one output of the run, or NODE.OUTPUT, or an artifact as NODE:NAME (draft:prompt.full.txt) or artifact://ID",
    )
    parser.epilog = "A string is printed as it is, everything else as JSON; with --json always JSON."


def run(args: argparse.Namespace) -> int:
    if args.key is not None and artifacts.names(args.key):
        return _show(asyncio.run(_artifact(args, place.of_args(args))), args)
    document = asyncio.run(_document(args, place.of_args(args)))
    found = members.object_at(document, "outputs")
    if args.key is None:
        output.document(found)
        return exits.of_run(document)
    return _show(_pick(document, found, args.key), args)


def _show(value: Json, args: argparse.Namespace) -> int:
    if isinstance(value, str) and not args.json:
        output.say(value)
    else:
        output.document(value)
    return exits.COMPLETED


async def _artifact(args: argparse.Namespace, where: task.Project) -> str:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        return await artifacts.text(log, row.run_id, args.key)


async def _document(args: argparse.Namespace, where: task.Project) -> JsonObject:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        return await runref.document(log, row.run_id)


def _pick(document: JsonObject, outputs: JsonObject, key: str) -> Json:
    if key in outputs:
        return outputs[key]
    node, _, port = key.rpartition(".")
    nodes = members.object_at(document, "nodes")
    inner = members.object_at(members.object_at(nodes, node), "outputs")
    if port in inner:
        return inner[port]
    raise errors.NotFound(
        f"this run has no output {key}", code="OUTPUT_NOT_FOUND", hint=_instead(key, list(outputs), nodes)
    )


def _instead(key: str, outputs: list[str], nodes: JsonObject) -> str:
    """What there is to ask for, of the node if one was named."""
    given = {node: members.object_at(members.object_at(nodes, node), "outputs") for node in nodes}
    if given.get(key):
        return f"{key} is a node, with {', '.join(f'{key}.{port}' for port in given[key])}"
    inner = [f"{node}.{port}" for node, ports in given.items() for port in ports]
    near = suggest.did_you_mean(key, [*outputs, *inner])
    return near or f"its outputs: {', '.join(outputs) or 'none so far'}"

"""`skelo output RUN [KEY]`: print the outputs of a run, one of them, or an artifact."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping

from openskelo import errors
from openskelo.cli import exit_codes, output, parsing, project_context
from openskelo.history import listing, run_document
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.values import suggestions


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
    if args.key is not None and project_context.is_artifact(args.key):
        return _print_value(asyncio.run(_artifact(args, project_context.from_args(args))), args)
    document = asyncio.run(_document(args, project_context.from_args(args)))
    if args.key is None:
        output.document(document["outputs"])
        return exit_codes.of_run(document)
    return _print_value(_pick(document, args.key), args)


def _print_value(value: Json, args: argparse.Namespace) -> int:
    if isinstance(value, str) and not args.json:
        output.say(value)
    else:
        output.document(value)
    return exit_codes.COMPLETED


async def _artifact(args: argparse.Namespace, where: Project) -> str:
    async with project_context.reading(where) as log:
        row = await listing.find_run(log, args.run_id)
        return await project_context.read_artifact(log, row.run_id, args.key)


async def _document(args: argparse.Namespace, where: Project) -> run_document.RunDocument:
    async with project_context.reading(where) as log:
        row = await listing.find_run(log, args.run_id)
        return await project_context.read_document(log, row.run_id)


def _pick(document: run_document.RunDocument, key: str) -> Json:
    outputs = document["outputs"]
    if key in outputs:
        return outputs[key]
    node, _, port = key.rpartition(".")
    by_node = {name: part["outputs"] or {} for name, part in document["nodes"].items()}
    inner = by_node.get(node, {})
    if port in inner:
        return inner[port]
    raise errors.NotFound(
        f"this run has no output {key}", code="OUTPUT_NOT_FOUND", hint=_suggest(key, list(outputs), by_node)
    )


def _suggest(key: str, outputs: list[str], by_node: Mapping[str, JsonObject]) -> str:
    """Return a hint with the outputs that exist, those of the node if one was named."""
    if by_node.get(key):
        return f"{key} is a node, with {', '.join(f'{key}.{port}' for port in by_node[key])}"
    inner = [f"{node}.{port}" for node, ports in by_node.items() for port in ports]
    near = suggestions.did_you_mean(key, [*outputs, *inner])
    return near or f"its outputs: {', '.join(outputs) or 'none so far'}"

"""`skelo check trace-map`: find fields of a schema that no source shows."""

from __future__ import annotations

import argparse
from pathlib import Path

from openskelo.checks import trace_map
from openskelo.cli import exit_codes, output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a trace map, such as trace_map.json")
    parser.add_argument("--schema", metavar="F", help="the schema (default: the file that the map names, beside it)")
    parser.add_argument("--sources", metavar="DIR", help="the folder of the sources (default: the folder of the map)")
    parser.epilog = (
        "All hashes and excerpts are computed again. At most 30% of the fields may be assumed.\n\n"
        "exit codes: 0 every field is traced, 1 not, 2 no such file, or one that is no trace map or no schema"
    )


def run(args: argparse.Namespace) -> int:
    report = trace_map.check(
        Path(args.file),
        schema=None if args.schema is None else Path(args.schema),
        sources=None if args.sources is None else Path(args.sources),
    )
    if args.json:
        output.document(report.document())
    else:
        for line in report.reasons():
            output.say(output.one_line(line))
        output.note(
            f"{output.count(report.fields, 'field')}, {report.traced} traced, {report.assumed} assumed, "
            f"{len(report.untraced)} untraced, {len(report.broken)} broken"
        )
    return exit_codes.COMPLETED if report.ok else exit_codes.FAILED

"""`skelo verify RUN|FILE`: prove that a record is whole and unaltered, with nothing but its bytes."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from openskelo.cli import exits, ink, output, place, runref
from openskelo.contract import chain
from openskelo.engine import records, verify
from openskelo.executors import task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "record", metavar="RUN|FILE", help="a run here (id, first characters, `last`), an export, or an events.jsonl"
    )
    parser.add_argument(
        "--public-key", metavar="KEY", help="the key that must have signed the head (ed25519:…), got by another way"
    )
    parser.epilog = (
        "exit codes: 0 intact and ended, 1 altered (or not signed by KEY up to the last event), 3 intact but unfinished"
    )


def run(args: argparse.Namespace) -> int:
    proved = _verify(args)
    if args.json:
        output.document(proved.document())
    else:
        _say(proved)
    if not proved.intact:
        return exits.FAILED
    return exits.COMPLETED if proved.ended else exits.UNFINISHED


def _verify(args: argparse.Namespace) -> chain.Verification:
    """A name that looks like a file is one; everything else names a run."""
    path = Path(args.record)
    if path.suffix or path.name != args.record or _is_file(path):
        return verify.verify_file(path, public_key=args.public_key)
    return asyncio.run(_verify_run(args, place.of_args(args)))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


async def _verify_run(args: argparse.Namespace, where: task.Project) -> chain.Verification:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.record)
        return await records.Records(where, log).verify(row.run_id, public_key=args.public_key)


def _say(proved: chain.Verification) -> None:
    painter = ink.Ink(sys.stdout)
    if not proved.intact:
        output.say(f"{painter.paint(_fault(proved), 'red', 'bold')}  {proved.run_id or ''}".rstrip())
        for problem in proved.problems[: 1 if _is_no_record(proved) else None]:
            place_text = f"line {problem.line}, byte {problem.offset}: " if problem.line else ""
            output.say(f"  {place_text}{problem.code} {ink.one_line(problem.message)}")
        return
    word = "intact and ended" if proved.ended else "intact but unfinished"
    output.say(f"{painter.paint(word, 'green' if proved.ended else 'yellow')}  {proved.run_id}")
    pruned = f", {proved.pruned} of them pruned" if proved.pruned else ""
    counts = [output.count(proved.receipts, "receipt"), output.count(proved.blobs, "blob")]
    output.say(f"  {output.count(proved.events, 'event')}{pruned}, {', '.join(counts)}")
    output.say(f"  head {proved.head}")
    if proved.signature in ("ok", "partial"):
        whose = "the key you gave" if proved.key == "given" else "the key it brings along (this proves no identity)"
        output.say(f"  signed up to event {proved.signed_seq} by {whose}: {proved.public_key}")
    if proved.signature == "partial":
        output.say("  what comes after that event is signed by nobody")


def _fault(proved: chain.Verification) -> str:
    """What is wrong in a word: a record that is whole, and only lacks the signature asked for, was not altered."""
    if _is_no_record(proved):
        return "no record of a run"
    unsigned = all(problem.code in ("SIGNATURE_MISSING", "SIGNATURE_PARTIAL") for problem in proved.problems)
    if not unsigned:
        return "altered"
    return "signed in part" if proved.signature == "partial" else "not signed"


def _is_no_record(proved: chain.Verification) -> bool:
    """Whether not one line is an event: somebody has named another file."""
    return proved.run_id is None and all(problem.code in ("LINE_INVALID", "EMPTY") for problem in proved.problems)

"""`skelo verify RUN|FILE`: prove that a record is complete and unaltered, from its bytes alone."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from openskelo import errors
from openskelo.cli import exit_codes, output, project_context
from openskelo.history import listing, reader, verify
from openskelo.project import Project
from openskelo.record import chain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "record",
        metavar="RUN|FILE",
        help="a run here (id, first characters, `last`), an export, or a file of its events",
    )
    parser.add_argument(
        "--public-key",
        metavar="KEY",
        help="the key that must have signed the head (ed25519:…), obtained in another way",
    )
    parser.epilog = (
        "exit codes: 0 intact and ended, 1 altered (or not signed by KEY up to the last event), 3 intact but unfinished"
    )


def run(args: argparse.Namespace) -> int:
    verification = _verify(args)
    if args.json:
        output.document(verification.document())
    else:
        _print(verification)
    if not verification.intact:
        return exit_codes.FAILED
    if verification.ended:
        return exit_codes.COMPLETED
    return exit_codes.UNFINISHED


def _verify(args: argparse.Namespace) -> chain.Verification:
    """Verify a file if the argument looks like a path, else a run."""
    path = Path(args.record)
    if path.suffix or path.name != args.record or _is_file(path):
        return verify.verify_file(path, public_key=args.public_key)
    return asyncio.run(_verify_run(args, project_context.from_args(args)))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


async def _verify_run(args: argparse.Namespace, where: Project) -> chain.Verification:
    async with project_context.reading(where) as log:
        try:
            row = await listing.find_run(log, args.record)
        except errors.NotFound as error:
            lost_events = await log.find_lost_events()
            run_id = next((run_id for run_id in lost_events if run_id.startswith(args.record.strip().lower())), None)
            if run_id is None:
                raise
            raise errors.Corrupt(
                f"the log has lost run {run_id}: {lost_events[run_id]} events of it are in files that were kept",
                hint="skelo doctor names the files",
            ) from error
        return await reader.HistoryReader(where, log).verify(row.run_id, public_key=args.public_key)


def _print(verification: chain.Verification) -> None:
    painter = output.Painter(sys.stdout)
    if not verification.intact:
        output.say(
            f"{painter.paint(_describe_fault(verification), 'red', 'bold')}  {verification.run_id or ''}".rstrip()
        )
        for problem in verification.problems[: 1 if _is_not_a_record(verification) else None]:
            place_text = f"line {problem.line}, byte {problem.offset}: " if problem.line else ""
            output.say(f"  {place_text}{problem.code} {output.one_line(problem.message)}")
        return
    word = "intact and ended" if verification.ended else "intact but unfinished"
    output.say(f"{painter.paint(word, 'green' if verification.ended else 'yellow')}  {verification.run_id}")
    pruned_text = f", {verification.pruned} of them pruned" if verification.pruned else ""
    counts = [output.count(verification.receipts, "receipt"), output.count(verification.blobs, "blob")]
    output.say(f"  {output.count(verification.events, 'event')}{pruned_text}, {', '.join(counts)}")
    if not verification.folded:
        output.say("  the decisions were not checked: that takes the workflow and the data of all events")
    output.say(f"  head {verification.head}")
    if verification.signature in ("ok", "partial"):
        whose = "the given key" if verification.key == "given" else "the key in the record (this proves no identity)"
        output.say(f"  signed up to event {verification.signed_seq} by {whose}: {verification.public_key}")
    if verification.signature == "partial":
        output.say("  the events after that one are not signed")


def _describe_fault(verification: chain.Verification) -> str:
    """Return what is wrong in a few words; a record that only lacks the wanted signature is not altered."""
    if _is_not_a_record(verification):
        return "not a record of a run"
    is_unsigned = all(problem.code in ("SIGNATURE_MISSING", "SIGNATURE_PARTIAL") for problem in verification.problems)
    if not is_unsigned:
        return "altered"
    if verification.signature == "partial":
        return "signed in part"
    return "not signed"


def _is_not_a_record(verification: chain.Verification) -> bool:
    """True if no line is an event: the user has named another kind of file."""
    return verification.run_id is None and all(
        problem.code in ("LINE_INVALID", "EMPTY") for problem in verification.problems
    )

"""What a line of the log looks like once its data is pruned: its place in the chain stays, and so does its receipt."""

from __future__ import annotations

import hashlib
from typing import cast

from openskelo import errors
from openskelo.contract import sealed
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

#: Events that hold nothing of what went through a run; all others give up their data, those of later versions too.
KEPT = frozenset(
    {
        "run.recovered",
        "run.paused",
        "run.resumed",
        "run.mode",
        "run.ended",
        "node.skipped",
        "node.finished",
        "attempt.started",
        "attempt.interrupted",
        "attempt.cancelled",
        "attempt.due",
        "approval.withdrawn",
    }
)
_GONE = b'{"dataHash"'


def is_pruned(line: bytes) -> bool:
    """Whether the line has given up its data."""
    return line.startswith(_GONE)


def shorten(line: bytes) -> bytes:
    """The line without its data, or as it is if it has nothing to give up (Corrupt if it is not as it was sealed).

    A damaged line is refused, because without its data nobody could see any more what is wrong with it.
    """
    if is_pruned(line):
        return line
    try:
        opened = sealed.parse(line)
        sealed.check_bytes(line, opened)
    except sealed.Fault as fault:
        raise errors.Corrupt(f"the line is not as it was sealed: {fault.code} {fault.message}") from None
    if opened["type"] in KEPT:
        return line
    data = cast("JsonObject", opened["data"])
    rest: dict[str, Json] = {key: value for key, value in opened.items() if key != "data"}
    rest["dataHash"] = hashlib.sha256(canonical.dumps(data)).hexdigest()
    if "receipt" in data:
        rest["receipt"] = data["receipt"]
    return canonical.dumps(rest)

"""A log that somebody has tampered with is looked at like any other: what cannot be read is said to be damaged."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable

import pytest

from tests.cli.conftest import Skelo

FLOW = """\
name: shout
blocks:
  - id: shout
    mode: deterministic
    inputs: { text: string }
    outputs: { text: string }
    deterministic: { handler: builtin:transform, config: { template: { text: "{{ inputs.text }}!" } } }
"""
#: What becomes of a line that holds a receipt.
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "no JSON": lambda line: b"garbage",
    "no object": lambda line: b"[]",
    "nothing in it": lambda line: b"{}",
    "no UTF-8": lambda line: line.replace(b"attempt", b"\xff"),
    "no such type": lambda line: line.replace(b'"type":"attempt.succeeded"', b'"type":"attempt.crowned"'),
    "no status": lambda line: line.replace(b'"status":', b'"stature":'),
    "pruned, and no hash": lambda line: b'{"dataHash":1}',
    "half of it": lambda line: b'{"dataHash"',
}


def damage(skelo: Skelo, change: Callable[[bytes], bytes]) -> None:
    changed = 0
    with contextlib.closing(sqlite3.connect(skelo.folder / ".skelo" / "log.db")) as database, database:
        for position, joined in database.execute("SELECT position, lines FROM log").fetchall():
            lines = [change(line) if b'"receipt":' in line else line for line in joined.split(b"\n")]
            changed += b"\n".join(lines) != joined
            database.execute("UPDATE log SET lines = ? WHERE position = ?", (b"\n".join(lines), position))
    assert changed == 1


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_line_is_damage_and_no_defect(skelo: Skelo, name: str) -> None:
    skelo.write("shout.yaml", FLOW)
    assert skelo("run", "shout.yaml", "--input", "text=hello").code == 0
    damage(skelo, DAMAGES[name])
    assert skelo("verify", "last").code == 1
    assert skelo("events", "last").code == 0
    assert skelo("explain", "shout.yaml").code == 0
    for command in (("receipts",), ("diff", "last"), ("export", "-o", "run.jsonl"), ("show",), ("replay",)):
        found = skelo(command[0], "last", *command[1:])
        assert (found.code, "INTERNAL" in found.err) in ((0, False), (1, False), (2, False)), (command, found.err)


def test_a_line_that_is_no_event_is_shown_as_it_is(skelo: Skelo) -> None:
    skelo.write("shout.yaml", FLOW)
    assert skelo("run", "shout.yaml", "--input", "text=hello").code == 0
    damage(skelo, DAMAGES["no JSON"])
    assert "    ?  not an event: garbage" in skelo("events", "last").out.splitlines()
    found = skelo("receipts", "last")
    assert (found.code, "CORRUPT" in found.err, "skelo verify" in found.err) == (1, True, True)


@pytest.mark.parametrize("value", [5, "text"])
def test_a_row_that_holds_no_lines_is_damage_too(skelo: Skelo, value: object) -> None:
    skelo.write("shout.yaml", FLOW)
    assert skelo("run", "shout.yaml", "--input", "text=hello").code == 0
    with contextlib.closing(sqlite3.connect(skelo.folder / ".skelo" / "log.db")) as database, database:
        assert database.execute("UPDATE log SET lines = ? WHERE position = 2", (value,)).rowcount == 1
    for command in ("verify", "receipts", "show"):
        found = skelo(command, "last")
        assert (found.code, "CORRUPT" in found.err) == (1, True), found.err

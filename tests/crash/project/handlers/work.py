"""Handlers that leave a trace of every call in `ledger.jsonl`, and kill their engine where a test wants it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

LEDGER = Path(__file__).parent.parent / "ledger.jsonl"


def draft(ctx: Any) -> dict[str, object]:
    """Too short, until there is feedback."""
    _trace(ctx)
    return {"text": "short" if ctx.feedback is None else "a text that is long enough"}


def flaky(ctx: Any) -> dict[str, object]:
    """Fails when it is called for the first time."""
    if _trace(ctx) == 1:
        raise RuntimeError("not yet")
    return {"text": ctx.inputs["text"]}


def note(ctx: Any) -> dict[str, object]:
    """A line in the ledger; what it gives back does not tell how often it was called."""
    _trace(ctx)
    return {"lines": 1}


def pay(ctx: Any) -> dict[str, object]:
    """A line in the ledger that must be the only one."""
    _trace(ctx)
    return {"paid": True}


def _trace(ctx: Any) -> int:
    """Add a line; gives how many there are of this block now. Dies with its engine after the line a test names."""
    line = {"node": ctx.block_id, "key": ctx.idempotency_key, "pid": os.getpid(), "run": ctx.run_id}
    with LEDGER.open("ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")
    lines = [json.loads(text) for text in LEDGER.read_text("utf-8").splitlines()]
    if os.environ.get("CRASH_AFTER_LINE") == str(len(lines)):
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return sum(line["node"] == ctx.block_id for line in lines)

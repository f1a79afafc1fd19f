"""Clients of the stream, in a process of their own: `python -m benchmarks.stream_clients HOST COUNT RUNS`.

All follow all runs; one more never reads. Says `ready` when they are connected; at the end of so many runs, what they
saw, as JSON: how long each event was under way, and how many were missing, repeated or out of order.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from websockets.asyncio import client

Place = tuple[int, int]  # seq, index


@dataclass(slots=True)
class Digest:
    """What one message holds, found out once: all clients get the same bytes."""

    first: dict[str, Place] = field(default_factory=dict[str, Place])
    last: dict[str, Place] = field(default_factory=dict[str, Place])
    stamps: list[float] = field(default_factory=list[float])
    wrong: int = 0
    ended: int = 0


@dataclass(slots=True)
class Seen:
    """What all clients saw."""

    latencies: list[float] = field(default_factory=list[float])
    wrong: int = 0
    resyncs: int = 0
    messages: int = 0


def follows(before: Place | None, after: Place) -> bool:
    """Whether one event comes right after another of the same run."""
    if before is None:
        return after == (1, 0)
    return after in ((before[0], before[1] + 1), (before[0] + 1, 0))


def digest(message: dict[str, Any]) -> Digest:
    """Read one message of events."""
    found = Digest()
    for event in message["events"]:
        run, place = event["runId"], (event["seq"], event["index"])
        if run in found.last:
            found.wrong += not follows(found.last[run], place)
        else:
            found.first[run] = place
        found.last[run] = place
        found.stamps.append(datetime.fromisoformat(event["ts"]).timestamp())
        found.ended += event["type"] == "run.patch" and event["patch"].get("phase") == "DONE"
    return found


async def follow(socket: client.ClientConnection, runs: int, seen: Seen, digests: dict[str, Digest]) -> None:
    """One client, until so many runs have ended."""
    last: dict[str, Place] = {}
    while runs:
        text = str(await socket.recv())
        now = time.time()
        found = digests.get(text)
        if found is None:
            message = orjson.loads(text)
            if message["type"] != "events":
                seen.resyncs += message["type"] == "resync"
                continue
            if len(digests) > 200:
                del digests[next(iter(digests))]
            found = digests[text] = digest(message)
        seen.messages += 1
        seen.wrong += found.wrong + sum(not follows(last.get(run), place) for run, place in found.first.items())
        last.update(found.last)
        seen.latencies += [now - stamp for stamp in found.stamps]
        runs -= found.ended


async def main(host: str, count: int, runs: int) -> None:
    """Connect all, then follow."""
    seen = Seen()
    digests: dict[str, Digest] = {}
    stuck = await client.connect(f"ws://{host}/ws", proxy=None, ping_interval=None)
    sockets = [await client.connect(f"ws://{host}/ws", proxy=None, max_size=None) for _ in range(count)]
    for socket in sockets:
        while orjson.loads(await socket.recv())["type"] != "snapshot":
            pass
    print("ready", flush=True)
    await asyncio.gather(*(follow(socket, runs, seen, digests) for socket in sockets))
    ordered = sorted(seen.latencies)
    report = {
        "events": len(ordered) // count,
        "wrong": seen.wrong,
        "resyncs": seen.resyncs,
        "messages": seen.messages // count,
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[int(len(ordered) * 0.99)],
        "most": ordered[-1],
    }
    print(orjson.dumps(report).decode(), flush=True)
    stuck.transport.abort()
    for socket in sockets:
        await socket.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

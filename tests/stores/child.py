"""A process of its own over a data dir, for tests that kill it: `python child.py append|hold|race DATA_DIR …`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from openskelo.stores import api
from openskelo.stores.sqlite import data_dir as stores_data_dir

RUN = "11111111-1111-4111-8111-111111111111"


def line(seq: int) -> bytes:
    """The line that belongs at a seq: of a length that varies, so that pages and frames are cut anywhere."""
    return b"%d " % seq + b"x" * (seq * 37 % 1400)


def batch_size(seq: int) -> int:
    """How many lines the Append brings that goes on at a seq: what is kept must end where such an Append ends."""
    return 1 + seq * 7 % 4


async def append(data_dir: Path) -> None:
    """Append for ever, from where the log ends, and print each new end once it is durable."""
    store = stores_data_dir.open_store(data_dir)
    if not await store.claim_run(RUN):
        sys.exit("another process drives the run")
    seq = len([kept async for chunk in store.read_events(RUN) for kept in chunk])
    while True:
        lines = tuple(line(number) for number in range(seq + 1, seq + 1 + batch_size(seq)))
        await store.append([api.Append(run_id=RUN, expected_seq=seq, lines=lines)])
        seq += len(lines)
        sys.stdout.write(f"{seq}\n")
        sys.stdout.flush()


async def hold(data_dir: Path) -> None:
    """Claim the run, say whether that worked, and live until the input ends."""
    store = stores_data_dir.open_store(data_dir)
    sys.stdout.write(f"{await store.claim_run(RUN)}\n")
    sys.stdout.flush()
    sys.stdin.read()
    await store.close()


async def race(data_dir: Path, runs: int) -> None:
    """Once the input says go, claim as many runs as possible, and print which; live until the input ends."""
    store = stores_data_dir.open_store(data_dir)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    won = [str(number) for number in range(runs) if await store.claim_run(f"run-{number}")]
    sys.stdout.write(f"won {' '.join(won)}\n")
    sys.stdout.flush()
    sys.stdin.read()
    await store.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["append", folder]:
            asyncio.run(append(Path(folder)))
        case ["hold", folder]:
            asyncio.run(hold(Path(folder)))
        case ["race", folder, count]:
            asyncio.run(race(Path(folder), int(count)))
        case _:
            sys.exit("usage: child.py append|hold|race DATA_DIR …")

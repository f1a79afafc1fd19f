"""A process that uses a store on a disk whose syncs fail now and then: `python sync_child.py DATA_DIR SEED`.

It writes what the store has acknowledged to `acknowledged.jsonl` beside the data dir, and ends as if it was killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from pathlib import Path

from openskelo import errors
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import data_dir

STEPS = 40
RUNS = 3


async def main(folder: Path, seed: int) -> None:
    """Take steps by chance: append, claim, release, save a note, let syncs fail or succeed."""
    chance = random.Random(seed)
    acknowledged = (folder.parent / "acknowledged.jsonl").open("a", encoding="utf-8", buffering=1)
    store = data_dir.open_store(folder)
    refused: list[str] = []
    for number in range(STEPS):
        run_id = f"run-{chance.randrange(RUNS)}"
        action = chance.choice(["append", "append", "claim", "release", "note", "fail", "heal", "heal"])
        try:
            match action:
                case "append":
                    seq = len(await fixtures.lines(store, run_id))
                    line = f"{seed} {number}".encode()
                    await store.append([fixtures.append(seq, line, run_id=run_id, row=fixtures.row(run_id, 1))])
                    acknowledged.write(json.dumps([run_id, seq, line.decode()]) + "\n")
                case "claim":
                    await store.claim_run(run_id)
                case "release":
                    await store.release_run(run_id)
                case "note":
                    await store.save_note("note", {"number": number}, at=1)
                    acknowledged.write(json.dumps(["note", number, ""]) + "\n")
                case _:
                    let_syncs_fail(fail=action == "fail")
        except errors.StoreError as error:
            refused.append(error.code)
    sys.stdout.write(json.dumps(refused))
    sys.stdout.flush()
    os._exit(0)


def let_syncs_fail(*, fail: bool) -> None:
    """Let syncs fail, or succeed, from now on."""
    path = Path(os.environ["SYNC_FAILS"])
    if fail:
        path.touch()
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))

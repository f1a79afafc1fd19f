"""DBOS on SQLite: a workflow of as many steps."""

import json
import sys
import time
from pathlib import Path

from dbos import DBOS


@DBOS.step()
def step(text: str) -> str:
    return f"{int(text[:8]) + 1:08d}{text[8:]}"


@DBOS.workflow()
def chain(text: str, steps: int) -> int:
    for _ in range(steps):
        text = step(text)
    return len(text)


def main(folder: Path, steps: int, size: int) -> float:
    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/peer.db", "run_admin_server": False})
    DBOS.launch()
    chain("0" * 8, 1)
    started = time.perf_counter()
    chain("0" * 8 + "x" * (size - 8), steps)
    taken = time.perf_counter() - started
    DBOS.destroy()
    return taken


if __name__ == "__main__":
    print(json.dumps({"seconds": main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))}))

"""Burr with its SQLite persister: a loop over one action."""

import json
import sys
import time
from pathlib import Path

from burr.core import ApplicationBuilder, State, action, expr
from burr.core.persistence import SQLitePersister


@action(reads=["n", "left"], writes=["n", "left"])
def step(state: State) -> State:
    text = state["n"]
    return state.update(n=f"{int(text[:8]) + 1:08d}{text[8:]}", left=state["left"] - 1)


@action(reads=[], writes=[])
def end(state: State) -> State:
    return state


def main(folder: Path, steps: int, size: int) -> float:
    persister = SQLitePersister(db_path=str(folder / "peer.db"), table_name="state")
    persister.initialize()
    application = (
        ApplicationBuilder()
        .with_actions(step=step, end=end)
        .with_transitions(("step", "step", expr("left > 0")), ("step", "end", expr("left <= 0")))
        .with_identifiers(app_id="1")
        .with_state(n="0" * 8 + "x" * (size - 8), left=steps)
        .with_entrypoint("step")
        .with_state_persister(persister)
        .build()
    )
    started = time.perf_counter()
    application.run(halt_after=["end"])
    return time.perf_counter() - started


if __name__ == "__main__":
    print(json.dumps({"seconds": main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))}))

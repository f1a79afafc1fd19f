"""Golden files that tie the dashboard's model to ours: the events of recorded runs, and the snapshots they lead to.

`python -m tests.web.golden` writes them anew, after a change of what the wire shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from openskelo.kernel import definition, events, workflow_codec
from openskelo.kernel.json import Json
from openskelo.record import envelope
from openskelo.wire.projection import Projection
from tests.kernel import recordings
from tests.kernel.stage import RUN

FOLDER = Path(__file__).resolve().parents[2] / "web" / "src" / "model" / "golden"
#: So many snapshots between the first and the last.
BETWEEN = 4


def told(workflow: definition.Workflow, log: Sequence[events.Event]) -> dict[str, Json]:
    """The wire events of each fact in turn, and snapshots by `seq`, the first and the last of all among them."""
    projection = Projection(RUN, workflow)
    kept = {round(len(log) * part / (BETWEEN + 1)) for part in range(BETWEEN + 2)}
    snapshots: dict[str, Json] = {"0": projection.snapshot()}
    each: list[Json] = []
    for seq, fact in enumerate(log, 1):
        each.append(list[Json](projection.apply(seq, fact)))
        if seq in kept:
            snapshots[str(seq)] = projection.snapshot()
    return {"runId": RUN, "events": each, "snapshots": snapshots}


def files() -> Iterator[tuple[str, str]]:
    """Every golden file's name and text."""
    for path in sorted(recordings.FOLDER.glob("*.jsonl")):
        beside = json.loads(path.with_suffix(".json").read_text())
        log = [envelope.open_line(line)[1] for line in path.read_bytes().splitlines()]
        found = told(workflow_codec.decode(beside["workflow"]), log)
        yield f"{path.stem}.json", json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n"


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in files():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()

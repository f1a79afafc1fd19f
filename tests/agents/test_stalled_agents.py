"""A coding agent that makes no progress, in other words each time: the run pauses with the evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from openskelo.kernel.json import Json
from tests.agents import repository

#: It refuses with another exit code each time, so in other words. The file in which it counts is one that git ignores.
COUNT = "echo x >> count.env; exit $(wc -l < count.env)"
GATES: Json = [{"name": "tests", "type": "command", "argv": ["sh", "-c", COUNT]}]
BOUNCE: Json = [{"when_gate": "tests", "route_to": "work", "max_bounces": 9}]
#: Three turns that change nothing but their words, and three that change another file each.
SAME = ("@write a.txt x", "@say one", "@next", "@say two", "@next", "@say three")
OTHER = ("@write a.txt x", "@say one", "@next", "@write b.txt x", "@say two", "@next", "@write c.txt x", "@say three")


@pytest.mark.parametrize(("lines", "kind"), [(SAME, "diff"), (OTHER, "gates")])
@pytest.mark.parametrize("loop", [{"on_gate_fail": BOUNCE}, {"retry": {"max_attempts": 9}}], ids=["bounce", "retry"])
def test_it_stalls_by_its_changes_or_by_its_gates(
    tmp_path: Path, lines: tuple[str, ...], kind: str, loop: dict[str, Json]
) -> None:
    root = repository.make(tmp_path)
    document = repository.play(root, repository.block(*lines, post_gates=GATES, **loop))
    assert document["status"] == "paused", document
    log = repository.events(root, str(document["runId"]))
    (stalled,) = (cast("dict[str, Any]", event["data"]) for event in log if event["type"] == "run.stalled")
    evidence = stalled["evidence"]
    assert (stalled["kind"], evidence["repeats"], evidence["gates"]) == (kind, 3, ["tests"]), evidence
    assert evidence["diffHash"].startswith("sha256:")

"""Random histories with everything that the wire tells about: models, handlers, files, phases, large values."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import orjson

from openskelo import wire
from openskelo.kernel import commands, definition, events, ids, outcome
from openskelo.kernel import run as runs
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import replace
from openskelo.values import canonical
from tests.kernel import chance as chances
from tests.kernel.play import Play
from tests.kernel.stage import RUN
from tests.kernel.test_histories import MOST_MOVES

_TEXTS = ("", "Bees buzz.\nAnd more.", "x" * 500, "Grüße \U0001f41d")


#: What the steps of a plan call.
_NAMED: dict[str, JsonObject] = {"tool_call": {"tool_id": "git"}, "verify": {"checker_id": "fine"}}


def dressed(chance: Random, workflow: definition.Workflow) -> definition.Workflow:
    """The workflow with models, handlers and tools, some of them for verification."""

    def dress(node: definition.Node) -> definition.Node:
        if node.step is not None:
            step = replace(node.step, args={**node.step.args, **_NAMED.get(node.step.op, {})})
            return replace(node, step=step)
        phase = chance.choice([None, None, "verify", "docs_sync", "DOCS-SYNC", "other", 3])
        more: dict[str, Any] = {} if phase is None else {"metadata": {"phase": phase}}
        if node.mode == "deterministic":
            more |= chance.choice([{"mode": "ai"}, {"handler": "builtin:pass", "config": {"a": 1}}, {}])
        return replace(node, **more)

    return replace(workflow, nodes={key: dress(node) for key, node in workflow.nodes.items()})


class Wired(Play):
    """A play in which work gives text, files and verdicts."""

    def _report(self, flight: runs.Attempt) -> commands.ReportAttempt:
        chance = self.chance
        report = super()._report(flight)
        more: dict[str, Any] = {"verdicts": ({"gate": "good", "passed": True},)} if chance.random() < 0.3 else {}
        if chance.random() < 0.4:
            name = f"{flight.node}/{flight.visit}/{flight.slot}/{flight.attempt}"
            note = outcome.ArtifactNote(
                id=ids.derive(RUN, name), kind="log", name="x.log", hash=canonical.digest(name), size=3
            )
            more["artifacts"] = (note,)
        if report.outcome.outputs is not None:
            value: dict[str, Json] = {"out": chance.choice(_TEXTS)}
            large: JsonObject = {"blob": canonical.digest(value), "bytes": 40_000}
            more["outputs"] = large if chance.random() < 0.1 else {"value": value}
        return replace(report, outcome=replace(report.outcome, **more))


def history(seed: int, trouble: float = 0.15) -> Play:
    """A whole run of blocks or, in a third of all cases, of a plan, played by chance."""
    chance = Random(seed)
    workflow = chances.plan(chance) if chance.random() < 0.33 else chances.workflow(chance)
    play = Wired(chance, dressed(chance, workflow))
    play.create()
    moves = 0
    while not play.run.ended:
        moves += 1
        assert moves < MOST_MOVES, "the run does not end"
        if chance.random() < 0.002:
            play.send(commands.CancelRun(at=play.at, by="nora"))
            continue
        command = play.trouble() if chance.random() < trouble else play.owed()
        assert command is not None, "the run waits for nothing"
        play.send(command)
    assert isinstance(play.log[-1], events.RunEnded)
    return play


@lru_cache
def published(name: str) -> jsonschema_rs.Validator:
    """The schema that the package ships under this name."""
    folder = Path(wire.__file__).parent / "schemas"
    return jsonschema_rs.validator_for(orjson.loads((folder / f"{name}.json").read_bytes()), validate_formats=True)


def faults(name: str, document: Json) -> list[str]:
    """What the published schema has against a document, as JSON carries it."""
    carried = orjson.loads(orjson.dumps(document))
    return [f"{error.instance_path}: {error.message}" for error in published(name).iter_errors(carried)]

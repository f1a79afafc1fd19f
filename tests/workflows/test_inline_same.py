"""A part of a workflow that is moved into a file of its own comes to the same: what is skipped stays the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest
import yaml

from openskelo.kernel import decide, definition
from openskelo.kernel.json import Json
from openskelo.workflows import load
from tests.kernel.stage import Stage

#: What a node needs, what it takes if it is there, and what it only waits for.
Ties: TypeAlias = Mapping[str, str]


def random_ties(chance: Random) -> dict[str, Ties]:
    """Nodes in an order in which each is tied to earlier ones only."""
    made: dict[str, Ties] = {}
    for index in range(chance.randint(3, 9)):
        before = chance.sample(list(made), chance.randint(0, min(3, len(made))))
        made[f"n{index}"] = {source: chance.choice(["needs", "needs", "takes", "after"]) for source in before}
    return made


def block(key: str, ties: Ties, conditional: set[str], feeds: Mapping[str, str]) -> dict[str, Json]:
    """One block; `feeds` says under which reference each source's output is had."""
    inputs: dict[str, Json] = {
        source: {"type": "string", "from": feeds[source], "required": kind == "needs"}
        for source, kind in ties.items()
        if kind != "after"
    }
    made: dict[str, Json] = {"id": key, "mode": "deterministic", "inputs": inputs, "outputs": {"out": "string"}}
    made["deterministic"] = {"handler": "builtin:transform", "config": {"map": {"out": "'x'"}}}
    after: list[Json] = [source for source, kind in ties.items() if kind == "after"]
    return {**made, **({"after": after} if after else {}), **({"when": "1 == 1"} if key in conditional else {})}


def parted(
    root: Path, ties: Mapping[str, Ties], part: list[str], conditional: set[str]
) -> tuple[definition.Workflow, definition.Workflow]:
    """The workflow in one file, and with `part` in a second one."""
    feeds = {key: f"{key}.out" for key in ties}
    flat = [block(key, tied, conditional, feeds) for key, tied in ties.items()]
    entering = sorted({source for key in part for source in ties[key] if source not in part})
    inside = {**feeds, **{source: f"inputs.{source}" for source in entering}}
    sub: dict[str, Json] = {
        "name": "sub",
        "inputs": {source: {"type": "string", "required": False} for source in entering},
        "blocks": [block(key, ties[key], conditional, inside) for key in part],
        "outputs": {key: feeds[key] for key in part},
    }
    (root / "sub.yaml").write_text(yaml.safe_dump(sub, sort_keys=False))
    outside = {**feeds, **{key: f"u.{key}" for key in part}}
    use: dict[str, Json] = {"id": "u", "uses": "./sub.yaml", "after": ["start"]}
    use["inputs"] = {source: {"from": feeds[source]} for source in entering}
    blocks: list[Json] = [block("start", {}, set(), {})]
    for key, tied in ties.items():
        if key not in part:
            blocks.append(block(key, tied, conditional, outside))
        elif key == part[0]:
            blocks.append(use)
    return (
        load.from_document({"name": "flat", "blocks": list[Json](flat)}, root=root),
        load.from_document({"name": "parted", "blocks": blocks}, root=root),
    )


def outcomes(workflow: definition.Workflow, skip: set[str]) -> dict[str, str | None]:
    """How each block ends when the conditions of these do not hold; a block in the other file goes by its own name."""
    stage = Stage(workflow)
    stage.create()
    while not stage.run.ended:
        if owed := decide.resolutions(stage.run):
            stage.resolve(owed[0], skip=owed[0].removeprefix("u/") in skip)
        else:
            stage.succeed(next(iter(stage.run.in_flight))[0])
    assert stage.ends() == ("ok", None)
    return {key.removeprefix("u/"): outcome for key, outcome in stage.outcomes().items()}


@pytest.mark.parametrize("seed", range(200))
def test_a_part_that_is_moved_into_a_file_of_its_own_comes_to_the_same(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    ties = random_ties(chance)
    first = chance.randrange(len(ties))
    part = list(ties)[first : chance.randint(first + 1, len(ties))]
    for key, tied in ties.items():  # across the border there is data only: a file does not know what is waited for
        ties[key] = {
            source: "takes" if kind == "after" and (key in part) != (source in part) else kind
            for source, kind in tied.items()
        }
    conditional = {key for key in ties if chance.random() < 0.4}
    skip = {key for key in ties if key in conditional and chance.random() < 0.6}
    flat, used = parted(tmp_path, ties, part, conditional)
    together = outcomes(flat, skip)
    apart = outcomes(used, skip)
    assert {key: apart[key] for key in together} == together

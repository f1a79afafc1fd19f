"""Whatever is done to a plan, reading it ends with a plan or with Problems."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, cast

from openskelo.workflows import load
from openskelo.workflows.text import source
from tests.workflows.plan import seed
from tests.workflows.plan.test_mistakes import RICH

_ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, "", "x", "var:patch", "var:", "ctx:none.a[0]", "s7", [], {}, ["var:v1"], {"$literal": 1}),
    *({"ok": "var:v1.ok"}, {"expr": "var.x"}, {"expr": "1 +"}, {"type": "object"}, "input.n", "\ud7ff", 2**53),
]


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every place in a document: what holds it, and under which key."""
    keys: list[Any] = []
    match value:
        case dict():
            keys = [*cast("dict[Any, Any]", value)]
        case list():
            keys = [*range(len(cast("list[Any]", value)))]
        case _:
            pass
    for key in keys:
        held = cast("Any", value)
        found.append((held, key))
        _places(held[key], found)
    return found


def _changed(document: Any, chance: random.Random) -> Any:
    for _ in range(chance.randint(1, 3)):
        found = _places(document, [])
        if not found:
            return document
        holder, key = chance.choice(found)
        match chance.randint(0, 3):
            case 0:
                del holder[key]
            case 1 if isinstance(key, str):
                holder[chance.choice(["x", "when", "op", "args", "save_as"])] = holder.pop(key)
            case 2:
                other, at = chance.choice(found)
                holder[key] = json.loads(json.dumps(other[at]))
            case _:
                holder[key] = json.loads(json.dumps(chance.choice(_ODD)))
    return document


def test_a_changed_plan_is_read_or_refused(tmp_path: Path) -> None:
    seed.project(tmp_path)
    texts = [source.parse(seed.PLAN.encode(), file="p.json").value, source.parse(RICH.encode(), file="p.yaml").value]
    outcomes = {True: 0, False: 0}
    for number in range(600):
        chance = random.Random(number)
        document = _changed(json.loads(json.dumps(chance.choice(texts))), chance)
        workflow, found = load.check_document(document, root=tmp_path)
        assert (workflow is None) == any(one.severity == "error" for one in found), (number, document)
        outcomes[workflow is not None] += 1
    assert outcomes[True] > 10
    assert outcomes[False] > 300

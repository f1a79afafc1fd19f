"""`builtin:transform` and `builtin:pass`."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json
from openskelo.values.cel import limits
from tests.executors import workshop


def transform(root: Path, config: dict[str, Json], **changes: Json) -> outcome.Outcome:
    node = definition.Node(
        key="shape",
        mode="deterministic",
        handler="builtin:transform",
        inputs=(workshop.port("items", "array"), workshop.port("name", "string")),
        outputs=(workshop.port("a"), workshop.port("b", required=False)),
        config=config,
        foreach=definition.Foreach(items="inputs.items", name="page"),
    )
    inputs: dict[str, Json] = {"items": [1, 2, 3], "name": "Ada"}
    return workshop.outcome_of(workshop.project(root), workshop.task_of(node, inputs, **changes))


def test_map_and_template_become_outputs(tmp_path: Path) -> None:
    found = transform(
        tmp_path, {"map": {"a": "inputs.items.map(x, x * 2)"}, "template": {"b": "Hello {{ inputs.name }}!"}}
    )
    assert found.outputs == {"value": {"a": [2, 4, 6], "b": "Hello Ada!"}}


def test_outputs_that_together_take_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BYTES", 2000)
    grown: dict[str, Json] = {"a": f"inputs.name + '{'x' * 900}'"}
    assert transform(tmp_path, {"map": grown}).failure is None
    many: dict[str, Json] = {**grown, **{f"more{number}": grown["a"] for number in range(3)}}
    failure = transform(tmp_path, {"map": many}).failure
    assert failure is not None
    assert (failure.code, "the outputs of this block take" in failure.message) == ("EXPR_FAILED", True)


def test_the_item_of_a_foreach_is_seen_under_its_name(tmp_path: Path) -> None:
    found = transform(tmp_path, {"map": {"a": "page + 1", "b": "item"}}, item=4, item_index=0)
    assert found.outputs == {"value": {"a": 5, "b": 4}}


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({}, "DET_CONFIG_INVALID"),
        ({"map": {"a": 3}}, "DET_CONFIG_INVALID"),
        ({"map": {"a": "inputs."}}, "EXPR_INVALID"),
        ({"map": {"a": "open('/etc/passwd')"}}, "EXPR_INVALID"),
        ({"map": {"a": "inputs.none"}}, "EXPR_FAILED"),
        ({"template": {"a": "{{ inputs.name "}}, "TEMPLATE_INVALID"),
        ({"map": {"a": "1", "extra": "2"}}, "OUTPUT_CONTRACT"),
        ({"map": {"b": "1"}}, "OUTPUT_CONTRACT"),
    ],
)
def test_every_mistake_has_its_code(tmp_path: Path, config: dict[str, Json], code: str) -> None:
    assert workshop.code_of(transform(tmp_path, config)) == code


def test_pass_hands_on_what_the_node_declares(tmp_path: Path) -> None:
    node = definition.Node(
        key="exit",
        mode="dag",
        handler="builtin:pass",
        inputs=(workshop.port("a"), workshop.port("b")),
        outputs=(workshop.port("a"),),
    )
    found = workshop.outcome_of(workshop.project(tmp_path), workshop.task_of(node, {"a": 1, "b": 2}))
    assert found.outputs == {"value": {"a": 1}}

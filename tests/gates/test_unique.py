"""The `unique` gate: equal items, equal values under a key, and values that are no list."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from tests.executors import workshop
from tests.executors.test_gate_evaluation import gate, judged


@pytest.mark.parametrize(
    ("items", "key", "repeated"),
    [
        ([], None, None),
        ([1, 2, "1"], None, None),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 2}], None, None),
        ([{"id": 1}, {"id": 2}], "id", None),
        ([1, 2, 1.0, 1], None, [1]),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], None, [{"a": 1, "b": 2}]),
        ([{"id": 7, "n": 1}, {"id": 7, "n": 2}], "id", [7]),
        ([[1], [1], None, None], None, [[1], None]),
    ],
)
def test_it_lists_what_occurs_more_than_once(
    tmp_path: Path, items: list[Json], key: str | None, repeated: list[Json] | None
) -> None:
    parameters: JsonObject = {"port": "n"} if key is None else {"port": "n", "key": key}
    (verdict,) = judged(tmp_path, {"n": items}, gate("unique", **parameters)).verdicts
    assert verdict["passed"] is (repeated is None)
    assert verdict.get("evidence") == (None if repeated is None else {"repeated": repeated})


@pytest.mark.parametrize(
    ("value", "reason"),
    [("text", "'n' is not a list"), ([{"id": 1}, {"name": 2}], "'n'[1] is not an object with the key 'id'")],
)
def test_it_fails_what_cannot_be_compared(tmp_path: Path, value: Json, reason: str) -> None:
    found = judged(tmp_path, {"n": value}, gate("unique", port="n", key="id"))
    assert (workshop.code_of(found), found.verdicts[0]["reason"]) == ("POST_GATE_FAILED", reason)


def test_the_loader_reads_it(tmp_path: Path) -> None:
    document: JsonObject = {
        "name": "unique",
        "blocks": [
            {
                "id": "list",
                "mode": "deterministic",
                "deterministic": {"handler": "local:list"},
                "outputs": {"rows": "json"},
                "post_gates": [{"type": "unique", "port": "rows", "key": "id"}],
            }
        ],
    }
    workflow = load.from_document(document, root=tmp_path, file="w.yaml")
    expected = definition.Gate(name="unique", type="unique", params={"port": "rows", "key": "id"})
    assert workflow.nodes["list"].post_gates == (expected,)

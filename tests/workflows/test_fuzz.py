"""Whatever a document holds: a workflow or Problems, never an exception, never a hang."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import cast

import hypothesis
from hypothesis import strategies as st

from openskelo.kernel import workflow_codec
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from openskelo.workflows.blocks import editor_schema
from openskelo.workflows.estimate import estimator
from openskelo.workflows.text import source
from tests.workflows import test_load

_BLOCKS = [
    "a",
    "outline",
    "draft",
    "review",
    "publish",
    "inputs",
    "inputs.topic",
    "outline.points",
    "draft.text",
    "x.y",
]
_TYPES = ["string", "string[]?", "file", "ai", "deterministic", "approval", "once", "long", "not_empty", "expr", "item"]
_TEXTS = ["1 == 1", "inputs.points", "{{ inputs.topic }}", "{{", "builtin:transform", "local:f", "../x", "\u2028", ""]
_WORDS = st.sampled_from([*_BLOCKS, *_TYPES, *_TEXTS])
_TOP = list(cast("JsonObject", editor_schema.schema()["properties"]))
_BLOCK = [
    "id",
    "mode",
    "uses",
    "when",
    "foreach",
    "approval",
    "pre_gates",
    "post_gates",
    "on_gate_fail",
    "deterministic",
]
_BELOW = ["items", "from", "transform", "type", "form", "on_deny", "route_to", "when_gate", "max_bounces", "handler"]
_MORE = ["config", "retry", "port", "schema", "check", "default", "required", "after", "prompt", "properties", "$ref"]
_KEYS = st.sampled_from([*_TOP, *_BLOCK, *_BELOW, *_MORE])
_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**54) | st.floats() | _WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=6,
)
_document = cast("dict[str, Json]", source.parse(test_load.EVERYTHING.encode(), file="f.yaml").value)


def _places(value: Json) -> list[tuple[dict[str, Json] | list[Json], str | int]]:
    """Every place of a document as its container and key."""
    found: list[tuple[dict[str, Json] | list[Json], str | int]] = []
    todo: list[Json] = [value]
    while todo:
        match todo.pop():
            case dict() as entries:
                found += [(entries, key) for key in entries]
                todo += entries.values()
            case list() as elements:
                found += [(elements, index) for index in range(len(elements))]
                todo += elements
            case _:
                pass
    return found


def _changed(draw: st.DrawFn) -> JsonObject:
    document = copy.deepcopy(_document)
    for _ in range(draw(st.integers(1, 3))):
        places = _places(document)
        if not places:
            break
        container, key = places[draw(st.integers(0, len(places) - 1))]
        action = draw(st.sampled_from(["replace", "remove", "add", "copy"]))
        if isinstance(container, dict):
            _change_map(draw, container, str(key), action)
        else:
            _change_list(draw, container, int(key), action)
    return document


def _change_map(draw: st.DrawFn, container: dict[str, Json], key: str, action: str) -> None:
    if action == "remove":
        del container[key]
    elif action == "replace":
        container[key] = draw(_values)
    elif action == "add":
        container[draw(_KEYS)] = draw(_values)
    else:
        container[draw(_KEYS)] = copy.deepcopy(container[key])


def _change_list(draw: st.DrawFn, container: list[Json], index: int, action: str) -> None:
    if action == "remove":
        del container[index]
    elif action == "replace":
        container[index] = draw(_values)
    elif action == "add":
        container.append(draw(_values))
    else:
        container.append(copy.deepcopy(container[index]))


@hypothesis.given(st.composite(_changed)())
@hypothesis.settings(max_examples=250, suppress_health_check=[hypothesis.HealthCheck.too_slow])
def test_a_changed_document_is_a_workflow_or_problems(document: JsonObject) -> None:
    workflow, found = load.check_document(document, root=Path(__file__).parent)
    if workflow is None:
        assert any(one.severity == "error" for one in found)
    else:
        assert not any(one.severity == "error" for one in found)
        assert workflow_codec.decode(workflow_codec.encode(workflow)) == workflow
        assert estimator.estimate(workflow).total.worst.steps >= 1


@hypothesis.given(_values)
@hypothesis.settings(max_examples=100)
def test_any_value_is_no_workflow_but_problems(value: Json) -> None:
    workflow, found = load.check_document(cast("JsonObject", value))
    assert workflow is None
    assert found != ()


@hypothesis.given(st.integers(0, len(test_load.EVERYTHING)), st.text(alphabet="ab:-[]{}\"'|&*!#?, \n\t0", max_size=3))
@hypothesis.settings(
    max_examples=150,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
def test_a_file_with_a_slip_of_the_finger_is_a_workflow_or_problems(tmp_path: Path, at: int, slip: str) -> None:
    text = test_load.EVERYTHING[:at] + slip + test_load.EVERYTHING[at + 1 :]
    path = tmp_path / "flow.yaml"
    path.write_text(text, encoding="utf-8")
    workflow, found = load.check(path)
    lines = text.count("\n") + 1
    assert all(1 <= one.line <= lines + 1 and one.column >= 1 and one.file == str(path) for one in found)
    assert (workflow is None) == any(one.severity == "error" for one in found)

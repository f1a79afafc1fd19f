"""Refs in the arguments of a plan's step: what is one, where it may stand, and what takes its place."""

from __future__ import annotations

import pytest

from openskelo import ops
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import plan_refs


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("var:a", plan_refs.Ref(kind="var", name="a")),
        ("var:a.b[0].c-d", plan_refs.Ref(kind="var", name="a", path=("b", 0, "c-d"))),
        ("var:a[0][12]", plan_refs.Ref(kind="var", name="a", path=(0, 12))),
        ("var:a.0", plan_refs.Ref(kind="var", name="a", path=("0",))),
        ("input:task", plan_refs.Ref(kind="input", name="task")),
        ("ctx:repo-diff", plan_refs.Ref(kind="ctx", name="repo-diff")),
        ("snap:t381", plan_refs.Ref(kind="snap", name="t381")),
    ],
)
def test_a_text_that_is_wholly_a_ref_is_one(text: str, found: plan_refs.Ref) -> None:
    assert plan_refs.parse(text) == found
    assert (str(found), found.root) == (text, f"{found.kind}:{found.name}")


@pytest.mark.parametrize(
    "text",
    [
        *("", "var", "var:", "var:1", "var: a", " var:a", "var:a ", "var:a\n", "input: need paths", "env:A", "var:a["),
        *("var:a[x]", "var:a[-1]", "var:a..b", "var:a.", "var:ä", "Var:a", "var:a.b c", "see var:a"),
        "var:a[1234567890]",
    ],
)
def test_any_other_text_is_none(text: str) -> None:
    assert plan_refs.parse(text) is None


VALUE: JsonObject = {"a": {"b": [1, {"c": None}]}, "0": "zero"}


@pytest.mark.parametrize(
    ("path", "found"), [((), VALUE), (("a", "b", 0), 1), (("a", "b", 1, "c"), None), (("0",), "zero")]
)
def test_a_path_leads_into_a_value(path: plan_refs.Path, found: Json) -> None:
    assert plan_refs.follow(VALUE, path) == found


@pytest.mark.parametrize("path", [("x",), ("a", 0), ("a", "b", 2), ("a", "b", "0"), ("0", 0), ("a", "b", 0, "x"), (0,)])
def test_a_path_that_leads_nowhere_is_unset(path: plan_refs.Path) -> None:
    with pytest.raises(plan_refs.Unset):
        plan_refs.follow(VALUE, path)


ARGS: JsonObject = {
    "in": "var:a.b",
    "list": ["ctx:c", {"deep": "snap:s"}, 5, None, True],
    "text": "about var:a",
    "kept": {"$literal": "var:a"},
}


def test_refs_are_found_with_their_places() -> None:
    assert [(place, str(ref)) for place, ref in plan_refs.find(ARGS, set())] == [
        (("in",), "var:a.b"),
        (("list", 0), "ctx:c"),
        (("list", 1, "deep"), "snap:s"),
    ]


def test_values_take_the_place_of_refs_once() -> None:
    assert plan_refs.replace(ARGS, set(), lambda ref: f"var:{ref.name}") == {
        "in": "var:a",
        "list": ["var:c", {"deep": "var:s"}, 5, None, True],
        "text": "about var:a",
        "kept": "var:a",
    }


def test_nothing_is_read_into_free_texts() -> None:
    args: JsonObject = {
        "request": {"kind": "var:a", "message": "var:a", "shown": "var:a"},
        "answer": {"properties": {"x": {"const": "var:a"}}},
    }
    assert [place for place, _ in plan_refs.find(args, ops.free_paths("ask_human"))] == [("request", "shown")]
    assert plan_refs.replace(args, ops.free_paths("ask_human"), lambda _: 1) == {
        "request": {"kind": "var:a", "message": "var:a", "shown": 1},
        "answer": {"properties": {"x": {"const": "var:a"}}},
    }
    for op, free in (
        ("branch", {"cond": {"expr": "var:a"}}),
        ("transform", {"expr": "var:a"}),
        ("route_expert", {"output_schema": {"const": "var:a"}}),
    ):
        assert list(plan_refs.find(free, ops.free_paths(op))) == []
        assert plan_refs.replace(free, ops.free_paths(op), lambda _: 1) == free

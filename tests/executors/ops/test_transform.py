"""transform: the built-in functions, a project's own, and expressions."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.handlers import project_registry
from openskelo.kernel.json import Json, JsonObject
from tests.executors import workshop
from tests.executors.ops import bench


def make(root: Path, args: JsonObject, written: JsonObject | None = None) -> bench.Done:
    return bench.perform(workshop.project(root), "transform", args, written=written)


def test_a_prompt_has_its_task_first_and_its_data_fenced_under_their_names(tmp_path: Path) -> None:
    args: JsonObject = {
        "fn": "assemble_prompt",
        "task": "Mend it",
        "instructions": "Answer with a patch.",
        "refs": ["- a\n+ b\n", {"line": 3}, "```\nignore all that\n```"],
    }
    written: JsonObject = {**args, "task": "input:task", "refs": ["ctx:repo_diff", "snap:t381.error", "var:x"]}
    assert make(tmp_path, args, written).value == (
        "Mend it\n\n"
        "Answer with a patch.\n\n"
        "## ctx:repo_diff\n\n```\n- a\n+ b\n\n```\n\n"
        '## snap:t381.error\n\n```\n{"line":3}\n```\n\n'
        "## var:x\n\n````\n```\nignore all that\n```\n````"
    )


def test_a_prompt_without_a_task_is_its_data(tmp_path: Path) -> None:
    args: JsonObject = {"fn": "assemble_prompt", "refs": ["words as written"]}
    assert make(tmp_path, args).value == "## part 1\n\n```\nwords as written\n```"


@pytest.mark.parametrize(
    ("args", "value"),
    [
        ({"fn": "join", "refs": ["a", {"b": 1}, "c"]}, 'a\n\n{"b":1}\n\nc'),
        ({"fn": "join", "refs": ["a", "b"], "separator": ", "}, "a, b"),
        ({"fn": "pick", "from_ref": {"a": 1, "b": 2, "c": 3}, "keys": ["c", "a", "x"]}, {"c": 3, "a": 1}),
        ({"fn": "merge", "refs": [{"a": 1, "b": 1}, {"b": 2}]}, {"a": 1, "b": 2}),
        (
            {"fn": "template", "template": "{{ values.n + 1 }} of {{ values.w }}", "values": {"n": 1, "w": "two"}},
            "2 of two",
        ),
        ({"fn": "parse_json", "from_ref": '{"a": 1.0}'}, {"a": 1}),
        ({"fn": "parse_json", "from_ref": "Here:\n```json\n[1, 2]\n```\nDone."}, [1, 2]),
        ({"fn": "unfence", "from_ref": "Sure!\n```diff\n-a\n+b\n```\nBye"}, "-a\n+b\n"),
        ({"fn": "unfence", "from_ref": "-a\n+b\n"}, "-a\n+b\n"),
        ({"expr": {"text": "var.a + input.b", "scope": {"var": {"a": 1}, "input": {"b": 2}}}}, 3),
    ],
)
def test_what_a_function_makes(tmp_path: Path, args: JsonObject, value: Json) -> None:
    done = make(tmp_path, args)
    assert (done.value, done.failure) == (value, None)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"fn": "nothing"}, "TRANSFORM_UNKNOWN"),
        ({"fn": "join"}, "ARGS_INVALID"),
        ({"fn": "join", "refs": [], "by": ","}, "ARGS_INVALID"),
        ({"fn": "pick", "from_ref": "text", "keys": []}, "TRANSFORM_FAILED"),
        ({"fn": "merge", "refs": ["text"]}, "TRANSFORM_FAILED"),
        ({"fn": "parse_json", "from_ref": "{"}, "TRANSFORM_FAILED"),
        ({"fn": "parse_json", "from_ref": {}}, "TRANSFORM_FAILED"),
        ({"fn": "template", "template": "{{ values.x }}", "values": {}}, "EXPR_FAILED"),
        ({"fn": "template", "template": "{{ secrets }}", "values": {}}, "EXPR_INVALID"),
    ],
)
def test_what_a_function_cannot_make_is_not_retried(tmp_path: Path, args: JsonObject, code: str) -> None:
    done = make(tmp_path, args)
    assert done.failure is not None
    assert (done.code, done.failure.retryable) == (code, False)


def test_a_function_of_the_project_may_give_any_json(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "def first(ctx): return ctx.inputs['refs'][0][:3]\ndef odd(ctx): return object()\n"
        "async def later(ctx): return [1, 2.0]\nasync def never(ctx): return {1}\n"
    )
    names = ("first", "odd", "later", "never")
    own = {name: project_registry.Function(name=name, kind="python", target=f"own.py:{name}") for name in names}
    where = workshop.project(tmp_path, registry=project_registry.Registry(transforms=own))
    found = {name: bench.perform(where, "transform", {"fn": name, "refs": ["abcdef"]}) for name in names}
    assert (found["first"].value, found["later"].value) == ("abc", [1, 2])
    assert (found["odd"].code, found["never"].code) == ("HANDLER_RETURN", "HANDLER_RETURN")

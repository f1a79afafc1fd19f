"""An op is one file: the one of `docs/extending/op.md` is loaded, checked, explained and run."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openskelo import ops
from openskelo.cli import main
from openskelo.workflows.plan import drafting_guide
from tests.repo import tracked

_PAGE = tracked.ROOT / "docs" / "extending" / "op.md"
_PLAN = {
    "plan_id": "counting",
    "inputs": {"text": "three short words"},
    "steps": [
        {"id": "count", "op": "word_count", "args": {"text_ref": "input:text"}, "save_as": "words", "timeout_ms": 5000},
        {"id": "again", "op": "retry", "args": {"step_id": "count", "max_retries": 2}},
        {"id": "end", "op": "emit", "args": {"result_ref": "var:words"}},
    ],
}


@pytest.fixture(autouse=True)
def _word_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add the op of the page to the package, as a file would."""
    (code,) = re.findall(r"```python\n(.*?)```", _PAGE.read_text("utf-8"), re.DOTALL)
    folder = tmp_path / "more_ops"
    folder.mkdir()
    (folder / "word_count.py").write_text(code, "utf-8")
    monkeypatch.setattr(ops, "__path__", [*ops.__path__, str(folder)])
    vars(ops.OPS).pop("_modules", None)
    yield
    vars(ops.OPS).pop("_modules", None)
    sys.modules.pop("openskelo.ops.word_count", None)


def _skelo(capsys: pytest.CaptureFixture[str], folder: Path, *args: str) -> tuple[int, str]:
    code = main.main([*args, "--data-dir", str(folder / "data")] if args[0] == "run" else [*args])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def _write(folder: Path, **changes: object) -> str:
    path = folder / "plan.json"
    path.write_text(json.dumps({**_PLAN, **changes}), "utf-8")
    return str(path)


def test_a_plan_with_the_new_op_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = _skelo(capsys, tmp_path, "run", _write(tmp_path), "--json")
    assert code == 0, text
    assert '"result":3' in text.replace(" ", "")


@pytest.mark.parametrize(
    ("argument", "ref", "code"),
    [("txt_ref", "var:words", "UNKNOWN_KEY"), ("text_ref", "var:words.many", "REF_TYPE")],
)
def test_the_loader_checks_its_arguments_and_refs_into_its_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], argument: str, ref: str, code: str
) -> None:
    wrong = [
        {"id": "count", "op": "word_count", "args": {argument: "input:text"}, "save_as": "words"},
        {"id": "end", "op": "emit", "args": {"result_ref": ref}},
    ]
    exit_code, text = _skelo(capsys, tmp_path, "validate", _write(tmp_path, steps=wrong))
    assert exit_code != 0
    assert code in text


_ECHO = """
from openskelo import ops
from openskelo.kernel.json import Json


async def _perform(ctx: ops.StepContext) -> Json:
    return dict(ctx.args)


OP = ops.Op(
    name="echo",
    summary="repeats its arguments",
    args={
        "name": ops.name_arg("a name"),
        "plain": ops.plain_arg("a value", {}),
        "free": ops.free_arg("a text", ops.TEXT),
        "value": ops.value_arg("a value", {}),
    },
    perform=_perform,
)
"""


def test_names_plain_values_and_free_text_reach_the_op_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "more_ops" / "echo.py").write_text(_ECHO, "utf-8")
    vars(ops.OPS).pop("_modules", None)
    args = {"name": "input:text", "plain": ["var:nothing", {"a": "ctx:x"}], "free": "input:text", "value": "input:text"}
    steps = [
        {"id": "echo", "op": "echo", "args": args, "save_as": "said"},
        {"id": "end", "op": "emit", "args": {"result_ref": "var:said"}},
    ]
    code, text = _skelo(capsys, tmp_path, "run", _write(tmp_path, steps=steps), "--json")
    assert code == 0, text
    document, _ = json.JSONDecoder().raw_decode(text)
    assert document["outputs"]["result"] == {**args, "value": "three short words"}


def test_it_is_explained_and_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = _write(tmp_path)
    code, text = _skelo(capsys, tmp_path, "explain", plan)
    assert code == 0
    assert "word_count" in text
    assert '"word_count"' in drafting_guide.schema_text()

"""A handler's Python file is read, and never run, before a workflow is accepted."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.workflows import marking


def _check(root: Path, text: str, handler: str) -> list[str]:
    """Every Problem of a block with this handler, whose file has this text."""
    (root / "skelo.yaml").write_text("name: test\n")
    (root / "handlers").mkdir()
    (root / "handlers" / "slug.py").write_text(textwrap.dedent(text))
    flow = f"blocks:\n  - id: a\n    mode: deterministic\n    deterministic: {{handler: '{handler}'}}\n"
    return [str(problem).removeprefix(f"{root}/") for problem in marking.check(flow, root)]


@pytest.mark.parametrize(
    "text",
    [
        "def make(ctx): ...",
        "async def make(ctx): ...",
        "make = lambda ctx: {}",
        "make: object = print",
        "first, (make, *rest) = object()",
        "class make: ...",
        "from elsewhere import make",
        "import made as make",
        "from elsewhere import *",
        "def __getattr__(name): ...",
        "try:\n    import fast\nexcept ImportError:\n    def make(ctx): ...\nelse:\n    make = fast.make",
        "if (make := object()): ...",
    ],
)
def test_a_function_is_found_however_it_came_by_its_name(text: str, tmp_path: Path) -> None:
    assert _check(tmp_path, text, "handlers/slug.py:make") == []


@pytest.mark.parametrize(
    ("text", "handler", "said"),
    [
        ("def make(ctx): ...", "handlers/slug.py:mke", "slug.py has no function 'mke' (did you mean 'make'?)"),
        ("def make(ctx): ...", "handlers/slug.py", "slug.py has no function 'handler' (it has make)"),
        ("", "handlers/slug.py", "slug.py has no function 'handler' (it has no function)"),
        (
            "class A:\n    def make(self): ...\ndef f():\n    make = 1",
            "handlers/slug.py:make",
            "slug.py has no function 'make' (it has f)",
        ),
    ],
)
def test_a_function_that_is_not_there_is_a_problem(text: str, handler: str, said: str, tmp_path: Path) -> None:
    assert _check(tmp_path, text, handler) == [f"flow.yaml:4:30: HANDLER_FUNCTION_UNKNOWN {said}"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def handler(ctx):\n    return {\n", "2:12: HANDLER_SYNTAX this handler is no Python: '{' was never closed"),
        ("x = 1\nreturn x\n", "2:1: HANDLER_SYNTAX this handler is no Python: 'return' outside function"),
    ],
)
def test_a_file_that_is_no_python_is_a_problem_at_its_own_line(text: str, said: str, tmp_path: Path) -> None:
    assert _check(tmp_path, text, "handlers/slug.py") == [f"handlers/slug.py:{said}"]


def test_any_bytes_are_no_more_than_a_problem(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("name: test\n")
    flow = "blocks: [{id: a, mode: deterministic, deterministic: {handler: h.py}}]\n"
    for data in (b"\0", b"\xff", b"# coding: nothing\n", b"(" * 5000, b"-" * 100_000 + b"1", b"x = 1 +" * 9_000 + b"1"):
        (tmp_path / "h.py").write_bytes(data)
        assert [problem.code for problem in marking.check(flow, tmp_path)] == ["HANDLER_SYNTAX"], data[:20]


def test_a_file_is_read_without_being_run(tmp_path: Path) -> None:
    text = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\ndef handler(ctx): ...\nprint('\\d')\n"
    assert _check(tmp_path, text, "handlers/slug.py") == []
    assert not (tmp_path / "ran").exists()

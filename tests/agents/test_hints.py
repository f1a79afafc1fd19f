"""Each error about an agent says what to do next."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.repo import tracked


def _calls_with_code(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Yield each call that names an `AGENT_…` code, by the keyword `code` or as its first argument."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            named = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "code")]
            for value in named:
                if isinstance(value, ast.Constant) and re.match("AGENT_[A-Z]", str(value.value)):
                    yield call, str(value.value)


def test_every_error_about_an_agent_has_a_hint() -> None:
    codes: set[str] = set()
    without: list[str] = []
    for path in tracked.files("src/openskelo/*.py"):
        for call, code in _calls_with_code(ast.parse(path.read_text("utf-8"))):
            codes.add(code)
            if not any(keyword.arg == "hint" for keyword in call.keywords):
                without.append(f"{path.name}:{call.lineno} {code}")
    assert without == []
    assert {"AGENT_EXITED", "AGENT_IDLE", "AGENT_NO_RESULT", "AGENT_WIDENED"} <= codes

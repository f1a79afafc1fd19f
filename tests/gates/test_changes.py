"""The gates about what an agent has changed: `scope`, `diff_size` and `no_deleted_tests`."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel.json import Json, JsonObject
from tests.executors.test_gate_evaluation import gate, judged

#: Changes one file, adds another, and has lines in both that look like the headers of a diff.
DIFF = """\
diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@
 same
--- a comment in SQL
+++ another
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+one
"""


def _verdict(folder: Path, kind: str, value: Json, **parameters: Json) -> JsonObject:
    (verdict,) = judged(folder, {"n": value}, gate(kind, port="n", **parameters)).verdicts
    return verdict


# -- scope ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "reason", "evidence"),
    [
        ({"allowed_paths": ["src/**"]}, "", None),
        ({"allowed_paths": ["src/*"]}, "1 path is outside of what may change", {"outside": ["src/x/b.py"]}),
        ({"allowed_paths": "src/*.py"}, "1 path is outside of what may change", {"outside": ["src/x/b.py"]}),
        (
            {"forbidden_paths": ["**/*.py"]},
            "2 paths are outside of what may change",
            {"outside": ["src/a.py", "src/x/b.py"]},
        ),
        ({"max_changed_files": 2}, "", None),
        ({"max_changed_files": 1}, "2 files are changed, more than 1", {"files": 2}),
    ],
)
def test_scope_says_what_may_not_change(
    tmp_path: Path, parameters: JsonObject, reason: str, evidence: JsonObject | None
) -> None:
    verdict = _verdict(tmp_path, "scope", ["src/a.py", "src/x/b.py"], **parameters)
    assert (verdict["passed"], verdict["reason"], verdict.get("evidence")) == (not reason, reason, evidence)


@pytest.mark.parametrize("value", ["src/a.py", ["src/a.py", 1], {"path": "src/a.py"}])
def test_scope_fails_what_is_no_list_of_paths(tmp_path: Path, value: Json) -> None:
    verdict = _verdict(tmp_path, "scope", value, allowed_paths=["**"])
    assert (verdict["passed"], verdict["reason"]) == (False, "'n' is not a list of paths")


def test_scope_lets_an_empty_list_pass(tmp_path: Path) -> None:
    assert _verdict(tmp_path, "scope", [], allowed_paths=["src/**"], max_changed_files=0)["passed"]


# -- diff_size --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"max_files": 2, "max_lines": 3}, ""),
        ({"max_files": 1, "max_lines": 3}, "the diff changes 2 files, more than 1"),
        ({"max_files": 2, "max_lines": 2}, "the diff changes 3 lines, more than 2"),
    ],
)
def test_diff_size_counts_files_and_changed_lines(tmp_path: Path, parameters: JsonObject, reason: str) -> None:
    verdict = _verdict(tmp_path, "diff_size", DIFF, **parameters)
    assert (verdict["passed"], verdict["reason"]) == (not reason, reason)
    assert verdict.get("evidence") == {"files": 2, "lines": 3}


def test_diff_size_lets_an_empty_diff_pass(tmp_path: Path) -> None:
    assert _verdict(tmp_path, "diff_size", "", max_files=0)["passed"]


@pytest.mark.parametrize("kind", ["diff_size", "no_deleted_tests"])
def test_what_is_no_text_is_no_diff(tmp_path: Path, kind: str) -> None:
    parameters: JsonObject = {"max_files": 1} if kind == "diff_size" else {}
    verdict = _verdict(tmp_path, kind, ["a"], **parameters)
    assert (verdict["passed"], verdict["reason"]) == (False, "'n' is not a diff")


# -- no_deleted_tests -------------------------------------------------------------------------------------------------


def _diff(path: str, *lines: str, header: str = "") -> str:
    return "\n".join([f"diff --git a/{path} b/{path}", *([header] if header else []), "@@ -1 +1 @@", *lines, ""])


@pytest.mark.parametrize(
    ("diff", "files", "tests"),
    [
        (_diff("tests/a.py", "-def test_one():", header="deleted file mode 100644"), ["tests/a.py"], ["test_one"]),
        (_diff("tests/a.py", "-    async def test_one():", "-    pass"), [], ["test_one"]),
        (_diff("web/a.test.ts", "-  it('adds', () => {"), [], ["'adds'"]),
        (_diff("go/a_test.go", "-func TestAdd(t *testing.T) {"), [], ["TestAdd"]),
        (_diff("x/tests/A.java", "-@Test"), [], ["@Test"]),
    ],
)
def test_a_deleted_test_is_found(tmp_path: Path, diff: str, files: list[str], tests: list[str]) -> None:
    verdict = _verdict(tmp_path, "no_deleted_tests", diff)
    assert (verdict["passed"], verdict.get("evidence")) == (False, {"files": files, "tests": tests})


@pytest.mark.parametrize(
    "diff",
    [
        "",
        _diff("tests/a.py", "-def test_one():", "+def test_one(tmp_path):"),
        _diff("tests/a.py", "-def test_one():") + _diff("tests/b.py", "+def test_one():"),
        _diff("src/a.py", "-def test_one():"),
        _diff("tests/a.py", "-deleted file mode 100644"),
    ],
)
def test_a_test_that_stays_or_moves_is_not_deleted(tmp_path: Path, diff: str) -> None:
    assert _verdict(tmp_path, "no_deleted_tests", diff)["passed"]


def test_the_author_says_which_files_are_tests(tmp_path: Path) -> None:
    diff = _diff("checks/a.py", "-def test_one():")
    assert _verdict(tmp_path, "no_deleted_tests", diff)["passed"]
    assert not _verdict(tmp_path, "no_deleted_tests", diff, tests=["checks/*"])["passed"]

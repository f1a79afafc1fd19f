"""The gates about what an agent has changed: `scope`, `diff_size` and `no_deleted_tests`."""

from __future__ import annotations

from pathlib import Path

import orjson
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


#: What the agent says it has changed.
PATHS: list[Json] = ["src/a.py", "src/x/b.py"]


def _verdict(folder: Path, kind: str, value: Json, **parameters: Json) -> JsonObject:
    (verdict,) = judged(folder, {"n": value}, gate(kind, port="n", **parameters)).verdicts
    return verdict


# -- scope ------------------------------------------------------------------------------------------------------------


UNMATCHED = "no allowed pattern matches it"
FORBIDDEN = "it is forbidden by '**/*.py'"


@pytest.mark.parametrize(
    ("parameters", "reason", "outside"),
    [
        ({"allowed_paths": ["src/**"]}, "", {}),
        ({"allowed_paths": ["src/*"]}, "1 path is outside of what may change", {"src/x/b.py": UNMATCHED}),
        ({"allowed_paths": "src/*.py"}, "1 path is outside of what may change", {"src/x/b.py": UNMATCHED}),
        (
            {"forbidden_paths": ["**/*.py"]},
            "2 paths are outside of what may change",
            {"src/a.py": FORBIDDEN, "src/x/b.py": FORBIDDEN},
        ),
        ({"allowed_paths": []}, "2 paths are outside of what may change", dict.fromkeys(PATHS, UNMATCHED)),
        (
            {"protected_paths": ["**/B.py"]},
            "1 path is outside of what may change",
            {"src/x/b.py": "it is protected by '**/B.py'"},
        ),
        ({"max_changed_files": 2}, "", {}),
        ({"max_changed_files": 1}, "2 files are changed, more than 1", {}),
    ],
)
def test_scope_says_what_may_not_change(
    tmp_path: Path, parameters: JsonObject, reason: str, outside: dict[str, str]
) -> None:
    verdict = _verdict(tmp_path, "scope", PATHS, **parameters)
    evidence: JsonObject = {"files": 2}
    if outside:
        evidence = {"files": 2, "outside": [{"file": path, "why": why} for path, why in outside.items()]}
    assert (verdict["passed"], verdict["reason"], verdict.get("evidence")) == (not reason, reason, evidence)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("src/__init__.py", "it is protected by '**/__init__.py'"),
        ("src/./a.py", "it has an empty part, or a part `.` or `..`"),
        (".git/hooks/pre-commit", "it is in `.git`"),
    ],
)
def test_scope_protects_files_without_being_told(tmp_path: Path, path: str, why: str) -> None:
    verdict = _verdict(tmp_path, "scope", [path], allowed_paths=["**"])
    assert verdict["evidence"] == {"files": 1, "outside": [{"file": path, "why": why}]}
    assert not verdict["passed"]


def test_scope_protects_what_the_author_says_instead(tmp_path: Path) -> None:
    assert _verdict(tmp_path, "scope", ["src/__init__.py"], allowed_paths=["src/**"], protected_paths=[])["passed"]


def _allowlist(folder: Path, name: str, **fields: Json) -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(orjson.dumps(fields))
    return name


@pytest.mark.parametrize(
    ("allowlist", "parameters", "passed"),
    [
        ({"allowed_paths": ["src/**"]}, {}, True),
        ({"allowed_paths": ["src/*"]}, {}, False),
        ({"allowed_paths": ["src/**"], "forbidden_paths": ["src/x/*"]}, {}, False),
        ({"allowed_paths": ["src/**"], "max_changed_files": 1}, {}, False),
        ({"allowed_paths": ["src/**"], "max_changed_files": 5}, {"max_changed_files": 1}, False),
        ({"allowed_paths": ["src/**"]}, {"allowed_paths": ["src/*"]}, False),
        ({"allowed_paths": ["src/**"]}, {"protected_paths": ["**/b.py"]}, False),
    ],
)
def test_a_path_has_to_be_in_the_allowlist_and_in_the_scope_of_the_gate(
    tmp_path: Path, allowlist: JsonObject, parameters: JsonObject, passed: bool
) -> None:
    name = _allowlist(tmp_path, "allowlist.json", **allowlist)
    assert _verdict(tmp_path, "scope", PATHS, allowlist=name, **parameters)["passed"] is passed


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "PATH_NOT_FOUND"),
        ("{", "ALLOWLIST_INVALID"),
        ("{}", "ALLOWLIST_INVALID"),
        ('{"allowed_paths": "src/**"}', "ALLOWLIST_INVALID"),
        ('{"allowed_paths": ["src/**"], "forbiden_paths": []}', "ALLOWLIST_INVALID"),
        ('{"allowed_paths": ["**"], "allowed_paths": []}', "ALLOWLIST_INVALID"),
        ('{"allowed_paths": ["./src/**"]}', "SCOPE_PATTERN"),
    ],
)
def test_an_allowlist_that_cannot_be_read_lets_nothing_pass(tmp_path: Path, text: str | None, code: str) -> None:
    if text is not None:
        (tmp_path / "allowlist.json").write_text(text)
    verdict = _verdict(tmp_path, "scope", [], allowlist="allowlist.json")
    assert (verdict["passed"], verdict["evidence"]) == (False, {"code": code})


@pytest.mark.parametrize(
    ("name", "code"), [("out/allowlist.json", "ALLOWLIST_INVALID"), (".skelo/allowlist.json", "DET_PATH_INVALID")]
)
def test_an_allowlist_that_data_may_have_written_lets_nothing_pass(tmp_path: Path, name: str, code: str) -> None:
    _allowlist(tmp_path, name, allowed_paths=["**"])
    verdict = _verdict(tmp_path, "scope", [], allowlist=name)
    assert (verdict["passed"], verdict["evidence"]) == (False, {"code": code})


def _mode_diff(path: str, *header: str) -> str:
    return "\n".join([f"diff --git a/{path} b/{path}", *header, "@@ -1 +1 @@", "+new file mode 120000", ""])


@pytest.mark.parametrize(
    ("diff", "why"),
    [
        (_mode_diff("src/a.py", "new file mode 100644"), None),
        (_mode_diff("src/a.py", "new file mode 120000"), "it is a link"),
        (_mode_diff("src/a.py", "new file mode 160000"), "it is a submodule"),
        (_mode_diff("src/a.py", "old mode 100644", "new mode 100755"), "its mode is changed"),
    ],
)
def test_scope_finds_in_the_diff_what_no_path_shows(tmp_path: Path, diff: str, why: str | None) -> None:
    one = gate("scope", port="n", diff="text", allowed_paths=["src/**"])
    (verdict,) = judged(tmp_path, {"n": ["src/a.py"], "text": diff}, one).verdicts
    assert verdict["passed"] is (why is None)
    if why is not None:
        assert verdict["evidence"] == {"files": 1, "outside": [{"file": "src/a.py", "why": why}]}


@pytest.mark.parametrize("diff", [None, "", 1, "# The diff has more than 5 bytes."])
def test_scope_fails_without_the_diff_of_the_files(tmp_path: Path, diff: Json) -> None:
    one = gate("scope", port="n", diff="text", allowed_paths=["src/**"])
    (verdict,) = judged(tmp_path, {"n": ["src/a.py"], "text": diff}, one).verdicts
    assert (verdict["passed"], verdict["reason"]) == (False, "'text' is not the diff of these files")


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

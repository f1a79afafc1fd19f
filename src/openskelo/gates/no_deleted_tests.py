"""The `no_deleted_tests` gate: a unified diff deletes no test file, and no test out of one.

A file is a test file if its path matches a pattern of `tests`. A test is a line that begins a test function or case in
one of the common ways (`def test_`, `it(`, `func Test`, `@Test`, ...). Tests that move within the diff are not deleted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from openskelo import gates
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import regex

_TEST_FILES = ("**/test_*", "**/*_test.*", "**/*.test.*", "**/*.spec.*", "tests/**", "**/tests/**", "**/__tests__/**")
_TEST_LINE = re.compile(
    r"\s*(?:async\s+)?(?:def\s+(test\w*)|(?:it|test|describe)\s*\(\s*([\"'`].*?[\"'`])|func\s+(Test\w*)|(@Test\b))"
)
_MOST_LISTED = 20


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port = gates.text(parameters, "port")
    diff = ctx.port(port)
    if not isinstance(diff, str):
        return gates.failed(f"{port!r} is not a diff")
    test_pattern = parameters.get("tests")
    if isinstance(test_pattern, Sequence) and not isinstance(test_pattern, str):
        names = [str(name) for name in test_pattern]
    else:
        names = _TEST_FILES
    patterns = [regex.compile_path(name) for name in names]
    deleted_files: list[Json] = []
    removed_counts, added_counts = Counter[str](), Counter[str]()
    for path, is_deleted, lines in _files(diff):
        if not any(pattern.fullmatch(path) for pattern in patterns):
            continue
        if is_deleted:
            deleted_files.append(path)
        for line in lines:
            test = _TEST_LINE.match(line[1:])
            if test is not None:
                (removed_counts if line[0] == "-" else added_counts)[next(filter(None, test.groups()))] += 1
    missing: list[Json] = [*sorted((removed_counts - added_counts).elements())]
    if not deleted_files and not missing:
        return gates.passed()
    reason = f"{len(deleted_files)} test files and {len(missing)} tests are deleted"
    return gates.failed(reason, {"files": deleted_files[:_MOST_LISTED], "tests": missing[:_MOST_LISTED]})


def _files(diff: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Yield the path of each file of a diff, whether the file is deleted, and its added and removed lines."""
    path, is_deleted, lines = "", False, list[str]()
    in_hunk = False
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            if path:
                yield path, is_deleted, lines
            path, is_deleted, lines = line.rpartition(" b/")[2], False, []
            in_hunk = False
        elif line.startswith("deleted file mode") and not in_hunk:
            is_deleted = True
        elif line.startswith("@@"):
            in_hunk = True
        elif in_hunk and line.startswith(("+", "-")):
            lines.append(line)
    if path:
        yield path, is_deleted, lines


#: More of the reference, after the table of its keys.
_DOC = """\
The evidence lists deleted `files` and `tests`. A test that stands elsewhere in the diff again is not deleted.
"""

GATE = gates.Gate(
    name="no_deleted_tests",
    summary="A unified diff deletes no test file, and no test out of one.",
    parameters={
        "port": gates.port_parameter("a unified diff"),
        "tests": gates.texts_parameter(
            "which files are test files; by default names and folders with `test`, `tests` or `spec`"
        ),
    },
    check=_check,
    doc=_DOC,
)

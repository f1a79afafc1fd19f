"""The house style that a program can see: a file says what it is, has a name that means something, and stays small."""

from __future__ import annotations

import ast
import re

from scripts import sizes

from tests.repo import tracked

#: Names under which anything can be put, and so anything is.
NAMELESS = {"base", "common", "helper", "helpers", "manager", "misc", "shared", "util", "utils"}

#: What a page in docs/adr must have, in this order.
WANTED = ["## Context", "## Decision", "## Price paid"]


def test_every_module_begins_with_what_it_is() -> None:
    modules = tracked.files("src/*.py", "scripts/*.py", "benchmarks/*.py")
    assert modules
    silent = [
        str(path.relative_to(tracked.ROOT))
        for path in modules
        if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert silent == []


def test_no_module_has_a_name_without_meaning() -> None:
    assert [path.name for path in tracked.files("*.py") if path.stem in NAMELESS] == []


def test_the_size_check_counts_lines_and_parameters() -> None:
    text = "def f(a, *, b):\n    return a\n\nclass C:\n    def m(self, a):\n        pass\n"
    counted = [(size.rule, size.count, size.where) for size in sizes.measure(text, "x.py")]
    assert counted == [
        (sizes.FILE, 6, "x.py"),
        (sizes.FUNCTION, 2, "x.py:1 f"),
        (sizes.PARAMETERS, 2, "x.py:1 f"),
        (sizes.FUNCTION, 2, "x.py:5 m"),
        (sizes.PARAMETERS, 1, "x.py:5 m"),
    ]


def test_every_decision_says_its_context_what_was_decided_and_the_price() -> None:
    pages = tracked.files("docs/adr/0*.md")
    numbers = [path.name.split("-")[0] for path in pages]
    assert pages
    assert len(set(numbers)) == len(numbers)
    headings = {
        path.name: [line for line in path.read_text("utf-8").splitlines() if line.startswith("#")] for path in pages
    }
    for path, number in zip(pages, numbers, strict=True):
        assert headings[path.name][0].startswith(f"# {number}: ")
        assert [line for line in headings[path.name] if line in WANTED] == WANTED, path.name


def test_the_source_names_its_actors() -> None:
    vague = re.compile(r"\b(whoever|whatever|nobody|somebody|anybody)\b", re.IGNORECASE)
    modules = tracked.files("src/*.py")
    assert modules
    counts = {str(path.relative_to(tracked.ROOT)): len(vague.findall(path.read_text("utf-8"))) for path in modules}
    assert sum(counts.values()) <= 10, {name: count for name, count in counts.items() if count}

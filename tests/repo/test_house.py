"""The house style that a program can see: a file says what it is and has a name that means something."""

from __future__ import annotations

import ast
import re
from collections import Counter

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


#: A docstring says what a thing is or what the caller gets; it does not begin with a question.
QUESTIONS = re.compile(r"(What|Who|Where|How|That|Which|Why|When|Whether)\b")


def test_no_docstring_begins_with_a_question() -> None:
    questions: list[str] = []
    for path in tracked.files("src/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node) or ""
                if QUESTIONS.match(docstring):
                    name = getattr(node, "name", "the module")
                    questions.append(f"{path.relative_to(tracked.ROOT)} {name}: {docstring.splitlines()[0]}")
    assert questions == []


def test_the_source_says_what_it_speaks_of() -> None:
    vague = re.compile(r"\b([Ss]o\s+many|is\s+none|[Tt]hose\s+that|[Tt]he\s+one\s+who)\b")
    hits: list[str] = []
    for path in tracked.files("src/*.py", "src/*.sql"):
        text = path.read_text("utf-8")
        hits += [f"{path.relative_to(tracked.ROOT)}: {' '.join(hit.split())}" for hit in vague.findall(text)]
    assert len(hits) < 30, hits


def test_the_source_names_its_actors() -> None:
    vague = re.compile(r"\b(whoever|whatever|nobody|somebody|anybody)\b", re.IGNORECASE)
    modules = tracked.files("src/*.py")
    assert modules
    counts = {str(path.relative_to(tracked.ROOT)): len(vague.findall(path.read_text("utf-8"))) for path in modules}
    assert sum(counts.values()) <= 10, {name: count for name, count in counts.items() if count}


#: Their docstrings are published in the schemas of the contract and in OpenAPI, so these explain their fields.
PUBLISHED = ("src/openskelo/wire/models/", "src/openskelo/server/models.py")
#: Docstrings in which a field is part of a sentence about the whole class.
MOST_EXPLAINED_FIELDS = 12


def test_a_field_is_explained_where_it_is_declared() -> None:
    hits: list[str] = []
    for path in tracked.files("src/*.py"):
        name = path.relative_to(tracked.ROOT).as_posix()
        if name.startswith(PUBLISHED):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                targets = [line.target for line in node.body if isinstance(line, ast.AnnAssign)]
                fields = [target.id for target in targets if isinstance(target, ast.Name)]
                docstring = ast.get_docstring(node) or ""
                explained = [field for field in fields if f"`{field}`" in docstring]
                hits += [f"{name} {node.name}: {' '.join(explained)}"] if explained else []
    assert len(hits) <= MOST_EXPLAINED_FIELDS, hits


#: For every thousand lines. An expression that decides is for short values; a decision is an `if` with early returns.
MOST_CONDITIONAL_EXPRESSIONS = 20


def test_decisions_are_statements() -> None:
    count, lines, nested = 0, 0, list[str]()
    for path in tracked.files("src/*.py"):
        text = path.read_text("utf-8")
        lines += len(text.splitlines())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.IfExp):
                count += 1
                if any(isinstance(inner, ast.IfExp) for inner in ast.walk(node) if inner is not node):
                    nested.append(f"{path.relative_to(tracked.ROOT)}:{node.lineno}")
    assert nested == []
    assert 1000 * count < MOST_CONDITIONAL_EXPRESSIONS * lines, f"{count} in {lines} lines"


#: Packages of which each module is one of a kind: they need no table of contents, because all modules are alike.
CATALOGS = {
    "agents/profiles",
    "cli/commands",
    "executors/kinds",
    "gates",
    "handlers/builtin",
    "ops",
    "ops/checkers",
    "ops/tools",
    "ops/transforms",
    "providers/kinds",
}
PACKAGES = {
    path.parent.relative_to(tracked.ROOT / "src" / "openskelo").as_posix(): path
    for path in tracked.files("src/*.py")
    if path.name == "__init__.py"
}


def _contents(package: str) -> set[str]:
    """Return the names of the modules and packages that are directly in a package."""
    modules = {path.stem for path in tracked.files("src/*.py") if path.parent == PACKAGES[package].parent}
    packages = {path.parent.name for path in PACKAGES.values() if path.parent.parent == PACKAGES[package].parent}
    return (modules - {"__init__", "__main__"}) | packages


def _listed(docstring: str) -> set[str]:
    """Return what a docstring names: between backticks, or in a cell of a table or drawing."""
    cells = re.findall(r"`([^`]*)`", docstring)
    for line in docstring.splitlines():
        cells += re.split(r"\s{2,}|[│├└]|[─-]{2,}>?", line) if re.search(r"\s{2}|──|--", line) else []
    words = [word for cell in cells for word in re.split(r",\s*|\s", cell.strip())]
    return {word.strip("(),;:").removesuffix("/").removesuffix(".py").split(".")[0] for word in words}


def test_a_package_that_names_two_of_its_modules_names_all_of_them() -> None:
    assert PACKAGES.keys() >= CATALOGS
    incomplete: dict[str, list[str]] = {}
    for package in PACKAGES.keys() - CATALOGS:
        docstring = ast.get_docstring(ast.parse(PACKAGES[package].read_text("utf-8"))) or ""
        contents = _contents(package)
        missing = contents - _listed(docstring)
        if missing and len(contents - missing) >= 2:
            incomplete[package] = sorted(missing)
    assert incomplete == {}


#: In one folder, unless its modules are all alike.
MOST_MODULES = 17


def test_a_folder_reads_like_a_table_of_contents() -> None:
    folders = Counter(path.parent for path in tracked.files("src/*.py") if path.name != "__init__.py")
    catalogs = {PACKAGES[package].parent for package in CATALOGS}
    assert folders.keys() >= catalogs
    assert {folder: size for folder, size in folders.items() if size > MOST_MODULES and folder not in catalogs} == {}

"""A docstring names in backticks only what the code has: a rename or a move must not leave an old name behind.

A name is right if the code of its module has it, as an identifier or inside a text. The docstring of a package may name
what any module of the package has. Also right are classes and modules of `src`, `module.name` if that module has the
name, and the wire's form of a field (`nextSeq` for `next_seq`). All other names are words of the domain, in `WORDS`.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from tests.repo import tracked

#: What is written in backticks and could be a name: no blanks, no slashes, no brackets.
NAME = re.compile(r"`([A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*)`")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

#: Words that docstrings may use and that their own module does not have, by where they come from.
WORDS = {
    "keys of workflow files, plans and skelo.yaml": """
        any approvers ctx env inputs.NAME network on_denied on_deny outputs outputs.NAME
        post_gates pre_gates provider skelo.yaml snap stop timeout_ms uses
    """,
    "keys and values of events, documents and stored JSON": """
        all approved budget_exceeded created_at dataHash denied files_changed handoffs hello index inputsHash
        modified node.progress ok once orchestrator pure question queued roleTemplate since snapshot stall task
        timer unfinished updatedAt why
    """,
    "CEL and JSON Schema": """
        Any CheckedExpr Expr cel.bind cel.expr.CheckedExpr contains double format if map not patternProperties uint
        uniqueItems
    """,
    "Python, operating system, other packages": """
        SSL_CERT_DIR SSL_CERT_FILE Thread Transport __init__ __str__ _meta functools.partial mcpServers
        msgspec.convert os.pread otel requests.get setsid submit
    """,
    "tables of the SQL files": "log places",
    "examples and placeholders": "example.org input k n name2 name3 pass_.py v",
    "the command": "skelo",
}


@functools.cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in tracked.files("src/*.py")}


def _docstrings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name of everything that has a docstring, and the docstring."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", "the module"), text


@functools.cache
def _names(path: Path) -> frozenset[str]:
    """Return the identifiers of a module, and the words in its texts except docstrings."""
    tree = _trees()[path]
    names: set[str] = set()
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            if isinstance(value := getattr(node, field, None), str):
                names.update(value.split("."))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            names.update(re.findall(r"\w+", node.value))
    return frozenset(names)


@functools.cache
def _modules() -> dict[str, Path]:
    """Return the modules of `src` by their dotted name (`openskelo.kernel.run`)."""
    folder = tracked.ROOT / "src"
    return {
        ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"): path for path in _trees()
    }


@functools.cache
def _classes() -> frozenset[str]:
    return frozenset(
        node.name for tree in _trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )


@functools.cache
def _package_names(path: Path) -> frozenset[str]:
    """Return the names of a module; of a package the names of all its modules."""
    if path.name != "__init__.py":
        return _names(path)
    return frozenset[str]().union(*(_names(module) for module in _trees() if path.parent in module.parents))


@functools.cache
def _is_module(name: str) -> bool:
    return any(f".{module}".endswith(f".{name}") for module in _modules())


@functools.cache
def _is_in_module(name: str) -> bool:
    """True for `module.name`, and for `module.Class.member`, if the module has all of it."""
    parts = name.split(".")
    for cut in range(1, len(parts)):
        suffix, rest = ".".join(parts[:cut]), parts[cut:]
        for module, path in _modules().items():
            if f".{module}".endswith(f".{suffix}") and set(rest) <= _names(path):
                return True
    return False


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda capital: f"_{capital[1].lower()}", name)


def _is_right(name: str, known: frozenset[str]) -> bool:
    parts = name.split(".")
    return (
        all(part in known or f"_{part}" in known for part in parts)
        or _snake_case(name) in known
        or parts[0] in _classes()
        or _is_module(name)
        or _is_in_module(name)
    )


@functools.cache
def _unknown_names() -> dict[str, list[str]]:
    """Return the names that no code has, with the places that use them."""
    unknown: dict[str, list[str]] = {}
    for path, tree in _trees().items():
        for owner, text in _docstrings(tree):
            known = _package_names(path) if owner == "the module" else _names(path)
            for name in dict.fromkeys(NAME.findall(text)):
                if not _is_right(name, known):
                    unknown.setdefault(name, []).append(f"{path.relative_to(tracked.ROOT)} {owner}")
    return unknown


def test_docstrings_name_only_what_the_code_has() -> None:
    words = " ".join(WORDS.values()).split()
    assert {name: places for name, places in _unknown_names().items() if name not in words} == {}


def test_every_word_of_the_list_is_used() -> None:
    used = {name for tree in _trees().values() for _, text in _docstrings(tree) for name in NAME.findall(text)}
    assert set(" ".join(WORDS.values()).split()) - used == set()


def test_a_name_of_another_module_must_be_there() -> None:
    assert _is_right("driver.Driver", frozenset())
    assert _is_right("executors.attempt.performer.Performer", frozenset())
    assert not _is_right("executors.attempt.Performer", frozenset())
    assert not _is_right("server.static", frozenset())

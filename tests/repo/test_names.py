"""A local variable is named after the thing that it holds: `approval`, not `asked`; `item`, not `one`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.repo import tracked

#: Words that say what was done to a thing, or point at it, and not what it is.
POINTING = """
    begun bound brought built caught chosen dealt done drawn driven fed felt forbidden found given gone got had heard
    held here hidden it kept known laid left lent lost made meant met mine of one ones other others own paid said seen
    sent shown sold spent stuck such taken taught theirs thing things thought told torn understood what who won written
"""
#: Words that only look like a participle.
NOUNS = frozenset({"bed", "embed", "feed", "need", "seed", "speed"})
#: Of all names of local variables; some are the right word, such as `required` in a schema or `left` beside `right`.
MOST = 0.02


def is_participle(name: str) -> bool:
    """True if a variable of this name says nothing about what it holds."""
    word = name.strip("_")
    return word in POINTING.split() or ("_" not in word and word.endswith("ed") and word not in NOUNS)


def _functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the outermost functions below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
        else:
            yield from _functions(child)


def _local_names(function: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
    return names


def test_local_variables_are_named_after_what_they_hold() -> None:
    count, hits = 0, list[str]()
    for path in tracked.files("src/*.py"):
        for function in _functions(ast.parse(path.read_text("utf-8"))):
            names = _local_names(function)
            count += len(names)
            where = f"{path.relative_to(tracked.ROOT)} {getattr(function, 'name', 'lambda')}"
            hits += [f"{where}: {name}" for name in sorted(names) if is_participle(name)]
    assert count > 5000
    assert len(hits) < MOST * count, hits


def test_a_participle_is_known_by_its_form() -> None:
    words = ("found", "one", "asked", "compiled", "_held", "feed", "approval", "found_nodes")
    assert [word for word in words if is_participle(word)] == ["found", "one", "asked", "compiled", "_held"]

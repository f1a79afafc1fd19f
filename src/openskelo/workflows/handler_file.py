"""The Python file of a handler as far as its text tells: whether it parses, and which names it has. It is never run."""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Iterator
from pathlib import Path

from openskelo import files
from openskelo.frozen import frozen
from openskelo.workflows import cursor, problems, suggest

#: What a file is read for stands in its beginning or nowhere; a larger one is left to whoever loads it.
_LARGEST_BYTES = 1024 * 1024
#: Names that may come from anywhere: `from x import *`, and a module's own `__getattr__`.
_OPEN = frozenset({"*", "__getattr__"})


@frozen
class Names:
    """What a file has at its top; `functions` are those that are declared there as such."""

    bound: frozenset[str]
    functions: tuple[str, ...]


@frozen
class Broken:
    """Where and why a text is no Python; line and column count from 1."""

    line: int
    column: int
    message: str


def check(named: cursor.Cursor, path: Path, function: str) -> None:
    """A Problem when the file at `path` is no Python (at its own line), or cannot have `function`."""
    try:
        with files.open_plain(path) as opened:
            data = opened.read(_LARGEST_BYTES + 1)
    except OSError as error:
        named.problem("FILE_UNREADABLE", f"{path.name} cannot be read: {error.strerror}")
        return
    if len(data) > _LARGEST_BYTES:
        return
    match read(data):
        case Broken() as broken:
            named.report.include((_problem(path, broken),))
        case Names() as names if function not in names.bound and names.bound.isdisjoint(_OPEN):
            listed = f"it has {', '.join(names.functions[:12])}" if names.functions else "it has no function"
            hint = suggest.near(function, names.functions, otherwise=listed)
            message = f"{path.name} has no function {function[:60]!r}"
            named.problem("HANDLER_FUNCTION_UNKNOWN", message, hint=hint)
        case Names():
            pass


@functools.lru_cache(maxsize=16)
def read(data: bytes) -> Names | Broken:
    """The names in a Python text, or what is wrong with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a matter between the author and Python
            tree = ast.parse(data)
            compile(tree, "", "exec", dont_inherit=True)  # finds what a grammar cannot, such as a lost `return`
    except SyntaxError as error:
        return Broken(line=error.lineno or 1, column=max(error.offset or 1, 1), message=error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        return Broken(line=1, column=1, message=str(error) or "it nests too deep")
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Names(bound=frozenset(_bound(tree)), functions=tuple(dict.fromkeys(functions)))


def _bound(tree: ast.Module) -> Iterator[str]:
    """Every name that a module gives itself, under whatever condition; what is inside of functions is their own."""
    todo: list[ast.AST] = [tree]
    while todo:
        for child in ast.iter_child_nodes(todo.pop()):
            match child:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    yield child.name
                case ast.alias():
                    yield child.asname or child.name.partition(".")[0]
                case ast.Name(ctx=ast.Store()):
                    yield child.id
                case _:
                    todo.append(child)


def _problem(path: Path, broken: Broken) -> problems.Problem:
    return problems.Problem(
        file=str(path),
        line=broken.line,
        column=broken.column,
        code="HANDLER_SYNTAX",
        message=f"this handler is no Python: {broken.message}",
    )

"""Scopes: which names a module, class or function binds, and what they stand for.

In the code that runs, a name stands for what was assigned last (`names`, which branches copy and merge). A function
runs later: for it, a name of an enclosing scope stands for all that is ever assigned to it (`bindings`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.structs import field, mutable

Names: TypeAlias = dict[str, av.Values]
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Bindings:
    """All values that are assigned to each name of a scope, by the place of the assignment."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[int, av.Values]] = {}

    def add(self, name: str, place: int, values: av.Values) -> None:
        """Note what is assigned at this place; the latest reading of a place counts."""
        self._by_name.setdefault(name, {})[place] = values

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def values_at(self, name: str, place: int) -> av.Values:
        """Return what was assigned at one place."""
        return self._by_name[name][place]

    def values(self, name: str) -> av.Values:
        """Return what the name may stand for; None is among it only if every assignment may be None."""
        assigned = self._by_name[name].values()
        joined = av.join(assigned)
        return joined if all(map(av.may_be_none, assigned)) else av.without_none(joined)


@mutable
class Scope:
    """A module, a class body or a function. `names` is None while its code does not run."""

    kind: str
    parent: Scope | None = None
    local_names: frozenset[str] = frozenset()
    outer_names: frozenset[str] = frozenset()
    global_names: frozenset[str] = frozenset()
    bindings: Bindings = field(default_factory=Bindings)
    names: Names | None = None
    #: The modules of `from MODULE import *`.
    star_imports: list[str] = field(default_factory=list[str])

    def module(self) -> Scope:
        """Return the scope of the module."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str, values: av.Values, place: ast.AST) -> None:
        """Assign values to a name."""
        owner = self
        if name in self.global_names:
            owner = self.module()
        elif name in self.outer_names:
            owner = next((scope for scope in self._enclosing() if name in scope.local_names), self)
        owner.bindings.add(name, id(place), values)
        if self.names is not None:
            self.names[name] = values

    def find(self, name: str) -> av.Values | None:
        """Return what a name stands for here; None if no scope binds it."""
        if self.names is not None and name in self.names:
            return self.names[name]
        if self.kind == "function" and name in self.local_names:
            return av.UNKNOWN  # not assigned on the way to here
        for scope in self._enclosing():
            if scope.names is not None and name in scope.names:
                return scope.names[name]
            if name in scope.bindings and not (name in self.global_names and scope.parent is not None):
                return scope.bindings.values(name)
            if name in scope.local_names:
                return av.UNKNOWN
        if name in self.bindings:
            return self.bindings.values(name)
        return None

    def _enclosing(self) -> Iterator[Scope]:
        scope = self.parent
        while scope is not None:
            if scope.kind != "class":
                yield scope
            scope = scope.parent


def of_function(node: Definition, parent: Scope) -> Scope:
    """Return the scope of a function or lambda."""
    arguments = node.args
    names = {arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names.update(arg.arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None)
    body: Iterable[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
    outer, module_names = set[str](), set[str]()
    for child in _walk(body):
        if isinstance(child, ast.Global):
            module_names.update(child.names)
        elif isinstance(child, ast.Nonlocal):
            outer.update(child.names)
        else:
            names.update(_bound_by(child))
    return Scope(
        "function",
        parent,
        local_names=frozenset(names - outer - module_names),
        outer_names=frozenset(outer),
        global_names=frozenset(module_names),
    )


def _walk(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a function's own code, without that of functions and classes in it."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.comprehension):
            waiting += [node.iter, *node.ifs]  # its target is a name of the comprehension
            continue
        yield node
        if not isinstance(node, _NESTED):
            waiting.extend(ast.iter_child_nodes(node))


def _bound_by(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.Name(ctx=ast.Store() | ast.Del()):
            return (node.id,)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return (node.name,)
        case ast.Import() | ast.ImportFrom():
            return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return (name,)
        case ast.MatchMapping(rest=str(name)):
            return (name,)
        case _:
            return ()


def merge(first: Names, second: Names) -> Names:
    """Return what names stand for where two branches meet."""
    if first == second:
        return first
    merged = dict[str, av.Values]()
    for name in first.keys() | second.keys():
        left, right = first.get(name), second.get(name)
        if left is None or right is None:
            merged[name] = left or right or av.UNKNOWN
        else:
            merged[name] = left if left == right else av.join((left, right))
    return merged

"""Scopes: which names a module, class or function binds, and what they stand for.

In the code that runs, a name stands for what was assigned last (`names`). A function
runs later: for it, a name of an enclosing scope stands for all that is ever assigned to it (`bindings`). So does a name
that a function in the scope assigns by `global` or `nonlocal`, as nobody knows when it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis.names import Names
from openskelo.structs import field, mutable

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
#: A name that is assigned in so many places: what an earlier reading assigned there stays among its values.
_MANY_PLACES = 100
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Assigned:
    """All values that are assigned to one thing, by the place of the assignment."""

    def __init__(self) -> None:
        self._by_place: dict[int, av.Values] = {}
        self._never_none = 0
        #: None where it has to be made anew.
        self._joined: av.Values | None = av.NOTHING

    def add(self, place: int, values: av.Values) -> None:
        """Note what is assigned at this place; the latest reading of a place counts."""
        before = self._by_place.get(place)
        if before == values:
            return
        self._by_place[place] = values
        self._never_none += not av.may_be_none(values)
        if before is None:
            self._joined = None if self._joined is None else av.join((self._joined, values))
            return
        self._never_none -= not av.may_be_none(before)
        if len(self._by_place) < _MANY_PLACES:
            self._joined = None
        elif self._joined is not None:  # what was there stays, as joining it all again would be quadratic
            self._joined = av.join((self._joined, values))

    def at(self, place: int) -> av.Values:
        """Return what was assigned at one place."""
        return self._by_place[place]

    def values(self) -> av.Values:
        """Return what the thing may stand for; None is among it only if every assignment may be None."""
        if self._joined is None:
            self._joined = av.join(self._by_place.values())
        return av.without_none(self._joined) if self._never_none else self._joined or av.UNKNOWN


class Bindings:
    """The values that are assigned to each name of a scope."""

    def __init__(self) -> None:
        self._by_name: dict[str, Assigned] = {}

    def add(self, name: str, place: int, values: av.Values) -> None:
        """Note what is assigned to a name at this place."""
        self._by_name.setdefault(name, Assigned()).add(place, values)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def values_at(self, name: str, place: int) -> av.Values:
        """Return what was assigned at one place."""
        return self._by_name[name].at(place)

    def values(self, name: str) -> av.Values:
        """Return what the name may stand for; None is among it only if every assignment may be None."""
        return self._by_name[name].values()


@mutable
class Scope:
    """A module, a class body or a function. `names` is None while its code does not run."""

    kind: str
    parent: Scope | None = None
    local_names: frozenset[str] = frozenset()
    outer_names: frozenset[str] = frozenset()
    global_names: frozenset[str] = frozenset()
    bindings: Bindings = field(default_factory=Bindings)
    #: The names that functions in this scope assign (`global`, `nonlocal`).
    assigned_from_inside: set[str] = field(default_factory=set[str])
    names: Names | None = None
    #: The place of each name in `names`.
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    #: The modules of `from MODULE import *` that the rules know.
    star_imports: dict[str, None] = field(default_factory=dict[str, None])

    def no_names(self) -> Names:
        """Return the map of names in which nothing is assigned yet."""
        return Names(self.numbers)

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
        if owner is not self:
            owner.assigned_from_inside.add(name)
        owner.bindings.add(name, id(place), values)
        if self.names is not None:
            self.names = self.names.set(name, values)

    def find(self, name: str) -> av.Values | None:
        """Return what a name stands for here; None if no scope binds it."""
        if (values := self.at_this_point(name)) is not None:
            return values
        if self.kind == "function" and name in self.local_names:
            return av.UNKNOWN  # not assigned on the way to here
        for scope in self._enclosing():
            if (values := scope.at_this_point(name)) is not None:
                return values
            if name in scope.bindings and not (name in self.global_names and scope.parent is not None):
                return scope.bindings.values(name)
            if name in scope.local_names:
                return av.UNKNOWN
        if name in self.bindings:
            return self.bindings.values(name)
        return None

    def at_this_point(self, name: str) -> av.Values | None:
        """Return what the code of this scope has assigned to a name so far; None if it does not run, or has not."""
        values = None if self.names is None else self.names.get(name)
        if values is None or name not in self.assigned_from_inside:
            return values
        assigned = self.bindings.values(name)
        return assigned if av.may_be_none(values) else av.without_none(assigned)  # a test may have excluded None

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

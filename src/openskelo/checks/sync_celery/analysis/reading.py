"""The state of a reading: what is known of a module so far, and what was found in it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from openskelo.checks.sync_celery import rules
from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis import scopes
from openskelo.checks.sync_celery.analysis.names import Names
from openskelo.structs import field, frozen, mutable


@frozen
class Found:
    """A finding in the module: what, and where it begins and ends."""

    code: rules.Code
    message: str
    line: int
    column: int
    end_line: int


@mutable
class FunctionInfo:
    node: scopes.Definition
    scope: scopes.Scope
    owner: int | None = None
    is_task: bool = False
    is_property: bool = False
    returns: scopes.Assigned = field(default_factory=scopes.Assigned)


@mutable
class ClassInfo:
    node: ast.ClassDef
    scope: scopes.Scope
    bases: av.Values = av.NOTHING
    attributes: scopes.Bindings = field(default_factory=scopes.Bindings)


@mutable
class Start:
    """A thread, process or future that was started."""

    #: The objects that it can be waited for with.
    sites: tuple[tuple[int, int], ...]
    node: ast.AST
    what: str


@mutable
class Loop:
    """The names at the ends of a loop so far."""

    breaks: list[Names] = field(default_factory=list[Names])
    continues: list[Names] = field(default_factory=list[Names])


@mutable
class Flow:
    """The calls and waits in the code of one function so far."""

    info: FunctionInfo | None = None
    starts: list[Start] = field(default_factory=list[Start])
    waited: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    loops: list[Loop] = field(default_factory=list[Loop])
    #: The names before each statement of each `try` around this place: an exception may come from any of them.
    interrupted: list[list[Names]] = field(default_factory=list[list[Names]])
    sets_socket_default: bool = False


@frozen
class Deferred:
    """A call that waits without a limit, unless the module sets one for its socket, or for all sockets."""

    node: ast.AST
    message: str
    site: tuple[int, int] | None
    flow: Flow


class Reading:
    """The knowledge of a module: its functions, classes and names, and the code that is being read."""

    def __init__(self) -> None:
        #: False for the first of the two readings, which finds nothing.
        self.report = False
        self.found: dict[tuple[int, int, str], Found] = {}
        self.functions: list[FunctionInfo] = []
        self.classes: list[ClassInfo] = []
        #: The place of a function or class in these lists, by the identity of its node or scope.
        self.numbers: dict[int, int] = {}
        self.module = scopes.Scope("module")
        self.imported = set[str]()
        #: Above 0 in code that only the type checker sees.
        self.for_types = 0
        self.start()

    def start(self) -> None:
        """Begin a reading at the first line."""
        self.scope = self.module
        self.flow = self.module_flow = Flow()
        #: The functions whose bodies are still to be read.
        self.waiting: list[FunctionInfo] = []
        self.read_bodies = set[int]()
        self.limited_sockets = set[tuple[int, int]]()
        self.deferred: list[Deferred] = []
        self.module.names = self.module.no_names()

    def finding(self, code: rules.Code, message: str, node: ast.AST, *, end_line: int | None = None) -> None:
        if not self.report or self.for_types:
            return
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        last = end_line or getattr(node, "end_lineno", None) or line
        found = Found(code=code, message=message, line=line, column=column, end_line=max(line, last))
        self.found.setdefault((line, column, code), found)

    def end_flow(self) -> None:
        """Report what this function has started and not waited for."""
        for start in self.flow.starts:
            if not self.flow.waited.intersection(start.sites):
                self.finding(
                    "BACKGROUND", f"{start.what} is started, and nothing in this function waits for it", start.node
                )

    def report_deferred(self) -> None:
        """Report the calls that wait without a limit, now that all limits of sockets are known."""
        for deferred in self.deferred:
            by_default = self.module_flow.sets_socket_default or deferred.flow.sets_socket_default
            if deferred.site not in self.limited_sockets and not by_default:
                self.finding("NO_TIMEOUT", deferred.message, deferred.node)

    @property
    def names(self) -> Names:
        """The values of the names of the scope that is being read, at this point."""
        return self.scope.names or self.scope.no_names()

    @names.setter
    def names(self, names: Names) -> None:
        self.scope.names = names

    def returns(self, node: ast.AST, values: av.Values) -> None:
        if self.flow.info is not None:
            self.flow.info.returns.add(id(node), values)

    def check_import(self, path: str, node: ast.AST) -> None:
        if rules.is_async(path):
            self.imported.add(path)
            self.finding("ASYNC_LIBRARY", f"{path} is asynchronous", node)

    def external(self, path: str) -> av.Values:
        known = ""
        for part in path.split("."):
            known = rules.canonical(f"{known}.{part}" if known else part)
        return frozenset({av.External(known, for_types=bool(self.for_types))})

    def result(self, function: av.Function) -> av.Values:
        """Return what a function of this module returns, as far as it was read."""
        return self.functions[function.number].returns.values()


def parameters_of(arguments: ast.arguments) -> list[ast.arg]:
    extras = (arguments.vararg, arguments.kwarg)
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [*named, *(extra for extra in extras if extra is not None)]


def begin_of(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), -1 - getattr(node, "col_offset", 0)


def end_of(node: ast.expr) -> tuple[int, int]:
    """Return the site of a call: where it ends, as several calls may begin at one place."""
    return node.end_lineno or 0, node.end_col_offset or 0


#: Returns the values of an expression (`expressions.evaluate`).
Evaluate: TypeAlias = Callable[[Reading, ast.expr], av.Values]

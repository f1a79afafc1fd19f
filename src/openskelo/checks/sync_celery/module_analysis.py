"""Reads a module as Python would run it, without running it, and finds what a synchronous worker must not do.

    statements  ->  names stand for values (`scopes`, `abstract_values`)  ->  calls of values  ->  rules  ->  findings

Code is read in its order. Branches are read one after the other and then merged; a loop is read twice, so that what its
end assigns is known at its begin. The body of a function is read after the code around it, because it runs later. All
of this happens twice: the first time finds what is assigned to the attributes of classes and to the names of enclosing
scopes, the second time reports.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from openskelo.checks.sync_celery import abstract_values as av
from openskelo.checks.sync_celery import calls, rules, scopes
from openskelo.structs import field, frozen, mutable

_FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
#: Loops inside of loops are read twice up to this depth; deeper ones once.
_LOOPS_READ_TWICE = 3
_BUILTINS = frozenset(dir(builtins))
_TYPE_CHECKING = frozenset({"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"})
_OPTIONAL = frozenset({"typing.Optional", "typing.Annotated", "typing.Final", "typing.ClassVar", "typing.Required"})
_CONTAINERS = frozenset(
    {"List", "Sequence", "Iterable", "Iterator", "Collection", "Set", "FrozenSet", "Generator", "Tuple", "Deque"}
    | {"list", "tuple", "set", "frozenset", "deque", "MutableSequence"}
)
_GROWING = frozenset({"append", "add", "appendleft", "insert", "extend"})
_CELERY_DECORATORS = frozenset({"celery.shared_task", "celery.task", "celery.task.task", "celery.decorators.task"})


@frozen
class Found:
    """A finding in the module: what, and where it begins and ends."""

    code: rules.Code
    message: str
    line: int
    column: int
    end_line: int


@mutable
class _FunctionInfo:
    node: scopes.Definition
    scope: scopes.Scope
    owner: int | None = None
    is_task: bool = False
    is_property: bool = False
    returns: dict[int, av.Values] = field(default_factory=dict[int, av.Values])


@mutable
class _ClassInfo:
    node: ast.ClassDef
    scope: scopes.Scope
    bases: av.Values = av.NOTHING
    attributes: scopes.Bindings = field(default_factory=scopes.Bindings)


@mutable
class _Start:
    """A thread, process or future that was started."""

    #: The objects that it can be waited for with.
    sites: tuple[tuple[int, int], ...]
    node: ast.AST
    what: str


@mutable
class _Flow:
    """The calls and waits in the code of one function so far."""

    info: _FunctionInfo | None = None
    starts: list[_Start] = field(default_factory=list[_Start])
    waited: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    breaks: list[list[scopes.Names]] = field(default_factory=list[list[scopes.Names]])
    sets_socket_default: bool = False


@frozen
class _Deferred:
    """A call that waits without a limit, unless the module sets one for its socket, or for all sockets."""

    node: ast.AST
    message: str
    site: tuple[int, int] | None
    flow: _Flow


def analyse(tree: ast.Module) -> list[Found]:
    """Return the findings in a module, in the order of lines. Raise RecursionError if it is nested too deeply."""
    analysis = _ModuleAnalysis(tree)
    analysis.read()
    analysis.report = True
    analysis.read()
    return sorted(analysis.found.values(), key=lambda found: (found.line, found.column, found.code))


class _ModuleAnalysis:
    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.report = False
        self.found: dict[tuple[int, int, str], Found] = {}
        self._functions: list[_FunctionInfo] = []
        self._classes: list[_ClassInfo] = []
        self._numbers: dict[int, int] = {}
        self._module = scopes.Scope("module")
        self._imported = set[str]()
        self._for_types = 0
        self._start_reading()

    def _start_reading(self) -> None:
        self._scope = self._module
        self._flow = self._module_flow = _Flow()
        self._waiting: list[_FunctionInfo] = []
        self._read_bodies = set[int]()
        self._limited_sockets = set[tuple[int, int]]()
        self._deferred: list[_Deferred] = []

    def read(self) -> None:
        """Read the module once: its own code, then the functions."""
        self._start_reading()
        self._module.names = {}
        self._block(self.tree.body)
        self._end_flow()
        self._module.names = None
        while self._waiting:
            self._function_body(self._waiting.pop(0))
        for deferred in self._deferred:
            by_default = self._module_flow.sets_socket_default or deferred.flow.sets_socket_default
            if deferred.site not in self._limited_sockets and not by_default:
                self._finding("NO_TIMEOUT", deferred.message, deferred.node)

    # -- findings ------------------------------------------------------------------------------------------------------

    def _finding(self, code: rules.Code, message: str, node: ast.AST, *, end_line: int | None = None) -> None:
        if not self.report or self._for_types:
            return
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        last = end_line or getattr(node, "end_lineno", None) or line
        found = Found(code=code, message=message, line=line, column=column, end_line=max(line, last))
        self.found.setdefault((line, column, code), found)

    def _end_flow(self) -> None:
        """Report what this function has started and not waited for."""
        for start in self._flow.starts:
            if not self._flow.waited.intersection(start.sites):
                self._finding(
                    "BACKGROUND", f"{start.what} is started, and nothing in this function waits for it", start.node
                )

    # -- statements ----------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt]) -> bool:
        """Read statements; False if the code after them is not reached."""
        goes_on = True
        for statement in body:
            goes_on = self._statement(statement) and goes_on
        return goes_on

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Expr():
                self._value(node.value)
            case ast.Assign():
                values = self._value(node.value)
                for target in node.targets:
                    self._assign(target, values)
            case ast.AnnAssign():
                self._annotated_assignment(node)
            case ast.AugAssign():
                self._augmented_assignment(node)
            case ast.Return():
                values = av.NONE if node.value is None else self._value(node.value)
                self._returns(node, values)
                return False
            case ast.Raise():
                self._children(node)
                return False
            case ast.Break() | ast.Continue():
                if self._flow.breaks:
                    self._flow.breaks[-1].append(dict(self._names()))
                return False
            case ast.If():
                return self._if(node)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node)
            case ast.With() | ast.AsyncWith():
                return self._with(node)
            case ast.Try() | ast.TryStar():
                return self._try(node)
            case ast.Match():
                return self._match(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function_definition(node)
            case ast.ClassDef():
                self._class_definition(node)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Delete():
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._names().pop(target.id, None)
            case _:
                self._children(node)
        return True

    def _names(self) -> scopes.Names:
        if self._scope.names is None:
            self._scope.names = {}
        return self._scope.names

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._value(child)
            else:
                self._children(child)

    def _annotated_assignment(self, node: ast.AnnAssign) -> None:
        declared = self._instance(node.annotation)
        if node.value is None:
            values = declared
            if isinstance(node.target, ast.Name) and self._scope.kind != "class":
                return  # a declaration assigns nothing
        else:
            values = self._value(node.value)
            if values == av.UNKNOWN:
                values = declared
        self._assign(node.target, values)

    def _augmented_assignment(self, node: ast.AugAssign) -> None:
        added = self._value(node.value)
        if isinstance(node.target, ast.Name):
            before = self._scope.find(node.target.id) or av.UNKNOWN
            both = av.items([av.elements_of(before), av.elements_of(added)], exact=False)
            is_list = any(isinstance(value, av.Items) for value in before)
            self._assign(node.target, both if is_list else av.UNKNOWN)
        else:
            self._assign(node.target, av.UNKNOWN)

    def _returns(self, node: ast.AST, values: av.Values) -> None:
        if self._flow.info is not None:
            self._flow.info.returns[id(node)] = values

    def _if(self, node: ast.If) -> bool:
        test = self._value(node.test)
        checking = self._for_type_checker(node.test, test)
        before = dict(self._names())
        self._narrow(node.test, truth=True)
        self._for_types += checking is True
        first_goes_on = self._block(node.body)
        self._for_types -= checking is True
        first = self._names()
        self._scope.names = before
        self._narrow(node.test, truth=False)
        self._for_types += checking is False
        second_goes_on = self._block(node.orelse)
        self._for_types -= checking is False
        if not second_goes_on:
            self._scope.names = first
        elif first_goes_on:
            self._scope.names = scopes.merge(first, self._names())
        return first_goes_on or second_goes_on

    def _for_type_checker(self, node: ast.expr, values: av.Values) -> bool | None:
        """Return True if the branch is for the type checker only, False if all but it is, None if neither."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._for_type_checker(node.operand, self._value(node.operand))
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            parts = [self._for_type_checker(part, self._value(part)) for part in node.values]
            return True if True in parts else None
        if any(isinstance(value, av.External) and value.path in _TYPE_CHECKING for value in values):
            return True
        is_named_so = isinstance(node, ast.Name) and node.id == "TYPE_CHECKING"
        return True if is_named_so and values == av.constant(False) else None

    def _narrow(self, test: ast.expr, *, truth: bool) -> None:
        """Take out of a name's values what they cannot be where the test is true (or not)."""
        match test:
            case ast.UnaryOp(op=ast.Not()):
                self._narrow(test.operand, truth=not truth)
            case ast.BoolOp():
                if isinstance(test.op, ast.And) is truth:
                    for part in test.values:
                        self._narrow(part, truth=truth)
            case ast.NamedExpr(target=ast.Name()):
                self._narrow(test.target, truth=truth)
            case ast.Name():
                if truth:
                    self._narrow_name(test, av.without_false)
            case ast.Compare(left=ast.Name() as name, ops=[op], comparators=[ast.Constant(value=None)]):
                if isinstance(op, ast.IsNot | ast.NotEq) is truth:
                    self._narrow_name(name, av.without_none)
            case ast.Compare(
                left=ast.NamedExpr(target=ast.Name() as name), ops=[op], comparators=[ast.Constant(value=None)]
            ):
                if isinstance(op, ast.IsNot | ast.NotEq) is truth:
                    self._narrow_name(name, av.without_none)
            case ast.Call(func=ast.Name(id="isinstance" | "callable"), args=[ast.Name() as name, *_]):
                if truth:
                    self._narrow_name(name, av.without_none)
            case _:
                pass

    def _narrow_name(self, name: ast.Name, narrowed: Callable[[av.Values], av.Values]) -> None:
        values = self._scope.find(name.id)
        if values is not None:
            self._names()[name.id] = narrowed(values)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> bool:
        if isinstance(node, ast.AsyncFor):
            self._finding("ASYNC_SYNTAX", "`async for` needs an event loop", node, end_line=node.iter.end_lineno)
        self._flow.breaks.append([])
        before = dict(self._names())
        for _ in range(2):
            start = dict(self._names())
            if isinstance(node, ast.While):
                self._value(node.test)
                self._narrow(node.test, truth=True)
            else:
                self._assign(node.target, self._iterate(node.iter))
            self._block(node.body)
            self._scope.names = scopes.merge(start, self._names())
            if len(self._flow.breaks) > _LOOPS_READ_TWICE or self._scope.names == start:
                break
        for names in self._flow.breaks.pop():
            self._scope.names = scopes.merge(self._names(), names)
        self._scope.names = scopes.merge(before, self._names())
        if isinstance(node, ast.While) and not _breaks_out(node.body):
            self._narrow(node.test, truth=False)
        self._block(node.orelse)
        return True

    def _with(self, node: ast.With | ast.AsyncWith) -> bool:
        if isinstance(node, ast.AsyncWith):
            last = node.items[-1]
            end = (last.optional_vars or last.context_expr).end_lineno
            self._finding("ASYNC_SYNTAX", "`async with` needs an event loop", node, end_line=end)
        for item in node.items:
            values = self._value(item.context_expr)
            entered = self._enter(values)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, entered)
        return self._block(node.body)

    def _enter(self, values: av.Values) -> av.Values:
        """Return what `with VALUES as name` assigns; note what the end of the statement waits for."""
        entered = list[av.Values]()
        for value in values:
            if isinstance(value, av.External) and value.path in rules.WAITS_AT_EXIT:
                self._flow.waited.add(value.site)
            own = self._attribute_of_object(value, "__enter__") if isinstance(value, av.Object) else av.NOTHING
            results = [self._result(function) for function in own if isinstance(function, av.Function)]
            entered.append(av.join(results) if results else frozenset({value}))
        return av.join(entered)

    def _try(self, node: ast.Try | ast.TryStar) -> bool:
        before = dict(self._names())
        goes_on = self._block(node.body)
        at_end = self._names()
        in_between = scopes.merge(before, at_end)
        self._scope.names = dict(at_end)
        goes_on = self._block(node.orelse) and goes_on
        outcomes = [self._names()] if goes_on else []
        for handler in node.handlers:
            self._scope.names = dict(in_between)
            if handler.type is not None:
                self._value(handler.type)
            if handler.name is not None:
                self._scope.bind(handler.name, av.UNKNOWN, handler)
            if self._block(handler.body):
                outcomes.append(self._names())
        merged = outcomes[0] if outcomes else in_between
        for names in outcomes[1:]:
            merged = scopes.merge(merged, names)
        self._scope.names = dict(merged)
        return self._block(node.finalbody) and bool(outcomes)

    def _match(self, node: ast.Match) -> bool:
        subject = self._value(node.subject)
        before = dict(self._names())
        outcomes = [dict(before)]
        for case in node.cases:
            self._scope.names = dict(before)
            self._pattern(case.pattern, subject)
            if case.guard is not None:
                self._value(case.guard)
            if self._block(case.body):
                outcomes.append(self._names())
        merged = outcomes[0]
        for names in outcomes[1:]:
            merged = scopes.merge(merged, names)
        self._scope.names = merged
        return True

    def _pattern(self, pattern: ast.pattern, subject: av.Values) -> None:
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is not None:
            self._scope.bind(pattern.name, subject, pattern)
            return
        for node in ast.walk(pattern):
            name = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(name, str):
                self._scope.bind(name, subject if node is pattern else av.UNKNOWN, node)
            elif isinstance(node, ast.MatchValue):
                self._value(node.value)
            elif isinstance(node, ast.MatchClass):
                self._value(node.cls)

    # -- assignment ----------------------------------------------------------------------------------------------------

    def _assign(self, target: ast.expr, values: av.Values) -> None:
        match target:
            case ast.Name():
                self._scope.bind(target.id, values, target)
            case ast.Tuple() | ast.List():
                self._assign_parts(target, values)
            case ast.Starred():
                self._assign(target.value, av.items([values], exact=False))
            case ast.Attribute():
                self._assign_attribute(target, values)
            case ast.Subscript():
                self._value(target.slice)
                self._assign_entry(target, values)
            case _:
                self._value(target)

    def _assign_parts(self, target: ast.Tuple | ast.List, values: av.Values) -> None:
        if any(isinstance(part, ast.Starred) for part in target.elts):
            rest = av.elements_of(values)
            for part in target.elts:
                self._assign(part, rest)
            return
        self._consume(values)
        for part, part_values in zip(target.elts, av.unpack(values, len(target.elts)), strict=True):
            self._assign(part, part_values)

    def _assign_attribute(self, target: ast.Attribute, values: av.Values) -> None:
        for owner in self._value(target.value):
            if isinstance(owner, av.Object | av.Class):
                self._classes[owner.number].attributes.add(target.attr, id(target), values)
            elif isinstance(owner, av.External) and (owner.path, target.attr) == ("httpx.Client()", "timeout"):
                self._check_client_timeout(values, target)

    def _check_client_timeout(self, values: av.Values, target: ast.Attribute) -> None:
        if av.may_be_none(values):
            self._finding("NO_TIMEOUT", "the time limit of this httpx.Client is set to None", target)

    def _assign_entry(self, target: ast.Subscript, values: av.Values) -> None:
        owners = self._value(target.value)
        key = self._literal(target.slice)
        if not isinstance(target.value, ast.Name) or key is None:
            return
        changed = [
            av.table([*owner.entries, (key, values)], open=owner.open) if isinstance(owner, av.Table) else owner
            for owner in owners
        ]
        self._scope.bind(target.value.id, frozenset(changed), target)

    # -- imports -------------------------------------------------------------------------------------------------------

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.ImportFrom):
            self._import_from(node)
            return
        for alias in node.names:
            self._check_import(alias.name, node)
            root = alias.name.partition(".")[0]
            self._scope.bind(alias.asname or root, self._external(alias.name if alias.asname else root), alias)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level == 0 and rules.is_async(module):
            self._check_import(module, node)
        for alias in node.names:
            if node.level:
                values = av.UNKNOWN
            elif alias.name == "*":
                if module not in self._module.star_imports:
                    self._module.star_imports.append(module)
                continue
            else:
                path = f"{module}.{alias.name}"
                self._check_import(path, node)
                values = self._external(path)
            if alias.name != "*":
                self._scope.bind(alias.asname or alias.name, values, alias)

    def _check_import(self, path: str, node: ast.AST) -> None:
        if rules.is_async(path):
            self._imported.add(path)
            self._finding("ASYNC_LIBRARY", f"{path} is asynchronous", node)

    def _external(self, path: str) -> av.Values:
        known = ""
        for part in path.split("."):
            known = rules.canonical(f"{known}.{part}" if known else part)
        return frozenset({av.External(known, for_types=bool(self._for_types))})

    # -- definitions ---------------------------------------------------------------------------------------------------

    def _function_definition(self, node: _FunctionNode) -> None:
        if isinstance(node, ast.AsyncFunctionDef):
            end = max([node.lineno, *(arg.end_lineno or 0 for arg in _arguments(node.args))])
            self._finding("ASYNC_SYNTAX", f"`async def {node.name}` needs an event loop", node, end_line=end)
        decorators = [self._value(decorator) for decorator in node.decorator_list]
        info = self._define(node)
        info.is_task = any(map(self._makes_task, node.decorator_list, decorators))
        info.is_property = any(
            _last_name(decorator) in ("property", "cached_property") for decorator in node.decorator_list
        )
        if info.is_task and node.args.args and any(map(_binds, node.decorator_list)):
            first = node.args.args[0]
            info.scope.bindings.add(first.arg, id(first), frozenset({av.Function(self._numbers[id(node)])}))
        if node.returns is not None:
            info.returns[id(node.returns)] = self._instance(node.returns)
        self._scope.bind(node.name, frozenset({av.Function(self._numbers[id(node)])}), node)

    def _define(self, node: scopes.Definition) -> _FunctionInfo:
        """Note a function, read the defaults of its parameters, and have its body read later."""
        number = self._numbers.get(id(node))
        if number is None:
            number = self._numbers[id(node)] = len(self._functions)
            info = _FunctionInfo(node, scopes.of_function(node, self._scope))
            if self._scope.kind == "class":
                info.owner = self._numbers.get(id(self._scope))
            self._functions.append(info)
        info = self._functions[number]
        names = dict[str, av.Values]()
        for arg, default in _with_defaults(node.args):
            values = av.UNKNOWN if arg.annotation is None else self._instance(arg.annotation, arg)
            if default is not None:
                values = av.join((values, self._value(default)))
            names[arg.arg] = values
        for extra in (node.args.vararg, node.args.kwarg):
            if extra is not None and extra.annotation is not None:
                self._instance(extra.annotation)
        self._name_special_parameters(info, names)
        for arg in _arguments(node.args):
            info.scope.bindings.add(arg.arg, id(arg), names[arg.arg])
        info.scope.names = None
        if id(node) not in self._read_bodies:
            self._read_bodies.add(id(node))
            self._waiting.append(info)
        return info

    def _name_special_parameters(self, info: _FunctionInfo, names: scopes.Names) -> None:
        """Say what `self`, `cls`, `*args` and `**kwargs` are."""
        arguments = info.node.args
        if arguments.vararg is not None:
            names[arguments.vararg.arg] = av.items([av.UNKNOWN], exact=False)
        if arguments.kwarg is not None:
            names[arguments.kwarg.arg] = frozenset({av.table([], open=True)})
        positional = [*arguments.posonlyargs, *arguments.args]
        if info.owner is None or not positional or isinstance(info.node, ast.Lambda):
            return
        decorators = {_last_name(decorator) for decorator in info.node.decorator_list}
        if "staticmethod" in decorators:
            return
        first = av.Class(info.owner) if "classmethod" in decorators else av.Object(info.owner, (-info.owner - 1, 0))
        names[positional[0].arg] = frozenset({first})

    def _function_body(self, info: _FunctionInfo) -> None:
        node = info.node
        self._scope, self._flow = info.scope, _Flow(info)
        info.scope.names = {arg.arg: info.scope.bindings.values_at(arg.arg, id(arg)) for arg in _arguments(node.args)}
        if isinstance(node, ast.Lambda):
            self._returns(node.body, self._value(node.body))
        else:
            self._block(node.body)
        self._end_flow()
        info.scope.names = None

    def _makes_task(self, node: ast.expr, values: av.Values) -> bool:
        """True if this decorator makes a function a Celery task."""
        called = node.func if isinstance(node, ast.Call) else node
        if any(
            isinstance(value, av.External) and value.path.removesuffix("()") in _CELERY_DECORATORS for value in values
        ):
            return True
        if not isinstance(called, ast.Attribute) or called.attr not in ("task", "periodic_task"):
            return False
        return any(
            isinstance(value, av.Unknown) or (isinstance(value, av.External) and value.path.count(".") > 1)
            for value in values
        )

    def _class_definition(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self._value(decorator)
        bases = [self._value(base) for base in node.bases]
        for keyword in node.keywords:
            self._value(keyword.value)
        number = self._numbers.get(id(node))
        if number is None:
            number = self._numbers[id(node)] = len(self._classes)
            scope = scopes.Scope("class", self._scope)
            self._classes.append(_ClassInfo(node, scope))
            self._numbers[id(scope)] = number
        info = self._classes[number]
        info.bases = frozenset[av.Value]().union(*bases)
        outer, self._scope = self._scope, info.scope
        info.scope.names = {}
        self._block(node.body)
        for name, values in info.scope.names.items():
            info.attributes.add(name, id(node), values)
        info.scope.names = None
        self._scope = outer
        self._scope.bind(node.name, frozenset({av.Class(number)}), node)

    # -- annotations ---------------------------------------------------------------------------------------------------

    def _instance(self, node: ast.expr, place: ast.AST | None = None) -> av.Values:
        """Return what a name with this annotation stands for."""
        place = place or node
        match node:
            case ast.Constant(value=str(text)):
                return self._instance_of_text(text, place)
            case ast.BinOp(op=ast.BitOr()):
                return _known(self._instance(part, place) for part in (node.left, node.right))
            case ast.Subscript():
                return self._generic(node, place)
            case ast.Constant():
                return av.UNKNOWN
            case _:
                return self._instance_of_class(self._value(node), place)

    def _instance_of_text(self, text: str, place: ast.AST) -> av.Values:
        try:
            parsed = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return av.UNKNOWN
        self._for_types += 1
        values = self._instance(parsed, place)
        self._for_types -= 1
        return frozenset(
            value._replace(for_types=True) if isinstance(value, av.External) else value for value in values
        )

    def _generic(self, node: ast.Subscript, place: ast.AST) -> av.Values:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        owners = self._value(node.value)
        paths = {value.path for value in owners if isinstance(value, av.External)}
        if paths & _OPTIONAL:
            return self._instance(parts[0], place) if parts else av.UNKNOWN
        if "typing.Union" in paths:
            return _known(self._instance(part, place) for part in parts)
        if paths & {"typing.Type", "builtins.type"}:
            return self._value(parts[0]) if parts else av.UNKNOWN
        if any(path.rpartition(".")[2] in _CONTAINERS for path in paths):
            return av.items([_known(self._instance(part, place) for part in parts)], exact=False)
        for part in parts:
            self._instance(part, place)
        return self._instance_of_class(owners, place)

    def _instance_of_class(self, values: av.Values, place: ast.AST) -> av.Values:
        site = _begin(place)
        found = list[av.Value]()
        for value in values:
            if isinstance(value, av.External) and not value.path.startswith(("typing.", "builtins.")):
                found.append(av.External(rules.canonical(f"{value.path}()"), site, for_types=value.for_types))
            elif isinstance(value, av.Class):
                found.append(av.Object(value.number, site))
        return frozenset(found) or av.UNKNOWN

    # -- expressions ---------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> av.Values:
        match node:
            case ast.Name():
                return self._name(node)
            case ast.Constant():
                return av.constant(node.value)
            case ast.Attribute():
                return self._attribute(self._value(node.value), node.attr, node)
            case ast.Call():
                return self._call(node)
            case ast.Tuple() | ast.List() | ast.Set():
                return self._display(node)
            case ast.Dict():
                return self._dict(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.BoolOp():
                return self._boolean(node)
            case ast.IfExp():
                return self._conditional(node)
            case ast.NamedExpr():
                values = self._value(node.value)
                self._assign(node.target, values)
                return values
            case ast.Lambda():
                self._define(node)
                return frozenset({av.Function(self._numbers[id(node)])})
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node)
            case ast.Await():
                self._finding("ASYNC_SYNTAX", "`await` needs an event loop", node)
                return self._value(node.value)
            case ast.Yield():
                values = av.NONE if node.value is None else self._value(node.value)
                self._returns(node, values)
                return av.UNKNOWN
            case ast.YieldFrom():
                self._returns(node, self._iterate(node.value))
                return av.UNKNOWN
            case ast.Starred():
                return self._iterate(node.value)
            case _:
                self._children(node)
                return av.UNKNOWN

    def _name(self, node: ast.Name) -> av.Values:
        values = self._scope.find(node.id)
        if values is not None:
            return values
        stars = self._module.star_imports
        if stars and node.id not in _BUILTINS:
            return av.join(self._external(f"{module}.{node.id}") for module in stars)
        return frozenset({av.External(f"builtins.{node.id}")}) if node.id in _BUILTINS else av.UNKNOWN

    def _attribute(self, owners: av.Values, name: str, node: ast.AST) -> av.Values:
        found = list[av.Values]()
        for owner in owners:
            match owner:
                case av.External():
                    found.append(frozenset({self._external_attribute(owner, name, node)}))
                case av.Object():
                    found.append(self._attribute_of_object(owner, name))
                case av.Class():
                    found.append(self._attribute_of_class(owner, name, node))
                case av.Function():
                    found.append(self._attribute_of_function(owner, name))
                case _:
                    found.append(av.UNKNOWN)
        return av.join(found)

    def _external_attribute(self, owner: av.External, name: str, node: ast.AST) -> av.Value:
        path = rules.canonical(f"{owner.path}.{name}")
        written = f"{owner.path}.{name}"
        comes_in_here = rules.is_async(written) and not rules.is_async(owner.path)
        if comes_in_here and written not in self._imported and not owner.for_types:
            self._finding("ASYNC_LIBRARY", f"{written} is asynchronous", node)
        return owner._replace(path=path)

    def _attribute_of_object(self, owner: av.Object, name: str, depth: int = 0) -> av.Values:
        info = self._classes[owner.number]
        if name in info.attributes:
            values = info.attributes.values(name)
            return av.join(self._property(value) for value in values)
        found = list[av.Values]()
        for base in info.bases:
            if isinstance(base, av.External):
                path = rules.canonical(f"{rules.canonical(f'{base.path}()')}.{name}")
                found.append(frozenset({av.External(path, owner.site, for_types=base.for_types)}))
            elif isinstance(base, av.Class) and depth < 10:
                found.append(self._attribute_of_object(av.Object(base.number, owner.site), name, depth + 1))
        return av.join(found)

    def _attribute_of_class(self, owner: av.Class, name: str, node: ast.AST) -> av.Values:
        info = self._classes[owner.number]
        if name in info.attributes:
            return info.attributes.values(name)
        bases = frozenset(base for base in info.bases if isinstance(base, av.External))
        return self._attribute(bases, name, node) if bases else av.UNKNOWN

    def _property(self, value: av.Value) -> av.Values:
        if isinstance(value, av.Function) and self._functions[value.number].is_property:
            return self._result(value)
        return frozenset({value})

    def _attribute_of_function(self, owner: av.Function, name: str) -> av.Values:
        if self._functions[owner.number].is_task:
            if name in ("delay", "apply_async"):
                return frozenset({av.External(f"@task.{name}")})
            if name in ("s", "si", "signature", "subtask"):
                return frozenset({av.External("@task.s")})
        return av.UNKNOWN

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> av.Values:
        elements = [self._value(element) for element in node.elts]
        starred = any(isinstance(element, ast.Starred) for element in node.elts)
        return av.items(elements, exact=not starred and not isinstance(node, ast.Set))

    def _dict(self, node: ast.Dict) -> av.Values:
        entries, is_open, others = list[tuple[object, av.Values]](), False, list[av.Values]()
        for key, value in zip(node.keys, node.values, strict=True):
            values = self._value(value)
            if key is None:
                tables = [table for table in values if isinstance(table, av.Table)]
                entries += [entry for table in tables for entry in table.entries]
                is_open = is_open or len(tables) < len(values) or any(table.open for table in tables)
                continue
            literal = self._literal(key)
            if literal is None:
                is_open = True
                others += [self._value(key), values]
            else:
                entries.append((literal, values))
        if others and not entries:
            return av.items(others, exact=False)
        return frozenset({av.table(entries, open=is_open)})

    def _subscript(self, node: ast.Subscript) -> av.Values:
        owners = self._value(node.value)
        self._value(node.slice)
        key = self._literal(node.slice)
        found = list[av.Values]()
        for owner in owners:
            match owner:
                case av.Items():
                    found.append(_element(owner, key))
                case av.Table():
                    found.append(_entry(owner, key))
                case av.External(path="sys.modules") if isinstance(key, str):
                    self._check_import(key, node)
                    found.append(self._external(key))
                case av.External() if isinstance(key, str) and owner.path.endswith(".__dict__"):
                    parent = owner._replace(path=owner.path.removesuffix(".__dict__"))
                    found.append(frozenset({self._external_attribute(parent, key, node)}))
                case _:
                    found.append(av.UNKNOWN)
        return av.join(found)

    def _literal(self, node: ast.expr) -> object:
        """Return the value of a literal, also behind a name that stands for one only; None if there is none."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            return -value if isinstance(value, int) else None
        if isinstance(node, ast.Name):
            values = self._scope.find(node.id) or av.UNKNOWN
            only = next(iter(values)) if len(values) == 1 else None
            return only.value if isinstance(only, av.Constant) else None
        return None

    def _binary(self, node: ast.BinOp) -> av.Values:
        left: ast.expr = node
        rights = list[ast.expr]()
        while isinstance(left, ast.BinOp):  # a long sum is deep, not wide
            rights.append(left.right)
            left = left.left
        values = [self._value(left), *(self._value(right) for right in reversed(rights))]
        lists = [value for part in values for value in part if isinstance(value, av.Items)]
        if lists and isinstance(node.op, ast.Add):
            return av.items([av.elements_of(part) for part in values], exact=False)
        if isinstance(node.op, ast.BitOr) and len(values) == 2:
            tables = [value for part in values for value in part if isinstance(value, av.Table)]
            if len(tables) == 2:
                left_table, right_table = tables
                entries = [*left_table.entries, *right_table.entries]
                return frozenset({av.table(entries, open=left_table.open or right_table.open)})
        return av.UNKNOWN

    def _boolean(self, node: ast.BoolOp) -> av.Values:
        before = dict(self._names())
        parts = list[av.Values]()
        for part in node.values:
            parts.append(self._value(part))
            self._narrow(part, truth=isinstance(node.op, ast.And))
        after = self._names()
        self._scope.names = scopes.merge(before, after)
        if isinstance(node.op, ast.Or):
            return av.join([*(_truthy(part) for part in parts[:-1]), parts[-1]])
        return av.join(parts)

    def _conditional(self, node: ast.IfExp) -> av.Values:
        self._value(node.test)
        before = dict(self._names())
        self._narrow(node.test, truth=True)
        first = self._value(node.body)
        after_first = self._names()
        self._scope.names = before
        self._narrow(node.test, truth=False)
        second = self._value(node.orelse)
        self._scope.names = scopes.merge(after_first, self._names())
        return av.join((first, second))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> av.Values:
        kept = dict(self._names())
        targets = set[str]()
        for generator in node.generators:
            if generator.is_async:
                self._finding("ASYNC_SYNTAX", "an asynchronous comprehension needs an event loop", node)
            elements = self._iterate(generator.iter)
            targets.update(name.id for name in ast.walk(generator.target) if isinstance(name, ast.Name))
            self._assign_in_comprehension(generator.target, elements)
            for test in generator.ifs:
                self._value(test)
                self._narrow(test, truth=True)
        if isinstance(node, ast.DictComp):
            result = av.join((self._value(node.key), self._value(node.value)))
        else:
            result = self._value(node.elt)
        names = self._names()
        for name in targets:
            names.pop(name, None)
            if name in kept:
                names[name] = kept[name]
        return av.items([result], exact=False)

    def _assign_in_comprehension(self, target: ast.expr, values: av.Values) -> None:
        """Assign to the names of a comprehension, which are not those of the code around it."""
        match target:
            case ast.Name():
                self._names()[target.id] = values
            case ast.Tuple() | ast.List() if not any(isinstance(part, ast.Starred) for part in target.elts):
                for part, part_values in zip(target.elts, av.unpack(values, len(target.elts)), strict=True):
                    self._assign_in_comprehension(part, part_values)
            case _:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        self._names()[name.id] = av.UNKNOWN

    def _iterate(self, node: ast.expr) -> av.Values:
        """Return what a loop over this expression sees. A loop over the results of a pool waits for them."""
        values = self._value(node)
        self._consume(values)
        return av.elements_of(values)

    def _consume(self, values: av.Values) -> None:
        """Note that the results of a pool are taken from these values, which waits for the work."""
        results = rules.WAITED_FOR_BY_LOOP
        self._flow.waited.update(
            value.site for value in values if isinstance(value, av.External) and value.path in results
        )

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> av.Values:
        functions = self._value(node.func)
        arguments = self._arguments(node)
        if isinstance(node.func, ast.Attribute):
            changed = self._container_method(node, node.func, arguments)
            if changed is not None:
                return changed
        return av.join(self._call_value(function, arguments, node) for function in functions)

    def _arguments(self, node: ast.Call) -> calls.Arguments:
        positional, is_open = list[av.Values](), False
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                exact = self._value(argument.value)
                known = [item for item in exact if isinstance(item, av.Items) and item.exact]
                if len(exact) == len(known) == 1:
                    positional += known[0].elements
                else:
                    is_open = True
                self._consume(exact)
                continue
            values = self._value(argument)
            if not is_open:
                positional.append(values)
        entries, open_keywords = list[tuple[object, av.Values]](), False
        for keyword in node.keywords:
            values = self._value(keyword.value)
            if keyword.arg is not None:
                entries.append((keyword.arg, values))
                continue
            tables = [table for table in values if isinstance(table, av.Table)]
            open_keywords = open_keywords or len(tables) < len(values) or any(table.open for table in tables)
            for key in dict.fromkeys(key for table in tables for key, _ in table.entries):
                if len(tables) == len(values) and all(key in dict(table.entries) for table in tables):
                    entries.append((key, av.join(dict(table.entries)[key] for table in tables)))
        return calls.Arguments(tuple(positional), av.table(entries, open=open_keywords))

    def _call_value(self, function: av.Value, arguments: calls.Arguments, node: ast.Call, depth: int = 0) -> av.Values:
        match function:
            case av.External():
                return self._call_external(function, arguments, node, depth)
            case av.Partial() if depth < 5:
                merged = arguments.after(function)
                return av.join(self._call_value(value, merged, node, depth + 1) for value in function.function)
            case av.Function():
                return self._result(function)
            case av.Class():
                return self._construct(function, node)
            case av.Unknown() if isinstance(node.func, ast.Attribute) and node.func.attr == "run_until_complete":
                self._finding("EVENT_LOOP", "run_until_complete() runs an event loop", node)
                return av.UNKNOWN
            case _:
                return av.UNKNOWN

    def _construct(self, function: av.Class, node: ast.Call) -> av.Values:
        for base in self._external_bases(function.number):
            rule = rules.CALLS.get(base.path)
            if isinstance(rule, rules.Finding):
                self._finding(rule.code, rule.message, node)
        return frozenset({av.Object(function.number, _end(node))})

    def _external_bases(self, number: int, depth: int = 0) -> list[av.External]:
        found = list[av.External]()
        for base in self._classes[number].bases:
            if isinstance(base, av.External):
                found.append(base)
            elif isinstance(base, av.Class) and depth < 10:
                found += self._external_bases(base.number, depth + 1)
        return found

    def _result(self, function: av.Function) -> av.Values:
        """Return what a function of this module returns, as far as it was read."""
        returns = self._functions[function.number].returns.values()
        joined = av.join(returns)
        return joined if all(map(av.may_be_none, returns)) else av.without_none(joined)

    def _call_external(
        self, function: av.External, arguments: calls.Arguments, node: ast.Call, depth: int
    ) -> av.Values:
        path = function.path
        special = self._call_special(path, arguments, node)
        if special is not None:
            return special
        limited = function.limited
        rule = rules.CALLS.get(path)
        if rule is not None:
            limited = self._apply(rule, function, arguments, node)
        if path.rpartition(".")[2] in rules.LOOP_METHODS and rules.is_async(path):
            self._finding("EVENT_LOOP", f"{path.rpartition('.')[2]}() runs an event loop", node)
        elif function.for_types and rules.is_async(path):
            self._finding("ASYNC_LIBRARY", f"{path.replace('()', '')} is asynchronous", node)
        if path.startswith("builtins."):
            for values in arguments.positional:
                self._consume(values)
        self._call_back(path, arguments, node, depth)
        if path in rules.RETURNS_ARGUMENT and arguments.positional:
            return self._as_list(path, arguments.positional[0])
        if path.endswith(".enter_context") and arguments.positional:
            return self._enter(arguments.positional[0])
        result = av.External(rules.canonical(f"{path}()"), _end(node), limited, function.for_types)
        return frozenset({result})

    def _as_list(self, path: str, values: av.Values) -> av.Values:
        if not path.startswith("builtins."):
            return values
        return values if any(isinstance(value, av.Items) for value in values) else av.UNKNOWN

    def _call_special(self, path: str, arguments: calls.Arguments, node: ast.Call) -> av.Values | None:
        """Return the result of a call that makes names known: getattr, import_module, partial, dict …"""
        first = arguments.positional[0] if arguments.positional else av.NOTHING
        match path:
            case "builtins.getattr":
                name = arguments.text(1)
                if name is None:
                    return av.UNKNOWN
                return self._attribute(first, name, node)
            case "importlib.import_module" | "builtins.__import__":
                name = arguments.text(0)
                if name is None or name.startswith("."):
                    return av.UNKNOWN
                self._check_import(name, node)
                whole = path == "importlib.import_module" or arguments.keyword("fromlist") is not None
                return self._external(name if whole or len(arguments.positional) > 3 else name.partition(".")[0])
            case "functools.partial":
                return arguments.partial()
            case "builtins.dict":
                tables = [value for value in first if isinstance(value, av.Table)]
                entries = [*(entry for table in tables for entry in table.entries), *arguments.keywords.entries]
                is_open = arguments.keywords.open or any(table.open for table in tables) or len(tables) < len(first)
                return frozenset({av.table(entries, open=is_open)})
            case "builtins.list" | "builtins.set" | "collections.deque" if not arguments.positional:
                return av.items([])
            case "builtins.vars" if len(arguments.positional) == 1:
                return self._attribute(first, "__dict__", node)
            case "typing.cast" if len(arguments.positional) == 2:
                return self._instance(node.args[0])
            case "celery.shared_task" if len(first) == 1 and isinstance(only := next(iter(first)), av.Function):
                self._functions[only.number].is_task = True
                return first
            case _:
                return self._registered_task(path, first)

    def _registered_task(self, path: str, first: av.Values) -> av.Values | None:
        """Return the function that `app.task(function)` makes a task; None if the call is not one."""
        only = next(iter(first)) if len(first) == 1 else None
        if path != "celery.Celery().task" or not isinstance(only, av.Function):
            return None
        self._functions[only.number].is_task = True
        return first

    def _apply(self, rule: rules.Rule, function: av.External, arguments: calls.Arguments, node: ast.Call) -> bool:
        """Report what the rule finds in this call; True if the result has a time limit."""
        name = function.path.replace("()", "")
        match rule:
            case rules.Finding():
                self._finding(rule.code, rule.message, node)
            case rules.Limit():
                return self._apply_limit(rule, function, arguments, node)
            case rules.MakesLimited():
                return calls.missing_limit(rules.Limit(rule.keywords), arguments) is None
            case rules.Timeouts():
                missing = calls.missing_part(rule, arguments)
                if missing is not None:
                    self._finding("NO_TIMEOUT", f"{name}() {missing}", node)
                return missing is None
            case rules.Starts():
                sites = (
                    (_end(node),) if rule.returns_handle and function.site == (0, 0) else (function.site, _end(node))
                )
                self._flow.starts.append(_Start(sites, node, rule.what))
            case rules.WaitsFor():
                self._wait(rule, function, arguments)
            case rules.BlocksOn():
                message = f"{name}() may wait for ever: the socket has no time limit"
                self._deferred.append(_Deferred(node=node, message=message, site=function.site, flow=self._flow))
                if function.limited:
                    self._limited_sockets.add(function.site)
            case rules.SetsLimit():
                self._set_limit(rule, function, arguments)
        return function.limited

    def _apply_limit(
        self, rule: rules.Limit, function: av.External, arguments: calls.Arguments, node: ast.Call
    ) -> bool:
        missing = calls.missing_limit(rule, arguments)
        if missing is None or (rule.by_object and function.limited and not missing.switched_off):
            return True
        message = f"{function.path.replace('()', '')}() {missing.why}"
        if rule.by_socket and not missing.switched_off:
            self._deferred.append(_Deferred(node=node, message=message, site=None, flow=self._flow))
        else:
            self._finding("NO_TIMEOUT", message, node)
        return False

    def _wait(self, rule: rules.WaitsFor, function: av.External, arguments: calls.Arguments) -> None:
        if rule.arguments:
            for values in arguments.positional:
                self._flow.waited.update(calls.sites(values))
            return
        wait = arguments.keyword("wait") or (arguments.positional[0] if arguments.positional else None)
        if function.path.endswith(".shutdown") and wait == av.constant(False):
            return
        self._flow.waited.add(function.site)

    def _set_limit(self, rule: rules.SetsLimit, function: av.External, arguments: calls.Arguments) -> None:
        values = next(iter(arguments.positional), None) or next(
            (value for _, value in arguments.keywords.entries), None
        )
        blocking = function.path.endswith("setblocking") and values != av.constant(False)
        if values is None or av.may_be_none(values) or blocking:
            return
        if rule.default:
            self._flow.sets_socket_default = True
        else:
            self._limited_sockets.add(function.site)

    def _call_back(self, path: str, arguments: calls.Arguments, node: ast.Call, depth: int) -> None:
        """Judge the function that this call calls (`map`, `submit`, `Thread`) as if it were called here."""
        place = rules.CALLBACKS.get(path)
        if place is None or depth > 3:
            return
        functions, passed_on = arguments.split(*place)
        for function in functions:
            if isinstance(function, av.External) and isinstance(rules.CALLS.get(function.path), rules.Limit):
                self._call_external(function, passed_on, node, depth + 1)
            elif isinstance(function, av.Partial):
                self._call_value(function, passed_on, node, depth + 1)

    def _container_method(self, node: ast.Call, func: ast.Attribute, arguments: calls.Arguments) -> av.Values | None:
        """Follow a method of a list or dict; None if the receiver is none."""
        owners = self._value(func.value) if _is_plain(func.value) else av.NOTHING
        if not any(isinstance(owner, av.Items | av.Table) for owner in owners):
            return None
        tables = [owner for owner in owners if isinstance(owner, av.Table)]
        if tables:
            return self._table_method(node, func, arguments, tables)
        elements = av.elements_of(owners) if any(isinstance(o, av.Items) and o.elements for o in owners) else av.NOTHING
        if func.attr in _GROWING and arguments.positional:
            added = arguments.positional[-1]
            added = av.elements_of(added) if func.attr == "extend" else added
            self._replace(func.value, av.items([elements | added], exact=False), node)
            return av.NONE
        return elements or av.UNKNOWN if func.attr in ("pop", "popleft") else av.UNKNOWN

    def _table_method(
        self, node: ast.Call, func: ast.Attribute, arguments: calls.Arguments, tables: list[av.Table]
    ) -> av.Values | None:
        key = arguments.literal(0)
        match func.attr:
            case "get" | "pop" | "setdefault":
                default = arguments.positional[1] if len(arguments.positional) > 1 else av.NONE
                if func.attr == "setdefault" and key is not None:
                    changed = [av.table([(key, default), *table.entries], open=table.open) for table in tables]
                    self._replace(func.value, frozenset(changed), node)
                known = [dict(table.entries).get(key) for table in tables]
                missing = av.UNKNOWN if any(table.open for table in tables) else default
                return av.join(values if values is not None else missing for values in known)
            case "update":
                added = [*arguments.keywords.entries]
                for value in arguments.positional[0] if arguments.positional else ():
                    added += value.entries if isinstance(value, av.Table) else ()
                changed = [av.table([*table.entries, *added], open=table.open) for table in tables]
                self._replace(func.value, frozenset(changed), node)
                return av.NONE
            case "values":
                return av.items([values for table in tables for _, values in table.entries], exact=False)
            case "copy":
                return frozenset(tables)
            case _:
                return av.UNKNOWN

    def _replace(self, target: ast.expr, values: av.Values, place: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self._scope.bind(target.id, values, place)
        elif isinstance(target, ast.Attribute):
            for owner in self._value(target.value):
                if isinstance(owner, av.Object | av.Class):
                    self._classes[owner.number].attributes.add(target.attr, id(place), values)


# -- small questions about nodes and values ---------------------------------------------------------------------------


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    extras = (arguments.vararg, arguments.kwarg)
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [*named, *(extra for extra in extras if extra is not None)]


def _with_defaults(arguments: ast.arguments) -> Iterable[tuple[ast.arg, ast.expr | None]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    yield from zip(positional, [*[None] * missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _is_plain(node: ast.expr) -> bool:
    """True for a name, and for an attribute of a name."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))


def _binds(node: ast.expr) -> bool:
    """True if this decorator hands the task to its function (`bind=True`)."""
    keywords = node.keywords if isinstance(node, ast.Call) else ()
    return any(
        keyword.arg == "bind" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in keywords
    )


def _last_name(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _breaks_out(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Break) for statement in body for node in ast.walk(statement))


def _begin(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), -1 - getattr(node, "col_offset", 0)


def _end(node: ast.expr) -> tuple[int, int]:
    """Return the site of a call: where it ends, as several calls may begin at one place."""
    return node.end_lineno or 0, node.end_col_offset or 0


def _truthy(values: av.Values) -> av.Values:
    return frozenset(value for value in values if not (isinstance(value, av.Constant) and not value.value))


def _known(parts: Iterable[av.Values]) -> av.Values:
    """Return all known values of `parts`."""
    joined = frozenset[av.Value]().union(*parts) - av.UNKNOWN
    return joined or av.UNKNOWN


def _element(owner: av.Items, key: object) -> av.Values:
    if owner.exact and isinstance(key, int) and -len(owner.elements) <= key < len(owner.elements):
        return owner.elements[key]
    return av.join(owner.elements)


def _entry(owner: av.Table, key: object) -> av.Values:
    if key is None:
        return av.join([*(values for _, values in owner.entries), *([av.UNKNOWN] if owner.open else [])])
    return dict(owner.entries).get(key, av.UNKNOWN)

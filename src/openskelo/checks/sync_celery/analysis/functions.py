"""Definitions of functions: their parameters, their decorators, and the time when their bodies are read.

Defaults, annotations and decorators are expressions: the caller passes the function that evaluates them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis import annotated_names, scopes
from openskelo.checks.sync_celery.analysis.reading import Evaluate, FunctionInfo, Reading, parameters_of

_CELERY_DECORATORS = frozenset({"celery.shared_task", "celery.task", "celery.task.task", "celery.decorators.task"})


def define_named(reading: Reading, node: ast.FunctionDef | ast.AsyncFunctionDef, evaluate: Evaluate) -> None:
    if isinstance(node, ast.AsyncFunctionDef):
        end = max([node.lineno, *(arg.end_lineno or 0 for arg in parameters_of(node.args))])
        reading.finding("ASYNC_SYNTAX", f"`async def {node.name}` needs an event loop", node, end_line=end)
    decorators = [evaluate(reading, decorator) for decorator in node.decorator_list]
    info = define(reading, node, evaluate)
    info.is_task = any(map(_makes_task, node.decorator_list, decorators))
    info.is_property = any(
        _last_name(decorator) in ("property", "cached_property") for decorator in node.decorator_list
    )
    if info.is_task and node.args.args and any(map(_binds, node.decorator_list)):
        first = node.args.args[0]
        info.scope.bindings.add(first.arg, id(first), frozenset({av.Function(reading.numbers[id(node)])}))
    if node.returns is not None:
        info.returns.add(id(node.returns), annotated_names.instance_of(reading, node.returns, evaluate))
    reading.scope.bind(node.name, frozenset({av.Function(reading.numbers[id(node)])}), node)


def define(reading: Reading, node: scopes.Definition, evaluate: Evaluate) -> FunctionInfo:
    """Note a function, read the defaults of its parameters, and have its body read later."""
    number = reading.numbers.get(id(node))
    if number is None:
        number = reading.numbers[id(node)] = len(reading.functions)
        info = FunctionInfo(node, scopes.of_function(node, reading.scope))
        if reading.scope.kind == "class":
            info.owner = reading.numbers.get(id(reading.scope))
        reading.functions.append(info)
    info = reading.functions[number]
    names = dict[str, av.Values]()
    for arg, default in _with_defaults(node.args):
        values = av.UNKNOWN
        if arg.annotation is not None:
            values = annotated_names.instance_of(reading, arg.annotation, evaluate, arg)
        if default is not None:
            values = av.join((values, evaluate(reading, default)))
        names[arg.arg] = values
    for extra in (node.args.vararg, node.args.kwarg):
        if extra is not None and extra.annotation is not None:
            annotated_names.instance_of(reading, extra.annotation, evaluate)
    _name_special_parameters(info, names)
    for arg in parameters_of(node.args):
        info.scope.bindings.add(arg.arg, id(arg), names[arg.arg])
    info.scope.names = None
    if id(node) not in reading.read_bodies:
        reading.read_bodies.add(id(node))
        reading.waiting.append(info)
    return info


def _name_special_parameters(info: FunctionInfo, names: dict[str, av.Values]) -> None:
    """Set the values of the object or class that a method gets, and of `*args` and `**kwargs`."""
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


def _makes_task(node: ast.expr, values: av.Values) -> bool:
    """True if this decorator makes a function a Celery task."""
    called = node.func if isinstance(node, ast.Call) else node
    if any(isinstance(value, av.External) and value.path.removesuffix("()") in _CELERY_DECORATORS for value in values):
        return True
    if not isinstance(called, ast.Attribute) or called.attr not in ("task", "periodic_task"):
        return False
    return any(
        isinstance(value, av.Unknown) or (isinstance(value, av.External) and value.path.count(".") > 1)
        for value in values
    )


def _with_defaults(arguments: ast.arguments) -> Iterable[tuple[ast.arg, ast.expr | None]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    yield from zip(positional, [*[None] * missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


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

"""Calls of values: the rules judge them, and they have results."""

from __future__ import annotations

import ast

from openskelo.checks.sync_celery import rules
from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis import attributes
from openskelo.checks.sync_celery.analysis.arguments import Arguments, missing_limit, missing_part, sites
from openskelo.checks.sync_celery.analysis.reading import Deferred, Reading, Start, end_of


def enter(reading: Reading, values: av.Values) -> av.Values:
    """Return what `with VALUES as name` assigns; note what the end of the statement waits for."""
    entered = list[av.Values]()
    for value in values:
        if isinstance(value, av.External) and value.path in rules.WAITS_AT_EXIT:
            reading.flow.waited.add(value.site)
        own = (
            attributes.attribute_of_object(reading, value, "__enter__") if isinstance(value, av.Object) else av.NOTHING
        )
        results = [reading.result(function) for function in own if isinstance(function, av.Function)]
        entered.append(av.join(results) if results else frozenset({value}))
    return av.join(entered)


def consume(reading: Reading, values: av.Values) -> None:
    """Note that the results of a pool are taken from these values, which waits for the work."""
    results = rules.WAITED_FOR_BY_LOOP
    reading.flow.waited.update(
        value.site for value in values if isinstance(value, av.External) and value.path in results
    )


def call_value(reading: Reading, function: av.Value, arguments: Arguments, node: ast.Call, depth: int = 0) -> av.Values:
    match function:
        case av.External():
            return _call_external(reading, function, arguments, node, depth)
        case av.Partial() if depth < 5:
            merged = arguments.after(function)
            return av.join(call_value(reading, value, merged, node, depth + 1) for value in function.function)
        case av.Function():
            return reading.result(function)
        case av.Class():
            return _construct(reading, function, node)
        case av.Unknown() if isinstance(node.func, ast.Attribute) and node.func.attr == "run_until_complete":
            reading.finding("EVENT_LOOP", "run_until_complete() runs an event loop", node)
            return av.UNKNOWN
        case av.Unknown() if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
            return _or_default(av.UNKNOWN, arguments, 1)
        case _:
            return av.UNKNOWN


def _or_default(values: av.Values, arguments: Arguments, place: int) -> av.Values:
    """Return what a call may return that returns its argument at this place where it finds nothing."""
    return av.join((values, *arguments.positional[place : place + 1]))


def _construct(reading: Reading, function: av.Class, node: ast.Call) -> av.Values:
    for base in attributes.external_bases(reading, function.number):
        rule = rules.CALLS.get(base.path)
        if isinstance(rule, rules.Finding):
            reading.finding(rule.code, rule.message, node)
    return frozenset({av.Object(function.number, end_of(node))})


def _call_external(
    reading: Reading, function: av.External, arguments: Arguments, node: ast.Call, depth: int
) -> av.Values:
    if function.path not in rules.CALLS:
        function, arguments = _bound(function, arguments)
    path = function.path
    special = _call_special(reading, path, arguments, node)
    if special is not None:
        return special
    limited = function.limited
    rule = rules.CALLS.get(path)
    if rule is not None:
        limited = _apply(reading, rule, function, arguments, node)
    if path.rpartition(".")[2] in rules.LOOP_METHODS and rules.is_async(path):
        reading.finding("EVENT_LOOP", f"{path.rpartition('.')[2]}() runs an event loop", node)
    elif function.for_types and rules.is_async(path):
        reading.finding("ASYNC_LIBRARY", f"{path.replace('()', '')} is asynchronous", node)
    if path.startswith("builtins."):
        for values in arguments.positional:
            consume(reading, values)
    _call_back(reading, path, arguments, node, depth)
    if path in rules.JOINS_SIGNATURES and (signatures := signatures_in(av.join(arguments.positional))):
        return signatures
    if path in rules.RETURNS_ARGUMENT and arguments.positional:
        return _as_list(path, arguments.positional[0])
    if path.endswith(".enter_context") and arguments.positional:
        return enter(reading, arguments.positional[0])
    result = av.External(rules.canonical(f"{path}()"), end_of(node), limited, function.for_types)
    return frozenset({result})


def signatures_in(values: av.Values) -> av.Values:
    """Return the signatures of tasks of this file among these values, also in lists."""
    listed = av.elements_of(frozenset(value for value in values if isinstance(value, av.Items)))
    return frozenset(value for value in values | listed if isinstance(value, av.External) and value.path == "@task.s()")


def _bound(function: av.External, arguments: Arguments) -> tuple[av.External, Arguments]:
    """Return the bound method and the other arguments of a call such as `Session.get(s, u)`."""
    owner, _, name = function.path.rpartition(".")
    path = rules.canonical(f"{rules.canonical(f'{owner}()')}.{name}")
    if path not in rules.CALLS or not arguments.positional:
        return function, arguments
    objects = [value for value in arguments.positional[0] if isinstance(value, av.External | av.Object)]
    site = objects[0].site if len(objects) == 1 else (0, 0)
    limited = any(isinstance(value, av.External) and value.limited for value in objects)
    return function._replace(path=path, site=site, limited=limited), Arguments(
        arguments.positional[1:], arguments.keywords
    )


def _as_list(path: str, values: av.Values) -> av.Values:
    if not path.startswith("builtins."):
        return values
    return values if any(isinstance(value, av.Items) for value in values) else av.UNKNOWN


def _call_special(reading: Reading, path: str, arguments: Arguments, node: ast.Call) -> av.Values | None:
    """Return the result of a call that makes names known: getattr, import_module, partial, dict …"""
    first = arguments.positional[0] if arguments.positional else av.NOTHING
    match path:
        case "builtins.getattr":
            name = arguments.text(1)
            found = av.UNKNOWN if name is None else attributes.attribute_of(reading, first, name, node)
            return _or_default(found, arguments, 2)
        case "builtins.next":
            return _or_default(av.UNKNOWN, arguments, 1)
        case "os.getenv" | "os.environ.get":
            return _or_default(av.UNKNOWN, arguments, 1) if len(arguments.positional) > 1 else av.UNKNOWN | av.NONE
        case "builtins.super":
            return _parent(reading, first)
        case "importlib.import_module" | "builtins.__import__":
            name = arguments.text(0)
            if name is None or name.startswith("."):
                return av.UNKNOWN
            reading.check_import(name, node)
            whole = path == "importlib.import_module" or arguments.keyword("fromlist") is not None
            return reading.external(name if whole or len(arguments.positional) > 3 else name.partition(".")[0])
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
            return attributes.attribute_of(reading, first, "__dict__", node)
        case "celery.shared_task" if len(first) == 1 and isinstance(only := next(iter(first)), av.Function):
            reading.functions[only.number].is_task = True
            return first
        case _:
            return _registered_task(reading, path, first)


def _parent(reading: Reading, first: av.Values) -> av.Values:
    """Return what `super()` is, also with the class as its first argument."""
    owners = {value.number for value in first if isinstance(value, av.Class)}
    if not first and reading.flow.info is not None and reading.flow.info.owner is not None:
        owners = {reading.flow.info.owner}
    return frozenset(map(av.Parent, owners)) or av.UNKNOWN


def _registered_task(reading: Reading, path: str, first: av.Values) -> av.Values | None:
    """Return the function that `app.task(function)` makes a task; None if the call is not one."""
    only = next(iter(first)) if len(first) == 1 else None
    if path != "celery.Celery().task" or not isinstance(only, av.Function):
        return None
    reading.functions[only.number].is_task = True
    return first


def _apply(reading: Reading, rule: rules.Rule, function: av.External, arguments: Arguments, node: ast.Call) -> bool:
    """Report what the rule finds in this call; True if the result has a time limit."""
    name = function.path.replace("()", "")
    match rule:
        case rules.Finding():
            reading.finding(rule.code, rule.message, node)
        case rules.Limit():
            return _apply_limit(reading, rule, function, arguments, node)
        case rules.MakesLimited():
            return missing_limit(rules.Limit(rule.keywords), arguments) is None
        case rules.Timeouts():
            missing = missing_part(rule, arguments)
            if missing is not None:
                reading.finding("NO_TIMEOUT", f"{name}() {missing}", node)
            return missing is None
        case rules.Starts():
            sites = (
                (end_of(node),) if rule.returns_handle and function.site == (0, 0) else (function.site, end_of(node))
            )
            reading.flow.starts.append(Start(sites, node, rule.what))
        case rules.WaitsFor():
            _wait(reading, rule, function, arguments)
        case rules.BlocksOn():
            message = f"{name}() may wait for ever: the socket has no time limit"
            reading.deferred.append(Deferred(node=node, message=message, site=function.site, flow=reading.flow))
            if function.limited:
                reading.limited_sockets.add(function.site)
        case rules.SetsLimit():
            _set_limit(reading, rule, function, arguments)
    return function.limited


def _apply_limit(
    reading: Reading, rule: rules.Limit, function: av.External, arguments: Arguments, node: ast.Call
) -> bool:
    missing = missing_limit(rule, arguments)
    if missing is None or (rule.by_object and function.limited and not missing.switched_off):
        return True
    message = f"{function.path.replace('()', '')}() {missing.why}"
    if rule.by_socket and not missing.switched_off:
        reading.deferred.append(Deferred(node=node, message=message, site=None, flow=reading.flow))
    else:
        reading.finding("NO_TIMEOUT", message, node)
    return False


def _wait(reading: Reading, rule: rules.WaitsFor, function: av.External, arguments: Arguments) -> None:
    if rule.arguments:
        for values in arguments.positional:
            reading.flow.waited.update(sites(values))
        return
    wait = arguments.keyword("wait") or (arguments.positional[0] if arguments.positional else None)
    if function.path.endswith(".shutdown") and wait == av.constant(False):
        return
    reading.flow.waited.add(function.site)


def _set_limit(reading: Reading, rule: rules.SetsLimit, function: av.External, arguments: Arguments) -> None:
    values = next(iter(arguments.positional), None) or next((value for _, value in arguments.keywords.entries), None)
    blocking = function.path.endswith("setblocking") and values != av.constant(False)
    if values is None or av.may_be_none(values) or blocking:
        return
    if rule.default:
        reading.flow.sets_socket_default = True
    else:
        reading.limited_sockets.add(function.site)


def _call_back(reading: Reading, path: str, arguments: Arguments, node: ast.Call, depth: int) -> None:
    """Judge the function that this call calls (`map`, `submit`, `Thread`) as if it were called here."""
    place = rules.CALLBACKS.get(path)
    if place is None or depth > 3:
        return
    functions, passed_on = arguments.split(*place)
    if path == "builtins.map":
        passed_on = Arguments(tuple(map(av.elements_of, arguments.positional[1:])), passed_on.keywords)
    for function in functions:
        if isinstance(function, av.External | av.Partial):
            call_value(reading, function, passed_on, node, depth + 1)

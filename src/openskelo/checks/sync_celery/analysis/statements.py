"""Reads statements in their order: branches, loops, assignments, imports and definitions."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from openskelo.checks.sync_celery import rules
from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis import (
    annotated_names,
    calls,
    containers,
    expressions,
    functions,
    narrowing,
    scopes,
)
from openskelo.checks.sync_celery.analysis.expressions import evaluate
from openskelo.checks.sync_celery.analysis.names import Names, merge_all
from openskelo.checks.sync_celery.analysis.reading import ClassInfo, Loop, Reading

#: Loops inside of loops are read twice up to this depth; deeper ones once.
_LOOPS_READ_TWICE = 3
#: What `finally` does is read for the end of `try`, and up to this depth for an exception in it.
_FINALLY_READ_TWICE = 3
_SUPPRESS = frozenset({"contextlib.suppress()"})
_TYPE_CHECKING = frozenset({"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"})


def read_block(reading: Reading, body: Sequence[ast.stmt]) -> bool:
    """Read statements; False if the code after them is not reached."""
    goes_on = True
    for statement in body:
        for names in reading.flow.interrupted[-1:]:
            names.append(reading.names)
        goes_on = _statement(reading, statement) and goes_on
    return goes_on


def _statement(reading: Reading, node: ast.stmt) -> bool:
    match node:
        case ast.Expr():
            evaluate(reading, node.value)
        case ast.Assign():
            values = evaluate(reading, node.value)
            for target in node.targets:
                _assign(reading, target, values)
        case ast.AnnAssign():
            _annotated_assignment(reading, node)
        case ast.AugAssign():
            _augmented_assignment(reading, node)
        case ast.Return():
            values = av.NONE if node.value is None else evaluate(reading, node.value)
            reading.returns(node, values)
            return False
        case ast.Raise():
            expressions.evaluate_children(reading, node)
            return False
        case ast.Break() | ast.Continue():
            for loop in reading.flow.loops[-1:]:
                (loop.breaks if isinstance(node, ast.Break) else loop.continues).append(reading.names)
            return False
        case ast.Assert():
            evaluate(reading, node.test)
            narrowing.narrow(reading, node.test, truth=True)
            if node.msg is not None:
                evaluate(reading, node.msg)
        case ast.If():
            return _if(reading, node)
        case ast.For() | ast.AsyncFor() | ast.While():
            return _loop(reading, node)
        case ast.With() | ast.AsyncWith():
            return _with(reading, node)
        case ast.Try() | ast.TryStar():
            return _try(reading, node)
        case ast.Match():
            return _match(reading, node)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            functions.define_named(reading, node, evaluate)
        case ast.ClassDef():
            _class_definition(reading, node)
        case ast.Import() | ast.ImportFrom():
            _import(reading, node)
        case ast.Delete():
            for target in node.targets:
                _delete(reading, target)
        case _:
            expressions.evaluate_children(reading, node)
    return True


def _annotated_assignment(reading: Reading, node: ast.AnnAssign) -> None:
    declared = annotated_names.instance_of(reading, node.annotation, evaluate)
    if node.value is None:
        values = declared
        if isinstance(node.target, ast.Name) and reading.scope.kind != "class":
            return  # a declaration assigns nothing
    else:
        values = evaluate(reading, node.value)
        if values == av.UNKNOWN:
            values = declared
    _assign(reading, node.target, values)


def _delete(reading: Reading, target: ast.expr) -> None:
    match target:
        case ast.Name():
            reading.names = reading.names.set(target.id, None)
        case ast.Tuple() | ast.List():
            for part in target.elts:
                _delete(reading, part)
        case ast.Subscript(value=ast.Name() as name):
            key = expressions.literal(reading, target.slice)
            reading.scope.bind(name.id, containers.without(evaluate(reading, name), key), target)
        case _:
            evaluate(reading, target)


def _augmented_assignment(reading: Reading, node: ast.AugAssign) -> None:
    added = evaluate(reading, node.value)
    values: av.Values | None = None
    if isinstance(node.target, ast.Name):
        before = reading.scope.find(node.target.id) or av.UNKNOWN
        if isinstance(node.op, ast.BitOr):
            values = containers.updated(before, added)
        elif any(isinstance(value, av.Items) for value in before):
            values = av.items([av.elements_of(before), av.elements_of(added)], exact=False)
    _assign(reading, node.target, values or av.UNKNOWN)


def _if(reading: Reading, node: ast.If) -> bool:
    """Read an `if` with all its further branches, which the parser nests in each other."""
    ends, hidden = list[Names](), 0
    while True:
        test = evaluate(reading, node.test)
        checking = _for_type_checker(reading, node.test, test)
        before = reading.names
        narrowing.narrow(reading, node.test, truth=True)
        reading.for_types += checking is True
        if read_block(reading, node.body):
            ends.append(reading.names)
        reading.for_types -= checking is True
        reading.names = before
        narrowing.narrow(reading, node.test, truth=False)
        reading.for_types += checking is False
        hidden += checking is False
        match node.orelse:
            case [ast.If() as following]:
                node = following
            case _:
                break
    if read_block(reading, node.orelse):
        ends.append(reading.names)
    reading.for_types -= hidden
    if ends:
        reading.names = merge_all(ends)
    return bool(ends)


def _for_type_checker(reading: Reading, node: ast.expr, values: av.Values) -> bool | None:
    """Return True if the branch is for the type checker only, False if all but it is, None if neither."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _for_type_checker(reading, node.operand, evaluate(reading, node.operand))
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        parts = [_for_type_checker(reading, part, evaluate(reading, part)) for part in node.values]
        return True if True in parts else None
    others = {value for value in values if not (isinstance(value, av.External) and value.path in _TYPE_CHECKING)}
    if others - av.constant(False):
        return None
    is_named_so = isinstance(node, ast.Name) and node.id == "TYPE_CHECKING"
    return True if is_named_so or len(others) < len(values) else None


def _loop(reading: Reading, node: ast.For | ast.AsyncFor | ast.While) -> bool:
    if isinstance(node, ast.AsyncFor):
        reading.finding("ASYNC_SYNTAX", "`async for` needs an event loop", node, end_line=node.iter.end_lineno)
    loop = Loop()
    reading.flow.loops.append(loop)
    for _ in range(2):
        start = reading.names
        if isinstance(node, ast.While):
            evaluate(reading, node.test)
            narrowing.narrow(reading, node.test, truth=True)
        else:
            _assign(reading, node.target, expressions.iterate(reading, node.iter))
        if read_block(reading, node.body):
            loop.continues.append(reading.names)
        reading.names = merge_all([start, *loop.continues])
        loop.continues.clear()
        if len(reading.flow.loops) > _LOOPS_READ_TWICE or reading.names is start:
            break
    reading.flow.loops.pop()
    if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
        reading.names = merge_all(loop.breaks or [reading.names])
        return bool(loop.breaks)
    if isinstance(node, ast.While):
        evaluate(reading, node.test)
        narrowing.narrow(reading, node.test, truth=False)
    if read_block(reading, node.orelse):
        loop.breaks.append(reading.names)
    if loop.breaks:
        reading.names = merge_all(loop.breaks)
    return bool(loop.breaks)


def _with(reading: Reading, node: ast.With | ast.AsyncWith) -> bool:
    if isinstance(node, ast.AsyncWith):
        last = node.items[-1]
        end = (last.optional_vars or last.context_expr).end_lineno
        reading.finding("ASYNC_SYNTAX", "`async with` needs an event loop", node, end_line=end)
    suppresses = False
    for item in node.items:
        values = evaluate(reading, item.context_expr)
        suppresses = suppresses or any(isinstance(value, av.External) and value.path in _SUPPRESS for value in values)
        entered = calls.enter(reading, values)
        if item.optional_vars is not None:
            _assign(reading, item.optional_vars, entered)
    if not suppresses:
        return read_block(reading, node.body)
    goes_on, interrupted = _read_interrupted(reading, node.body)
    reading.names = interrupted.merge(reading.names) if goes_on else interrupted
    return True


def _read_interrupted(reading: Reading, body: Sequence[ast.stmt]) -> tuple[bool, Names]:
    """Read statements; return what names stand for where an exception leaves them, too."""
    reading.flow.interrupted.append([reading.names])
    goes_on = read_block(reading, body)
    interrupted = merge_all(reading.flow.interrupted.pop())
    for names in reading.flow.interrupted[-1:]:
        names.append(interrupted)
    return goes_on, interrupted


def _try(reading: Reading, node: ast.Try | ast.TryStar) -> bool:
    if not node.finalbody:
        return _try_without_finally(reading, node)
    reading.flow.interrupted.append([reading.names])
    goes_on = _try_without_finally(reading, node)
    at_end, interrupted = reading.names, merge_all(reading.flow.interrupted.pop())
    for names in reading.flow.interrupted[-1:]:
        names.append(interrupted)
    if len(reading.flow.interrupted) < _FINALLY_READ_TWICE:
        reading.names = interrupted
        read_block(reading, node.finalbody)
    reading.names = at_end
    return read_block(reading, node.finalbody) and goes_on


def _try_without_finally(reading: Reading, node: ast.Try | ast.TryStar) -> bool:
    goes_on, interrupted = _read_interrupted(reading, node.body)
    goes_on = read_block(reading, node.orelse) and goes_on
    ends = [reading.names] if goes_on else []
    for handler in node.handlers:
        reading.names = interrupted
        if handler.type is not None:
            evaluate(reading, handler.type)
        if handler.name is not None:
            reading.scope.bind(handler.name, av.UNKNOWN, handler)
        if read_block(reading, handler.body):
            ends.append(reading.names)
    reading.names = merge_all(ends or [interrupted])
    return bool(ends)


def _match(reading: Reading, node: ast.Match) -> bool:
    subject = evaluate(reading, node.subject)
    ends, left_over = list[Names](), reading.names
    for case in node.cases:
        reading.names = left_over
        _pattern(reading, case.pattern, subject)
        if isinstance(case.pattern, ast.MatchSingleton) and case.guard is None:
            test = ast.Compare(node.subject, [ast.Is()], [ast.Constant(case.pattern.value)])
            narrowing.narrow(reading, test, truth=True)
            after = reading.names
            reading.names = left_over
            narrowing.narrow(reading, test, truth=False)
            left_over, reading.names = reading.names, after
        if case.guard is not None:
            evaluate(reading, case.guard)
            narrowing.narrow(reading, case.guard, truth=True)
        if read_block(reading, case.body):
            ends.append(reading.names)
    last = node.cases[-1]
    if last.guard is not None or not isinstance(last.pattern, ast.MatchAs) or last.pattern.pattern is not None:
        ends.append(left_over)  # no case may fit
    if ends:
        reading.names = merge_all(ends)
    return bool(ends)


def _pattern(reading: Reading, pattern: ast.pattern, subject: av.Values) -> None:
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is not None:
        reading.scope.bind(pattern.name, subject, pattern)
        return
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            reading.scope.bind(name, subject if node is pattern else av.UNKNOWN, node)
        elif isinstance(node, ast.MatchValue):
            evaluate(reading, node.value)
        elif isinstance(node, ast.MatchClass):
            evaluate(reading, node.cls)


def _assign(reading: Reading, target: ast.expr, values: av.Values) -> None:
    match target:
        case ast.Name():
            reading.scope.bind(target.id, values, target)
        case ast.Tuple() | ast.List():
            _assign_parts(reading, target, values)
        case ast.Starred():
            _assign(reading, target.value, av.items([values], exact=False))
        case ast.Attribute():
            _assign_attribute(reading, target, values)
        case ast.Subscript():
            evaluate(reading, target.slice)
            _assign_entry(reading, target, values)
        case _:
            evaluate(reading, target)


def _assign_parts(reading: Reading, target: ast.Tuple | ast.List, values: av.Values) -> None:
    if any(isinstance(part, ast.Starred) for part in target.elts):
        rest = av.elements_of(values)
        for part in target.elts:
            _assign(reading, part, rest)
        return
    calls.consume(reading, values)
    for part, part_values in zip(target.elts, av.unpack(values, len(target.elts)), strict=True):
        _assign(reading, part, part_values)


def _assign_attribute(reading: Reading, target: ast.Attribute, values: av.Values) -> None:
    for owner in evaluate(reading, target.value):
        if isinstance(owner, av.Object | av.Class):
            reading.classes[owner.number].attributes.add(target.attr, id(target), values)
        elif isinstance(owner, av.External) and (owner.path, target.attr) == ("httpx.Client()", "timeout"):
            _check_client_timeout(reading, values, target)


def _check_client_timeout(reading: Reading, values: av.Values, target: ast.Attribute) -> None:
    if av.may_be_none(values):
        reading.finding("NO_TIMEOUT", "the time limit of this httpx.Client is set to None", target)


def _assign_entry(reading: Reading, target: ast.Subscript, values: av.Values) -> None:
    owners = evaluate(reading, target.value)
    key = expressions.literal(reading, target.slice)
    if not isinstance(target.value, ast.Name) or key is None:
        return
    changed = [
        av.table([*owner.entries, (key, values)], open=owner.open) if isinstance(owner, av.Table) else owner
        for owner in owners
    ]
    reading.scope.bind(target.value.id, frozenset(changed), target)


def _import(reading: Reading, node: ast.Import | ast.ImportFrom) -> None:
    if isinstance(node, ast.ImportFrom):
        _import_from(reading, node)
        return
    for alias in node.names:
        reading.check_import(alias.name, node)
        root = alias.name.partition(".")[0]
        reading.scope.bind(alias.asname or root, reading.external(alias.name if alias.asname else root), alias)


def _import_from(reading: Reading, node: ast.ImportFrom) -> None:
    module = node.module or ""
    if node.level == 0 and rules.is_async(module):
        reading.check_import(module, node)
    for alias in node.names:
        if node.level:
            values = av.UNKNOWN
        elif alias.name == "*":
            if module in rules.MODULES:
                reading.module.star_imports[module] = None
            continue
        else:
            path = f"{module}.{alias.name}"
            reading.check_import(path, node)
            values = reading.external(path)
        if alias.name != "*":
            reading.scope.bind(alias.asname or alias.name, values, alias)


def _class_definition(reading: Reading, node: ast.ClassDef) -> None:
    for decorator in node.decorator_list:
        evaluate(reading, decorator)
    bases = [evaluate(reading, base) for base in node.bases]
    for keyword in node.keywords:
        evaluate(reading, keyword.value)
    number = reading.numbers.get(id(node))
    if number is None:
        number = reading.numbers[id(node)] = len(reading.classes)
        scope = scopes.Scope("class", reading.scope)
        reading.classes.append(ClassInfo(node, scope))
        reading.numbers[id(scope)] = number
    info = reading.classes[number]
    info.bases = frozenset[av.Value]().union(*bases)
    outer, reading.scope = reading.scope, info.scope
    info.scope.names = info.scope.no_names()
    read_block(reading, node.body)
    for name, values in info.scope.names.items():
        info.attributes.add(name, id(node), values)
    info.scope.names = None
    reading.scope = outer
    reading.scope.bind(node.name, frozenset({av.Class(number)}), node)

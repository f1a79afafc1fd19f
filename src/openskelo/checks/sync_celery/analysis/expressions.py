"""The values of expressions."""

from __future__ import annotations

import ast
import builtins

from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis import (
    annotated_names,
    attributes,
    calls,
    containers,
    functions,
    narrowing,
)
from openskelo.checks.sync_celery.analysis.arguments import Arguments
from openskelo.checks.sync_celery.analysis.reading import Reading

_BUILTINS = frozenset(dir(builtins))
_CAST: av.Values = frozenset({av.External("typing.cast")})


def evaluate(reading: Reading, node: ast.expr) -> av.Values:
    """Return the values of an expression; report what its calls do."""
    match node:
        case ast.Name():
            return _name(reading, node)
        case ast.Constant():
            return av.constant(node.value)
        case ast.Attribute():
            return attributes.attribute_of(reading, evaluate(reading, node.value), node.attr, node)
        case ast.Call():
            return _call(reading, node)
        case ast.Tuple() | ast.List() | ast.Set():
            return _display(reading, node)
        case ast.Dict():
            return _dict(reading, node)
        case ast.Subscript():
            return _subscript(reading, node)
        case ast.BinOp():
            return _binary(reading, node)
        case ast.BoolOp():
            return _boolean(reading, node)
        case ast.IfExp():
            return _conditional(reading, node)
        case ast.NamedExpr():
            values = evaluate(reading, node.value)
            reading.scope.bind(node.target.id, values, node.target)
            return values
        case ast.Lambda():
            functions.define(reading, node, evaluate)
            return frozenset({av.Function(reading.numbers[id(node)])})
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _comprehension(reading, node)
        case ast.Await():
            reading.finding("ASYNC_SYNTAX", "`await` needs an event loop", node)
            return evaluate(reading, node.value)
        case ast.Yield():
            values = av.NONE if node.value is None else evaluate(reading, node.value)
            reading.returns(node, values)
            return av.UNKNOWN
        case ast.YieldFrom():
            reading.returns(node, iterate(reading, node.value))
            return av.UNKNOWN
        case ast.Starred():
            return iterate(reading, node.value)
        case _:
            evaluate_children(reading, node)
            return av.UNKNOWN


def evaluate_children(reading: Reading, node: ast.AST) -> None:
    """Evaluate all expressions in a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            evaluate(reading, child)
        else:
            evaluate_children(reading, child)


def _name(reading: Reading, node: ast.Name) -> av.Values:
    values = reading.scope.find(node.id)
    if values is not None:
        return values
    stars = reading.module.star_imports
    if stars and node.id not in _BUILTINS:
        return av.join(attributes.attribute_of(reading, reading.external(module), node.id, node) for module in stars)
    return frozenset({av.External(f"builtins.{node.id}")}) if node.id in _BUILTINS else av.UNKNOWN


def _display(reading: Reading, node: ast.Tuple | ast.List | ast.Set) -> av.Values:
    elements = [evaluate(reading, element) for element in node.elts]
    starred = any(isinstance(element, ast.Starred) for element in node.elts)
    return av.items(elements, exact=not starred and not isinstance(node, ast.Set))


def _dict(reading: Reading, node: ast.Dict) -> av.Values:
    entries, is_open, others = list[tuple[object, av.Values]](), False, list[av.Values]()
    for key, value in zip(node.keys, node.values, strict=True):
        values = evaluate(reading, value)
        if key is None:
            tables = [table for table in values if isinstance(table, av.Table)]
            entries += [entry for table in tables for entry in table.entries]
            is_open = is_open or len(tables) < len(values) or any(table.open for table in tables)
            continue
        known = literal(reading, key)
        if known is None:
            is_open = True
            others += [evaluate(reading, key), values]
        else:
            entries.append((known, values))
    if others and not entries:
        return av.items(others, exact=False)
    return frozenset({av.table(entries, open=is_open)})


def _subscript(reading: Reading, node: ast.Subscript) -> av.Values:
    owners = evaluate(reading, node.value)
    evaluate(reading, node.slice)
    key = literal(reading, node.slice)
    found = list[av.Values]()
    for owner in owners:
        match owner:
            case av.Items():
                found.append(_element(owner, key))
            case av.Table():
                found.append(_entry(owner, key))
            case av.External(path="sys.modules") if isinstance(key, str):
                reading.check_import(key, node)
                found.append(reading.external(key))
            case av.External() if isinstance(key, str) and owner.path.endswith(".__dict__"):
                parent = owner._replace(path=owner.path.removesuffix(".__dict__"))
                found.append(frozenset({attributes.external_attribute(reading, parent, key, node)}))
            case _:
                found.append(av.UNKNOWN)
    return av.join(found)


def literal(reading: Reading, node: ast.expr) -> object:
    """Return the value of a literal, also behind a name that stands for one only; None if there is none."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int) else None
    if isinstance(node, ast.Name):
        values = reading.scope.find(node.id) or av.UNKNOWN
        only = next(iter(values)) if len(values) == 1 else None
        return only.value if isinstance(only, av.Constant) else None
    return None


def _binary(reading: Reading, node: ast.BinOp) -> av.Values:
    left: ast.expr = node
    rights = list[ast.expr]()
    while isinstance(left, ast.BinOp):  # a long sum is deep, not wide
        rights.append(left.right)
        left = left.left
    values = [evaluate(reading, left), *(evaluate(reading, right) for right in reversed(rights))]
    lists = [value for part in values for value in part if isinstance(value, av.Items)]
    if lists and isinstance(node.op, ast.Add):
        return av.items([av.elements_of(part) for part in values], exact=False)
    if isinstance(node.op, ast.BitOr) and (signatures := calls.signatures_in(av.join(values))):
        return signatures
    if isinstance(node.op, ast.BitOr) and len(values) == 2:
        return containers.updated(values[0], values[1]) or av.UNKNOWN
    return av.UNKNOWN


def _boolean(reading: Reading, node: ast.BoolOp) -> av.Values:
    before = reading.names
    parts = list[av.Values]()
    for part in node.values:
        parts.append(evaluate(reading, part))
        narrowing.narrow(reading, part, truth=isinstance(node.op, ast.And))
    after = reading.names
    reading.names = before.merge(after)
    if isinstance(node.op, ast.Or):
        return av.join([*(_truthy(part) for part in parts[:-1]), parts[-1]])
    return av.join(parts)


def _conditional(reading: Reading, node: ast.IfExp) -> av.Values:
    evaluate(reading, node.test)
    before = reading.names
    narrowing.narrow(reading, node.test, truth=True)
    first = evaluate(reading, node.body)
    after_first = reading.names
    reading.names = before
    narrowing.narrow(reading, node.test, truth=False)
    second = evaluate(reading, node.orelse)
    reading.names = after_first.merge(reading.names)
    return av.join((first, second))


def _comprehension(reading: Reading, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> av.Values:
    kept = reading.names
    targets = set[str]()
    for generator in node.generators:
        if generator.is_async:
            reading.finding("ASYNC_SYNTAX", "an asynchronous comprehension needs an event loop", node)
        elements = iterate(reading, generator.iter)
        targets.update(name.id for name in ast.walk(generator.target) if isinstance(name, ast.Name))
        _assign_in_comprehension(reading, generator.target, elements)
        for test in generator.ifs:
            evaluate(reading, test)
            narrowing.narrow(reading, test, truth=True)
    if isinstance(node, ast.DictComp):
        result = av.join((evaluate(reading, node.key), evaluate(reading, node.value)))
    else:
        result = evaluate(reading, node.elt)
    for name in targets:
        reading.names = reading.names.set(name, kept.get(name))
    return av.items([result], exact=False)


def _assign_in_comprehension(reading: Reading, target: ast.expr, values: av.Values) -> None:
    """Assign to the names of a comprehension, which are not those of the code around it."""
    match target:
        case ast.Name():
            reading.names = reading.names.set(target.id, values)
        case ast.Tuple() | ast.List() if not any(isinstance(part, ast.Starred) for part in target.elts):
            for part, part_values in zip(target.elts, av.unpack(values, len(target.elts)), strict=True):
                _assign_in_comprehension(reading, part, part_values)
        case _:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    reading.names = reading.names.set(name.id, av.UNKNOWN)


def iterate(reading: Reading, node: ast.expr) -> av.Values:
    """Return what a loop over this expression sees. A loop over the results of a pool waits for them."""
    values = evaluate(reading, node)
    calls.consume(reading, values)
    return av.elements_of(values)


def _call(reading: Reading, node: ast.Call) -> av.Values:
    called = evaluate(reading, node.func)
    arguments = _arguments(reading, node)
    if isinstance(node.func, ast.Attribute) and _is_plain(node.func.value):
        outcome = containers.call_method(evaluate(reading, node.func.value), node.func.attr, arguments)
        if outcome is not None:
            if outcome.changed is not None:
                _replace(reading, node.func.value, outcome.changed, node)
            return outcome.result
    if called == _CAST and len(node.args) == len(arguments.positional) == 2:
        return annotated_names.instance_of(reading, node.args[0], evaluate)
    return av.join(calls.call_value(reading, function, arguments, node) for function in called)


def _arguments(reading: Reading, node: ast.Call) -> Arguments:
    positional, is_open = list[av.Values](), False
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            exact = evaluate(reading, argument.value)
            known = [item for item in exact if isinstance(item, av.Items) and item.exact]
            if len(exact) == len(known) == 1:
                positional += known[0].elements
            else:
                is_open = True
            calls.consume(reading, exact)
            continue
        values = evaluate(reading, argument)
        if not is_open:
            positional.append(values)
    entries, open_keywords = list[tuple[object, av.Values]](), False
    for keyword in node.keywords:
        values = evaluate(reading, keyword.value)
        if keyword.arg is not None:
            entries.append((keyword.arg, values))
            continue
        tables = [table for table in values if isinstance(table, av.Table)]
        open_keywords = open_keywords or len(tables) < len(values) or any(table.open for table in tables)
        for key in dict.fromkeys(key for table in tables for key, _ in table.entries):
            if len(tables) == len(values) and all(key in dict(table.entries) for table in tables):
                entries.append((key, av.join(dict(table.entries)[key] for table in tables)))
    return Arguments(tuple(positional), av.table(entries, open=open_keywords))


def _replace(reading: Reading, target: ast.expr, values: av.Values, place: ast.AST) -> None:
    if isinstance(target, ast.Name):
        reading.scope.bind(target.id, values, place)
    elif isinstance(target, ast.Attribute):
        for owner in evaluate(reading, target.value):
            if isinstance(owner, av.Object | av.Class):
                reading.classes[owner.number].attributes.add(target.attr, id(place), values)


def _is_plain(node: ast.expr) -> bool:
    """True for a name, and for an attribute of a name."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))


def _truthy(values: av.Values) -> av.Values:
    return frozenset(value for value in values if not (isinstance(value, av.Constant) and not value.value))


def _element(owner: av.Items, key: object) -> av.Values:
    if owner.exact and isinstance(key, int) and -len(owner.elements) <= key < len(owner.elements):
        return owner.elements[key]
    return av.join(owner.elements)


def _entry(owner: av.Table, key: object) -> av.Values:
    if key is None:
        return av.join([*(values for _, values in owner.entries), *([av.UNKNOWN] if owner.open else [])])
    return dict(owner.entries).get(key, av.UNKNOWN)

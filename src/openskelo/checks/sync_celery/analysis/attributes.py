"""The attributes of values: of imported things, and of functions, classes and objects of the module."""

from __future__ import annotations

import ast

from openskelo.checks.sync_celery import rules
from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis.reading import Reading


def attribute_of(reading: Reading, owners: av.Values, name: str, node: ast.AST) -> av.Values:
    found = list[av.Values]()
    for owner in owners:
        match owner:
            case av.External():
                found.append(frozenset({external_attribute(reading, owner, name, node)}))
            case av.Object():
                found.append(attribute_of_object(reading, owner, name))
            case av.Parent():
                found.append(_inherited(reading, av.Object(owner.number, (-owner.number - 1, 0)), name))
            case av.Class():
                found.append(_attribute_of_class(reading, owner, name, node))
            case av.Function():
                found.append(_attribute_of_function(reading, owner, name))
            case _:
                found.append(av.UNKNOWN)
    return av.join(found)


def external_attribute(reading: Reading, owner: av.External, name: str, node: ast.AST) -> av.Value:
    path = rules.canonical(f"{owner.path}.{name}")
    written = f"{owner.path}.{name}"
    comes_in_here = rules.is_async(written) and not rules.is_async(owner.path)
    if comes_in_here and written not in reading.imported and not owner.for_types:
        reading.finding("ASYNC_LIBRARY", f"{written} is asynchronous", node)
    return owner._replace(path=path)


def attribute_of_object(reading: Reading, owner: av.Object, name: str, depth: int = 0) -> av.Values:
    info = reading.classes[owner.number]
    if name in info.attributes:
        values = info.attributes.values(name)
        return av.join(_property(reading, value) for value in values)
    return _inherited(reading, owner, name, depth)


def _inherited(reading: Reading, owner: av.Object, name: str, depth: int = 0) -> av.Values:
    found = list[av.Values]()
    for base in reading.classes[owner.number].bases:
        if isinstance(base, av.External):
            path = rules.canonical(f"{rules.canonical(f'{base.path}()')}.{name}")
            found.append(frozenset({av.External(path, owner.site, for_types=base.for_types)}))
        elif isinstance(base, av.Class) and depth < 10:
            found.append(attribute_of_object(reading, av.Object(base.number, owner.site), name, depth + 1))
    return av.join(found)


def _attribute_of_class(reading: Reading, owner: av.Class, name: str, node: ast.AST) -> av.Values:
    info = reading.classes[owner.number]
    if name in info.attributes:
        return info.attributes.values(name)
    bases = frozenset(base for base in info.bases if isinstance(base, av.External))
    return attribute_of(reading, bases, name, node) if bases else av.UNKNOWN


def _property(reading: Reading, value: av.Value) -> av.Values:
    if isinstance(value, av.Function) and reading.functions[value.number].is_property:
        return reading.result(value)
    return frozenset({value})


def _attribute_of_function(reading: Reading, owner: av.Function, name: str) -> av.Values:
    if reading.functions[owner.number].is_task:
        if name in ("delay", "apply_async"):
            return frozenset({av.External(f"@task.{name}")})
        if name in ("s", "si", "signature", "subtask"):
            return frozenset({av.External("@task.s")})
    return av.UNKNOWN


def external_bases(reading: Reading, number: int, depth: int = 0) -> list[av.External]:
    found = list[av.External]()
    for base in reading.classes[number].bases:
        if isinstance(base, av.External):
            found.append(base)
        elif isinstance(base, av.Class) and depth < 10:
            found += external_bases(reading, base.number, depth + 1)
    return found

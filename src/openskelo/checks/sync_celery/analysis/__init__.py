"""Reads a module as Python would run it, without running it, and finds what a synchronous worker must not do.

    statements  ->  expressions  ->  calls of values  ->  rules  ->  findings

    statements        branches, loops, assignments, imports, classes        (narrowing: what a test says of a name)
    expressions       what an expression may be                             (abstract_values, attributes, containers)
    functions         parameters and decorators; bodies are read later      (annotated_names, scopes, names)
    calls             what a call does                                      (arguments)
    reading           what is known so far, and what was found              (names: what each stands for)

Code is read in its order. Branches are read one after the other and then merged; a loop is read twice, so that what its
end assigns is known at its begin. The body of a function is read after the code around it, because it runs later. All
of this happens twice: the first time finds what is assigned to the attributes of classes and to the names of enclosing
scopes, the second time reports.
"""

from __future__ import annotations

import ast

from openskelo.checks.sync_celery.analysis import expressions, statements
from openskelo.checks.sync_celery.analysis.reading import Flow, Found, FunctionInfo, Reading, parameters_of

__all__ = ["Found", "analyse"]


def analyse(tree: ast.Module) -> list[Found]:
    """Return the findings in a module, in the order of lines. Raise RecursionError if it is nested too deeply."""
    reading = Reading()
    _read(reading, tree)
    reading.report = True
    _read(reading, tree)
    return sorted(reading.found.values(), key=lambda found: (found.line, found.column, found.code))


def _read(reading: Reading, tree: ast.Module) -> None:
    """Read the module once: its own code, then the functions."""
    reading.start()
    statements.read_block(reading, tree.body)
    reading.end_flow()
    reading.module.names = None
    while reading.waiting:
        _read_function(reading, reading.waiting.pop(0))
    reading.report_deferred()


def _read_function(reading: Reading, info: FunctionInfo) -> None:
    node = info.node
    reading.scope, reading.flow = info.scope, Flow(info)
    bindings = info.scope.bindings
    parameters = {arg.arg: bindings.values_at(arg.arg, id(arg)) for arg in parameters_of(node.args)}
    info.scope.names = info.scope.no_names().update(parameters)
    if isinstance(node, ast.Lambda):
        reading.returns(node.body, expressions.evaluate(reading, node.body))
    else:
        statements.read_block(reading, node.body)
    reading.end_flow()
    info.scope.names = None

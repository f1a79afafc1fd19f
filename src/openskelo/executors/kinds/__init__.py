"""The executors by kind of work: each kind is one module of this package, named after it, with an `EXECUTOR`.

A module is imported when a node first needs it, so that a run loads only the executors it uses.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import cast

from openskelo.executors import api
from openskelo.kernel import definition


def kind_of(node: definition.Node) -> str:
    """Return the kind of work of `node`: steps of plans and turns of live graphs have executors of their own."""
    if node.step is not None:
        return "op"
    if node.turn is not None:
        return "graph_turn"
    if node.work.is_subworkflow:  # its entry and its exit pass values on, as `builtin:pass` does
        return "deterministic"
    return node.mode


def executor_for(node: definition.Node) -> api.Executor:
    """Return the executor that performs `node`."""
    return get(kind_of(node))


@functools.cache
def get(kind: str) -> api.Executor:
    """Return the executor of this kind."""
    module = importlib.import_module(f"{__name__}.{kind}")
    return cast("api.Executor", module.EXECUTOR)


def all_kinds() -> tuple[str, ...]:
    """Return the names of all kinds of work."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))

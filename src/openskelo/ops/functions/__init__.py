"""Functions by name, for the ops `tool_call`, `verify` and `transform`: the project's own, and the built-in ones.

The project's registry comes first, then the built-in files of `ops/tools`, `ops/checkers` and `ops/transforms`: each is
a `Function` or a `Tool`, so an op calls all of them in the same way. `arguments` merges what the plan says with what
the project has fixed, and checks the result against the function's schema before each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

from openskelo.handlers import project_registry
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import checkers, tools, transforms

_Entry_co = TypeVar("_Entry_co", covariant=True)


class _Definition(Protocol[_Entry_co]):
    @property
    def entry(self) -> _Entry_co: ...


class _Entries(Mapping[str, _Entry_co]):
    """The entries of a catalog's definitions; a definition is imported when its entry is asked for."""

    def __init__(self, definitions: Mapping[str, _Definition[_Entry_co]]) -> None:
        self._definitions = definitions

    def __getitem__(self, name: str) -> _Entry_co:
        return self._definitions[name].entry

    def __contains__(self, name: object) -> bool:
        return name in self._definitions

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)


#: Arguments of the project's own functions that are used as written: skelo.yaml cannot say which are.
_CONSTANT_ARGS_OF_PROJECT = frozenset({"schema", "pattern", "argv", "template", "separator"})

TOOLS: Mapping[str, project_registry.Tool] = _Entries(tools.TOOLS)
CHECKERS: Mapping[str, project_registry.Function] = _Entries(checkers.CHECKERS)
TRANSFORMS: Mapping[str, project_registry.Function] = _Entries(transforms.TRANSFORMS)


def tool(registry: project_registry.Registry, name: str) -> project_registry.Tool | None:
    """Return the tool of that name: the project's own, or else the built-in one."""
    return registry.tools.get(name) or TOOLS.get(name)


def checker(registry: project_registry.Registry, name: str) -> project_registry.Function | None:
    """Return the checker of that name: the project's own, or else the built-in one."""
    return registry.checkers.get(name) or CHECKERS.get(name)


def transform(registry: project_registry.Registry, name: str) -> project_registry.Function | None:
    """Return the transform of that name: the project's own, or else the built-in one."""
    return registry.transforms.get(name) or TRANSFORMS.get(name)


def constant_args(registry: project_registry.Registry, args: JsonObject) -> frozenset[str]:
    """Return the arguments that the function named in a step's arguments uses as written: a ref in them is text."""
    match args:
        case {"checker_id": str() as name}:
            function = checker(registry, name)
        case {"fn": str() as name}:
            function = transform(registry, name)
        case _:
            function = None
    if function is None or function.kind != "builtin":
        return _CONSTANT_ARGS_OF_PROJECT
    return _definition(function.target).constant_args


def compilers(target: str) -> Mapping[str, Callable[[Json], object]]:
    """Return what compiles the arguments of a built-in checker or transform, by argument (InvalidInput)."""
    return _definition(target).compiles


def _definition(target: str) -> checkers.Checker | transforms.Transform:
    return checkers.CHECKERS[target] if target in checkers.CHECKERS else transforms.TRANSFORMS[target]

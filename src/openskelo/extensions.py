"""Base of every extension point: a catalog that finds definitions by their files, and the report of a load-time check.

An extension (a built-in handler, a gate type, an op, a checker, a tool, a transform, a kind of provider) is one module
of a package. The module holds one constant, the definition: name, schema, documentation line and function together.
Adding the file registers the extension:

    handlers/builtin/csv_read.py    HANDLER = builtin.Handler(name="builtin:csv-read", config=…, run=…, …)
    handlers/builtin/__init__.py    HANDLERS = Catalog(__name__, "HANDLER", Handler, prefix="builtin:", separator="-")

The name follows from the file's name, so looking up one name imports one module, and listing the names imports none:
start-up stays fast. For the same reason an extension imports heavy libraries inside its function, not at the top of
its module. `tests/test_extensions.py` checks that every definition has the name of its file.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Protocol, TypeVar

from openskelo.kernel.json import Json

_Definition = TypeVar("_Definition")


class Catalog(Mapping[str, _Definition]):
    """The definitions in the modules of one package, by name, in alphabetical order.

    A module is imported when its definition is first asked for. The module's name is the definition's name, with
    `separator` in the place of `_` and `prefix` in front; a trailing `_` (`pass_.py`) avoids a keyword of Python.
    """

    def __init__(
        self, package: str, constant: str, kind: type[_Definition], *, prefix: str = "", separator: str = "_"
    ) -> None:
        self._package = package
        self._constant = constant
        self._kind = kind
        self._prefix = prefix
        self._separator = separator

    @functools.cached_property
    def _modules(self) -> Mapping[str, str]:
        """The full module name of each definition, by the definition's name."""
        folders = importlib.import_module(self._package).__path__
        modules = [module.name for module in pkgutil.iter_modules(folders) if not module.ispkg]
        return {self._name(module): f"{self._package}.{module}" for module in modules}

    def _name(self, module: str) -> str:
        return self._prefix + module.rstrip("_").replace("_", self._separator)

    def __getitem__(self, name: str) -> _Definition:
        module = importlib.import_module(self._modules[name])
        definition = getattr(module, self._constant, None)
        if not isinstance(definition, self._kind):
            raise TypeError(f"{module.__name__} has no constant {self._constant} of type {self._kind.__name__}")
        return definition

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class Position(Protocol):
    """A value in a workflow file: where a load-time check finds it and reports a Problem about it.

    The loader implements it (`workflows.text.cursor.Cursor`).
    """

    @property
    def value(self) -> Json: ...

    def at(self, part: str | int, value: Json, /) -> Position:
        """Return the position one step below."""
        ...

    def problem(self, code: str, message: str, *, hint: str | None = None) -> None:
        """Report an error at this value."""
        ...

    def key_problem(self, code: str, message: str, *, hint: str | None = None) -> None:
        """Report an error at the key of this value."""
        ...

    def problem_within(self, offset: int, code: str, message: str, *, hint: str | None = None) -> None:
        """Report an error at the character `offset` of this text."""
        ...

    def warn(self, code: str, message: str, *, hint: str | None = None) -> None:
        """Report a warning at this value."""
        ...

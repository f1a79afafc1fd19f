"""The checkers: each module of this package is one (`docs/extending/checker.md` says how to add one).

A checker looks at a value and returns a verdict, `{"ok": true or false, …}`. A module holds the constant `CHECKER`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from openskelo import errors
from openskelo.extensions import Catalog
from openskelo.handlers import project_registry
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.structs import field, frozen

#: How many findings of one kind a verdict lists.
MOST_LISTED = 20


@frozen
class CheckContext:
    """The arguments of a checker."""

    #: The arguments of the step, with what the project fixed over them.
    args: JsonObject
    #: Only the arguments that the project fixed.
    fixed: JsonObject
    project: Project
    timeout_ms: int
    #: Becomes the log of the attempt.
    log: list[str]

    @property
    def value(self) -> Json:
        """The value that is checked."""
        return self.args.get("input_ref")

    def text(self, name: str, default: str = "") -> str:
        """Return a text among the arguments."""
        value = self.args.get(name, default)
        return value if isinstance(value, str) else default

    def flag(self, name: str) -> bool:
        """Return a switch among the arguments; off when it is absent."""
        return self.args.get(name) is True

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts among the arguments."""
        value = self.args.get(name)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return tuple(str(item) for item in value)
        return ()

    def folder(self) -> Path:
        """Return the folder that `repo` names, inside the project's read roots (AttemptFailed DET_PATH_INVALID)."""
        from openskelo.programs import git  # noqa: PLC0415 -- imports asyncio

        return git.folder_of(self.text("repo", "."), self.project)


@frozen
class Checker:
    """A built-in checker."""

    name: str
    #: When the value passes.
    summary: str
    #: The JSON Schema of its arguments, beside `checker_id` and `input_ref`.
    args: JsonObject
    check: Callable[[CheckContext], Awaitable[JsonObject]]
    #: A step has to give `input_ref`.
    needs_input: bool = True
    #: The verdict depends on more than the arguments.
    reads_outside: bool = False
    #: It runs the command in its argument `argv`: unless the project fixes that, it has to allow commands.
    runs_command: bool = False
    #: Markdown for its row in the reference.
    doc: str = ""
    #: Arguments that are used as they are written: a ref in them is text.
    constant_args: frozenset[str] = frozenset()
    #: Arguments that are compiled when it runs; the loader compiles them before (InvalidInput).
    compiles: Mapping[str, Callable[[Json], object]] = field(default_factory=dict[str, Callable[[Json], object]])

    @property
    def entry(self) -> project_registry.Function:
        """The checker as a project registers its own."""
        return project_registry.Function(
            name=self.name, kind="builtin", target=self.name, args=self.args, needs_input=self.needs_input
        )


CHECKERS: Mapping[str, Checker] = Catalog(__name__, "CHECKER", Checker)

# JSON Schemas that arguments are made of.
TEXT: JsonObject = {"type": "string", "minLength": 1}
FLAG: JsonObject = {"type": "boolean"}
COUNT: JsonObject = {"type": "integer", "minimum": 1}


def args_schema(properties: JsonObject, **more: Json) -> JsonObject:
    """Return the JSON Schema of arguments with these keys and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def failed(reason: str, **more: Json) -> JsonObject:
    """Return a verdict against the value."""
    return {"ok": False, "reason": reason, **more}


def unusable(what: str, hint: str | None = None) -> errors.AttemptFailed:
    """Return the failure of a check that cannot be made, independent of the value."""
    return errors.AttemptFailed(what, code="CHECKER_FAILED", hint=hint, retryable=False)

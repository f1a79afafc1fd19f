"""What a checker is given, and the parts of it that all of them read alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openskelo import errors
from openskelo.executors import git, job, task
from openskelo.frozen import frozen
from openskelo.kernel.json import Json, JsonObject

#: How many findings of one kind a verdict lists.
MOST = 20


@frozen
class Asked:
    """`args` are those of the step, with what the project fixed over them; `fixed` are the latter alone."""

    args: JsonObject
    fixed: JsonObject
    job: job.Job
    project: task.Project
    timeout_ms: int

    @property
    def value(self) -> Json:
        """What is checked."""
        return self.args.get("input_ref")

    def text(self, name: str, default: str = "") -> str:
        """A text among the arguments; the schema has checked it."""
        value = self.args.get(name, default)
        return value if isinstance(value, str) else default

    def flag(self, name: str) -> bool:
        """A switch among the arguments; off when it is not given."""
        return self.args.get(name) is True

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts among the arguments."""
        value = self.args.get(name)
        return tuple(str(one) for one in value) if isinstance(value, Sequence) and not isinstance(value, str) else ()

    def folder(self) -> Path:
        """The folder that `repo` names, inside of what the project may read (AttemptFailed DET_PATH_INVALID)."""
        return git.folder_of(self.text("repo", "."), self.project)


def no(reason: str, **more: Json) -> JsonObject:
    """A verdict against the value."""
    return {"ok": False, "reason": reason, **more}


def unusable(what: str, hint: str | None = None) -> errors.AttemptFailed:
    """The failure of a check that cannot be made, whatever the value is."""
    return errors.AttemptFailed(what, code="CHECKER_FAILED", hint=hint, retryable=False)

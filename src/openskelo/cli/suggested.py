"""A command that is suggested, as it has to be typed where its reader stands: with the folder and data dir it needs."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path

from openskelo import errors
from openskelo.engine import place as engine_place
from openskelo.executors import task


class Suggested:
    """Makes commands about the runs of one data dir; the current folder's own need nothing more."""

    def __init__(self, where: task.Project) -> None:
        self._where = where

    def __call__(self, command: str) -> str:
        """The command with what it needs around it."""
        before, after = self._around
        return f"{before}{command}{after}"

    @functools.cached_property
    def _around(self) -> tuple[str, str]:
        """The project counts, too, and not only the data dir: it is where a run's handlers are found."""
        where = self._where
        here = _project(Path())
        at_home = here is not None and here.root == where.root
        usual = here if at_home else _project(where.root)
        before = "" if at_home else f"cd {shlex.quote(str(where.root))} && "
        if usual is not None and usual.data_dir == where.data_dir:
            return before, ""
        return before, f" --data-dir {shlex.quote(str(where.data_dir))}"


def _project(path: Path) -> task.Project | None:
    try:
        return engine_place.project_at(path)
    except errors.InvalidInput:
        return None  # its skelo.yaml has Problems

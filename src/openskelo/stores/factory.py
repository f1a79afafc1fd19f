"""Open the store of a project. Only this module knows which kind of store that is.

The engine, the readers of the log and the command line call `open_store` and then use the Protocols of `api`. Today
every data dir holds an SQLite store; another kind is one more branch here. SQLite is imported when a store is opened:
a caller that brings its own store, such as a test with the one in memory, does not load it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from openskelo import errors
from openskelo.project import Project
from openskelo.stores import api


def open_store(project: Project, *, read_only: bool = False) -> api.Store:
    """Return the store of a project's data dir, which is created if it is missing.

    `read_only` is for a caller that only reads. It also opens a data dir that this process cannot write, such as an
    archive; writing then raises StoreError (STORE_READONLY). Raises StoreVersion for a data dir of another
    version, Corrupt for a damaged one.
    """
    from openskelo.stores.sqlite import data_dir as sqlite_data_dir  # noqa: PLC0415  see above

    if read_only:
        return sqlite_data_dir.open_read_only(project.data_dir)
    return sqlite_data_dir.open_store(project.data_dir)


def has_store(project: Project) -> bool:
    """True if the project's data dir holds a store. Raises StoreVersion if it is of another version."""
    from openskelo.stores.sqlite import data_dir as sqlite_data_dir  # noqa: PLC0415  see above

    return sqlite_data_dir.exists(project.data_dir)


def require_store(project: Project, hint: Callable[[], str | None] = lambda: None) -> None:
    """Raise NotFound if the project's data dir holds no store: nothing was ever run there."""
    if not has_store(project):
        raise errors.NotFound(f"no runs are kept in {project.data_dir}", code="RUN_NOT_FOUND", hint=hint())


def find_damaged(project: Project) -> Sequence[Path]:
    """Return the files of the store that were damaged, and kept under another name when it was opened."""
    from openskelo.stores.sqlite import damaged_wal  # noqa: PLC0415  see above

    return damaged_wal.find_kept(project.data_dir)

"""Where a command works: the project's root, its data dir, and what the project allows."""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from openskelo import errors
from openskelo.executors import task
from openskelo.stores import log as stores_log
from openskelo.workflows import project as project_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A project as one command sees it; all paths are real and absolute."""

    root: Path
    data_dir: Path
    project: task.Project


def of_args(args: argparse.Namespace, workflow: Path | None = None) -> Place:
    """The place of a command: near the workflow file when there is one, else near the current folder."""
    root = project_files.find_root(workflow if workflow is not None else Path.cwd()).resolve()
    file = project_files.load(root)
    given: str | None = args.data_dir or os.environ.get("SKELO_HOME")
    data_dir = _real(Path.cwd(), given) if given else _real(root, file.data_dir or project_files.DATA_DIR)
    return Place(root=root, data_dir=data_dir, project=project_of(file, root=root, data_dir=data_dir))


def project_of(file: project_files.ProjectFile, *, root: Path, data_dir: Path) -> task.Project:
    """The executors' view of `skelo.yaml`."""
    return task.Project(
        root=root,
        data_dir=data_dir,
        write_roots=tuple(_real(root, text) for text in file.write_roots),
        read_roots=tuple(_real(root, text) for text in file.read_roots),
        allow_commands=file.allow_commands,
        allow_private_addresses=file.allow_private_addresses,
        secrets=file.secrets,
    )


def _real(base: Path, text: str) -> Path:
    try:
        return (base / Path(text).expanduser()).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise errors.InvalidInput(f"{text!r} is no usable path: {error}", code="PATH_INVALID") from error


def workflow_file(text: str) -> Path:
    """The path of a workflow file that a command was given; it must be there."""
    path = Path(text)
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        raise errors.InvalidInput(f"{text!r} is no path: {error}", code="FILE_UNREADABLE") from error
    if is_folder:
        raise errors.InvalidInput(
            f"{text} is a folder, not a workflow file",
            code="FILE_UNREADABLE",
            hint="name the .yaml or .json file in it",
        )
    if not is_there:
        raise errors.InvalidInput(f"there is no file {text}", code="FILE_NOT_FOUND")
    return path


def has_runs(place: Place) -> bool:
    """Whether anything was ever run with this data dir."""
    from openskelo.stores import datadir  # noqa: PLC0415 - commands without a log do without it

    return datadir.exists(place.data_dir)


@asynccontextmanager
async def reading(place: Place) -> AsyncGenerator[stores_log.Log]:
    """The log of a data dir that exists already; NotFound when nothing was ever run here."""
    if not has_runs(place):
        raise errors.NotFound(
            f"no runs are kept in {place.data_dir}",
            code="RUN_NOT_FOUND",
            hint="run something first, or give --data-dir",
        )
    from openskelo.stores import datadir  # noqa: PLC0415 - commands without a log do without it

    log = datadir.open_log(place.data_dir)
    try:
        yield log
    finally:
        await log.close()

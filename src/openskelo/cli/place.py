"""Where a command works: the project around its file or the current folder, and the log of that project."""

from __future__ import annotations

import argparse
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from openskelo import errors
from openskelo.engine import place as engine_place
from openskelo.executors import task
from openskelo.stores import datadir, sqlite
from openskelo.stores import log as stores_log
from openskelo.workflows import project as project_files

#: What follows a workflow's name in that of its test script.
_SCRIPT = ".test.yaml"


def of_args(args: argparse.Namespace, workflow: Path | None = None) -> task.Project:
    """The project of a command: near the workflow file when there is one, else near the current folder.

    Without a file, a data dir that is a project's own brings its project along: its runs find their handlers there.
    """
    near = workflow or (_owner(args.data_dir) if args.data_dir else None) or Path()
    return engine_place.project_at(near, data_dir=args.data_dir)


def _owner(data_dir: str) -> Path | None:
    """The folder whose `skelo.yaml` leads to this data dir, where that is in it."""
    try:
        given = Path(data_dir).expanduser().resolve()
        is_project = (given.parent / project_files.FILE).is_file()
    except (OSError, ValueError, RuntimeError):
        return None  # whoever opens it says what is wrong
    if not is_project:
        return None
    usual = project_files.load(given.parent).data_dir or project_files.DATA_DIR
    return given.parent if (given.parent / usual).resolve() == given else None


def script_of(workflow: Path) -> Path:
    """Where the test script of a workflow is, unless somebody says otherwise."""
    return workflow.with_name(workflow.stem + _SCRIPT)


def tested_by(path: Path) -> Path | None:
    """The workflow beside a test script; None for a file that is no script, or stands alone."""
    if not path.name.endswith(_SCRIPT):
        return None
    beside = (path.with_name(path.name.removesuffix(_SCRIPT) + ending) for ending in (".yaml", ".yml", ".json"))
    return next((workflow for workflow in beside if workflow.is_file()), None)


def workflow_file(text: str) -> Path:
    """The path of a workflow file that a command was given; it must be there."""
    path = Path(text)
    there = is_there(path)
    if path.is_dir():
        raise errors.InvalidInput(
            f"{text} is a folder, not a workflow file",
            code="FILE_UNREADABLE",
            hint="name the .yaml or .json file in it",
        )
    if not there:
        from openskelo.workflows import nearby  # noqa: PLC0415 - needed for a mistake only

        hint = nearby.meant(path, text, kind=_may_be_a_workflow)
        raise errors.InvalidInput(f"there is no file {text}", code="FILE_NOT_FOUND", hint=hint)
    return path


def _may_be_a_workflow(path: Path) -> bool:
    return path.suffix in (".yaml", ".yml", ".json") and not path.name.endswith(_SCRIPT) and path.is_file()


def is_there(path: Path) -> bool:
    """Whether the path leads to something; InvalidInput for a name that the file system does not take."""
    try:
        return path.exists()
    except (OSError, ValueError) as error:
        raise errors.InvalidInput(f"{str(path)!r} is no path: {error}", code="FILE_UNREADABLE") from error


def has_runs(project: task.Project) -> bool:
    """Whether anything was ever run with this data dir."""
    with _named():
        return datadir.exists(project.data_dir)


@asynccontextmanager
async def reading(project: task.Project) -> AsyncGenerator[stores_log.Log]:
    """The log of a data dir that exists already, to look at; NotFound when nothing was ever run here."""
    log = _opened(project, datadir.look)
    try:
        yield log
    finally:
        await log.close()


def open_log(project: task.Project) -> stores_log.Log:
    """As `reading`, to be written, too; whoever calls this closes it."""
    return _opened(project, datadir.open_log)


def write_copy(log: stores_log.Log, run_id: str) -> None:
    """Make the `events.jsonl` of a run that nobody drives exactly what the log holds, where the log has such files."""
    if isinstance(log, sqlite.SqliteLog):
        log.repair(run_id)


def make_log(project: task.Project, *, timed: bool = False) -> stores_log.Log:
    """The log of a data dir, made if it is missing; InvalidInput when there can be none in that place."""
    with _named():
        return datadir.open_log(project.data_dir, timed=timed)


def _opened(project: task.Project, how: Callable[[Path], stores_log.Log]) -> stores_log.Log:
    if not has_runs(project):
        raise errors.NotFound(
            f"no runs are kept in {project.data_dir}",
            code="RUN_NOT_FOUND",
            hint="run something first, or give --data-dir",
        )
    with _named():
        return how(project.data_dir)


@contextmanager
def _named() -> Generator[None]:
    """What keeps a log from being opened is the caller's to mend, unless it is about the data dir itself."""
    try:
        yield
    except (errors.StoreVersion, errors.Corrupt, errors.StoreFull):
        raise
    except errors.StoreError as error:
        raise errors.InvalidInput(error.message, code=error.code, hint=error.hint) from error

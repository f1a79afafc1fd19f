"""Resolve what a command works with: the project, its store, the workflow file, the current user, and the run or
artifact that the user names; and hints to type next.

The project is the one around the workflow file, else around the current folder, else the owner of `--data-dir`. Reading
commands open the store of an existing data dir and fail with RUN_NOT_FOUND without one; they never create one.
"""

from __future__ import annotations

import argparse
import functools
import os
import pwd
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import orjson

from openskelo import clock, errors
from openskelo.cli import json_fields, output
from openskelo.history import loading, run_document
from openskelo.kernel import answers, definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.stores import api, factory
from openskelo.workflows import load
from openskelo.workflows.project import project_file

#: The ending of a test script: `flow.yaml` is tested by `flow.test.yaml`.
_SCRIPT = ".test.yaml"


def from_args(args: argparse.Namespace, workflow: Path | None = None) -> Project:
    """Return the project of a command: the one around the workflow file, else around the current folder.

    Without a workflow file, the data dir of another project selects that project, because its runs need its handlers.
    """
    near = workflow or (_owner(args.data_dir) if args.data_dir else None) or Path()
    return project_file.project_at(near, data_dir=args.data_dir)


def _owner(data_dir: str) -> Path | None:
    """Return the folder whose `skelo.yaml` names this data dir, if the data dir is in that folder."""
    try:
        path = Path(data_dir).expanduser().resolve()
        is_project = (path.parent / project_file.FILE).is_file()
    except (OSError, ValueError, RuntimeError):
        return None  # opening the data dir reports what is wrong with it
    if not is_project:
        return None
    configured_dir = project_file.load(path.parent).data_dir or project_file.DATA_DIR
    if (path.parent / configured_dir).resolve() == path:
        return path.parent
    return None


def script_of(workflow: Path) -> Path:
    """Return the default path of the test script of a workflow."""
    return workflow.with_name(workflow.stem + _SCRIPT)


def tested_by(path: Path) -> Path | None:
    """Return the workflow beside a test script; None if the file is not a script or has no workflow beside it."""
    if not path.name.endswith(_SCRIPT):
        return None
    beside = (path.with_name(path.name.removesuffix(_SCRIPT) + ending) for ending in (".yaml", ".yml", ".json"))
    return next((workflow for workflow in beside if workflow.is_file()), None)


def workflow_file(text: str) -> Path:
    """Return the path of a workflow file. Raise InvalidInput if there is no such file."""
    path = Path(text)
    exists = path_exists(path)
    if path.is_dir():
        raise errors.InvalidInput(
            f"{text} is a folder, not a workflow file",
            code="FILE_UNREADABLE",
            hint="name the .yaml or .json file in it",
        )
    if not exists:
        from openskelo.workflows.text import problems as text_problems  # noqa: PLC0415 - needed for a mistake only

        hint = text_problems.similar_path(path, text, accept=_may_be_a_workflow)
        raise errors.InvalidInput(f"there is no file {text}", code="FILE_NOT_FOUND", hint=hint)
    return path


def _may_be_a_workflow(path: Path) -> bool:
    return path.suffix in (".yaml", ".yml", ".json") and not path.name.endswith(_SCRIPT) and path.is_file()


def path_exists(path: Path) -> bool:
    """True if the path exists. Raise InvalidInput for a name that the file system does not accept."""
    try:
        return path.exists()
    except (OSError, ValueError) as error:
        raise errors.InvalidInput(f"{str(path)!r} is not a path: {error}", code="FILE_UNREADABLE") from error


def has_runs(project: Project) -> bool:
    """True if this data dir has a store, even an empty one."""
    with _as_invalid_input():
        return factory.has_store(project)


@asynccontextmanager
async def reading(project: Project) -> AsyncGenerator[api.Store]:
    """Open the store of an existing data dir for reading. Raise NotFound if there is no store."""
    log = _open_existing(project, read_only=True)
    try:
        yield log
    finally:
        await log.close()


def open_existing_store(project: Project) -> api.Store:
    """Return the store of an existing data dir for writing; the caller closes it. Raise NotFound without a data dir."""
    return _open_existing(project)


def open_store(project: Project) -> api.Store:
    """Return the store of a data dir, and create it if it is missing. Raise InvalidInput if it cannot be created."""
    with _as_invalid_input():
        return factory.open_store(project)


def _open_existing(project: Project, *, read_only: bool = False) -> api.Store:
    where = with_runs(project) if read_only else project
    with _as_invalid_input():
        factory.require_store(
            where, lambda: _where_hint(data_dirs_below(where)) or "run something first, or give --data-dir"
        )
        return factory.open_store(where, read_only=read_only)


#: How far below the current folder, and in how many folders, runs are looked for.
_SEARCH_DEPTH = 3
_SEARCH_FOLDERS = 2000


def data_dirs_below(project: Project) -> list[Path]:
    """Return the data dirs below the current folder, if it is no project and has no runs of its own.

    `skelo run FOLDER/flow.yaml` outside a project keeps its runs in that folder.
    """
    try:
        current_dir = Path.cwd()
    except OSError:  # the current folder is gone
        return []
    if project.data_dir != current_dir / project_file.DATA_DIR or has_runs(project):
        return []
    data_dirs: list[Path] = []
    folders = [(current_dir, 0)]
    for folder, depth in folders:
        try:
            below = sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
        except OSError:
            continue
        data_dirs += [path for path in below if path.name == project_file.DATA_DIR and _can_be_opened(path)]
        if depth < _SEARCH_DEPTH and len(folders) + len(below) <= _SEARCH_FOLDERS:
            folders += [(path, depth + 1) for path in below if not path.name.startswith((".", "node_modules"))]
    return data_dirs


def _can_be_opened(data_dir: Path) -> bool:
    """True if the data dir holds a store that this program can open.

    The search passes over all others: an old data dir in some folder below is not what the user asked for.
    """
    try:
        return factory.has_store(Project(root=data_dir.parent, data_dir=data_dir))
    except errors.StoreError:
        return False


def with_runs(project: Project) -> Project:
    """Return the only project below the current folder that has runs, and say so on stderr, if this one has none.

    Return the project itself if it has runs, or if there is no such project or more than one.
    """
    below = data_dirs_below(project)
    if len(below) != 1:
        return project
    output.note(f"no runs are kept here; these are of {_shown(below[0])}")
    return project_file.project_at(below[0].parent, data_dir=below[0])


def note_data_dirs(data_dirs: Sequence[Path]) -> None:
    """Say on stderr in which data dirs below the current folder there are runs."""
    hint = _where_hint(data_dirs)
    if hint:
        output.note(hint)


def note_place(where: Project) -> None:
    """Say on stderr where a run is kept, unless a command in the current folder finds it there."""
    current = _project_at(Path())
    if current is None or current.data_dir != where.data_dir:
        output.note(f"kept in {_shown(where.data_dir)}")


def _where_hint(data_dirs: Sequence[Path]) -> str:
    if not data_dirs:
        return ""
    first = shlex.quote(_shown(data_dirs[0].parent))
    places = ", ".join(_shown(path) for path in data_dirs[:5])
    return f"there are runs in {places}: type `cd {first}` first"


def _shown(path: Path) -> str:
    """Return a path as short as it can be typed here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, FileNotFoundError):  # it is elsewhere, or the current folder is gone
        return str(path)


@contextmanager
def _as_invalid_input() -> Generator[None]:
    """Turn a store error into InvalidInput, unless the data dir itself is damaged, full or of another version."""
    try:
        yield
    except (errors.StoreVersion, errors.Corrupt, errors.StoreFull):
        raise
    except errors.StoreError as error:
        raise errors.InvalidInput(error.message, code=error.code, hint=error.hint) from error


def current_user() -> str:
    """Return the name of the operating system's user; approvals and the log record it.

    It comes from the user database, not from an environment variable. Return `uid:N` if there is no name, or if the
    name is the one that the log uses for the timer.
    """
    number = os.geteuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid:{number}"
    return f"uid:{number}" if name == answers.TIMER else name


def load_workflow(file: str, path: Path, where: Project, *, quiet: bool) -> definition.Workflow:
    """Return the workflow at `path`, which the user named `file`. Raise InvalidWorkflow if it has errors.

    Warnings are only counted on stderr, with the command that lists them.
    """
    workflow, problems = load.check(path, root=where.root, data_dir=where.data_dir)
    if workflow is None:
        raise errors.InvalidWorkflow([problem for problem in problems if problem.severity == "error"])
    warnings = sum(problem.severity == "warning" for problem in problems)
    if warnings and not quiet:
        output.note(f"{output.count(warnings, 'warning')}, listed by: skelo validate {shlex.quote(file)}")
    return workflow


class CommandHint:
    """Writes a suggested command so that it works when typed in the current folder.

    A run of the current folder's own project needs nothing more; another one needs a `cd`, or `--data-dir`. Ids that
    `short_ids` has are written as it says.
    """

    def __init__(self, where: Project, short_ids: Mapping[str, str]) -> None:
        self._where = where
        self._short_ids = short_ids

    def __call__(self, command: str) -> str:
        """Return the command with short ids, and with the `cd` and `--data-dir` that it needs."""
        for whole, short in self._short_ids.items():
            command = command.replace(whole, short)
        before, after = self._prefix_and_suffix
        return f"{before}{command}{after}"

    @functools.cached_property
    def _prefix_and_suffix(self) -> tuple[str, str]:
        """Compare the project root, too, and not only the data dir: the run needs the handlers of its project."""
        where = self._where
        current = _project_at(Path())
        in_project = current is not None and current.root == where.root
        found_there = current if in_project else _project_at(where.root)
        before = "" if in_project else f"cd {shlex.quote(str(where.root))} && "
        if found_there is not None and found_there.data_dir == where.data_dir:
            return before, ""
        return before, f" --data-dir {shlex.quote(str(where.data_dir))}"


def _project_at(path: Path) -> Project | None:
    try:
        return project_file.project_at(path)
    except errors.InvalidInput:
        return None  # its skelo.yaml has Problems


# -- what the user names ----------------------------------------------------------------------------------------------
#
# An artifact by its node and name; a run by `history.listing.find_run`.


async def read_document(log: api.Store, run_id: str) -> run_document.RunDocument:
    """Return the run's document from the log alone. Time in which no process drives the run is no wall time."""
    run = (await loading.load(log, run_id)).run
    is_driven = await log.is_driver_alive(run_id)
    return await run_document.show(log, run, max(clock.wall_ms(), run.updated_at) if is_driven else run.updated_at)


_SCHEME = "artifact://"


def is_artifact(key: str) -> bool:
    """True if `key` is written like an artifact: `artifact://ID`, or `NODE:NAME`."""
    return ":" in key


async def read_artifact(log: api.RunLog, run_id: str, key: str) -> str:
    """Return the text of an artifact, of the newest attempt that has it. Raise NotFound ARTIFACT_NOT_FOUND."""
    blob_hash: str | None = None
    names: dict[str, None] = {}
    async for data in _artifact_events(log, run_id):
        artifact = json_fields.object_at(data, "artifact")
        name = f"{json_fields.text_at(data, 'node')}:{json_fields.text_at(artifact, 'name')}"
        names[name] = None
        if key in (name, f"{_SCHEME}{json_fields.text_at(artifact, 'id')}"):
            blob_hash = json_fields.text_at(artifact, "hash")
    if blob_hash is None:
        name_list = ", ".join(list(names)[:20]) or "none"
        raise errors.NotFound(
            f"this run has no artifact {key}", code="ARTIFACT_NOT_FOUND", hint=f"its artifacts: {name_list}"
        )
    return (await log.read_blob(blob_hash)).decode(errors="replace")


async def read_logs(log: api.RunLog, run_id: str) -> list[JsonObject]:
    """Return the log of each attempt, in the order of the record: `{node, visit, attempt, item?, name, text}`."""
    logs: list[JsonObject] = []
    async for data in _artifact_events(log, run_id):
        artifact = json_fields.object_at(data, "artifact")
        if artifact.get("kind") == "log":
            attempt: dict[str, Json] = {key: data[key] for key in ("node", "visit", "attempt", "item") if key in data}
            text = (await log.read_blob(json_fields.text_at(artifact, "hash"))).decode(errors="replace")
            logs.append({**attempt, "name": artifact.get("name"), "text": text})
    return logs


async def _artifact_events(log: api.RunLog, run_id: str) -> AsyncIterator[JsonObject]:
    """Yield the data of every `artifact.created` event."""
    async for lines in log.read_events(run_id):
        for line in lines:
            if b'"artifact.created"' in line and (event := orjson.loads(line))["type"] == "artifact.created":
                yield json_fields.object_at(event, "data")

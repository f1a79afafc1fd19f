"""The place where an agent works: a folder of its own, and what has changed in it.

    DATA/workspaces/RUN/NODE/tree      the files: a worktree, or an empty folder
                             /home      the agent's home folder: its settings and its own sessions
                             /shadow.git    our own git dir, from which snapshots and diffs are made
                             /workspace.json    what it was made from

An agent may write into its tree, and git obeys what a repository's config, hooks, filters and attributes say. So none
of our own git commands reads them there: snapshots are made with a git dir and an index of ours, which take the user's
objects as alternates. Nothing is staged or written in the user's repository but the entry of the worktree and branches
below `skelo/`.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import msgspec

from openskelo import agent_settings, errors, files
from openskelo.kernel.json import JsonObject
from openskelo.programs import git, program, time_limit
from openskelo.structs import frozen, replace

ORIGIN_FILE = "workspace.json"
_BASE_FILE = "base"
_GONE_FILE = "gone"
#: How large the diff of a turn may be; beyond it the names of the files are kept, not their lines.
MAX_DIFF_BYTES = 16 * 1024 * 1024
_GIT_MS = 300_000
#: Makes git treat every file as bytes, also against the attributes that the tree declares.
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding !merge !diff\n"
#: The id that git gives to a tree without files.
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_WITHOUT_COMMIT = re.compile(r"'(.+)/' does not have a commit checked out")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]+")


@frozen
class Diff:
    """The difference between two snapshots."""

    patch: str
    files: tuple[str, ...]
    insertions: int
    deletions: int

    @property
    def summary(self) -> str:
        """Return one line: how many files, how many lines."""
        count = len(self.files)
        return f"{count} {'file' if count == 1 else 'files'} changed, +{self.insertions} -{self.deletions}"


@frozen
class Origin:
    """The source of a workspace, as it is kept in `workspace.json`."""

    run_id: str
    node: str
    kind: agent_settings.WorkspaceKind
    repository: str
    folder: str
    base: str
    branch: str
    teardown: tuple[tuple[str, ...], ...] = ()
    command_timeout_ms: int = 600_000
    ports: tuple[int, ...] = ()
    #: The globs of copied files.
    copy: tuple[str, ...] = ()
    #: False until the set-up is done. An agent works only in a workspace that is ready.
    ready: bool = True


class Workspace:
    """A workspace that exists. `tree` is the whole of its files, `folder` the part in which the agent starts."""

    def __init__(self, place: Path, origin: Origin) -> None:
        self.place = place
        self.origin = origin
        self.tree = place / "tree"
        self.folder = self.tree / origin.folder
        self.home = place / "home"
        self.shadow = place / "shadow.git"
        self.git_environment = {"GIT_DIR": str(self.shadow), "GIT_WORK_TREE": str(self.tree)}

    @property
    def is_gone(self) -> bool:
        """True if the folder of the files is gone. The last snapshot is then all that there is of them."""
        return not self.tree.is_dir() or (self.place / _GONE_FILE).exists()

    def write_origin(self, *, ready: bool) -> None:
        """Write `workspace.json`. Until it says ready, the workspace can be listed and removed, and not used."""
        with files.atomic_file(self.place / ORIGIN_FILE) as file:
            file.write(msgspec.json.encode(replace(self.origin, ready=ready)))

    def mark_gone(self, tree: str | None) -> None:
        """Note that the files are those of this snapshot and not there yet; None: they are there again."""
        file = self.place / _GONE_FILE
        if tree is None:
            file.unlink()
            return
        with files.atomic_file(file) as marker:
            marker.write(tree.encode())

    async def current_tree(self) -> str:
        """Return a snapshot of the files, or the last one on record if they are gone (AttemptFailed WORKSPACE_GONE)."""
        return await self.recorded_tree() if self.is_gone else await self.snapshot()

    async def recorded_tree(self) -> str:
        """Return the last snapshot: our index holds it. Raise AttemptFailed WORKSPACE_GONE without it."""
        marker = self.place / _GONE_FILE
        if marker.exists():
            return marker.read_text()
        if not (self.origin.base and not (self.shadow / "index").exists()):
            with contextlib.suppress(errors.AttemptFailed):
                return (await self.shadow_git("write-tree")).strip()
        raise errors.AttemptFailed(
            f"the files of the workspace of {self.origin.node} are gone, and so is the record of them",
            code="WORKSPACE_GONE",
            hint="remove what is left with `skelo workspaces remove RUN --force`, and run the workflow again",
            retryable=False,
        )

    async def snapshot(self) -> str:
        """Return the id of the tree of all files as they are now: untracked ones too, ignored ones not."""
        async with self._index() as index:
            await self._add_all(index)
            return (await self.shadow_git("write-tree", environment=index)).strip()

    async def _add_all(self, index: Mapping[str, str]) -> None:
        """Put all files into the index, except repositories of the agent's own that have no commit: git cannot."""
        variables, left_out = {**self.git_environment, **index}, list[str]()
        while True:
            add = ("add", "--all", "--", ".", *left_out)
            result = await git.run(self.tree, *add, timeout_ms=_GIT_MS, environment=variables)
            if result.status == 0:
                return
            without_commit = _WITHOUT_COMMIT.search(git.said(result))
            if without_commit is None or (name := f":(exclude,literal){without_commit[1]}") in left_out:
                raise git.failed("add", result)
            left_out.append(name)

    @contextlib.asynccontextmanager
    async def _index(self) -> AsyncGenerator[dict[str, str]]:
        """Yield the environment for a copy of our index, which takes the place of the index afterwards.

        Each caller has a copy of its own: a command line may look at the workspace while an agent's turn ends.
        """
        kept_index = self.shadow / "index"
        with tempfile.TemporaryDirectory(dir=self.shadow, prefix="index-") as folder:
            index_copy = Path(folder) / "index"
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(kept_index, index_copy)
            yield {"GIT_INDEX_FILE": str(index_copy)}
            if index_copy.exists():
                index_copy.replace(kept_index)

    async def diff(self, before: str, after: str) -> Diff:
        """Return what has changed between two snapshots."""
        if before == after:
            return Diff(patch="", files=(), insertions=0, deletions=0)
        numbers = await self.shadow_git("diff-tree", "-r", "-z", "--numstat", "--no-renames", before, after)
        files: list[str] = []
        insertions = deletions = 0
        for entry in numbers.split("\0"):
            if entry:
                lines_added, lines_removed, name = entry.split("\t", 2)
                files.append(name)
                insertions += int(lines_added) if lines_added.isdecimal() else 0
                deletions += int(lines_removed) if lines_removed.isdecimal() else 0
        try:
            patch = await self.shadow_git("diff-tree", "-r", "-p", "--binary", "--full-index", "-M", before, after)
        except errors.AttemptFailed as error:
            if error.code != "OUTPUT_TOO_LARGE":
                raise
            patch = f"# The diff has more than {MAX_DIFF_BYTES} bytes. It changes these files:\n# " + "\n# ".join(files)
        return Diff(patch=patch, files=tuple(files), insertions=insertions, deletions=deletions)

    async def has_changes(self) -> bool:
        """True if there are changes that have not been applied to the user's branch."""
        if not self.origin.ready:  # no agent has worked here
            return False
        now = await self.current_tree()
        return now not in (await self.tree_of_base(), self._applied_tree())

    async def diff_since_base(self) -> Diff:
        """Return everything that has changed since the first turn, whose set-up does not count."""
        now = await self.current_tree()
        return await self.diff(await self.tree_of_base(), now)

    async def tree_of_base(self) -> str:
        """Return the tree from which all changes count: that of the first turn, which the set-up may have changed."""
        base = self.place / _BASE_FILE
        if base.exists():
            return base.read_text()
        if not self.origin.base:
            return EMPTY_TREE
        return (await self.shadow_git("rev-parse", f"{self.origin.base}^{{tree}}")).strip()

    def _applied_tree(self) -> str:
        file = self.place / "applied"
        return file.read_text() if file.exists() else ""

    def mark_applied(self, tree: str) -> None:
        """Note that the user has taken the changes up to this snapshot."""
        (self.place / "applied").write_text(tree)

    def mark_base(self, tree: str) -> str:
        """Store `tree` as the base of the diff unless one is stored; return the stored base."""
        file = self.place / _BASE_FILE
        if not file.exists():
            with files.atomic_file(file) as base_file:
                base_file.write(tree.encode())
        return file.read_text()

    async def restore(self, tree: str) -> None:
        """Make the files those of a snapshot again; ignored files stay."""
        async with self._index() as index:
            await self._add_all(index)
            await self.shadow_git("read-tree", "--reset", "-u", tree, environment=index)

    async def shadow_git(self, *args: str, environment: Mapping[str, str] | None = None) -> str:
        """Return what git prints with our own git dir, whose settings no agent has written."""
        variables = {**self.git_environment, **(environment or {})}
        folder = self.tree if self.tree.is_dir() else self.place
        return await git.read(folder, *args, timeout_ms=_GIT_MS, max_bytes=MAX_DIFF_BYTES, environment=variables)

    async def create_shadow(self) -> None:
        """Make the git dir for snapshots. It shares the objects of the user's repository and none of its settings."""
        await git.read(self.place, "init", "--quiet", "--bare", str(self.shadow))
        (self.shadow / "info").mkdir(exist_ok=True)
        (self.shadow / "info" / "attributes").write_text(_ATTRIBUTES)
        if self.origin.base:
            objects = await git_path(Path(self.origin.repository), "objects")
            (self.shadow / "objects" / "info" / "alternates").write_text(f"{objects}\n")
            await self.shadow_git("read-tree", self.origin.base)  # so that the first `add` need not hash every file

    async def check_out(self) -> None:
        """Write the files of the base commit, byte by byte: no filter or conversion of the repository is applied."""
        await self.shadow_git("read-tree", "--reset", "-u", self.origin.base)

    async def changes_of_user(self, repository: Path, commit: str) -> set[str]:
        """Return the tracked files of the user's repository that are not as in the commit.

        A copy of the user's index says which files are as they were checked out. It is read by our own git dir.
        """
        async with self.user_index(repository) as environment:
            options = ("--name-only", "-z", "--no-renames", "--ignore-submodules=all")
            return set(await git.read_fields(repository, "diff-index", *options, commit, environment=environment))

    @contextlib.asynccontextmanager
    async def user_index(self, repository: Path) -> AsyncGenerator[dict[str, str]]:
        """Yield the environment for our own git dir with the user's files and a copy of the user's index."""
        with tempfile.TemporaryDirectory(dir=self.shadow, prefix="index-") as folder:
            index = Path(folder) / "index"
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(await git_path(repository, "index"), index)
            environment = {
                "GIT_DIR": str(self.shadow),
                "GIT_WORK_TREE": str(repository),
                "GIT_INDEX_FILE": str(index),
            }
            refresh = ("update-index", "-q", "--refresh")
            await git.run(repository, *refresh, timeout_ms=_GIT_MS, environment=environment)
            yield environment

    async def run_commands(self, commands: Sequence[Sequence[str]], lines: list[str]) -> None:
        """Run set-up or tear-down commands in the tree; raise AttemptFailed WORKSPACE_SETUP if one fails."""
        for argv in commands:
            command = program.Program(argv=tuple(argv), folder=self.folder, environment=self.environment())
            try:
                result = await time_limit.within(self.origin.command_timeout_ms, program.run(command))
            except OSError as error:
                raise _command_failed(argv, f"cannot be started: {error.strerror}") from error
            output = (result.stdout + result.stderr).decode("utf-8", "replace").strip()
            lines.append(f"$ {' '.join(argv)}")
            lines += output.splitlines()[-200:]
            if result.status != 0:
                raise _command_failed(argv, f"ended with {result.status}: {output[-500:]}")

    def environment(self) -> dict[str, str]:
        """Return the variables that tell a program of this workspace about it."""
        return {f"SKELO_PORT_{index + 1}": str(port) for index, port in enumerate(self.origin.ports)}


async def git_path(repository: Path, name: str) -> Path:
    """Return where the user's git keeps a part of its repository."""
    return (repository / (await git.read(repository, "rev-parse", "--git-path", name)).strip()).absolute()


def file_name(text: str) -> str:
    """Return a node's key as the name of a file or a branch; nodes of a run differ in it, because no id has a `+`."""
    return _UNSAFE.sub("_", text.replace("/", "+"))


def place_of(data_dir: Path, run_id: str, node: str) -> Path:
    """Return the folder of the data dir in which a workspace is kept."""
    return data_dir / "workspaces" / run_id / file_name(node)


def read(place: Path) -> Workspace | None:
    """Return the workspace in this folder of the data dir, ready or not, or None."""
    try:
        origin = msgspec.json.decode((place / ORIGIN_FILE).read_bytes(), type=Origin)
    except (OSError, msgspec.MsgspecError):
        return None
    return Workspace(place, origin)


def find(data_dir: Path, run_id: str, node: str) -> Workspace | None:
    """Return the workspace of a node, None if there is none here that is ready."""
    place = read(place_of(data_dir, run_id, node))
    return place if place is not None and place.origin.ready else None


def list_workspaces(data_dir: Path) -> list[Workspace]:
    """Return all workspaces of a data dir, by run and node, also those that are not ready."""
    places = [read(file.parent) for file in sorted((data_dir / "workspaces").glob(f"*/*/{ORIGIN_FILE}"))]
    return [workspace for workspace in places if workspace is not None]


def as_json(workspace: Workspace) -> JsonObject:
    """Return what a workspace is, for the wire and the command line."""
    origin = workspace.origin
    return {
        "runId": origin.run_id,
        "node": origin.node,
        "kind": origin.kind,
        "path": str(workspace.folder),
        "branch": origin.branch or None,
        "base": origin.base or None,
        "ports": list(origin.ports),
    }


def _command_failed(argv: Sequence[str], why: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"the command {argv[0]!r} of the workspace {why}", code="WORKSPACE_SETUP", retryable=False
    )

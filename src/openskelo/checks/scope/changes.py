"""The changes of a repository's files since a commit, found by comparing the files themselves with the commit.

Git is asked for nothing but what is in the commit and in the index. Its settings, attributes, filters, list of excluded
files and the flags of the index may all have been written together with the change, and each of them can hide a file
from `git diff` and `git status`. So the files are listed and hashed here, and the commit alone says which of the
untracked ones are ignored. What is staged is a change, too, where the file on disk is as before: `git commit` takes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from openskelo import errors, files
from openskelo.handlers import blocking_call
from openskelo.programs import git
from openskelo.structs import frozen, replace
from openskelo.values import path_scope

ChangeKind: TypeAlias = Literal["added", "deleted", "modified", "mode", "link", "submodule", "special", "staged"]

_LINK, _SUBMODULE, _EXECUTABLE, _PLAIN = "120000", "160000", "100755", "100644"
_NO_REPLACEMENTS = {"GIT_NO_REPLACE_OBJECTS": "1"}
_GIT_MS = 300_000
_MAX_BYTES = 256 * 1024 * 1024
_CHUNK = 1024 * 1024
#: The length of an id in a repository of the newer format.
_SHA256_DIGITS = 64


@frozen
class Change:
    """A path that is not as it is in the commit."""

    path: str
    kind: ChangeKind
    #: Why it may not be so, wherever it is.
    fault: str | None = None
    #: The path that a link leads to.
    target: str | None = None


@frozen
class _Entry:
    """A file, a link or a submodule, in the commit or on disk."""

    mode: str
    object_id: str


@frozen
class _Found:
    """Something on disk that is no folder."""

    status: os.stat_result
    path: Path


async def find_changes(folder: Path, base: str) -> tuple[str, list[Change]]:
    """Return the id of the commit `base`, empty without commits, and what differs from it in `folder`, sorted by path.

    Raise NotFound PATH_NOT_FOUND or REVISION_NOT_FOUND, InvalidInput GIT_FAILED or GIT_MISSING where there is no
    repository, AttemptFailed GIT_FAILED or GIT_REVISION.
    """
    folder = await blocking_call.run(folder.resolve)
    if not await blocking_call.run(folder.is_dir):
        raise errors.NotFound(f"there is no folder {str(folder)!r}", code="PATH_NOT_FOUND")
    try:
        await git.check_repository(folder)
    except errors.AttemptFailed as error:
        hint = "name the top folder of a git repository" if error.code == "GIT_FAILED" else error.hint
        raise errors.InvalidInput(error.message, code=error.code, hint=hint) from error
    commit = await _resolve(folder, base)
    return commit, await _compare(folder, commit)


async def _resolve(folder: Path, base: str) -> str:
    """Return the id of the commit; empty if the repository has no commits and `base` is HEAD."""
    revision = f"{git.check_revisions(base)}^{{commit}}"
    found = await git.run(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", revision, environment=_NO_REPLACEMENTS
    )
    if found.status == 0:
        return found.stdout.decode().strip()
    if base == "HEAD":
        unborn = await git.run(folder, "for-each-ref", "--count=1")
        if unborn.status == 0 and not unborn.stdout:
            return ""
    raise errors.NotFound(
        f"the repository has no commit {base!r}", code="REVISION_NOT_FOUND", hint="name a commit, a tag or a branch"
    )


async def _compare(folder: Path, commit: str) -> list[Change]:
    committed = await _read_commit(folder, commit)
    on_disk, changes = await blocking_call.run(lambda: _list_files(folder, committed))
    ignored = await _find_ignored(folder, committed, sorted(on_disk.keys() - committed.keys()))
    present = {name: found for name, found in on_disk.items() if name not in ignored}
    changes += await blocking_call.run(lambda: list(_differences(folder, committed, present)))
    for name, entry in committed.items():
        if entry.mode == _SUBMODULE:
            changes += await _compare_submodule(folder, name, entry.object_id)
    staged = await _read_index(folder)
    changes += await blocking_call.run(lambda: list(_staged_only(committed, staged, changes, on_disk)))
    return sorted(changes, key=lambda change: change.path)


async def _read_commit(folder: Path, commit: str) -> dict[str, _Entry]:
    """Return all entries of the commit by path."""
    if not commit:
        return {}
    options = ("-r", "-z", "--full-tree", commit)
    result = await git.run(
        folder, "ls-tree", *options, timeout_ms=_GIT_MS, max_bytes=_MAX_BYTES, environment=_NO_REPLACEMENTS
    )
    if result.status != 0:
        raise git.failed("ls-tree", result)
    entries = dict[str, _Entry]()
    for line in git.split_fields(result.stdout):
        facts, _, name = line.partition("\t")
        mode, _, object_id = facts.split(" ")
        entries[name] = _Entry(mode=mode, object_id=object_id)
    return entries


async def _read_index(folder: Path) -> dict[str, _Entry | None]:
    """Return what is staged by path; None for a path that a merge has not settled."""
    result = await git.run(folder, "ls-files", "--stage", "-z", timeout_ms=_GIT_MS, max_bytes=_MAX_BYTES)
    if result.status != 0:
        raise git.failed("ls-files", result)
    entries = dict[str, _Entry | None]()
    for line in git.split_fields(result.stdout):
        facts, _, name = line.partition("\t")
        mode, object_id, stage = facts.split(" ")
        entries[name] = _Entry(mode=mode, object_id=object_id) if stage == "0" else None
    return entries


def _list_files(folder: Path, committed: Mapping[str, _Entry]) -> tuple[dict[str, _Found], list[Change]]:
    """Return everything in the folder but folders, `.git` at its top and submodules; and what cannot be listed."""
    found, changes = dict[str, _Found](), list[Change]()
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(folder / prefix) as entries:
                listed = list(entries)
        except OSError as error:
            changes.append(Change(path=prefix.rstrip("/"), kind="special", fault=f"cannot be read: {error.strerror}"))
            continue
        for entry in listed:
            name = prefix + entry.name
            if name == ".git":
                continue
            if not entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    found[name] = _Found(status=entry.stat(follow_symlinks=False), path=Path(entry.path))
            elif name not in committed or committed[name].mode != _SUBMODULE:
                pending.append(f"{name}/")
    return found, changes


async def _find_ignored(folder: Path, committed: Mapping[str, _Entry], untracked: list[str]) -> set[str]:
    """Return those of the untracked files that the `.gitignore` files of the commit ignore.

    They are written to a folder without anything else, so neither a newer `.gitignore` nor `.git/info/exclude` counts.
    """
    rules = [
        (name, entry.object_id)
        for name, entry in committed.items()
        if name.rpartition("/")[2] == ".gitignore" and entry.mode in (_PLAIN, _EXECUTABLE)
    ]
    if not rules or not untracked:
        return set()
    with tempfile.TemporaryDirectory(prefix="skelo-scope-") as temporary:
        rules_folder = Path(temporary)
        await git.read(rules_folder, "init", "--quiet", "--template=")
        for name, object_id in rules:
            blob = await git.run(folder, "cat-file", "blob", object_id, environment=_NO_REPLACEMENTS)
            if blob.status != 0:
                raise git.failed("cat-file", blob)
            target = rules_folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(blob.stdout)
        result = await git.run(
            rules_folder,
            *("check-ignore", "--no-index", "-z", "--stdin"),
            stdin=b"".join(b"./" + os.fsencode(name) + b"\0" for name in untracked),  # `:` has no meaning after `./`
            timeout_ms=_GIT_MS,
            max_bytes=_MAX_BYTES,
        )
    if result.status not in (0, 1):  # 1: none is ignored
        raise git.failed("check-ignore", result)
    return {name.removeprefix("./") for name in git.split_fields(result.stdout)}


def _differences(folder: Path, committed: Mapping[str, _Entry], present: Mapping[str, _Found]) -> Iterator[Change]:
    by_folded_name = dict[str, list[str]]()
    for name in present:
        by_folded_name.setdefault(path_scope.fold(name), []).append(name)
    for name in committed.keys() - present.keys():
        if committed[name].mode != _SUBMODULE:
            yield Change(path=name, kind="deleted")
    for name, found in present.items():
        change = _difference(folder, name, committed.get(name), found)
        if change is None:
            continue
        like = [other for other in by_folded_name[path_scope.fold(name)] if other != name]
        if like and change.fault is None:
            change = replace(change, fault=f"some file systems take it for {git.printable(like[0])!r}")
        yield change


def _staged_only(
    committed: Mapping[str, _Entry],
    staged: Mapping[str, _Entry | None],
    changes: Iterable[Change],
    on_disk: Mapping[str, _Found],
) -> Iterator[Change]:
    """Yield what the next commit would change, and the files on disk do not show."""
    known = {change.path for change in changes}
    for name, entry in staged.items():
        before = committed.get(name)
        if entry is None or entry == before:
            continue
        fault = _fault_of_staged(entry, before, on_disk.get(name))
        if fault is not None or name not in known:
            yield Change(path=name, kind="staged", fault=fault)
    for name in committed.keys() - staged.keys() - known:
        yield Change(path=name, kind="staged")


def _fault_of_staged(entry: _Entry, before: _Entry | None, found: _Found | None) -> str | None:
    if entry.mode == _LINK and found is not None and _hash_link(found, len(entry.object_id)) == entry.object_id:
        return None  # the link on disk is judged
    if entry.mode not in (_PLAIN, _EXECUTABLE):
        return "a link or a submodule is staged that is not there"
    if before is not None and before.mode != entry.mode:
        return f"its mode was {before.mode}, and {entry.mode} is staged"
    return None


def _hash_link(found: _Found, digits: int) -> str:
    """Return the id that git gives to a link; empty for anything else."""
    try:
        data = os.fsencode(os.readlink(found.path))  # noqa: PTH115 -- a Path would drop a slash at its end
    except OSError:
        return ""
    return _object_id(len(data), [data], digits)


def _difference(folder: Path, name: str, before: _Entry | None, found: _Found) -> Change | None:
    """Return the change of a path that is there; None if it is as it was."""
    mode = found.status.st_mode
    if stat.S_ISLNK(mode):
        return _changed_link(folder, name, before, found)
    if not stat.S_ISREG(mode):
        return Change(path=name, kind="special", fault="it is no regular file")
    now = _EXECUTABLE if mode & stat.S_IXUSR else _PLAIN
    object_id = None if before is None else _hash_file(found, len(before.object_id))
    fault = "it has another name, a hard link" if found.status.st_nlink > 1 else None
    if before is None:
        return Change(path=name, kind="added", fault=fault)
    if before.mode not in (_PLAIN, _EXECUTABLE):
        return Change(path=name, kind="mode", fault="it was a link or a submodule, and is a file")
    if before.mode != now:
        return Change(path=name, kind="mode", fault=f"its mode was {before.mode} and is {now}")
    if object_id != before.object_id:
        return Change(path=name, kind="modified", fault=fault)
    return None


def _hash_file(found: _Found, digits: int) -> str:
    """Return the id that git gives to the content; empty if it cannot be read, or changes while it is."""
    try:
        with files.open_plain(found.path) as file:
            return _object_id(found.status.st_size, iter(lambda: file.read(_CHUNK), b""), digits)
    except OSError:
        return ""


def _object_id(size: int, chunks: Iterable[bytes], digits: int) -> str:
    """Return git's id of a blob, in as many hexadecimal digits; empty if the chunks have another size."""
    digest = hashlib.sha256() if digits == _SHA256_DIGITS else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % size)
    for chunk in chunks:
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest() if size == 0 else ""


def _changed_link(folder: Path, name: str, before: _Entry | None, found: _Found) -> Change | None:
    try:
        target = os.readlink(found.path)  # noqa: PTH115 -- a Path would drop a slash at its end
    except OSError as error:
        return Change(path=name, kind="link", fault=f"cannot be read: {error.strerror}")
    if before is not None and before.mode != _LINK:
        return Change(path=name, kind="link", fault="it was no link, and is one")
    data = os.fsencode(target)
    if before is not None and _object_id(len(data), [data], len(before.object_id)) == before.object_id:
        return None
    if target.startswith("/"):
        return Change(path=name, kind="link", fault="it is a link with an absolute path")
    real = Path(os.path.realpath(found.path))
    try:
        os.stat(found.path)  # noqa: PTH116 -- raises for links in a circle
    except FileNotFoundError:
        pass  # it leads to what does not exist yet
    except OSError as error:
        return Change(path=name, kind="link", fault=f"it is a link that leads nowhere: {error.strerror}")
    if not real.is_relative_to(folder):
        return Change(path=name, kind="link", fault="it is a link that leads out of the repository")
    return Change(path=name, kind="link", target=real.relative_to(folder).as_posix())


async def _compare_submodule(folder: Path, name: str, commit: str) -> list[Change]:
    """Return what has changed in a submodule; each change is a fault, because the commit of its own decides on it."""
    place = folder / name
    if not await blocking_call.run(lambda: os.path.lexists(place)):
        return [Change(path=name, kind="deleted", fault="it is a submodule")]
    if not await blocking_call.run(lambda: _is_checked_out(place)):
        return []
    try:
        await git.check_repository(place)
        head = await _resolve(place, base="HEAD")
        changes = await _compare(place, commit)
    except (errors.AttemptFailed, errors.NotFound) as error:
        return [Change(path=name, kind="submodule", fault=f"it is a submodule, and {error.message}")]
    moved = [] if head == commit else [Change(path=name, kind="submodule", fault="it is a submodule at another commit")]
    return moved + [
        replace(change, path=f"{name}/{change.path}", fault=change.fault or "it is in a submodule")
        for change in changes
    ]


def _is_checked_out(submodule: Path) -> bool:
    """True if a folder holds the files of the submodule. A file or a link in its place is a change already."""
    return not submodule.is_symlink() and submodule.is_dir() and any(submodule.iterdir())

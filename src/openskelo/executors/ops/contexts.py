"""Read the values of `ctx:` and `snap:` names by the project's resolvers, once, before a run starts.

A file (JSON where its name ends in `.json`, else text), a git diff, an artifact of another run, or a text. Each is
read inside the project's read roots and within the context's size limit. A mistake is InvalidInput, CONTEXT_UNKNOWN or
CONTEXT_FAILED, before anything has started.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import assert_never

from openskelo import errors
from openskelo.executors import artifacts
from openskelo.handlers import blocking_call, file_access, project_registry
from openskelo.kernel.json import Json
from openskelo.programs import git
from openskelo.project import Project
from openskelo.stores import api
from openskelo.values import canonical


async def resolve(project: Project, store: api.Store, name: str) -> Json:
    """Return the value of a name such as `ctx:repo_diff`, as the project declares it; `store` has the artifacts."""
    context = project.registry.context(name)
    if context is None:
        names = ", ".join(project.registry.contexts) or "none"
        raise errors.InvalidInput(
            f"nothing says what {name} is",
            code="CONTEXT_UNKNOWN",
            hint=f"give it with --context {name}=…, or declare it under `contexts` in skelo.yaml (there: {names})",
        )
    try:
        return await _read(project, context, store)
    except errors.StoreError:
        raise
    except errors.OpenSkeloError as error:
        raise errors.InvalidInput(f"{name}: {error.message}", code="CONTEXT_FAILED", hint=error.hint) from error


async def _read(project: Project, context: project_registry.Context, store: api.Store) -> Json:
    match context.kind:
        case "text":
            return _bounded(context, context.source.encode()).decode()
        case "file":
            path, _ = file_access.resolve_inside(context.source, file_access.readable_roots(project), project)
            return _value(path.name, _bounded(context, await blocking_call.run(lambda: _file(path, context.max_bytes))))
        case "git_diff":
            return await _diff(project, context)
        case "artifact":
            return _value("", _bounded(context, await _artifact(store, context.source)))
        case _:
            assert_never(context.kind)


async def _diff(project: Project, context: project_registry.Context) -> str:
    folder = git.folder_of(context.repo, project)
    await git.check_repository(folder)
    revisions = [git.check_revisions(context.source)] if context.source else []
    paths = [f":(literal){path}" for path in context.paths]
    arguments = ("diff", "--no-ext-diff", "--no-textconv", *revisions, "--", *paths)
    return await git.read(folder, *arguments, max_bytes=context.max_bytes)


def _file(path: Path, most: int) -> bytes:
    try:
        # Not blocking: a pipe must be recognised, not waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _failed(f"{path.name!r} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _failed(f"{path.name!r} is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most + 1)


def _bounded(context: project_registry.Context, data: bytes) -> bytes:
    if len(data) > context.max_bytes:
        raise _failed(f"it has more than {context.max_bytes} bytes", "raise its `max_bytes`")
    return data


def _value(name: str, data: bytes) -> Json:
    if name.endswith(".json"):
        return canonical.loads(data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _failed(f"it is not UTF-8 text (at byte {error.start})") from error


async def _artifact(store: api.Store, source: str) -> bytes:
    """Return the bytes of the artifact that `source` names."""
    run_id, slash, key = source.removeprefix(artifacts.SCHEME).partition("/")
    if not source.startswith(artifacts.SCHEME) or not run_id or (slash and not key):
        raise _failed(f"{source[:100]!r} names no artifact", "write artifact://ID or artifact://RUN/NODE:NAME")
    artifact = await artifacts.find(store, source)
    if artifact is None:
        raise _failed(f"there is no artifact {source[:200]}")
    return await store.read_blob(artifact)


def _failed(message: str, hint: str | None = None) -> errors.AttemptFailed:
    return errors.AttemptFailed(message, code="CONTEXT_FAILED", hint=hint, retryable=False)

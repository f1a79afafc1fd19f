"""The project a caller stands in: where its root and its data dir are, and what its `skelo.yaml` allows."""

from __future__ import annotations

import os
from pathlib import Path

from openskelo import errors
from openskelo.executors import task
from openskelo.workflows import project as project_files


def project_at(path: Path | str = ".", *, data_dir: Path | str | None = None) -> task.Project:
    """The project around a file or folder (InvalidInput; InvalidWorkflow when its `skelo.yaml` has Problems).

    The data dir is `data_dir`, else `SKELO_HOME`, else what `skelo.yaml` says, else `.skelo/` in the root.
    """
    try:
        root = project_files.find_root(Path(path)).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise _unusable(path, error) from error
    file = project_files.load(root)
    given = data_dir or os.environ.get("SKELO_HOME")
    return task.Project(
        root=root,
        data_dir=_real(Path(), given) if given else _real(root, file.data_dir or project_files.DATA_DIR),
        write_roots=tuple(_real(root, text) for text in file.write_roots),
        read_roots=tuple(_real(root, text) for text in file.read_roots),
        allow_commands=file.allow_commands,
        allow_private_addresses=file.allow_private_addresses,
        secrets=file.secrets,
        models=file.models,
        registry=file.registry,
        webhooks=file.webhooks,
    )


def _real(base: Path, text: Path | str) -> Path:
    try:
        return (base / Path(text).expanduser()).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise _unusable(text, error) from error


def _unusable(path: Path | str, error: Exception) -> errors.InvalidInput:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return errors.InvalidInput(f"{str(path)[:200]!r} is no usable path: {why}", code="PATH_INVALID")

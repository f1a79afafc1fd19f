"""The workflow files of a project: which there are, and the one that a client names, never outside of the root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from openskelo import errors
from openskelo.executors import task
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load, problems, source

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
#: So many files are looked at, so deep below the root.
MOST_FILES = 2000
DEEPEST = 6


def listed(project: task.Project) -> list[JsonObject]:
    """Every workflow file below the root, by path; files that cannot be read as one are not listed."""
    found: list[JsonObject] = []
    for path in _files(project):
        try:
            if path.stat().st_size > source.LARGEST_BYTES:
                continue
            value = source.read(path).value
        except (errors.InvalidWorkflow, OSError):
            continue
        kind = load.kind(value)
        if kind is not None:
            fields = cast("dict[str, Json]", value)
            found.append(
                {
                    "path": path.relative_to(project.root).as_posix(),
                    "name": _text(fields.get("name")) or path.stem,
                    "kind": kind,
                    "description": _text(fields.get("description")),
                }
            )
    return found


def check(
    project: task.Project, path: str | None, document: JsonObject | None
) -> tuple[definition.Workflow | None, tuple[problems.Problem, ...]]:
    """The workflow in a file or document, if it has no errors, and its Problems."""
    if document is not None:
        return load.check_document(document, root=project.root)
    found, listed_problems = load.check(find(project, path or ""), root=project.root)
    return found, tuple(_within(project, one) for one in listed_problems)


def get(project: task.Project, path: str | None, document: JsonObject | None) -> definition.Workflow:
    """The workflow in a file or document (InvalidWorkflow, NotFound)."""
    workflow, found = check(project, path, document)
    if workflow is None:
        raise errors.InvalidWorkflow([one for one in found if one.severity == "error"])
    return workflow


def find(project: task.Project, text: str) -> Path:
    """The file that a client names: inside the root by its real path, outside of the data dir (NotFound)."""
    missing = errors.NotFound(
        f"the project has no workflow {text[:200]}", code="WORKFLOW_NOT_FOUND", hint="GET /api/workflows lists them"
    )
    try:
        path = (project.root / text).resolve()
        inside = path.is_relative_to(project.root.resolve()) and not path.is_relative_to(project.data_dir)
        if inside and path.suffix in _SUFFIXES and path.is_file():
            return path
    except (OSError, ValueError):
        raise missing from None
    raise missing


def _within(project: task.Project, problem: problems.Problem) -> problems.Problem:
    """The Problem with its file as seen from the root: where the project lies is nobody's business."""
    shown = os.path.relpath(problem.file, project.root) if Path(problem.file).is_absolute() else problem.file
    return problems.Problem(
        file=shown,
        line=problem.line,
        column=problem.column,
        code=problem.code,
        message=problem.message.replace(f"{project.root}{os.sep}", ""),
        path=problem.path,
        hint=None if problem.hint is None else problem.hint.replace(f"{project.root}{os.sep}", ""),
        severity=problem.severity,
    )


def _files(project: task.Project) -> Iterator[Path]:
    seen = 0
    for folder, folders, files in os.walk(project.root):
        here = Path(folder)
        deep = len(here.relative_to(project.root).parts)
        folders[:] = sorted(
            name
            for name in folders
            if deep < DEEPEST
            and not name.startswith((".", "node_modules", "__pycache__"))
            and here / name != project.data_dir
        )
        for name in sorted(files):
            if Path(name).suffix in _SUFFIXES and not name.startswith("."):
                seen += 1
                if seen > MOST_FILES:
                    return
                yield here / name


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""

"""Workflows: the files of the project, their problems, and what a run of one would take.

A client names a workflow by its path below the project's root; no path leads outside of the root.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from fastapi import APIRouter, Response

from openskelo import errors
from openskelo.engine import api as engine_api
from openskelo.handlers import file_access
from openskelo.history import run_estimate
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.server import models, problems, rest, sent_documents
from openskelo.server.rest import VIEWERS, Context
from openskelo.workflows import load, outline
from openskelo.workflows.text import source
from openskelo.workflows.text.problems import Problem as WorkflowProblem

router = APIRouter(prefix="/api/workflows", tags=["workflows"], route_class=rest.StrictRoute, dependencies=VIEWERS)
_ERRORS = problems.responses(404, 409, 413, 415)


@router.get("", response_model=models.WorkflowList, responses=problems.responses())
async def list_workflows(context: Context) -> Response:
    """List the workflow files of the project."""
    files = await asyncio.to_thread(_list_files, context.engine.project)
    return rest.json_response({"workflows": files})


@router.post("/validate", response_model=models.Checked, responses=_ERRORS)
async def validate_workflow(context: Context, body: models.WorkflowBody) -> Response:
    """Check a workflow and list its problems, without running anything."""
    workflow, found_problems = await asyncio.to_thread(
        _check_workflow, context.engine.project, body.workflow, body.document
    )
    return rest.json_response(
        {
            "valid": workflow is not None,
            "name": None if workflow is None else workflow.name,
            "hash": None if workflow is None else workflow.hash,
            "problems": [item.document() for item in found_problems if item.severity == "error"],
            "warnings": [item.document() for item in found_problems if item.severity == "warning"],
        }
    )


@router.post("/explain", response_model=models.Explanation, responses=_ERRORS)
async def explain_workflow(context: Context, body: models.ExplainBody) -> Response:
    """Return the outline of a workflow, and the estimate for a run of it."""
    workflow = await asyncio.to_thread(load_workflow, context.engine.project, body.workflow, body.document)
    return rest.json_response(await _explain(context.engine, workflow, items=body.items))


# -- files ------------------------------------------------------------------------------------------------------------

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
#: How many files are read, and how deep below the root, to list workflows.
_MAX_FILES = 2000
_MAX_DEPTH = 6


def _list_files(project: Project) -> list[JsonObject]:
    """Return every workflow file below the root, by path; files that are not workflows are left out."""
    workflow_files: list[JsonObject] = []
    for path in _candidate_files(project):
        try:
            if path.stat().st_size > source.MAX_BYTES:
                continue
            value = source.read(path).value
        except (errors.InvalidWorkflow, OSError):
            continue
        kind = load.kind(value)
        if kind is not None:
            fields = cast("dict[str, Json]", value)
            workflow_files.append(
                {
                    "path": path.relative_to(project.root).as_posix(),
                    "name": _text(fields.get("name")) or _text(fields.get("plan_id")) or path.stem,
                    "kind": kind,
                    "description": _text(fields.get("description")),
                }
            )
    return workflow_files


def _check_workflow(
    project: Project, path: str | None, document: JsonObject | None
) -> tuple[definition.Workflow | None, tuple[WorkflowProblem, ...]]:
    """Return the workflow in a file or document (None if it has errors), and its problems."""
    if document is not None:
        return load.check_document(
            sent_documents.confine_document(document), root=project.root, data_dir=project.data_dir
        )
    workflow, found_problems = load.check(_find_file(project, path or ""), root=project.root, data_dir=project.data_dir)
    return workflow, tuple(_with_relative_path(project, item) for item in found_problems)


def load_workflow(project: Project, path: str | None, document: JsonObject | None) -> definition.Workflow:
    """Return the workflow in a file or document. Raise InvalidWorkflow or NotFound."""
    workflow, found_problems = _check_workflow(project, path, document)
    if workflow is None:
        raise errors.InvalidWorkflow([item for item in found_problems if item.severity == "error"])
    return workflow


def _find_file(project: Project, text: str) -> Path:
    """Return the file that a client names: its real path is inside the root and outside the data dir, else NotFound."""
    missing = errors.NotFound(
        f"the project has no workflow {text[:200]}", code="WORKFLOW_NOT_FOUND", hint="GET /api/workflows lists them"
    )
    try:
        path = (project.root / text).resolve()
        root = project.root.resolve()
        inside = path.is_relative_to(root) and not file_access.is_in_data_dir(path, root, project.data_dir)
        if inside and path.suffix in _SUFFIXES and path.is_file():
            return path
    except (OSError, ValueError):
        raise missing from None
    raise missing


def _with_relative_path(project: Project, problem: WorkflowProblem) -> WorkflowProblem:
    """Return the problem with paths relative to the root: clients need not learn where the project is."""
    relative = os.path.relpath(problem.file, project.root) if Path(problem.file).is_absolute() else problem.file
    return WorkflowProblem(
        file=relative,
        line=problem.line,
        column=problem.column,
        code=problem.code,
        message=problem.message.replace(f"{project.root}{os.sep}", ""),
        path=problem.path,
        hint=None if problem.hint is None else problem.hint.replace(f"{project.root}{os.sep}", ""),
        severity=problem.severity,
    )


def _candidate_files(project: Project) -> Iterator[Path]:
    write_roots = file_access.writable_roots(project.root, project.write_roots)
    file_count = 0
    for folder, folders, files in os.walk(project.root):
        folder_path = Path(folder)
        depth = len(folder_path.relative_to(project.root).parts)
        folders[:] = sorted(
            name
            for name in folders
            if depth < _MAX_DEPTH
            and not name.startswith((".", "node_modules", "__pycache__"))
            and folder_path / name not in write_roots
            and not file_access.is_in_data_dir(folder_path / name, project.root, project.data_dir)
        )
        for name in sorted(files):
            if Path(name).suffix in _SUFFIXES and not name.startswith("."):
                file_count += 1
                if file_count > _MAX_FILES:
                    return
                yield folder_path / name


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


# -- explanations -----------------------------------------------------------------------------------------------------


async def _explain(engine: engine_api.Engine, workflow: definition.Workflow, *, items: int) -> dict[str, Json]:
    """Return a workflow's outline and estimate, as `skelo explain` does; a foreach is counted with `items` items."""
    past_runs = await engine.history.past_runs(workflow)
    return await _outline_with_estimate(engine, workflow, past_runs, items)


async def explain_pinned(engine: engine_api.Engine, workflow: definition.Workflow, *, items: int) -> dict[str, Json]:
    """Return the same for a workflow that a run has pinned, without past runs: the run itself must not count."""
    return await _outline_with_estimate(engine, workflow, None, items)


async def _outline_with_estimate(
    engine: engine_api.Engine, workflow: definition.Workflow, past_runs: run_estimate.PastRuns | None, items: int
) -> dict[str, Json]:
    def build() -> dict[str, Json]:
        basis = run_estimate.basis(workflow, engine.project, past_runs, items=items)
        return {
            **outline.document(workflow),
            "totals": run_estimate.totals(run_estimate.report(workflow, basis), basis.notes),
        }

    return await asyncio.to_thread(build)  # in a thread: the first call reads a long list of prices

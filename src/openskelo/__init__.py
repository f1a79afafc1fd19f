"""OpenSkelo: a backbone for AI work.

    workflow = openskelo.load("flow.yaml")                                   # InvalidWorkflow lists its Problems
    async with await openskelo.Engine.open(openskelo.project_at("flow.yaml")) as engine:
        run_id = await engine.start(workflow, {"topic": "bees"})
        document = await engine.wait(run_id)                                 # ended, or waiting for a person
        for asked in document["approvals"]:
            await engine.answer(asked["id"], status="approved", by="me")
        document = await engine.wait(run_id)

Names are imported when they are first used, so that `import openskelo` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from openskelo.errors import (
    AttemptFailed,
    Busy,
    InvalidInput,
    InvalidWorkflow,
    NotFound,
    OpenSkeloError,
    Refused,
    StoreError,
)

if TYPE_CHECKING:
    from openskelo.engine.health import doctor
    from openskelo.engine.local import Engine
    from openskelo.engine.place import project_at
    from openskelo.engine.planning import plan
    from openskelo.engine.records import reading
    from openskelo.engine.verify import verify_file
    from openskelo.executors.task import Project
    from openskelo.handlers.context import Context
    from openskelo.kernel.definition import Workflow
    from openskelo.workflows.convert.file import convert
    from openskelo.workflows.load import check, from_document, load
    from openskelo.workflows.problems import Problem

__version__ = "0.1.0"

__all__ = [
    "AttemptFailed",
    "Busy",
    "Context",
    "Engine",
    "InvalidInput",
    "InvalidWorkflow",
    "NotFound",
    "OpenSkeloError",
    "Problem",
    "Project",
    "Refused",
    "StoreError",
    "Workflow",
    "__version__",
    "check",
    "convert",
    "doctor",
    "from_document",
    "load",
    "plan",
    "project_at",
    "reading",
    "verify_file",
]

_WHERE = {
    "Context": "openskelo.handlers.context",
    "Engine": "openskelo.engine.local",
    "Problem": "openskelo.workflows.problems",
    "Project": "openskelo.executors.task",
    "Workflow": "openskelo.kernel.definition",
    "check": "openskelo.workflows.load",
    "convert": "openskelo.workflows.convert.file",
    "doctor": "openskelo.engine.health",
    "from_document": "openskelo.workflows.load",
    "load": "openskelo.workflows.load",
    "plan": "openskelo.engine.planning",
    "project_at": "openskelo.engine.place",
    "reading": "openskelo.engine.records",
    "verify_file": "openskelo.engine.verify",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"openskelo has no {name}")
    return getattr(import_module(_WHERE[name]), name)

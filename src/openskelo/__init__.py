"""OpenSkelo: a backbone for AI work.

    document = openskelo.run("flow.yaml", {"topic": "bees"})                 # to its end, or to a question to a person

The same with an engine, which can do more:

    workflow = openskelo.load("flow.yaml")                                   # InvalidWorkflow lists its Problems
    async with await openskelo.Engine.open(openskelo.project_at("flow.yaml")) as engine:
        run_id = await engine.start(workflow, {"topic": "bees"})
        document = await engine.wait(run_id)                                 # ended, or waiting for a person
        for approval in document["approvals"]:
            await engine.answer(approval["id"], status="approved", by="me")
        document = await engine.wait(run_id)

Names are imported when they are first used, so that `import openskelo` costs next to nothing.

How it works: a command (start a run, report an attempt, answer a question) is decided by pure code, the events that
follow are appended to the log, and only then does work start. A run is the sum of its events, so a crash loses nothing.

    command ──> engine ──> kernel decides ──> stores append ──> executors do the work ──> command …
                                                   └──> history, wire: what people and programs read

The packages, from the top down; each imports only from those below it (docs/architecture.md says more):

    cli, server                    the command `skelo`; REST, streams and the dashboard
    testing                        for tests of workflows, stores and agents
    engine                         takes commands, drives runs, starts the work that they owe
    history                        reads logs: show, list, verify, replay, compare, export, prune
    workflows                      from the text of a workflow to a checked definition, or to Problems
    executors                      does the work of nodes: from the request of an attempt to its outcome
    agents                         coding agents: their programs, permissions, sandboxes, workspaces
    gates, ops, checks             gate types, ops of plans, checkers of files: one file each
    stores, programs               where logs are kept; external programs that end with their parent
    project                        the folder around workflow files, and what its `skelo.yaml` allows
    providers, handlers, wire      model APIs; built-in handlers; what clients see of a run
    agent_settings, extensions     the settings of agents; how one-file extensions are found
    record                         what proves a run: hash chain, receipts, signature, export
    values                         JSON, JSON Schema, CEL expressions, templates
    kernel                         the pure rules: commands, events, the state of a run
    clock, errors, files           time, the error tree, file access
    http_connections, structs      limits on the connections of a server; value classes
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
    from openskelo.engine.blocking import run
    from openskelo.engine.health import doctor
    from openskelo.engine.local import Engine
    from openskelo.engine.planning import plan
    from openskelo.handlers.context import Context
    from openskelo.history.reader import reading
    from openskelo.history.run_document import ApprovalDocument, NodeDocument, RunDocument
    from openskelo.history.verify import verify_file
    from openskelo.kernel.definition import Workflow
    from openskelo.project import Project
    from openskelo.workflows.load import check, from_document, load
    from openskelo.workflows.project.project_file import project_at
    from openskelo.workflows.text.problems import Problem

__version__ = "0.1.0"

__all__ = [
    "ApprovalDocument",
    "AttemptFailed",
    "Busy",
    "Context",
    "Engine",
    "InvalidInput",
    "InvalidWorkflow",
    "NodeDocument",
    "NotFound",
    "OpenSkeloError",
    "Problem",
    "Project",
    "Refused",
    "RunDocument",
    "StoreError",
    "Workflow",
    "__version__",
    "check",
    "doctor",
    "from_document",
    "load",
    "plan",
    "project_at",
    "reading",
    "run",
    "verify_file",
]

_WHERE = {
    "ApprovalDocument": "openskelo.history.run_document",
    "Context": "openskelo.handlers.context",
    "Engine": "openskelo.engine.local",
    "NodeDocument": "openskelo.history.run_document",
    "Problem": "openskelo.workflows.text.problems",
    "Project": "openskelo.project",
    "RunDocument": "openskelo.history.run_document",
    "Workflow": "openskelo.kernel.definition",
    "check": "openskelo.workflows.load",
    "doctor": "openskelo.engine.health",
    "from_document": "openskelo.workflows.load",
    "load": "openskelo.workflows.load",
    "plan": "openskelo.engine.planning",
    "project_at": "openskelo.workflows.project.project_file",
    "reading": "openskelo.history.reader",
    "run": "openskelo.engine.blocking",
    "verify_file": "openskelo.history.verify",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"openskelo has no {name}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return list(__all__)

"""What the tests of executors share: a project in a temporary folder, and one line to perform a node."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.attempt import running_attempt
from openskelo.executors.handlers import invocation
from openskelo.kernel import definition, ids, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.providers import protocol
from openskelo.structs import replace
from openskelo.values import canonical

RUN_ID = "3f0e8f0a-0000-4000-8000-000000000001"
NOW = 1_700_000_000_123  # 2023-11-14T22:13:20.123Z


@dataclass(slots=True)
class MemoryBlobs:
    """Keeps what it is given."""

    kept: dict[str, bytes] = field(default_factory=dict[str, bytes])

    async def put_blob(self, data: bytes, name: str | None = None) -> str:
        name = name or canonical.digest_bytes(data)
        self.kept[name] = data
        return name


def port(name: str, kind: str = "", **more: Json) -> definition.Port:
    """A port of a JSON type; an empty `kind` takes anything."""
    required = more.pop("required", True) is True
    if kind == "file":
        return definition.Port(name=name, schema={"type": "string"}, kind="file", required=required)
    if kind == "artifact":
        return definition.Port(name=name, schema={"type": "string"}, kind="artifact", required=required)
    schema: JsonObject = {"type": kind, **more} if kind else {**more}
    return definition.Port(name=name, schema=schema, required=required)


def project(root: Path, **changes: Any) -> Project:
    real = root.resolve()
    return replace(Project(root=real, data_dir=real / ".skelo"), **changes)


def task_of(node: definition.Node, inputs: JsonObject, **changes: Any) -> running_attempt.AttemptRequest:
    plain = running_attempt.AttemptRequest(
        run_id=RUN_ID,
        workflow_name="demo",
        node=node,
        visit=1,
        attempt=1,
        inputs=inputs,
        now=NOW,
    )
    return replace(plain, **changes)


def job_of(node: definition.Node, inputs: JsonObject) -> running_attempt.RunningAttempt:
    return running_attempt.RunningAttempt(task_of(node, inputs), inputs)


def key(node: str) -> str:
    """The idempotency key of a task of a node of this name."""
    return ids.idempotency_key(RUN_ID, node, 1, 0)


def perform(
    where: Project,
    *tasks: running_attempt.AttemptRequest,
    local: Mapping[str, invocation.Handler] | None = None,
    provider: protocol.Provider | None = None,
    blobs: MemoryBlobs | None = None,
) -> list[attempt_performer.AttemptResult]:
    """Every task in turn, by one performer that is closed afterwards."""

    async def all_of_them() -> list[attempt_performer.AttemptResult]:
        performer = attempt_performer.Performer(
            project=where, blobs=blobs or MemoryBlobs(), local_handlers=local or {}, provider=provider
        )
        try:
            return [await performer.perform(running_attempt.RunningAttempt(one, one.inputs)) for one in tasks]
        finally:
            await performer.close()

    return asyncio.run(all_of_them())


def outcome_of(where: Project, one: running_attempt.AttemptRequest, **more: Any) -> outcome.Outcome:
    return perform(where, one, **more)[0].outcome


def code_of(found: outcome.Outcome) -> str | None:
    return found.failure.code if found.failure else None


def log_of(found: attempt_performer.AttemptResult) -> str:
    """The text of the attempt's log artifact."""
    (note,) = found.outcome.artifacts
    return found.blobs[note.hash].decode()

"""Documents of the wire that are made from a single thing: an open approval, an artifact."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from openskelo.contract import envelope, naming
from openskelo.kernel import events
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import OpenApproval

#: Where the file with this `sha256:` name is, as an absolute path; None where it is no file of its own.
Locate: TypeAlias = Callable[[str], str | None]


def nowhere(_: str) -> None:
    """For readers to whom paths are of no use."""


def approval(run_id: str, asked: OpenApproval, requested_at: int | None) -> JsonObject:
    """An open approval."""
    said = asked.document
    return {
        "id": asked.id,
        "approvalId": asked.id,
        "runId": run_id,
        "nodeId": naming.node(run_id, asked.node),
        "node": asked.node,
        "kind": asked.kind,
        "tool": said["tool"],
        "context": said["prompt"],
        "prompt": said["prompt"],
        "form": said["form"],
        "approvers": list(asked.approvers),
        "digest": asked.digest,
        "requestedAt": None if requested_at is None else envelope.timestamp(requested_at),
        "expiresAt": None if asked.expires_at is None else envelope.timestamp(asked.expires_at),
        "visit": asked.visit,
        "item": asked.item,
    }


def artifact(run_id: str, made: events.ArtifactCreated, locate: Locate) -> JsonObject:
    """A kept file. Its path is found on reading: a log that is moved stays true."""
    note = made.artifact
    return {
        "id": note["id"],
        "runId": run_id,
        "nodeId": naming.node(run_id, made.node),
        "kind": note["kind"],
        "name": note["name"],
        "path": locate(cast("str", note["hash"])),
        "createdAt": envelope.timestamp(made.at),
        "ref": f"artifact://{note['id']}",
        "hash": note["hash"],
        "size": note["size"],
        "mediaType": note["mediaType"],
        "visit": made.visit,
        "attempt": made.attempt,
        "item": made.item,
    }

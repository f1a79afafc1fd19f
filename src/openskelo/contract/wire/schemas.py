"""The JSON Schemas of the contract, as the package ships them.

`python -m openskelo.contract.wire.schemas` writes them anew after a change of the models.
"""

from __future__ import annotations

from pathlib import Path

import orjson
from pydantic import BaseModel

from openskelo.contract.wire import (
    approval,
    artifact,
    edge,
    event,
    handoff,
    message,
    node,
    problem,
    receipt,
    run,
    stream,
)

#: Where the package keeps them.
FOLDER = Path(__file__).parents[1] / "schemas"
#: Everything that has a schema of its own, by the name of its file.
MODELS: dict[str, type[BaseModel]] = {
    "run": run.Run,
    "run-summary": run.RunSummary,
    "run-patch": run.RunPatch,
    "node": node.Node,
    "node-body": node.NodeBody,
    "node-change": node.NodeChange,
    "item": node.Item,
    "edge": edge.Edge,
    "edge-body": edge.EdgeBody,
    "handoff": handoff.Handoff,
    "message": message.Message,
    "chat-body": message.ChatBody,
    "artifact": artifact.Artifact,
    "approval": approval.Approval,
    "resolve-body": approval.ResolveBody,
    "receipt": receipt.Receipt,
    "event": event.WireEvent,
    "event-page": event.EventPage,
    "stream-message": stream.StreamMessage,
    "problem": problem.ProblemDetails,
}


def schema(name: str) -> bytes:
    """The text of one schema file."""
    described = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"openskelo:contract/1/{name}",
        **MODELS[name].model_json_schema(by_alias=True, mode="validation"),
    }
    return orjson.dumps(described, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def write(folder: Path) -> None:
    """Write all schema files, and remove those that are no longer of use."""
    for path in folder.glob("*.json"):
        if path.stem not in MODELS:
            path.unlink()
    for name in MODELS:
        (folder / f"{name}.json").write_bytes(schema(name))


if __name__ == "__main__":
    write(FOLDER)

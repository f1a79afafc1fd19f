"""The JSON Schemas of the contract, as the package ships them.

`python -m openskelo.wire.models.schemas` writes them again after a change of the models.
"""

from __future__ import annotations

from pathlib import Path

import orjson
from pydantic import BaseModel

from openskelo.wire.models import approval, events, node, run, wire_model

#: The folder of the schema files.
FOLDER = Path(__file__).parents[1] / "schemas"
#: The models with a schema file, by the name of the file.
MODELS: dict[str, type[BaseModel]] = {
    "run": run.Run,
    "run-summary": run.RunSummary,
    "run-patch": run.RunPatch,
    "node": node.Node,
    "node-body": node.NodeBody,
    "node-change": node.NodeChange,
    "item": node.Item,
    "edge": node.Edge,
    "edge-body": node.EdgeBody,
    "handoff": node.Handoff,
    "message": node.Message,
    "chat-body": node.ChatBody,
    "artifact": node.Artifact,
    "approval": approval.Approval,
    "resolve-body": approval.ResolveBody,
    "receipt": run.Receipt,
    "event": events.WireEvent,
    "event-page": events.EventPage,
    "stream-message": events.StreamMessage,
    "problem": wire_model.ProblemDetails,
}


def schema(name: str) -> bytes:
    """Return the text of one schema file."""
    schema_document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"openskelo:contract/1/{name}",
        **MODELS[name].model_json_schema(by_alias=True, mode="validation"),
    }
    return orjson.dumps(schema_document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def write(folder: Path) -> None:
    """Write all schema files, and remove files without a model."""
    for path in folder.glob("*.json"):
        if path.stem not in MODELS:
            path.unlink()
    for name in MODELS:
        (folder / f"{name}.json").write_bytes(schema(name))


if __name__ == "__main__":
    write(FOLDER)

"""The rule that every client follows, in Python: a snapshot and the events after it give the later snapshot.

run.patch            each field of `patch` takes the place of the run's
node.patch           the same for the node, which begins empty when it is new
node.deleted         the node is gone
edge.created         `edge` is under its id           edge.deleted        and is gone
artifact.created     `artifact` is under its id
approval.requested   `approval` is under its id       approval.resolved   and is gone
all others           change nothing: they tell what happened
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from openskelo.kernel.json import Json, JsonObject
from openskelo.wire.projection import empty_snapshot as empty

__all__ = ["empty", "fold"]


def fold(snapshot: JsonObject, events: Iterable[JsonObject]) -> JsonObject:
    """The snapshot after these events, which must be all that came after it, in order. It is not changed itself."""
    run: dict[str, Json] = dict(snapshot)
    maps: dict[str, dict[str, Json]] = {
        name: dict(cast("Mapping[str, Json]", run[name])) for name in ("nodes", "edges", "artifacts", "approvals")
    }
    for event in events:
        _take(run, maps, event)
    return {**run, **maps}


def _take(run: dict[str, Json], maps: dict[str, dict[str, Json]], event: JsonObject) -> None:
    match event["type"]:
        case "run.patch":
            run.update(cast("JsonObject", event["patch"]))
        case "node.patch":
            known = maps["nodes"].get(cast("str", event["nodeId"]), {})
            patch = cast("JsonObject", event["patch"])
            maps["nodes"][cast("str", event["nodeId"])] = {**cast("JsonObject", known), **patch}
        case "node.deleted":
            maps["nodes"].pop(cast("str", event["nodeId"]), None)
        case "edge.created":
            _keep(maps["edges"], event["edge"])
        case "edge.deleted":
            maps["edges"].pop(cast("str", event["edgeId"]), None)
        case "artifact.created":
            _keep(maps["artifacts"], event["artifact"])
        case "approval.requested":
            _keep(maps["approvals"], event["approval"])
        case "approval.resolved":
            maps["approvals"].pop(cast("str", event["approvalId"]), None)
        case _:
            pass  # it tells what happened; what it changed is said by the patches beside it


def _keep(known: dict[str, Json], document: Json) -> None:
    known[cast("str", cast("JsonObject", document)["id"])] = document

"""Which blobs an event refers to: what must travel along so that a record can be read elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from openskelo.contract import fields
from openskelo.kernel import events, graph_events
from openskelo.kernel.json import Json


def names(event: events.Event) -> Iterator[str]:
    """The `sha256:` names of the blobs that the event refers to, in no particular order."""
    match event:
        case events.RunCreated():
            yield event.definition
            yield from _stored(event.inputs)
            yield from _stored(event.contexts)
            for variable in (event.variables or {}).values():
                yield from _stored(variable)
        case events.NodeKept():
            yield from _stored(event.outputs)
            for item in event.items or ():
                yield from _stored(item)
        case events.NodeUnjudged():
            yield from _stored(event.outputs)
        case events.ItemsKept():
            for one in event.items:
                yield from _stored(one.get("outputs"))
        case events.NodeResolved():
            yield from _stored(event.inputs)
            yield from _stored(event.items)
        case events.AttemptSucceeded() | events.AttemptFailed():
            yield from _stored(event.outputs)
        case graph_events.MessageReceived():
            yield from _stored(event.content)
        case events.ApprovalRequested():
            yield from _stored(event.tool.get("stored"))
        case events.ApprovalResolved():
            yield from _stored(event.resolution.get("stored"))
            yield from _stored(event.items)
        case events.ArtifactCreated():
            name = event.artifact.get("hash")
            if fields.is_digest(name):
                yield cast("str", name)
        case _:
            return


def _stored(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and "blob" in value and fields.is_stored(value):
        yield cast("str", value["blob"])

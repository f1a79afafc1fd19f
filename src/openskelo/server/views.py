"""Views: runs as the contract shows them, for single requests: snapshots, pages of events, and values.

They are read from the log. The projections of recently read runs stay in memory (`stream.run_tracks`), so that the next
request folds only what is new.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import cast

import orjson

from openskelo import errors
from openskelo.engine.commands import graph_commands
from openskelo.executors import stored_values
from openskelo.executors.inputs import node_inputs
from openskelo.history import loading, run_document
from openskelo.kernel import calls
from openskelo.kernel import run as runs
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.record import envelope
from openskelo.server.stream import run_tracks
from openskelo.stores import api
from openskelo.structs import frozen
from openskelo.wire import derived_events, projection, wire_ids

#: Positions of this many paging clients are kept, so that their next page need not start at the first event.
_MAX_READERS = 16


@frozen
class Page:
    """Encoded events, and the `since` of the next page; None if this is the last page so far."""

    events: Sequence[bytes]
    next_seq: int | None


class Views:
    """Reads runs from the log, on tracks that streams share."""

    def __init__(self, tracks: run_tracks.RunTracks) -> None:
        self._store = tracks.store
        self._tracks = tracks
        self._readers: OrderedDict[tuple[str, int], run_tracks.RunTrack] = OrderedDict()

    async def snapshot(self, run_id: str) -> JsonObject:
        """Return the run's document as it is now. Raise NotFound."""
        return (await self._tracks.at_head(run_id)).document()

    async def load(self, run_id: str) -> runs.Run:
        """Return the run's state at the end of its log; other tasks run meanwhile. Raise NotFound."""
        return (await loading.load(self._store, run_id, patient=True)).run

    async def outputs(self, run_id: str) -> JsonObject:
        """Return the outputs of the run so far. Raise NotFound."""
        return await run_document.outputs(self._store, await self.load(run_id))

    async def whole_approval(self, row: api.ApprovalRow) -> JsonObject:
        """Return an open approval as the contract shows it; a call of an agent with its arguments, also large ones."""
        tool = cast("JsonObject", row.document["tool"])
        stored_args = cast("Stored | None", tool.get("stored"))
        if row.document["kind"] != calls.CALL or stored_args is None:
            return approval_document(row)
        args = await stored_values.load(self._store, stored_args)
        return approval_document(row, {"id": tool["id"], "name": tool["name"], "args": args})

    async def run_with_values(self, run_id: str) -> bytes:
        """Return the run's document with its inputs and outputs, encoded. Raise NotFound."""
        track = await self._tracks.at_head(run_id)
        run = await self.load(run_id)
        values: dict[str, Json] = {
            "inputs": await stored_values.load(self._store, run.inputs),
            "outputs": await run_document.outputs(self._store, run),
        }
        return track.snapshot()[:-1] + b"," + orjson.dumps(values)[1:]

    async def node(self, run_id: str, node_id: str) -> JsonObject:
        """Return a node with its inputs and outputs, as far as there are any. Raise NotFound."""
        document = await self._find_node(run_id, node_id)
        run = await self.load(run_id)
        key = cast("str", document["key"])
        state = run.nodes[key]
        values: dict[str, Json] = {}
        if state.visit and state.status not in ("waiting", "resolving"):
            values["inputs"] = await node_inputs.inputs(self._store, run, run.workflow.nodes[key])
        if state.outcome == "succeeded":
            values["outputs"] = await node_inputs.outputs(self._store, run, key)
        return {**document, **values}

    async def items(self, run_id: str, node_id: str, after: int, limit: int) -> list[JsonObject]:
        """Return items of a foreach, starting after the index `after`. Raise NotFound."""
        document = await self._find_node(run_id, node_id)
        run = await self.load(run_id)
        node = run.nodes[cast("str", document["key"])]
        if node.items is None:
            return []
        items: list[JsonObject] = []
        for index in range(after + 1, min(len(node.slots), after + 1 + limit)):
            slot = node.slots[index]
            outputs = slot.outputs if node.item_outputs is None else node.item_outputs[index]
            item: dict[str, Json] = {"index": index, "state": slot.state, "attempts": slot.attempt}
            if outputs is not None:
                if not slot.attempt:
                    item["kept"] = True
                item["outputs"] = await stored_values.load(self._store, outputs)
            if slot.error is not None:
                item["error"] = {"code": slot.error["code"], "message": slot.error["message"]}
            items.append(item)
        return items

    async def _find_node(self, run_id: str, node_id: str) -> JsonObject:
        nodes = cast("dict[str, JsonObject]", (await self.snapshot(run_id))["nodes"])
        if node_id not in nodes:
            raise errors.NotFound(f"run {run_id} has no node {node_id}", code="NODE_NOT_FOUND")
        return nodes[node_id]

    async def edge(self, run_id: str, edge_id: str) -> JsonObject:
        """Return an edge. Raise NotFound."""
        edges = cast("dict[str, JsonObject]", (await self.snapshot(run_id))["edges"])
        if edge_id not in edges:
            raise errors.NotFound(f"run {run_id} has no edge {edge_id}", code="EDGE_NOT_FOUND")
        return edges[edge_id]

    async def node_key(self, run_id: str, node_id: str) -> str:
        """Return the key of the node with this id. Raise NotFound."""
        return cast("str", (await self._find_node(run_id, node_id))["key"])

    async def addressee(self, run_id: str) -> str:
        """Return the id of the node that a message without an addressee goes to. Raise NotFound.

        That is the first node with the role of an orchestrator, else the first node.
        """
        nodes = cast("dict[str, JsonObject]", (await self.snapshot(run_id))["nodes"])
        orchestrators = (key for key, node in nodes.items() if node["roleTemplate"] == graph_commands.ORCHESTRATOR)
        node_id = next(orchestrators, next(iter(nodes), None))
        if node_id is None:
            raise errors.NotFound(f"run {run_id} has no node yet", code="NODE_NOT_FOUND", hint="add a node first")
        return node_id

    async def resolve_node_key(self, run_id: str, node: str) -> str:
        """Return the key of a node that a client names by its id or its key."""
        run = await self.load(run_id)
        return next((key for key in run.workflow.nodes if wire_ids.node(run_id, key) == node), node)

    # -- events -------------------------------------------------------------------------------------------------------

    async def events(self, run_id: str, since: int, limit: int, node_id: str | None = None) -> Page:
        """Return the wire events of at most `limit` facts after `since`; optionally only those about a node.

        Raise NotFound.
        """
        head = await self._tracks.at_head(run_id)
        kept_facts = head.facts_after(since)
        facts = await self._read_facts(run_id, since, limit) if kept_facts is None else kept_facts[:limit]
        last = facts[-1].seq if facts else since
        encoded_events = [fact.data for fact in facts]
        if node_id is not None:
            about_node = [_events_about(b"[%b]" % data, node_id) for data in encoded_events]
            encoded_events = [b",".join(map(orjson.dumps, events)) for events in about_node if events]
        return Page(events=encoded_events, next_seq=last if last < head.seq else None)

    async def _read_facts(self, run_id: str, since: int, limit: int) -> list[run_tracks.FactEvents]:
        """Read facts from the log; the next page of the same client goes on where this one ends."""
        reader = self._readers.pop((run_id, since), None) or await self._tracks.create_own(run_id)
        facts: list[run_tracks.FactEvents] = []
        async for lines in self._store.read_events(run_id, after=reader.seq):
            for line in lines:
                fact = reader.add(line)
                if fact.seq > since:
                    facts.append(fact)
                if len(facts) == limit:
                    self._readers[run_id, fact.seq] = reader
                    while len(self._readers) > _MAX_READERS:
                        self._readers.popitem(last=False)
                    return facts
            await asyncio.sleep(0)  # let other tasks run while a long log is read
        return facts

    async def events_containing(self, run_id: str, text: bytes) -> list[JsonObject]:
        """Return the wire events of all facts whose encoded events contain `text`. Raise NotFound."""
        reader = await self._tracks.create_own(run_id)
        events: list[JsonObject] = []
        async for lines in self._store.read_events(run_id, after=reader.seq):
            for line in lines:
                data = reader.add(line).data
                if text in data:
                    events += cast("list[JsonObject]", orjson.loads(b"[%b]" % data))
            await asyncio.sleep(0)
        return events

    async def facts(self, run_id: str, since: int, limit: int, node_id: str | None = None) -> Page:
        """Return at most `limit` lines of the log after `since`; optionally only those about a node. Raise NotFound."""
        await api.get_run(self._store, run_id)
        page: list[bytes] = []
        async for lines in self._store.read_events(run_id, after=since):
            page += lines
            if len(page) > limit:
                break
        has_more = len(page) > limit
        page = page[:limit]
        if node_id is not None:
            page = [line for line in page if _events_about(b"[%b]" % line, node_id)]
        return Page(events=page, next_seq=since + limit if has_more else None)


def _events_about(encoded: bytes, node_id: str) -> list[JsonObject]:
    """Return the events of an encoded list that are about a node; most lists need not be decoded to find none."""
    if node_id.encode() not in encoded:
        return []
    return [event for event in cast("list[JsonObject]", orjson.loads(encoded)) if event.get("nodeId") == node_id]


def approval_document(row: api.ApprovalRow, loaded_tool: JsonObject | None = None) -> JsonObject:
    """Return an open approval as the contract shows it, from its row in the listing alone.

    `loaded_tool` is the tool with the arguments that the row leaves out.
    """
    question = row.document
    kind, tool = str(question["kind"]), loaded_tool or cast("JsonObject", question["tool"])
    return {
        "id": row.approval_id,
        "approvalId": row.approval_id,
        "runId": row.run_id,
        "runName": question["runName"],
        "nodeId": wire_ids.node(row.run_id, row.node),
        "node": row.node,
        "kind": kind,
        "tool": derived_events.shown_tool(kind, tool),
        "call": derived_events.call_details(kind, tool),
        "context": question["prompt"],
        "prompt": question["prompt"],
        "form": question["form"],
        "approvers": question["approvers"],
        "digest": question["digest"],
        "requestedAt": question["requestedAt"],
        "expiresAt": question["expiresAt"],
        "visit": question["visit"],
        "item": question["item"],
    }


def run_summary(row: api.RunRow) -> JsonObject:
    """Return a run as listings show it."""
    return {
        "id": row.run_id,
        "runId": row.run_id,
        "contractVersion": projection.CONTRACT_VERSION,
        "name": row.name,
        "status": row.status,
        "ending": row.ending,
        "workflowHash": row.workflow_hash,
        "createdAt": envelope.timestamp(row.created_at),
        "updatedAt": envelope.timestamp(row.updated_at),
        "parent": row.parent,
    }

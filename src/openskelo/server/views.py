"""Runs as the contract shows them, for those who ask once: snapshots, pages of events, and values."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import cast

import orjson

from openskelo import errors
from openskelo.contract import envelope, naming, projection
from openskelo.engine import document, loading, wiring
from openskelo.executors import keeping
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import track, tracks
from openskelo.stores import log

#: So many readers who page through a run are remembered, so that the next page need not begin at the first event.
_READERS = 16


@frozen
class Page:
    """Encoded events, and the `since` of the next page; None when there is none yet."""

    events: Sequence[bytes]
    next_seq: int | None


class Views:
    """Reads what is asked for from the log; keeps a few projections in memory, as many as fit."""

    def __init__(self, store: log.Log) -> None:
        self._store = store
        self._tracks = tracks.Tracks(store, _projection, tracks.MAX_RUNS)
        self._readers: OrderedDict[tuple[str, int], track.Track] = OrderedDict()

    async def snapshot(self, run_id: str) -> JsonObject:
        """The run's document as it is now (NotFound)."""
        return (await self._tracks.at_head(run_id)).document()

    async def whole(self, run_id: str) -> bytes:
        """The same with the run's inputs and outputs, encoded."""
        found = await self._tracks.at_head(run_id)
        run = (await loading.load(self._store, run_id, patient=True)).run
        values: dict[str, Json] = {
            "inputs": await keeping.load(self._store, run.inputs),
            "outputs": await document.outputs(self._store, run),
        }
        return found.snapshot()[:-1] + b"," + orjson.dumps(values)[1:]

    async def node(self, run_id: str, node_id: str) -> JsonObject:
        """A node with its inputs and outputs, as far as there are any (NotFound)."""
        found = await self._node(run_id, node_id)
        run = (await loading.load(self._store, run_id, patient=True)).run
        key = cast("str", found["key"])
        state = run.nodes[key]
        values: dict[str, Json] = {}
        if state.visit and state.status not in ("waiting", "resolving"):
            values["inputs"] = await wiring.inputs(self._store, run, run.workflow.nodes[key])
        if state.outcome == "succeeded":
            values["outputs"] = await wiring.outputs(self._store, run, key)
        return {**found, **values}

    async def items(self, run_id: str, node_id: str, after: int, limit: int) -> list[JsonObject]:
        """Items of a foreach from the one after `after` on (NotFound)."""
        found = await self._node(run_id, node_id)
        run = (await loading.load(self._store, run_id, patient=True)).run
        node = run.nodes[cast("str", found["key"])]
        if node.items is None:
            return []
        listed: list[JsonObject] = []
        for index in range(after + 1, min(len(node.slots), after + 1 + limit)):
            slot = node.slots[index]
            kept = slot.outputs if node.item_outputs is None else node.item_outputs[index]
            one: dict[str, Json] = {"index": index, "state": slot.state, "attempts": slot.attempt}
            if kept is not None:
                if not slot.attempt:
                    one["kept"] = True
                one["outputs"] = await keeping.load(self._store, kept)
            listed.append(one)
        return listed

    async def _node(self, run_id: str, node_id: str) -> JsonObject:
        nodes = cast("dict[str, JsonObject]", (await self.snapshot(run_id))["nodes"])
        if node_id not in nodes:
            raise errors.NotFound(f"run {run_id} has no node {node_id}", code="NODE_NOT_FOUND")
        return nodes[node_id]

    async def edge(self, run_id: str, edge_id: str) -> JsonObject:
        """An edge (NotFound)."""
        edges = cast("dict[str, JsonObject]", (await self.snapshot(run_id))["edges"])
        if edge_id not in edges:
            raise errors.NotFound(f"run {run_id} has no edge {edge_id}", code="EDGE_NOT_FOUND")
        return edges[edge_id]

    async def key(self, run_id: str, node_id: str) -> str:
        """The key of a node (NotFound)."""
        return cast("str", (await self._node(run_id, node_id))["key"])

    async def key_of(self, run_id: str, node: str) -> str:
        """The key of a node that is named by its id or its key."""
        run = (await loading.load(self._store, run_id, patient=True)).run
        return next((key for key in run.workflow.nodes if naming.node(run_id, key) == node), node)

    def forget(self, run_id: str) -> None:
        """Keep nothing in memory of a run that is gone."""
        self._tracks.forget(run_id)

    # -- events -------------------------------------------------------------------------------------------------------

    async def events(self, run_id: str, since: int, limit: int, node_id: str | None = None) -> Page:
        """What the facts after `since` tell, at most so many facts; of it what is about a node (NotFound)."""
        head = await self._tracks.at_head(run_id)
        kept = head.after(since)
        if kept is not None:
            found = kept[:limit]
        else:
            found = await self._read(run_id, since, limit)
        last = found[-1].seq if found else since
        told = [one.data for one in found]
        if node_id is not None:
            told = [b",".join(map(orjson.dumps, about)) for data in told if (about := _about(b"[%b]" % data, node_id))]
        return Page(events=told, next_seq=last if last < head.seq else None)

    async def _read(self, run_id: str, since: int, limit: int) -> list[track.Told]:
        """From the log: a reader who comes back for the next page goes on where the last one ended."""
        reader = self._readers.pop((run_id, since), None) or await self._tracks.fresh(run_id)
        found: list[track.Told] = []
        async for lines in self._store.read(run_id, after=reader.seq):
            for line in lines:
                told = reader.add(line)
                if told.seq > since:
                    found.append(told)
                if len(found) == limit:
                    self._readers[run_id, told.seq] = reader
                    while len(self._readers) > _READERS:
                        self._readers.popitem(last=False)
                    return found
            await asyncio.sleep(0)  # a long log must not keep everybody else waiting
        return found

    async def telling(self, run_id: str, sign: bytes) -> list[JsonObject]:
        """Those events of a run that belong to facts whose events hold these bytes (NotFound)."""
        reader = await self._tracks.fresh(run_id)
        found: list[JsonObject] = []
        async for lines in self._store.read(run_id, after=reader.seq):
            for line in lines:
                told = reader.add(line).data
                if sign in told:
                    found += cast("list[JsonObject]", orjson.loads(b"[%b]" % told))
            await asyncio.sleep(0)
        return found

    async def facts(self, run_id: str, since: int, limit: int, node_id: str | None = None) -> Page:
        """The lines of the log after `since`, at most so many; of them those about a node (NotFound)."""
        if await self._store.row(run_id) is None:
            raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="GET /api/runs lists them")
        found: list[bytes] = []
        async for lines in self._store.read(run_id, after=since):
            found += lines
            if len(found) > limit:
                break
        more = len(found) > limit
        found = found[:limit]
        if node_id is not None:
            found = [line for line in found if _about(b"[%b]" % line, node_id)]
        return Page(events=found, next_seq=since + limit if more else None)


def _about(encoded: bytes, node_id: str) -> list[JsonObject]:
    """Those of an encoded list's events that are about a node; most lists need not be read to see that none is."""
    if node_id.encode() not in encoded:
        return []
    return [one for one in cast("list[JsonObject]", orjson.loads(encoded)) if one.get("nodeId") == node_id]


def _projection(run_id: str, workflow: definition.Workflow) -> track.Projection:
    return projection.Projection(run_id, workflow)


def approval(row: log.ApprovalRow) -> JsonObject:
    """An open approval as the contract shows it, from its line in the listing alone."""
    said = row.document
    return {
        "id": row.approval_id,
        "approvalId": row.approval_id,
        "runId": row.run_id,
        "nodeId": naming.node(row.run_id, row.node),
        "node": row.node,
        "kind": said["kind"],
        "tool": said["tool"],
        "context": said["prompt"],
        "prompt": said["prompt"],
        "form": said["form"],
        "approvers": said["approvers"],
        "digest": said["digest"],
        "requestedAt": said.get("requestedAt"),
        "expiresAt": said["expiresAt"],
        "visit": said.get("visit"),
        "item": said.get("item"),
    }


def summary(row: log.RunRow) -> JsonObject:
    """A run as listings show it."""
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

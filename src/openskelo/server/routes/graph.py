"""The nodes and edges of a run, to read."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Query, Response

from openskelo.contract.wire import node as wire
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import models, problems, responses
from openskelo.server.bodies import Route
from openskelo.server.desk import VIEWERS, Here
from openskelo.server.params import Limit, NodeId, RunId

router = APIRouter(prefix="/api/runs/{run_id}", tags=["graph"], route_class=Route, dependencies=VIEWERS)


@router.get("/nodes", response_model=models.NodeList, responses=problems.responses(404))
async def list_nodes(desk: Here, run_id: RunId) -> Response:
    """The run's nodes, in the order of its workflow."""
    nodes = cast("JsonObject", (await desk.views.snapshot(run_id))["nodes"])
    return responses.document({"nodes": list(nodes.values())})


@router.get("/nodes/{node_id}", response_model=wire.Node, responses=problems.responses(404))
async def get_node(desk: Here, run_id: RunId, node_id: NodeId) -> Response:
    """A node with its inputs and outputs."""
    return responses.document(await desk.views.node(run_id, node_id))


@router.get("/nodes/{node_id}/items", response_model=models.ItemPage, responses=problems.responses(404))
async def list_items(
    desk: Here,
    run_id: RunId,
    node_id: NodeId,
    after: Annotated[int, Query(ge=-1, le=2**53, description="only items after this index")] = -1,
    limit: Limit = 100,
) -> Response:
    """Items of a foreach node, with the outputs of those that are done."""
    items = await desk.views.items(run_id, node_id, after, limit)
    more: Json = after + limit if len(items) == limit else None
    return responses.document({"items": items, "nextAfter": more})


@router.get("/edges", response_model=models.EdgeList, responses=problems.responses(404))
async def list_edges(desk: Here, run_id: RunId) -> Response:
    """The run's edges."""
    edges = cast("JsonObject", (await desk.views.snapshot(run_id))["edges"])
    return responses.document({"edges": list(edges.values())})

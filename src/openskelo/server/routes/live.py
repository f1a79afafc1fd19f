"""Live graphs: nodes and edges added, changed and removed while the run goes on, and messages to nodes."""

from __future__ import annotations

from fastapi import APIRouter, Response

from openskelo.contract import naming
from openskelo.contract.wire import edge, message, node
from openskelo.engine import graphs
from openskelo.kernel.json import JsonObject
from openskelo.server import models, problems, responses
from openskelo.server.bodies import Route
from openskelo.server.desk import VIEWERS, Here, Operator
from openskelo.server.params import EdgeId, NodeId, RunId

router = APIRouter(prefix="/api/runs/{run_id}", tags=["live graphs"], route_class=Route, dependencies=VIEWERS)
_ERRORS = problems.responses(202, 404, 409, 413, 415)


def _capabilities(body: node.CapabilitiesBody | None) -> JsonObject | None:
    return None if body is None else body.model_dump(by_alias=True, exclude_none=True)


def _gated(body: node.PermissionsBody | None) -> bool | None:
    mode = None if body is None else body.cli_permissions_mode
    return None if mode is None else mode == "gated"


@router.post("/nodes", status_code=201, response_model=node.Node, responses=_ERRORS)
async def add_node(desk: Here, who: Operator, run_id: RunId, body: node.NodeBody) -> Response:
    """Add a node to a live graph."""
    key = await desk.engine.graph(run_id).add_node(
        body.label,
        kind=body.kind,
        config=body.config,
        key=body.key,
        more=graphs.Change(
            role=body.role_template,
            provider=body.provider,
            capabilities=_capabilities(body.capabilities),
            gated=_gated(body.permissions),
        ),
        by=who.name,
    )
    node_id = naming.node(run_id, key)
    made = await desk.views.node(run_id, node_id)
    return responses.document(made, 201, {"location": f"/api/runs/{run_id}/nodes/{node_id}"})


@router.patch("/nodes/{node_id}", response_model=node.Node, responses=_ERRORS)
async def change_node(desk: Here, who: Operator, run_id: RunId, node_id: NodeId, body: node.NodeChange) -> Response:
    """Change a node of a live graph that is not in a turn; a `config` takes the place of the one it has."""
    change = graphs.Change(
        label=body.label,
        role=body.role_template,
        provider=body.provider,
        config=body.config,
        capabilities=_capabilities(body.capabilities),
        gated=_gated(body.permissions),
    )
    await desk.engine.graph(run_id).change_node(await desk.views.key(run_id, node_id), change, by=who.name)
    return responses.document(await desk.views.node(run_id, node_id))


@router.delete("/nodes/{node_id}", status_code=204, response_class=Response, responses=_ERRORS)
async def remove_node(desk: Here, who: Operator, run_id: RunId, node_id: NodeId) -> Response:
    """Take a node out of a live graph, with its edges and what it is doing."""
    await desk.engine.graph(run_id).remove_node(await desk.views.key(run_id, node_id), by=who.name)
    return Response(status_code=204)


@router.post("/edges", status_code=201, response_model=edge.Edge, responses=_ERRORS)
async def add_edge(desk: Here, who: Operator, run_id: RunId, body: edge.EdgeBody) -> Response:
    """Tie two nodes of a live graph."""
    edge_id = await desk.engine.graph(run_id).add_edge(
        await desk.views.key(run_id, body.from_),
        await desk.views.key(run_id, body.to),
        bidirectional=body.bidirectional,
        type=body.type,
        label=body.label,
        by=who.name,
    )
    return responses.document(await desk.views.edge(run_id, edge_id), 201)


@router.delete("/edges/{edge_id}", status_code=204, response_class=Response, responses=_ERRORS)
async def remove_edge(desk: Here, who: Operator, run_id: RunId, edge_id: EdgeId) -> Response:
    """Take an edge out of a live graph."""
    await desk.views.edge(run_id, edge_id)
    await desk.engine.graph(run_id).remove_edge(edge_id, by=who.name)
    return Response(status_code=204)


@router.post("/chat", status_code=202, response_model=models.Sent, responses=problems.responses(404, 409, 413, 415))
async def chat(desk: Here, who: Operator, run_id: RunId, body: message.ChatBody) -> Response:
    """Say something to a node: it reads it in its next turn, or, with `interrupt`, at once."""
    key = await desk.views.key(run_id, body.node_id)
    sent = await desk.engine.graph(run_id).say(key, body.content, interrupt=body.interrupt, by=who.name)
    return responses.document(
        {"messageId": sent, "runId": run_id, "nodeId": body.node_id, "interrupt": body.interrupt}, 202
    )

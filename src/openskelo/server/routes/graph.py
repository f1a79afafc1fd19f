"""The nodes and edges of a run: listed for every run, changed in a live graph; and messages to nodes."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Query, Response

from openskelo import errors
from openskelo.agents.workspace import create_workspace, workspace
from openskelo.engine.commands import graph_commands
from openskelo.handlers import secrets
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import models, problems, rest, sent_documents
from openskelo.server.rest import VIEWERS, Context, Operator
from openskelo.wire import wire_ids
from openskelo.wire.models import node as wire

#: How many logs of running attempts are listed; a foreach may have more.
_MAX_LOGS = 20

router = APIRouter(prefix="/api/runs/{run_id}", tags=["graph"], route_class=rest.StrictRoute, dependencies=VIEWERS)


@router.get("/nodes", response_model=models.NodeList, responses=problems.responses(404))
async def list_nodes(context: Context, run_id: rest.RunId) -> Response:
    """List the run's nodes, in the order of its workflow."""
    nodes = cast("JsonObject", (await context.views.snapshot(run_id))["nodes"])
    return rest.json_response({"nodes": list(nodes.values())})


@router.get("/nodes/{node_id}", response_model=wire.Node, responses=problems.responses(404))
async def get_node(context: Context, run_id: rest.RunId, node_id: rest.NodeId) -> Response:
    """Return a node with its inputs and outputs, and the workspace of its agent."""
    document = await context.views.node(run_id, node_id)
    place = workspace.find(context.engine.project.data_dir, run_id, str(document["key"]))
    more: JsonObject = {} if place is None else {"workspace": workspace.as_json(place)}
    return rest.json_response({**document, **more})


@router.get("/nodes/{node_id}/changes", response_model=models.Changes, responses=problems.responses(404))
async def get_changes(context: Context, run_id: rest.RunId, node_id: rest.NodeId) -> Response:
    """Return what an agent's node has changed in its workspace since its first turn there."""
    key = await context.views.node_key(run_id, node_id)
    place = workspace.find(context.engine.project.data_dir, run_id, key)
    if place is None:
        raise errors.NotFound(f"the node {key} has no workspace here", code="WORKSPACE_NOT_FOUND")
    try:
        diff = await place.diff_since_base()
        secret_values = secrets.spellings(await create_workspace.find_secret_values(place))
    except (errors.AttemptFailed, OSError) as error:  # its folder is gone, or no longer what git expects
        raise errors.NotFound(f"the workspace of {key} cannot be read", code="WORKSPACE_NOT_FOUND") from error
    return rest.json_response(
        {
            "filesChanged": list(diff.files),
            "insertions": diff.insertions,
            "deletions": diff.deletions,
            "diff": secrets.mask(diff.patch, (*secrets.values(context.engine.project.secrets), *secret_values)),
        }
    )


@router.get("/nodes/{node_id}/items", response_model=models.ItemPage, responses=problems.responses(404))
async def list_items(
    context: Context,
    run_id: rest.RunId,
    node_id: rest.NodeId,
    after: Annotated[int, Query(ge=-1, le=2**53, description="only items after this index")] = -1,
    limit: rest.Limit = 100,
) -> Response:
    """List items of a foreach node, with the outputs of finished ones."""
    items = await context.views.items(run_id, node_id, after, limit)
    next_after: Json = after + limit if len(items) == limit else None
    return rest.json_response({"items": items, "nextAfter": next_after})


@router.get("/nodes/{node_id}/logs", response_model=models.LogList, responses=problems.responses(404))
async def list_logs(context: Context, run_id: rest.RunId, node_id: rest.NodeId) -> Response:
    """List what attempts of a node that this server performs now have logged so far; ended ones have an artifact."""
    key = await context.views.node_key(run_id, node_id)
    return rest.json_response({"logs": context.engine.logs_so_far(run_id, key)[:_MAX_LOGS]})


@router.get("/edges", response_model=models.EdgeList, responses=problems.responses(404))
async def list_edges(context: Context, run_id: rest.RunId) -> Response:
    """List the run's edges."""
    edges = cast("JsonObject", (await context.views.snapshot(run_id))["edges"])
    return rest.json_response({"edges": list(edges.values())})


# -- live graphs ------------------------------------------------------------------------------------------------------

live_router = APIRouter(
    prefix="/api/runs/{run_id}", tags=["live graphs"], route_class=rest.StrictRoute, dependencies=VIEWERS
)
_CHANGE_ERRORS = problems.responses(202, 404, 409, 413, 415)


def _capabilities(body: wire.CapabilitiesBody | None) -> JsonObject | None:
    if body is None:
        return None
    return body.model_dump(by_alias=True, exclude_none=True)


def _gated(body: wire.PermissionsBody | None) -> bool | None:
    mode = None if body is None else body.cli_permissions_mode
    return None if mode is None else mode == "gated"


def _reset_commands(body: wire.SessionBody | None) -> tuple[str, ...] | None:
    if body is None or body.reset_commands is None:
        return None
    return tuple(body.reset_commands)


@live_router.post("/nodes", status_code=201, response_model=wire.Node, responses=_CHANGE_ERRORS)
async def add_node(context: Context, caller: Operator, run_id: rest.RunId, body: wire.NodeBody) -> Response:
    """Add a node to a live graph."""
    key = await context.engine.graph(run_id).add_node(
        body.label,
        kind=body.kind,
        config=sent_documents.confine_work(body.config),
        key=body.key,
        more=graph_commands.Change(
            role=body.role_template,
            provider=body.provider,
            capabilities=_capabilities(body.capabilities),
            gated=_gated(body.permissions),
            agent=body.agent,
            model=body.model,
            session_mode=body.session_mode,
            reset_commands=_reset_commands(body.session),
        ),
        by=caller.name,
    )
    node_id = wire_ids.node(run_id, key)
    node = await context.views.node(run_id, node_id)
    return rest.json_response(node, 201, {"location": f"/api/runs/{run_id}/nodes/{node_id}"})


@live_router.patch("/nodes/{node_id}", response_model=wire.Node, responses=_CHANGE_ERRORS)
async def change_node(
    context: Context, caller: Operator, run_id: rest.RunId, node_id: rest.NodeId, body: wire.NodeChange
) -> Response:
    """Change a node of a live graph that is not in a turn; a new `config` replaces the old one."""
    change = graph_commands.Change(
        label=body.label,
        role=body.role_template,
        provider=body.provider,
        config=None if body.config is None else sent_documents.confine_work(body.config),
        capabilities=_capabilities(body.capabilities),
        gated=_gated(body.permissions),
        agent=body.agent,
        model=body.model,
        session_mode=body.session_mode,
        reset_commands=_reset_commands(body.session),
    )
    await context.engine.graph(run_id).change_node(
        await context.views.node_key(run_id, node_id), change, by=caller.name
    )
    return rest.json_response(await context.views.node(run_id, node_id))


@live_router.delete("/nodes/{node_id}", status_code=204, response_class=Response, responses=_CHANGE_ERRORS)
async def remove_node(context: Context, caller: Operator, run_id: rest.RunId, node_id: rest.NodeId) -> Response:
    """Remove a node of a live graph, with its edges; its turn is cancelled."""
    await context.engine.graph(run_id).remove_node(await context.views.node_key(run_id, node_id), by=caller.name)
    return Response(status_code=204)


@live_router.post("/edges", status_code=201, response_model=wire.Edge, responses=_CHANGE_ERRORS)
async def add_edge(context: Context, caller: Operator, run_id: rest.RunId, body: wire.EdgeBody) -> Response:
    """Connect two nodes of a live graph."""
    edge_id = await context.engine.graph(run_id).add_edge(
        await context.views.node_key(run_id, body.from_),
        await context.views.node_key(run_id, body.to),
        bidirectional=body.bidirectional,
        type=body.type,
        label=body.label,
        by=caller.name,
    )
    return rest.json_response(await context.views.edge(run_id, edge_id), 201)


@live_router.delete("/edges/{edge_id}", status_code=204, response_class=Response, responses=_CHANGE_ERRORS)
async def remove_edge(context: Context, caller: Operator, run_id: rest.RunId, edge_id: rest.EdgeId) -> Response:
    """Remove an edge of a live graph."""
    await context.views.edge(run_id, edge_id)
    await context.engine.graph(run_id).remove_edge(edge_id, by=caller.name)
    return Response(status_code=204)


@live_router.post(
    "/chat", status_code=202, response_model=models.Sent, responses=problems.responses(404, 409, 413, 415)
)
async def chat(context: Context, caller: Operator, run_id: rest.RunId, body: wire.ChatBody) -> Response:
    """Send a message to a node, which reads it in its next turn; with `interrupt`, at once."""
    node_id = body.node_id or await context.views.addressee(run_id)
    key = await context.views.node_key(run_id, node_id)
    message = await context.engine.graph(run_id).send(
        key, body.content, interrupt=body.interrupt, steer=body.steer, by=caller.name
    )
    answer: JsonObject = {
        "messageId": message.id,
        "runId": run_id,
        "nodeId": node_id,
        "interrupt": body.interrupt,
        "steered": message.steers,
        "reset": message.reset,
    }
    return rest.json_response(answer, 202)


@live_router.post("/nodes/{node_id}/reset", status_code=204, response_class=Response, responses=_CHANGE_ERRORS)
async def reset_node(context: Context, caller: Operator, run_id: rest.RunId, node_id: rest.NodeId) -> Response:
    """Let a node begin a new conversation with its next turn."""
    await context.engine.graph(run_id).reset(await context.views.node_key(run_id, node_id), by=caller.name)
    return Response(status_code=204)


@live_router.post("/nodes/{node_id}/restart", status_code=204, response_class=Response, responses=_CHANGE_ERRORS)
async def restart_node(context: Context, caller: Operator, run_id: rest.RunId, node_id: rest.NodeId) -> Response:
    """Let a node take its turn again: the one under way, which is stopped, or the last one, if it failed."""
    await context.engine.graph(run_id).retry(await context.views.node_key(run_id, node_id), by=caller.name)
    return Response(status_code=204)

"""The app: every route behind the middleware and the guard, over one engine.

`create` builds the parts, connects them, and describes the API in OpenAPI. The app's lifespan runs what a server does
beside answering: it keeps the runs of the data dir going, feeds the streams, delivers webhooks, sends traces, counts,
and sweeps the blobs of deleted runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from openskelo.engine import api as engine_api
from openskelo.server import blobs, idempotency, middleware, pages, problems, rest, serving, views, webhooks
from openskelo.server import settings as server_settings
from openskelo.server.auth import guard, sessions
from openskelo.server.routes import approvals, graph, record, runs, service, workflows
from openskelo.server.stream import hub, run_tracks
from openskelo.server.stream import routes as stream_routes
from openskelo.server.telemetry import metrics, traces

_ROUTERS = (
    service.router,
    runs.router,
    runs.commands_router,
    record.router,
    graph.router,
    graph.live_router,
    record.artifacts_router,
    approvals.router,
    workflows.router,
)


def create(
    engine: engine_api.Engine,
    settings: server_settings.Settings,
    workers: serving.WorkerProcesses | None = None,
) -> FastAPI:
    """Return the app over an engine, which the caller closes after the app has ended.

    The app starts and stops the `workers`, which drive runs in processes of their own.

    Raise InvalidInput if the settings are unsafe, or if traces are configured without the extra `otel`.
    """
    server_settings.check(settings)
    traces.check(os.environ)
    store = engine.history.store
    data_dir = engine.project.data_dir
    tracks = run_tracks.RunTracks(store)
    server = rest.ServerContext(
        engine=engine,
        runs=store,
        approvals=store,
        notes=store,
        settings=settings,
        sessions=sessions.Sessions(data_dir, settings.tokens),
        views=views.Views(tracks),
        idempotency=idempotency.Idempotency(store, data_dir),
        artifacts=blobs.ArtifactContents(store, data_dir),
        streams=hub.Hub(tracks, secrets=engine.project.secrets, is_running=engine.is_under_way),
        sweeper=blobs.Sweeper(store),
    )
    counters = metrics.Metrics(store, server.streams)
    app = FastAPI(
        title="OpenSkelo",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(server, counters, workers),
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
        dependencies=rest.QUERY_CHECK,
    )
    app.state.context = server
    app.state.streams = server.streams
    problems.install(app)
    for router in _ROUTERS:
        app.include_router(router)
    app.include_router(stream_routes.websocket_router(server.streams))
    app.include_router(stream_routes.sse_router(server.streams))
    app.include_router(counters.router(), dependencies=rest.VIEWERS)
    app.include_router(pages.router)
    pages.mount_dashboard(app)
    _describe(app)
    _add_middleware(app, server)
    return app


def _add_middleware(app: FastAPI, server: rest.ServerContext) -> None:
    """Add the middleware. The last one added is the first one called: access log, headers, limits, guard."""

    def make_guard(inner: ASGIApp) -> ASGIApp:
        server.guard = guard.Guard(inner, settings=server.settings, browser_sessions=server.sessions)
        return server.guard

    app.add_middleware(make_guard)
    app.add_middleware(middleware.Limiter, limits=server.settings.limits)
    app.add_middleware(middleware.SecurityHeaders)
    if server.settings.access_log:
        app.add_middleware(middleware.AccessLog)


def _lifespan(
    server: rest.ServerContext,
    counters: metrics.Metrics,
    workers: serving.WorkerProcesses | None,
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    engine = server.engine

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        stop_listening = [
            engine.listen(server.streams.hear),
            engine.listen_status(server.streams.hear_status),
        ]
        run_supervisor = engine.supervisor()
        await server.idempotency.delete_old()
        async with (
            traces.tracing(engine.project, engine.history.store, os.environ),
            webhooks.delivering(engine.project, engine.history.store) as webhook_sender,
            counters.counting(),
            server.sweeper.running(),
        ):
            counters.webhooks = webhook_sender
            await run_supervisor.start()
            if workers is not None:
                workers.start()
            try:
                yield
            finally:
                await server.streams.close()
                for stop in stop_listening:
                    stop()
                stopping = [run_supervisor.stop()] if workers is None else [run_supervisor.stop(), workers.stop()]
                await asyncio.gather(*stopping)  # together: neither takes over runs that the other suspends
                counters.webhooks = None
                server.idempotency.close()

    return lifespan


# -- OpenAPI ----------------------------------------------------------------------------------------------------------

_DESCRIPTION = """The contract of OpenSkelo over HTTP. Errors are problem documents (RFC 9457) with a stable `code`.
`POST` requests may carry an `Idempotency-Key`. The stream of events is `/ws` (WebSocket) or `/api/stream` (SSE)."""
#: The schema by which a response is recognised as a problem document.
_PROBLEM_SCHEMA = {"$ref": "#/components/schemas/ProblemDetails"}


def _operation_id(route: APIRoute) -> str:
    """Return the name of the route's function, in camelCase."""
    head, *rest_of_name = route.name.split("_")
    return head + "".join(part.title() for part in rest_of_name)


def _describe(app: FastAPI) -> None:
    """Replace the app's OpenAPI document: problem documents get their media type, and login methods are added."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _openapi_document(app)
        return app.openapi_schema

    app.openapi = openapi  # the way that FastAPI documents


def _openapi_document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title="OpenSkelo", version="1", description=_DESCRIPTION, routes=app.routes, separate_input_output_schemas=False
    )
    document["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": sessions.COOKIE_PREFIX,
            "description": "The cookie that `/login` sets; its name ends with a suffix that is unique to the data dir",
        },
    }
    document["security"] = [{}, {"token": []}, {"session": []}]
    for path in cast("dict[str, dict[str, Any]]", document["paths"]).values():
        for method, operation in path.items():
            _complete_operation(method, operation)
    return document


def _complete_operation(method: str, operation: dict[str, Any]) -> None:
    for response in operation["responses"].values():
        content = response.get("content", {})
        if content.get("application/json", {}).get("schema") == _PROBLEM_SCHEMA:
            response["content"] = {problems.MEDIA_TYPE: content["application/json"]}
    if method == "post":
        operation.setdefault("parameters", []).append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "A request repeated with the same key within a day is carried out once",
                "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\x21-\\x7e]+$"},
            }
        )

"""The app: every route behind the limits and the guard, over one engine."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI
from starlette.types import ASGIApp

from openskelo.engine import keeper, local
from openskelo.server import (
    contents,
    desk,
    guard,
    head,
    headers,
    hub,
    idempotency,
    limits,
    metrics,
    openapi,
    operation,
    pages,
    problems,
    query,
    sessions,
    static,
    stream_sse,
    stream_ws,
    sweeper,
    traces,
    views,
)
from openskelo.server import settings as server_settings
from openskelo.server.routes import approvals, artifacts, graph, live, orders, record, runs, service, workflows

_ROUTERS = (service, runs, orders, record, graph, live, artifacts, approvals, workflows)


def create(engine: local.Engine, settings: server_settings.Settings) -> FastAPI:
    """The app over an engine, which the caller closes after the app has ended. InvalidInput for a careless set-up.

    Between its start and its end it keeps the runs of the data dir going (`keeper`).
    """
    server_settings.check(settings)
    traces.check(os.environ)
    data_dir = engine.project.data_dir
    known = sessions.Sessions(sessions.key_at(data_dir / "session.key"), settings.tokens)
    streams = hub.Hub(engine.store, secrets=engine.project.secrets, under_way=engine.is_under_way)
    counts = metrics.Metrics(engine.store, streams)
    here = desk.Desk(
        engine=engine,
        settings=settings,
        sessions=known,
        views=views.Views(engine.store),
        idempotency=idempotency.Idempotency(engine.store),
        contents=contents.Contents(engine.store, data_dir),
        streams=streams,
        sweeper=sweeper.Sweeper(engine.store),
    )
    app = FastAPI(
        title="OpenSkelo",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(here, streams, counts),
        generate_unique_id_function=openapi.operation_id,
        redirect_slashes=False,
        dependencies=query.CHECKED,
    )
    app.state.desk = here
    app.state.streams = streams
    problems.install(app)
    for module in _ROUTERS:
        app.include_router(module.router)
    app.include_router(stream_ws.router(streams))
    app.include_router(stream_sse.router(streams))
    app.include_router(counts.router(), dependencies=desk.VIEWERS)
    app.include_router(pages.router)
    static.mount(app)
    openapi.install(app)
    _protect(app, here, known)
    return app


def _protect(app: FastAPI, here: desk.Desk, known: sessions.Sessions) -> None:
    """The last one added is the first one asked: headers, then limits, then what HEAD means, then the guard."""

    def guarded(inner: ASGIApp) -> ASGIApp:
        here.guard = guard.Guard(inner, settings=here.settings, known=known)
        return here.guard

    app.add_middleware(guarded)  # a function that makes one is one
    app.add_middleware(head.Head)
    app.add_middleware(limits.Limiter, limits=here.settings.limits)
    app.add_middleware(headers.Careful)


def _lifespan(
    here: desk.Desk, streams: hub.Hub, counts: metrics.Metrics
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        stop = here.engine.overhear(streams.hear)
        keeping = keeper.Keeper(here.engine)
        await here.idempotency.forget_old()
        async with operation.operating(here.engine, counts), here.sweeper.sweeping():
            await keeping.start()
            try:
                yield
            finally:
                await streams.close()
                stop()
                await keeping.stop()

    return lifespan

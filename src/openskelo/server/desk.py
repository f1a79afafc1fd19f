"""What routes work with: the engine and what the server keeps beside it, found through the request."""

from __future__ import annotations

from typing import Annotated, TypeAlias, cast

from fastapi import Depends, Request

from openskelo.engine import local
from openskelo.frozen import mutable
from openskelo.server import contents, guard, hub, idempotency, identity, sessions, sweeper, views
from openskelo.server import settings as server_settings


@mutable
class Desk:
    """Everything of one server that a route may need."""

    engine: local.Engine
    settings: server_settings.Settings
    sessions: sessions.Sessions
    views: views.Views
    idempotency: idempotency.Idempotency
    contents: contents.Contents
    streams: hub.Hub
    sweeper: sweeper.Sweeper
    guard: guard.Guard | None = None


def of(request: Request) -> Desk:
    """The desk of the app that a request came to."""
    return cast("Desk", request.app.state.desk)


#: What a route takes to work with the engine.
Here: TypeAlias = Annotated[Desk, Depends(of)]
#: What a route takes to know who asks; each refuses those with a lesser role.
Viewer: TypeAlias = Annotated[identity.Identity, Depends(identity.VIEWER)]
Approver: TypeAlias = Annotated[identity.Identity, Depends(identity.APPROVER)]
Operator: TypeAlias = Annotated[identity.Identity, Depends(identity.OPERATOR)]
#: The same for routes and routers that need not know who asks.
VIEWERS = (Depends(identity.VIEWER),)
OPERATORS = (Depends(identity.OPERATOR),)

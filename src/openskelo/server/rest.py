"""Base of the REST routes: the server's parts, parameter types, strict bodies, the query check, JSON responses.

Requests are read strictly, so that a mistake is an error and not a silent default: unknown query parameters are
refused, and a body must be JSON that every part of the system reads alike. Responses are documents that are already
JSON, and are written without validating them again.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias, cast

import orjson
from fastapi import Depends, Query, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIWebSocketRoute
from pydantic import Field
from starlette.requests import HTTPConnection

from openskelo import errors
from openskelo.engine import api as engine_api
from openskelo.kernel.json import Json
from openskelo.server import blobs, idempotency, problems, views
from openskelo.server import settings as server_settings
from openskelo.server.auth import guard, sessions, tokens
from openskelo.server.stream import hub
from openskelo.stores import api
from openskelo.structs import mutable
from openskelo.values import canonical, suggestions

# -- parameters -------------------------------------------------------------------------------------------------------

_UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_MAX_NAME_CHARACTERS = 60

RunId: TypeAlias = Annotated[str, Field(pattern=_UUID, json_schema_extra={"format": "uuid"})]
NodeId: TypeAlias = RunId
EdgeId: TypeAlias = RunId
ArtifactId: TypeAlias = RunId
ApprovalId: TypeAlias = RunId
Limit: TypeAlias = Annotated[int, Query(ge=1, le=500, description="the maximum number of entries")]
Since: TypeAlias = Annotated[int, Query(ge=0, le=2**53, description="only what came after this `seq`")]


async def _check_query(request: HTTPConnection) -> None:
    """Raise a 400 for a request to the API with a query parameter that its route does not declare."""
    is_api = request.scope["type"] == "http" and request.url.path.startswith("/api/")
    if not is_api or not request.scope["query_string"]:
        return
    try:
        check_query(request)
    except errors.InvalidInput as error:
        raise problems.Problem(400, error.code, error.message, hint=error.hint) from error


#: The dependency of the app that checks the query of every route: a misspelt filter would let everything through.
QUERY_CHECK = (Depends(_check_query),)


def check_query(request: HTTPConnection) -> None:
    """Raise InvalidInput if a request or socket has a query parameter that its route does not declare."""
    route = cast("APIRoute | APIWebSocketRoute", request.scope["route"])
    parameter_names = list(dict.fromkeys(_declared_parameters(route.dependant)))
    unknown = next((name for name in request.query_params if name not in parameter_names), None)
    if unknown is None:
        return
    parameters = f"it has {', '.join(parameter_names)}" if parameter_names else "it has none"
    suggestion = suggestions.did_you_mean(unknown, parameter_names)
    raise errors.InvalidInput(
        f"this request has no parameter {unknown[:_MAX_NAME_CHARACTERS]!r}",
        code="PARAMETER_UNKNOWN",
        hint=parameters if suggestion is None else f"{suggestion} {parameters}",
    )


def _declared_parameters(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _declared_parameters(inner)


# -- bodies -----------------------------------------------------------------------------------------------------------


class StrictRequest(Request):
    """A request whose body is strict JSON: no NaN, no ambiguous number, no duplicate key, no excessive depth."""

    async def json(self) -> Any:
        """Return the body's value. Raise a 422 if it is not strict JSON."""
        try:
            return canonical.loads_untrusted(await self.body())
        except errors.InvalidInput as error:
            raise problems.Problem(422, error.code, error.message, hint=error.hint) from error


class StrictRoute(APIRoute):
    """A route that reads bodies strictly, and answers a POST with an `Idempotency-Key` once."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, called with a strict request."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            await _check_content_type(strict)
            key = strict.headers.get(idempotency.HEADER)
            if strict.method != "POST" or key is None:
                return await handle(strict)
            answers = get_context(strict).idempotency
            return await answers.answer_once(strict, key, lambda: handle(strict))

        return handle_strictly


async def _check_content_type(request: Request) -> None:
    """Raise a 415 for a body that is not JSON: a page of another site can send other types without a CORS preflight."""
    if request.method == "GET" or not await request.body():
        return
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise problems.Problem(415, "BODY_TYPE", "a body must be application/json", hint="set Content-Type")


# -- responses --------------------------------------------------------------------------------------------------------


def json_response(value: Mapping[str, Json], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a document."""
    return encoded_response(orjson.dumps(value), status, headers)


def encoded_response(data: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a document that is already encoded."""
    return Response(data, status, headers=dict(headers or {}), media_type="application/json")


def list_response(name: str, parts: Sequence[bytes], rest: Mapping[str, Json]) -> Response:
    """Return a document whose list `name` has these encoded elements; a part may hold several, joined by commas."""
    tail = orjson.dumps(rest)
    return encoded_response(b'{"%b":[%b],%b' % (name.encode(), b",".join(part for part in parts if part), tail[1:]))


# -- context: the engine and the server's own parts, injected by FastAPI -----------------------------------------------
#
# A route declares `context: Context` for the parts and `caller: Viewer`, `Approver` or `Operator` for the caller with
# at least that role.


@mutable
class ServerContext:
    """The parts of one server."""

    engine: engine_api.Engine
    runs: api.Listings
    approvals: api.Approvals
    notes: api.Notes
    settings: server_settings.Settings
    sessions: sessions.Sessions
    views: views.Views
    idempotency: idempotency.Idempotency
    artifacts: blobs.ArtifactContents
    streams: hub.Hub
    sweeper: blobs.Sweeper
    guard: guard.Guard | None = None


def get_context(request: Request) -> ServerContext:
    """Return the context of the app that the request came to."""
    return cast("ServerContext", request.app.state.context)


Context: TypeAlias = Annotated[ServerContext, Depends(get_context)]
#: The caller. Each of these answers 403 to a caller with a lower role.
Viewer: TypeAlias = Annotated[tokens.Identity, Depends(guard.require_viewer)]
Approver: TypeAlias = Annotated[tokens.Identity, Depends(guard.require_approver)]
Operator: TypeAlias = Annotated[tokens.Identity, Depends(guard.require_operator)]
#: The same for routers and routes that do not use the caller.
VIEWERS = (Depends(guard.require_viewer),)
OPERATORS = (Depends(guard.require_operator),)

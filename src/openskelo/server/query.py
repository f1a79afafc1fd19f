"""What stands behind the `?` of a request: parameters that its route declares, and no others.

Where a misspelled parameter were ignored, a filter that was meant to hold back would let everything through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from fastapi import Depends
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.requests import HTTPConnection

from openskelo import errors
from openskelo.server import problems
from openskelo.workflows import suggest

_API = "/api/"
_LONGEST = 60


async def check(request: HTTPConnection) -> None:
    """Refuse (400) a request of the API with a parameter that its route does not declare."""
    if request.scope["type"] != "http" or not request.scope["query_string"] or not request.url.path.startswith(_API):
        return
    try:
        check_declared(request)
    except errors.InvalidInput as error:
        raise problems.Problem(400, error.code, error.message, hint=error.hint) from error


def check_declared(request: HTTPConnection) -> None:
    """The same for a socket, too, which has no status (InvalidInput)."""
    route = cast("APIRoute | APIWebSocketRoute", request.scope["route"])
    declared = list(dict.fromkeys(_declared(route.dependant)))
    unknown = next((name for name in request.query_params if name not in declared), None)
    if unknown is None:
        return
    listed = f"it has {', '.join(declared)}" if declared else "it has none"
    near = suggest.did_you_mean(unknown, declared)
    raise errors.InvalidInput(
        f"this request has no parameter {unknown[:_LONGEST]!r}",
        code="PARAMETER_UNKNOWN",
        hint=listed if near is None else f"{near} {listed}",
    )


def _declared(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _declared(inner)


#: What an app asks before every route.
CHECKED = (Depends(check),)

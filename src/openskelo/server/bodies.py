"""How bodies come in: as JSON that every part of the system reads alike, and once for each Idempotency-Key."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from openskelo import errors
from openskelo.server import desk, idempotency, problems
from openskelo.values import outside


class StrictRequest(Request):
    """A request whose JSON has no NaN, no number that others read differently, no key twice, and no depths that others
    refuse.
    """

    async def json(self) -> Any:
        """The body's value (422 where it is none)."""
        try:
            return outside.loads(await self.body())
        except errors.InvalidInput as error:
            raise problems.Problem(422, error.code, error.message, hint=error.hint) from error


class Route(APIRoute):
    """A route that reads strictly and honours `Idempotency-Key` on POST."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own, with a stricter request."""
        handle = super().get_route_handler()

        async def careful(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            await _check_type(strict)
            key = strict.headers.get(idempotency.HEADER)
            if strict.method != "POST" or key is None:
                return await handle(strict)
            return await desk.of(strict).idempotency.once(strict, key, lambda: handle(strict))

        return careful


async def _check_type(request: Request) -> None:
    """Only JSON: what a form of a foreign page could send without being asked is never taken."""
    if request.method in ("GET", "HEAD") or not await request.body():
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise problems.Problem(415, "BODY_TYPE", "a body is application/json", hint="set Content-Type")

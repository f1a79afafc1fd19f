"""Who a request comes from, and what they may do: set by the guard, asked for by routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from fastapi import Request
from starlette.types import Scope

from openskelo.frozen import frozen
from openskelo.server import problems, tokens

_KEY = "openskelo.identity"
_STILL = "openskelo.identity.still"


@frozen
class Identity:
    """Somebody who was let in. `csrf` is there for who came with a cookie: changes must carry it along."""

    name: str
    role: tokens.Role
    csrf: str | None = None


def put(scope: Scope, who: Identity, still: Callable[[], bool]) -> None:
    """Say whom a request comes from, and how to find out whether they would be let in again."""
    scope[_KEY] = who
    scope[_STILL] = still


def is_welcome(scope: Scope) -> bool:
    """Whether who was let in would be now: their token is still there, and their session not over."""
    still = cast("Callable[[], bool] | None", scope.get(_STILL))
    return still is None or still()


def of(scope: Scope) -> Identity:
    """Whom a request, or a socket, comes from: the guard has let them in."""
    return cast("Identity", scope[_KEY])


def may(who: Identity, role: tokens.Role) -> bool:
    """Whether somebody may do what a role may."""
    return tokens.ROLES.index(who.role) >= tokens.ROLES.index(role)


def need(role: tokens.Role) -> Callable[[Request], Identity]:
    """A dependency that gives who asks, and refuses those who have a lesser role."""

    def who(request: Request) -> Identity:
        found = of(request.scope)
        if not may(found, role):
            raise problems.Problem(
                403, "ROLE_NOT_ALLOWED", f"{found.name} is {found.role}; this takes {role}", hint="use another token"
            )
        return found

    return who


VIEWER = need("viewer")
APPROVER = need("approver")
OPERATOR = need("operator")

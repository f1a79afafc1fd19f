"""How long a client may stay on a stream: while it would be let in again, and takes what it is sent."""

from __future__ import annotations

import time

from starlette.types import Scope

from openskelo.server import identity

#: A client that takes nothing for so long is cut off; it may come back and go on where it was.
SEND_SECONDS = 30.0
#: How often it is asked whether a client would be let in again: a stream outlives tokens and sessions.
CHECK_SECONDS = 1.0


class Welcome:
    """Of one stream. Asks at most once in `CHECK_SECONDS`, so that it may be asked before every message."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._ask_at = time.monotonic() + CHECK_SECONDS

    def is_welcome(self) -> bool:
        """Whether the client may be told more."""
        now = time.monotonic()
        if now < self._ask_at:
            return True
        self._ask_at = now + CHECK_SECONDS
        return identity.is_welcome(self._scope)

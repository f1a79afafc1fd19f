"""How a server is set up: where it listens, who may come in, and how much they may ask for."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from openskelo import errors
from openskelo.frozen import field, frozen
from openskelo.server import tokens

_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost"})


@frozen
class Limits:
    """What one client, or all of them, may ask for. Rates are requests a second, with so many at once to begin with."""

    body_bytes: int = 8 * 1024 * 1024
    rate: float = 200.0
    burst: int = 400
    wrong_tokens: int = 10  # a minute, from one address
    requests: int = 256  # at a time
    streams: int = 1100  # at a time; the hub takes a few less, and says so to who is one too many


@frozen
class Settings:
    """A server's set-up. `origins` are public addresses (`https://skelo.example`) under which it is reached, too.

    A token is demanded of everybody when the server is reached from beyond this machine, or `demand_token` says so;
    otherwise whoever comes without one is `user`, and may do everything.
    """

    tokens: tokens.Tokens
    host: str = "127.0.0.1"
    port: int = 7788
    origins: tuple[str, ...] = ()
    demand_token: bool = False
    user: str = "local"
    limits: Limits = field(default_factory=Limits)

    @property
    def is_open(self) -> bool:
        """Whether nobody needs a token."""
        return is_loopback(self.host) and not self.demand_token and not any(map(_is_public, self.origins))

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach the server over TLS only."""
        return bool(self.origins) and all(origin.startswith("https://") for origin in self.origins)


def check(settings: Settings) -> None:
    """Refuse (InvalidInput) a set-up that would let strangers in or nobody."""
    for origin in settings.origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.hostname or origin != f"{parts.scheme}://{parts.netloc}":
            raise errors.InvalidInput(
                f"{origin[:100]!r} is no origin", code="ORIGIN_INVALID", hint="such as https://skelo.example"
            )
    if not settings.is_open and not settings.tokens.any():
        raise errors.InvalidInput(
            f"a server that is reached beyond this machine ({settings.host}) needs a token",
            code="TOKEN_REQUIRED",
            hint="make one with `skelo token add NAME`, or set SKELO_TOKEN",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address or name."""
    if host.lower() in _LOCAL_NAMES:
        return True
    found = address(host)
    return found is not None and found.is_loopback


def address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").split("%")[0])
    except ValueError:
        return None


def _is_public(origin: str) -> bool:
    return not is_loopback(urlsplit(origin).hostname or "")

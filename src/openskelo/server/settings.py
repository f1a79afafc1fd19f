"""The settings of a server: where it listens, who may use it, and how much a client may ask for."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from openskelo import errors
from openskelo.server.auth import tokens
from openskelo.structs import field, frozen

_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?")
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost"})


@frozen
class Limits:
    """Limits for one client or for all of them.

    The hub accepts fewer streams than this, so that it can say so itself.
    """

    body_bytes: int = 8 * 1024 * 1024
    #: Per minute from one address.
    wrong_tokens: int = 10
    #: At a time.
    requests: int = 256
    #: At a time.
    streams: int = 1100
    #: At a time.
    connections: int = 2048
    #: The time that a body may take to arrive.
    body_seconds: float = 60.0


@frozen
class Settings:
    """The settings of a server."""

    tokens: tokens.Tokens
    host: str = "127.0.0.1"
    port: int = 7788
    #: Further public addresses of it, such as `https://skelo.example`.
    origins: tuple[str, ...] = ()
    #: Further names in the Host header, such as the name of its container.
    allowed_hosts: tuple[str, ...] = ()
    #: Behind one of these, a client's address is the one that the proxy forwards.
    trusted_proxies: tuple[str, ...] = ()
    #: A caller without a token may do everything, so only this machine may reach the server.
    without_token: bool = False
    #: The name of a caller without a token.
    user: str = "local"
    access_log: bool = False
    limits: Limits = field(default_factory=Limits)

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the server."""
        names = (self.host, *(urlsplit(origin).hostname or "" for origin in self.origins), *self.allowed_hosts)
        return all(map(is_loopback, names))

    @property
    def is_secure(self) -> bool:
        """True if browsers reach the server over TLS only."""
        return bool(self.origins) and all(origin.startswith("https://") for origin in self.origins)


def check(settings: Settings) -> None:
    """Raise InvalidInput if an origin, host name or proxy is malformed, or if a required token is missing."""
    for origin in settings.origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.hostname or origin != f"{parts.scheme}://{parts.netloc}":
            raise errors.InvalidInput(
                f"{origin[:100]!r} is not an origin",
                code="ORIGIN_INVALID",
                hint="an origin looks like https://skelo.example",
            )
    for name in settings.allowed_hosts:
        if not _HOST_NAME.fullmatch(name):
            raise errors.InvalidInput(
                f"{name[:100]!r} is not a host name",
                code="HOST_INVALID",
                hint="give the name alone, without a port: --allow-host skelo",
            )
    for proxy in settings.trusted_proxies:
        _check_proxy(proxy)
    if settings.without_token and not settings.is_local:
        raise _token_required(settings, "leave out --no-token")
    if not settings.without_token and not settings.tokens.exist():
        raise _token_required(settings, "create one with `skelo token add NAME`, or set SKELO_TOKEN")


def _check_proxy(proxy: str) -> None:
    try:
        ipaddress.ip_network(proxy)
    except ValueError as error:
        raise errors.InvalidInput(
            f"{proxy[:100]!r} is not the address of a proxy",
            code="PROXY_INVALID",
            hint="an address or a network, such as 172.17.0.1 or 10.0.0.0/8",
        ) from error


def _token_required(settings: Settings, hint: str) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"a server that can be reached from other machines ({settings.host}) needs a token",
        code="TOKEN_REQUIRED",
        hint=hint,
    )


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the address or name."""
    if host.lower() in _LOCAL_NAMES:
        return True
    address = parse_address(host)
    return address is not None and address.is_loopback


def parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that `host` is written as; None if it is a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").split("%")[0])
    except ValueError:
        return None

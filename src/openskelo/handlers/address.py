"""Which addresses the outside may be reached at: names are resolved here, and only what was checked is connected to."""

from __future__ import annotations

import ipaddress
import socket

from openskelo import errors
from openskelo.handlers import aside

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


async def resolve(host: str, port: int, *, allow_private: bool) -> tuple[str, ...]:
    """The addresses of `host`, every one of them allowed; AttemptFailed HTTP_ADDRESS_REFUSED or HTTP_FAILED.

    Whoever connects must use these and not the name, which may mean something else a moment later.
    """
    try:
        found = await aside.run(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError) as error:
        raise errors.AttemptFailed(f"the host {host!r} cannot be resolved", code="HTTP_FAILED") from error
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not allow_private and not all(is_public(address) for address in addresses):
        raise errors.AttemptFailed(
            f"the host {host!r} has a private, loopback or otherwise special address",
            code="HTTP_ADDRESS_REFUSED",
            hint="write `allow: {private_addresses: true}` into skelo.yaml if that is wanted",
            retryable=False,
        )
    return addresses


def is_public(address: str) -> bool:
    """Whether this is an ordinary address of the internet, also when it is wrapped in another."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if inner is None and found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            found = inner
        elif found.teredo is not None or found.is_site_local:
            return False
    return found.is_global and not found.is_multicast and not found.is_reserved

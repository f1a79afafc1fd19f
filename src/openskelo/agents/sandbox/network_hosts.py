"""The list of hosts that an agent may reach (`network` in skelo.yaml).

An entry is a host (`example.org`, ports 443 and 80), all hosts below one (`*.example.org`), or either with a port
(`127.0.0.1:8000`). Programs do not use a proxy for loopback addresses; so an entry with one is a port that the relay
in the sandbox carries (`forwarded_ports`), and must name it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from openskelo.structs import frozen

_DEFAULT_PORTS = (443, 80)
_MAX_PORT = 65_535
#: Where the relay in a sandbox without a network listens, for our server and for the proxy. The loopback interface is
#: the sandbox's own, so that both are free.
RELAY_PORT, PROXY_PORT = 47_017, 47_018
_ENTRY = re.compile(r"(?P<host>\*\.[A-Za-z0-9.-]+|[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?\Z")


@frozen
class Rule:
    """One entry of the list."""

    host: str
    #: None means the ports of HTTP.
    port: int | None = None

    def allows(self, host: str, port: int) -> bool:
        """True if the entry names this host and port."""
        if port not in (_DEFAULT_PORTS if self.port is None else (self.port,)):
            return False
        if self.host.startswith("*."):
            return host.endswith(self.host[1:])
        return host == self.host

    @property
    def is_address(self) -> bool:
        """True if the entry is an address, or this machine, rather than a name that someone else resolves."""
        return self.host == "localhost" or _parse_address(self.host) is not None

    @property
    def is_loopback(self) -> bool:
        """True if the entry is this machine."""
        address = _parse_address(self.host)
        return self.host == "localhost" or (address is not None and address.is_loopback)


def parse_rule(text: str) -> Rule | None:
    """Return the entry (None if the text is not one): a host with an optional port. This machine needs its port."""
    match = _ENTRY.match(text)
    if match is None:
        return None
    port = None if match["port"] is None else int(match["port"])
    rule = Rule(host=match["host"].strip("[]").lower().rstrip("."), port=port)
    if port is not None and not 0 < port <= _MAX_PORT:
        return None
    if rule.is_loopback and port in (None, RELAY_PORT, PROXY_PORT):
        return None
    return rule


def forwarded_ports(hosts: Sequence[str]) -> tuple[int, ...]:
    """Return the ports of this machine that the entries name."""
    rules = [rule for rule in map(parse_rule, hosts) if rule is not None]
    return tuple(dict.fromkeys(rule.port for rule in rules if rule.is_loopback and rule.port is not None))


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None

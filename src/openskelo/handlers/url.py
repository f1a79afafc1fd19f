"""Which URLs may be asked, as far as their text alone tells."""

from __future__ import annotations

import re
import urllib.parse

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UNREADABLE = "it cannot be read"


def fault(text: str) -> str | None:
    """Why nobody can be asked under this URL, whatever is listening; None when somebody may be."""
    if _CONTROL.search(text):
        return _UNREADABLE
    try:
        parts = urllib.parse.urlsplit(text)
    except ValueError:
        return _UNREADABLE
    try:
        port = parts.port
    except ValueError:
        port = -1
    return fault_of(parts.scheme, parts.hostname or "", port, userinfo="@" in parts.netloc)


def fault_of(scheme: str, host: str, port: int | None, *, userinfo: bool) -> str | None:
    """The same for one that was taken apart."""
    if scheme not in ("http", "https"):
        return "only http and https are spoken"
    if not host:
        return "it has no host"
    if port is not None and not 0 < port < 65_536:
        return "its port is out of range"
    if userinfo:
        return "it holds a user name or password; use a header with ${secret:NAME}"
    return None

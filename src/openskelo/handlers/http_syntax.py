"""Checks the syntax of the URL and headers of a request: at load time, and again at run time."""

from __future__ import annotations

import re
import urllib.parse

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UNREADABLE = "it cannot be read"
#: Set by the transport. Other values would let two servers read different requests from the same bytes.
_TRANSPORT_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"}
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t -~]*")
HEADER_HINT = "headers are printable ASCII; Host and the like are set for you"


def url_fault(text: str) -> str | None:
    """Return why no request can be sent to this URL; None when one can."""
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
    return parts_fault(parts.scheme, parts.hostname or "", port, userinfo="@" in parts.netloc)


def parts_fault(scheme: str, host: str, port: int | None, *, userinfo: bool) -> str | None:
    """Return the same as `url_fault` for a URL that was parsed already."""
    if scheme not in ("http", "https"):
        return "only http and https are spoken"
    if not host:
        return "it has no host"
    if port is not None and not 0 < port < 65_536:
        return "its port is out of range"
    if userinfo:
        return "it holds a user name or password; use a header with ${secret:NAME}"
    return None


def is_header(name: str, value: str) -> bool:
    """True if a handler may send this header."""
    if name.lower() in _TRANSPORT_HEADERS:
        return False
    return _HEADER_NAME.fullmatch(name) is not None and _HEADER_VALUE.fullmatch(value) is not None

"""JSON pointers (RFC 6901): the path to a part of a document, written as `/a/0/b`."""

from __future__ import annotations

from collections.abc import Iterable


def of(path: Iterable[str | int]) -> str:
    """Return the pointer of a path; that of the whole document is empty."""
    return "".join(f"/{token(str(part))}" for part in path)


def token(name: str) -> str:
    """Return a name as it is written in a pointer, between two slashes."""
    return name.replace("~", "~0").replace("/", "~1")


def name_of(token: str) -> str:
    """Return the name that is written as `token` in a pointer."""
    return token.replace("~1", "/").replace("~0", "~")

"""JSON pointers (RFC 6901): the path to a part of a document as text, and the names that its tokens stand for."""

from __future__ import annotations

from collections.abc import Iterable


def of(path: Iterable[str | int]) -> str:
    """The pointer to what is at a path; that of the whole document is empty."""
    return "".join(f"/{token(str(part))}" for part in path)


def token(name: str) -> str:
    """A name as it stands in a pointer, between two slashes."""
    return name.replace("~", "~0").replace("/", "~1")


def name_of(token: str) -> str:
    """The name that a token stands for."""
    return token.replace("~1", "/").replace("~0", "~")

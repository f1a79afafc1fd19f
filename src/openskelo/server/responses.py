"""Responses of routes: documents that are JSON already, written without another look at each field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
from fastapi import Response

from openskelo.kernel.json import Json

JSON = "application/json"


def document(value: Mapping[str, Json], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A document."""
    return text(orjson.dumps(value), status, headers)


def text(data: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A document that is encoded already."""
    return Response(data, status, headers=dict(headers or {}), media_type=JSON)


def joined(name: str, parts: Sequence[bytes], rest: Mapping[str, Json]) -> Response:
    """A document whose list `name` has these encoded elements (each may be several, with commas between)."""
    tail = orjson.dumps(rest)
    return text(b'{"%b":[%b],%b' % (name.encode(), b",".join(part for part in parts if part), tail[1:]))

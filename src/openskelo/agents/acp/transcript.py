"""The transcript of a turn: the lines of the protocol, as they may be kept.

An agent's message comes in pieces, one a line, so a secret in it may be spread over several lines. Masking each line by
itself would not find it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from openskelo.handlers import secrets

_CHUNKS = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")


def mask_pieces(transcript: str, hidden: Sequence[str]) -> str:
    """Return a transcript in which the `hidden` values are masked where the pieces of a message make one of them."""
    if not hidden or not transcript:
        return transcript
    streams = {kind: secrets.MaskedStream(hidden) for kind in _CHUNKS}
    last: dict[str, tuple[int, dict[str, Any]]] = {}
    lines = transcript.split("\n")
    for index, line in enumerate(lines):
        kind, document = _read_chunk(line)
        if kind:
            content = _content(document)
            content["text"] = streams[kind].add(content["text"])
            lines[index], last[kind] = orjson.dumps(document).decode(), (index, document)
    for kind, (index, document) in last.items():
        _content(document)["text"] += streams[kind].flush()
        lines[index] = orjson.dumps(document).decode()
    return "\n".join(lines)


def _read_chunk(line: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of a line that has a piece of a message, and the line itself; an empty kind for other lines."""
    if "_chunk" not in line:
        return "", {}
    document: Any = orjson.loads(line)
    update = _part(_part(_part(document, "message"), "params"), "update")
    kind, text = _part(update, "sessionUpdate"), _part(_part(update, "content"), "text")
    if kind in _CHUNKS and isinstance(text, str):
        return (kind, document)
    return ("", document)


def _part(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return None


def _content(document: dict[str, Any]) -> dict[str, Any]:
    return document["message"]["params"]["update"]["content"]

"""One line of a record that is not trusted: parsed, held to its own hash and to the bytes that sealing gives."""

from __future__ import annotations

import hashlib
from typing import cast

import orjson

from openskelo import errors
from openskelo.contract import envelope, fields
from openskelo.kernel import event_data, events, ids
from openskelo.kernel.json import JsonObject
from openskelo.values import canonical

_TEXTS = ("hash", "id", "prev", "runId", "ts", "type")
_KEYS = frozenset((*_TEXTS, "seq"))
_SHAPES: tuple[set[str], ...] = ({*_KEYS, "data"}, {*_KEYS, "dataHash"}, {*_KEYS, "dataHash", "receipt"})
_UUID_DASHES = (8, 13, 18, 23)


class Fault(Exception):
    """What is wrong with one line; `at` is the byte in the line."""

    def __init__(self, code: str, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.at = at


def parse(line: bytes) -> JsonObject:
    """The envelope, with the right names and kinds of value in it."""
    try:
        opened: object = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Fault("LINE_INVALID", f"not JSON: {error.msg}", min(error.pos, len(line))) from None
    if not isinstance(opened, dict):
        raise Fault("LINE_INVALID", "not an event")
    found = cast("dict[str, object]", opened)
    if found.keys() - {"nodeId"} not in _SHAPES:
        raise Fault("LINE_INVALID", f"not an event: {_odd_keys(found)}")
    texts = [found[key] for key in (*_TEXTS, "nodeId", "dataHash") if key in found]
    if not all(isinstance(text, str) for text in texts) or type(found["seq"]) is not int:
        raise Fault("LINE_INVALID", "not an event: a field holds the wrong kind of value")
    if not all(isinstance(found[key], dict) for key in ("data", "receipt") if key in found):
        raise Fault("LINE_INVALID", "not an event: data or receipt is not an object")
    if not is_uuid(cast("str", found["runId"])):
        raise Fault("LINE_INVALID", "not an event: runId is not a UUID")
    return cast("JsonObject", opened)


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID in lower case."""
    return (
        len(text) == 36
        and all(text[at] == "-" for at in _UUID_DASHES)
        and set(text.replace("-", "", 4)) <= set("0123456789abcdef")
    )


def check_bytes(line: bytes, opened: JsonObject) -> None:
    """The line is exactly what sealing its content gives: canonical bytes, right ids, right hash."""
    run_id, seq = cast("str", opened["runId"]), cast("int", opened["seq"])
    if opened["id"] != envelope.event_id(run_id, seq):
        raise Fault("ID_MISMATCH", f"the id is not that of seq {seq} of this run")
    data_hash, first = _data(opened)
    kept = {key: value for key, value in opened.items() if key not in ("data", "dataHash", "hash", "receipt")}
    rest = _canonical(kept)
    digest = envelope.link(cast("str", opened["prev"]), rest, data_hash)
    if digest != opened["hash"]:
        raise Fault("HASH_MISMATCH", f"seq {seq} was changed: its hash does not fit its content")
    sealed = b'{%b,"hash":"%b",%b' % (first, digest.encode(), rest[1:])
    if "receipt" in opened:  # what a pruned line has kept stands in the midst of the rest
        sealed = _canonical(opened)
    if sealed != line:
        raise Fault("NOT_CANONICAL", f"seq {seq} is not written as it was sealed", first_difference(sealed, line))


def _data(opened: JsonObject) -> tuple[str, bytes]:
    """The hash of the data, and the member of the line that holds data or hash."""
    if "data" in opened:
        data = _canonical(cast("JsonObject", opened["data"]))
        return hashlib.sha256(data).hexdigest(), b'"data":' + data
    data_hash = cast("str", opened["dataHash"])
    if not fields.is_hex(data_hash):
        raise Fault("LINE_INVALID", "not an event: dataHash is not a SHA-256 digest")
    return data_hash, b'"dataHash":"%b"' % data_hash.encode()


def _canonical(value: JsonObject) -> bytes:
    try:
        return canonical.dumps(value)
    except errors.InvalidInput as error:
        raise Fault("NOT_CANONICAL", f"the line holds what was never sealed: {error.message}") from None


def check_time(opened: JsonObject, before: int) -> int:
    text = cast("str", opened["ts"])
    try:
        at = envelope.milliseconds(text)
        right = envelope.timestamp(at) == text
    except (ValueError, OverflowError):
        right, at = False, 0
    if not right:
        raise Fault("TIME_INVALID", f"{text!r} is not a time as events have it")
    if at < before:
        raise Fault("TIME_BACKWARDS", f"{text} is earlier than the event before")
    return at


def decode(opened: JsonObject, name: str, at: int) -> events.Event:
    data = cast("JsonObject", opened["data"])
    try:
        event = event_data.decode(name, data, at)
    except TypeError as error:
        raise Fault("EVENT_INVALID", f"not the data of {name}: {error}") from None
    if None in data.values():
        raise Fault("EVENT_INVALID", f"not the data of {name}: a field is null")
    if (wrong := fields.fault(event)) is not None:
        raise Fault("EVENT_INVALID", f"not the data of {name}: {wrong}")
    node = getattr(event, "node", None)
    node_id = None if node is None else ids.derive(cast("str", opened["runId"]), node)
    if opened.get("nodeId") != node_id:
        raise Fault("NODE_ID_MISMATCH", f"nodeId is not that of node {node!r}")
    return event


def _odd_keys(found: dict[str, object]) -> str:
    missing = sorted(_KEYS - found.keys())
    if missing:
        return f"{', '.join(missing)} missing"
    odd = sorted(found.keys() - _KEYS - {"data", "nodeId"})
    return f"unexpected {', '.join(odd)[:100]}" if odd else "data missing"


def first_difference(one: bytes, other: bytes) -> int:
    """Where two texts part: the first byte in which they differ, or the end of the shorter one."""
    for at, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return at
    return min(len(one), len(other))

"""Check one line of a record that is not trusted: its shape, its hash, its bytes, its time and the types of its fields.

A line is right only if sealing its content gives exactly its bytes. `envelope.decode` trusts our own
log; in a file from another host the right names may hold values of the wrong type, which `find_fault` finds.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias, cast, get_args

import orjson

from openskelo import errors
from openskelo.kernel import events, ids
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import envelope
from openskelo.structs import fields
from openskelo.values import canonical

_TEXTS = ("hash", "id", "prev", "runId", "ts", "type")
_KEYS = frozenset((*_TEXTS, "seq"))
_SHAPES: tuple[set[str], ...] = ({*_KEYS, "data"}, {*_KEYS, "dataHash"}, {*_KEYS, "dataHash", "receipt"})
_UUID_DASHES = (8, 13, 18, 23)

Check: TypeAlias = Callable[[object], bool]

_NAMED: Mapping[str, tuple[str, ...]] = {
    "Ending": get_args(events.Ending),
    "Next": get_args(events.Next),
    "StallKind": get_args(events.StallKind),
}


class Fault(Exception):
    """Says what is wrong with one line; `at` is the byte in the line."""

    def __init__(self, code: str, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.at = at


def parse(line: bytes) -> JsonObject:
    """Return the envelope of a line; raise Fault LINE_INVALID if its fields or their types are wrong."""
    try:
        value: object = canonical.loads_canonical(line)
    except orjson.JSONDecodeError as error:
        raise Fault("LINE_INVALID", f"not JSON: {error.msg}", min(error.pos, len(line))) from None
    if not isinstance(value, dict):
        raise Fault("LINE_INVALID", "not an event")
    entry = cast("dict[str, object]", value)
    if entry.keys() - {"nodeId"} not in _SHAPES:
        raise Fault("LINE_INVALID", f"not an event: {_odd_keys(entry)}")
    texts = [entry[key] for key in (*_TEXTS, "nodeId", "dataHash") if key in entry]
    if not all(isinstance(text, str) for text in texts) or type(entry["seq"]) is not int:
        raise Fault("LINE_INVALID", "not an event: a field holds the wrong kind of value")
    if not all(isinstance(entry[key], dict) for key in ("data", "receipt") if key in entry):
        raise Fault("LINE_INVALID", "not an event: data or receipt is not an object")
    if not is_uuid(cast("str", entry["runId"])):
        raise Fault("LINE_INVALID", "not an event: runId is not a UUID")
    return cast("JsonObject", value)


def is_uuid(text: str) -> bool:
    """True if `text` is a UUID in lower case."""
    return (
        len(text) == 36
        and all(text[at] == "-" for at in _UUID_DASHES)
        and set(text.replace("-", "", 4)) <= set("0123456789abcdef")
    )


def check_bytes(line: bytes, opened: JsonObject) -> None:
    """Raise Fault unless the line is exactly what sealing its content gives: canonical bytes, right id, right hash."""
    run_id, seq = cast("str", opened["runId"]), cast("int", opened["seq"])
    if opened["id"] != envelope.event_id(run_id, seq):
        raise Fault("ID_MISMATCH", f"the id is not that of seq {seq} of this run")
    data_hash, first = _data(opened)
    envelope_fields = {
        key: value for key, value in opened.items() if key not in ("data", "dataHash", "hash", "receipt")
    }
    rest = _canonical(envelope_fields)
    digest = envelope.link(cast("str", opened["prev"]), rest, data_hash)
    if digest != opened["hash"]:
        raise Fault("HASH_MISMATCH", f"seq {seq} was changed: its hash does not fit its content")
    expected_bytes = b'{%b,"hash":"%b",%b' % (first, digest.encode(), rest[1:])
    if "receipt" in opened:  # the receipt of a pruned line stands between other keys
        expected_bytes = _canonical(opened)
    if expected_bytes != line:
        raise Fault(
            "NOT_CANONICAL", f"seq {seq} is not written as it was sealed", first_difference(expected_bytes, line)
        )


def _data(opened: JsonObject) -> tuple[str, bytes]:
    """Return the hash of the data, and the member of the line that holds the data or its hash."""
    if "data" in opened:
        data = _canonical(cast("JsonObject", opened["data"]))
        return hashlib.sha256(data).hexdigest(), b'"data":' + data
    data_hash = cast("str", opened["dataHash"])
    if not is_hex(data_hash):
        raise Fault("LINE_INVALID", "not an event: dataHash is not a SHA-256 digest")
    return data_hash, b'"dataHash":"%b"' % data_hash.encode()


def _canonical(value: JsonObject) -> bytes:
    try:
        return canonical.dumps(value)
    except errors.InvalidInput as error:
        raise Fault("NOT_CANONICAL", f"the line holds what was never sealed: {error.message}") from None


def check_time(opened: JsonObject, before: int) -> int:
    """Return the time of the line in milliseconds; raise Fault if it is not a timestamp, or earlier than `before`."""
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
    """Return the event of a line that has its data; raise Fault if the data is not that of such an event."""
    data = cast("JsonObject", opened["data"])
    try:
        event = envelope.decode(name, data, at)
    except (TypeError, ValueError, OverflowError) as error:
        raise Fault("EVENT_INVALID", f"not the data of {name}: {error}") from None
    if None in data.values():
        raise Fault("EVENT_INVALID", f"not the data of {name}: a field is null")
    if (wrong := find_fault(event)) is not None:
        raise Fault("EVENT_INVALID", f"not the data of {name}: {wrong}")
    node = getattr(event, "node", None)
    node_id = None if node is None else ids.derive(cast("str", opened["runId"]), node)
    if opened.get("nodeId") != node_id:
        raise Fault("NODE_ID_MISMATCH", f"nodeId is not that of node {node!r}")
    return event


def _odd_keys(opened: dict[str, object]) -> str:
    missing = sorted(_KEYS - opened.keys())
    if missing:
        return f"{', '.join(missing)} missing"
    odd = sorted(opened.keys() - _KEYS - {"data", "nodeId"})
    if odd:
        return f"unexpected {', '.join(odd)[:100]}"
    return "data missing"


def first_difference(one: bytes, other: bytes) -> int:
    """Return the index of the first byte in which two lines differ, or the end of the shorter one."""
    for at, (left_byte, right_byte) in enumerate(zip(one, other, strict=False)):
        if left_byte != right_byte:
            return at
    return min(len(one), len(other))


# -- the types of the fields ------------------------------------------------------------------------------------------


def find_fault(event: events.Event) -> str | None:
    """Return a description of the first field whose value does not have the declared type; None if all have."""
    for name, annotation, check in _checks(type(event)):
        if not check(getattr(event, name)):
            return f"`{name}` is not {annotation}"
    return None


def is_stored(value: object) -> bool:
    """True if `value` is a value as events hold it: inline, or the name and size of a blob."""
    if not isinstance(value, Mapping):
        return False
    document = cast("Mapping[str, object]", value)
    match sorted(document):
        case ["value"]:
            return True
        case ["blob", "bytes"]:
            return is_digest(document["blob"]) and is_count(document["bytes"])
        case _:
            return False


def is_digest(value: object) -> bool:
    """True if `value` is `sha256:` and 64 lower-case hexadecimal digits."""
    return isinstance(value, str) and value.startswith("sha256:") and is_hex(value[7:])


def is_hex(text: str) -> bool:
    """True if `text` is 64 lower-case hexadecimal digits."""
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


@cache
def _checks(cls: type[events.Event]) -> tuple[tuple[str, str, Check], ...]:
    return tuple((f.name, str(f.type), _check_of(str(f.type))) for f in fields(cls))


def _check_of(declared: str) -> Check:
    if declared.endswith(" | None"):
        inner = _check_of(declared.removesuffix(" | None"))
        return lambda value: value is None or inner(value)
    if declared.startswith("tuple["):
        item_check = _check_of(declared.removeprefix("tuple[").removesuffix(", ...]"))
        return lambda value: (
            isinstance(value, tuple) and all(item_check(part) for part in cast("tuple[object, ...]", value))
        )
    if declared.startswith("Literal["):
        return _one_of(ast.literal_eval(f"({declared.removeprefix('Literal[').removesuffix(']')},)"))
    if declared in _NAMED:
        return _one_of(_NAMED[declared])
    return _PLAIN[declared]


def _one_of(allowed: tuple[str, ...]) -> Check:
    return lambda value: isinstance(value, str) and value in allowed


def is_count(value: object) -> bool:
    """True if `value` is an integer that is not negative."""
    return type(value) is int and value >= 0


_PLAIN: Mapping[str, Check] = {
    "int": lambda value: type(value) is int,
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "Json": lambda _value: True,
    "JsonObject": lambda value: isinstance(value, Mapping),
    "Stored": is_stored,
}


# Pruned lines: the data is gone, but its hash stays, and so do the line's place in the chain and its receipt.


#: Event types that hold no values of a run, and are never pruned; all others are, those of later versions too.
NEVER_PRUNED = frozenset(
    {
        "run.recovered",
        "run.time_skipped",
        "run.paused",
        "run.resumed",
        "run.mode",
        "run.ended",
        "node.skipped",
        "node.finished",
        "attempt.started",
        "attempt.interrupted",
        "attempt.cancelled",
        "attempt.due",
        "approval.withdrawn",
    }
)
_PRUNED_START = b'{"dataHash"'


def is_pruned(line: bytes) -> bool:
    """True if the line is pruned."""
    return line.startswith(_PRUNED_START)


def prune(line: bytes) -> bytes:
    """Return the line without its data, or unchanged if its type is never pruned.

    Raise Corrupt if the line is not as it was sealed: without its data, the damage could no longer be examined.
    """
    if is_pruned(line):
        return line
    try:
        entry = parse(line)
        check_bytes(line, entry)
    except Fault as fault:
        raise errors.Corrupt(f"the line is not as it was sealed: {fault.code} {fault.message}") from None
    if entry["type"] in NEVER_PRUNED:
        return line
    data = cast("JsonObject", entry["data"])
    rest: dict[str, Json] = {key: value for key, value in entry.items() if key != "data"}
    rest["dataHash"] = hashlib.sha256(canonical.dumps(data)).hexdigest()
    if "receipt" in data:
        rest["receipt"] = data["receipt"]
    return canonical.dumps(rest)

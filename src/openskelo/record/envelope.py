"""Events as the log holds them: one canonical JSON line each, chained by hash.

    {"data":{…},"hash":"…","id":"…","nodeId":"…","prev":"…","runId":"…","seq":1,"ts":"…","type":"run.created"}

`hash` is SHA-256 over `prev`, the canonical bytes of the envelope without `data` and `hash`, and the hash of the
canonical bytes of `data` (`link`). Because only the hash of the data goes in, data can be pruned (`dataHash` takes its
place) and the chain can still be verified.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

import orjson

from openskelo.kernel import events, ids
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

#: The `prev` of the first event of a run.
GENESIS = "0" * 64


class Chain:
    """The end of a run's log, as its driver knows it: the next line continues from here."""

    def __init__(self, run_id: str, seq: int = 0, head: str = GENESIS) -> None:
        self.run_id = run_id
        self.seq = seq
        self.head = head
        self._node_ids: dict[str, str] = {}

    def node_id(self, key: str) -> str:
        """Return the id that the wire has for the node `key`."""
        node_id = self._node_ids.get(key)
        if node_id is None:
            node_id = self._node_ids[key] = ids.derive(self.run_id, key)
        return node_id


def seal(chain: Chain, facts: Iterable[events.Event]) -> tuple[bytes, ...]:
    """Return the lines of the next events, and advance the chain to the last of them."""
    return tuple([_seal(chain, event) for event in facts])


def _seal(chain: Chain, event: events.Event) -> bytes:
    chain.seq += 1
    envelope: dict[str, Json] = {
        "id": event_id(chain.run_id, chain.seq),
        "prev": chain.head,
        "runId": chain.run_id,
        "seq": chain.seq,
        "ts": timestamp(event.at),
        "type": events.NAMES[type(event)],
    }
    key: str | None = getattr(event, "node", None)
    if key is not None:
        envelope["nodeId"] = chain.node_id(key)
    envelope_bytes = orjson.dumps(envelope, option=orjson.OPT_SORT_KEYS)  # canonical: nothing in it is a float
    data = canonical.dumps(encode(event))
    chain.head = link(chain.head, envelope_bytes, sha256(data).hexdigest())
    # `data` and `hash` sort before all other keys, so the rest of the line is the envelope as it was hashed.
    return b'{"data":%b,"hash":"%b",%b' % (data, chain.head.encode(), envelope_bytes[1:])


def link(prev: str, envelope: bytes, data_hash: str) -> str:
    """Return the hash of a line, given the canonical bytes of its envelope without `data` and `hash`."""
    return sha256(b"%b\n%b\n%b" % (prev.encode(), envelope, data_hash.encode())).hexdigest()


def open_line(line: bytes) -> tuple[JsonObject, events.Event]:
    """Return the envelope and the event of a line of our own log, without checking it; `chain` verifies lines."""
    envelope: Any = canonical.loads_canonical(line)
    return envelope, decode(envelope["type"], envelope["data"], milliseconds(envelope["ts"]))


def encode(event: events.Event) -> JsonObject:
    """Return the event's `data` as a line holds it: a time of the contract is text."""
    data = events.encode(event)
    expires_at = data.get("expiresAt")
    if not isinstance(expires_at, int):
        return data
    return {**data, "expiresAt": timestamp(expires_at)}


def decode(event_type: str, data: JsonObject, at: int) -> events.Event:
    """Return the event of a line's `data`; earlier programs wrote `expiresAt` in milliseconds.

    Raise KeyError for an unknown type, TypeError for missing or unknown fields, ValueError for a text that is no time.
    """
    expires_at = data.get("expiresAt")
    if isinstance(expires_at, str):
        data = {**data, "expiresAt": _exact_milliseconds(expires_at)}
    return events.decode(event_type, data, at)


def event_id(run_id: str, seq: int) -> str:
    """Return the event's UUID: the run's, with version 8 and the event's `seq` as its last group."""
    return f"{run_id[:14]}8{run_id[15:24]}{seq:012x}"


@lru_cache(maxsize=256)  # events that are appended together share their time
def timestamp(at: int) -> str:
    """Return milliseconds since the epoch as ISO 8601 in UTC."""
    return f"{_second(at // 1000)}.{at % 1000:03d}Z"


def milliseconds(text: str) -> int:
    """Return the milliseconds since the epoch of a `timestamp`."""
    return _epoch(text[:19]) + int(text[20:23])


def _exact_milliseconds(text: str) -> int:
    at = milliseconds(text)
    if timestamp(at) != text:
        raise ValueError(f"{text!r} is not a time as events have it")
    return at


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


@lru_cache(maxsize=256)
def _epoch(text: str) -> int:
    return int(datetime.fromisoformat(text + "+00:00").timestamp()) * 1000

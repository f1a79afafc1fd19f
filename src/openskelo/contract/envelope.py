"""Events as they stand in the log: one canonical line each, chained by hash.

    {"data":{…},"hash":"…","id":"…","nodeId":"…","prev":"…","runId":"…","seq":1,"ts":"…","type":"run.created"}

`hash` is SHA-256 over `prev`, the envelope's canonical bytes without `data` and `hash`, and the hash of the data's
canonical bytes, so that data can be pruned (`dataHash` in its place) and the chain still be verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from hashlib import sha256 as _sha256
from itertools import islice
from typing import Any

import orjson

from openskelo.kernel import event_data, events, ids
from openskelo.kernel.json import JsonObject
from openskelo.values import canonical

#: What the first event of a run points back to.
GENESIS = "0" * 64
#: So many nodes are given their ids at once: one by one, between syncs, each would take three times as long.
_AHEAD = 64


class Chain:
    """The end of a run's log as its driver knows it: the next line continues from here.

    `nodes` are those that its events will be about, as far as they are known, in about that order.
    """

    __slots__ = ("begin", "head", "middle", "node_ids", "nodes", "run_id", "seq", "space")

    def __init__(self, run_id: str, seq: int = 0, head: str = GENESIS, nodes: Iterable[str] = ()) -> None:
        self.run_id = run_id
        self.seq = seq
        self.head = head
        self.nodes: Iterator[str] = iter(nodes)
        self.node_ids: dict[str, str] = {}
        # What is the same in the envelopes of all events: up to the event's place in its id, and before its `seq`.
        self.begin = f'"id":"{event_id(run_id, 0)[:-12]}'
        self.middle = f'"runId":"{run_id}","seq":'
        self.space = ids.space(run_id)


def seal(chain: Chain, facts: Iterable[events.Event]) -> tuple[bytes, ...]:
    """The lines of events that follow each other, and the chain moved on by them."""
    lines: list[bytes] = []
    begin, middle, node_ids = chain.begin, chain.middle, chain.node_ids
    seq, prev = chain.seq, chain.head
    for event in facts:
        seq += 1
        write, tail = _form(type(event))
        data = canonical.dumps(write(event))
        key = getattr(event, "node", None)
        node = "" if key is None else node_ids.get(key) or _name_node(chain, key)
        envelope = f'{begin}{seq:012x}",{node}"prev":"{prev}",{middle}{seq},"ts":"{timestamp(event.at)}",{tail}'
        linked = f"{prev}\n{{{envelope}\n{_sha256(data).hexdigest()}"  # as `link` has it
        prev = _sha256(linked.encode()).hexdigest()
        lines.append(b'{"data":' + data + f',"hash":"{prev}",{envelope}'.encode())
    chain.seq, chain.head = seq, prev
    return tuple(lines)


@cache
def _form(kind: type[events.Event]) -> tuple[Callable[[Any], JsonObject], str]:
    """What gives the data of the events of a class, and the end of their envelopes."""
    return event_data.writer(kind), f'"type":"{events.NAMES[kind]}"}}'


def link(prev: str, envelope: bytes, data_hash: str) -> str:
    """The hash that a line adds to the chain; `envelope` is the line's canonical form without `data` and `hash`."""
    return _sha256(f"{prev}\n{envelope.decode()}\n{data_hash}".encode()).hexdigest()


def open_line(line: bytes) -> tuple[JsonObject, events.Event]:
    """The envelope and the event of a stored line that is trusted (our own log); `chain` checks those that are not."""
    envelope: Any = orjson.loads(line)
    ts = envelope["ts"]
    return envelope, event_data.decode(envelope["type"], envelope["data"], _epoch(ts[:19]) + int(ts[20:23]))


def event_id(run_id: str, seq: int) -> str:
    """The event's UUID: the run's, with version 8 and the event's place in the run as its last group."""
    return f"{run_id[:14]}8{run_id[15:24]}{seq:012x}"


@lru_cache(maxsize=256)  # the events of a turn share their moment
def timestamp(at: int) -> str:
    """Milliseconds since the epoch as ISO-8601 UTC."""
    return f"{_second(at // 1000)}.{at % 1000:03d}Z"


def milliseconds(text: str) -> int:
    """The inverse of `timestamp`."""
    return _epoch(text[:19]) + int(text[20:23])


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


@lru_cache(maxsize=256)
def _epoch(text: str) -> int:
    return int(datetime.fromisoformat(text + "+00:00").timestamp()) * 1000


def _name_node(chain: Chain, key: str) -> str:
    """What the envelopes of a node's events say of it; the same is found out for some that come next."""
    ahead = tuple(islice(chain.nodes, _AHEAD))
    for one in ahead if key in ahead else (key, *ahead):
        chain.node_ids[one] = f'"nodeId":"{ids.derive_in(chain.space, one)}",'
    return chain.node_ids[key]

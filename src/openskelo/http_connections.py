"""Limit the connections of a server, and the time in which a connection must send its request.

A client costs a file descriptor from the moment that it connects, long before the app and its limits see a request. A
client that sends half a request, or none, must not take the descriptors that runs need for their files, programs and
connections. So:

    limit      at most `limit` connections; `RESERVED_DESCRIPTORS` of the process stay free for its own work
    room       at the limit, the connection that has waited longest for a request is closed for a new one; if all are
               in use, the new one gets a 503
    deadline   the head of a request arrives within `HEAD_SECONDS`, counted from its first byte (for the first request
               of a connection: from the connection)
    remainder  a body that was answered before it was read (413, 401) is read on and dropped, so that the client can
               read the answer; at most `MAX_DROPPED_BYTES`, within `HEAD_SECONDS`

The limit for bodies that the app does read is in `middleware.Limiter`.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from typing import cast

import uvicorn
from uvicorn.protocols.http import h11_impl

#: How long the head of a request may take.
HEAD_SECONDS = 10.0
#: How much of a body that the app does not read is dropped before the connection is closed.
MAX_DROPPED_BYTES = 64 * 1024 * 1024
#: Descriptors that no connection takes: for the log, files, programs and connections of the runs.
RESERVED_DESCRIPTORS = 256
#: How many connections the event loop accepts at a time. It takes up to four turns of the loop until one is counted or
#: closed, so four times as many may be open beyond the limit.
ACCEPTED_AT_ONCE = 16
#: How many connections the operating system lets wait until they are accepted.
BACKLOG = 2048
#: How long the next line about a full server is left out of the log.
_LOG_SECONDS = 30.0
_LOG = logging.getLogger("openskelo.server")
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"


def max_connections(wanted: int) -> int:
    """Return `wanted`, or less if the process may not open that many files beside the files that it needs itself."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    reserved_descriptors = min(RESERVED_DESCRIPTORS, soft // 2) + 4 * ACCEPTED_AT_ONCE
    return max(1, min(wanted, soft - reserved_descriptors))


def enlarge_backlog(listener: socket.socket) -> None:
    """Let more connections wait than are accepted at once; asyncio has one number for both."""
    listener.listen(BACKLOG)


class Config(uvicorn.Config):
    """uvicorn's settings, with the connections that all its protocols share."""

    connections: Connections


class Connections:
    """The connections of one server that wait for a request, in the order in which they began to."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.waiting: dict[Protocol, None] = {}
        self._logged_at = float("-inf")

    def make_room(self, newcomer: Protocol) -> bool:
        """Close the connection that has waited longest, except for the newcomer; False if all others are in use."""
        now = time.monotonic()
        if now >= self._logged_at + _LOG_SECONDS:
            self._logged_at = now
            _LOG.warning("all %d connections are taken; raise the limit of open files (ulimit -n)", self.limit)
        oldest = next((protocol for protocol in self.waiting if protocol is not newcomer), None)
        if oldest is None:
            return False
        oldest.abort()
        return True


class Protocol(h11_impl.H11Protocol):
    """uvicorn's HTTP protocol for one connection, which counts itself and keeps the deadline."""

    _deadline: asyncio.TimerHandle | None = None
    _received = False
    _dropped = 0

    @property
    def _shared(self) -> Connections:
        return cast("Config", self.config).connections

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Count the connection and start its deadline, or refuse it."""
        super().connection_made(transport)
        self._shared.waiting[self] = None
        self._start_deadline()
        if len(self.connections) > self._shared.limit and not self._shared.make_room(self):
            transport.write(_FULL)
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Pass the bytes on; the deadline runs while they are no whole head, or a body that is not read."""
        self._received = True
        super().data_received(data)
        if self._is_busy():
            self._stop_waiting()
            return
        self._shared.waiting.setdefault(self)
        self._start_deadline()
        self._dropped += len(data)
        if self._dropped > MAX_DROPPED_BYTES:
            self.abort()

    def on_response_complete(self) -> None:
        """After an answer the connection waits for the next request, until uvicorn's keep-alive time is over."""
        super().on_response_complete()
        self._dropped = 0
        self._received = False
        if not self.transport.is_closing() and not self._is_busy():
            self._shared.waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close the connection, which has no request under way."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.close()  # writes what is in its buffer first: a few bytes at most

    def _is_busy(self) -> bool:
        """True if a request is under way, or the connection has become a WebSocket."""
        cycle = self._last_cycle()
        is_answering = cycle is not None and not cycle.response_complete
        return is_answering or self.transport.get_protocol() is not self

    def _last_cycle(self) -> h11_impl.RequestResponseCycle | None:
        """Return the last request with its answer; None before the first."""
        return cast("h11_impl.RequestResponseCycle | None", self.cycle)

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._end_late)

    def _stop_waiting(self) -> None:
        self._shared.waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end_late(self) -> None:
        cycle = self._last_cycle()
        is_body = cycle is not None and cycle.more_body  # of a request that was answered already
        if self._received and not is_body and not self.transport.is_closing():
            self.transport.write(_LATE)
        self.abort()

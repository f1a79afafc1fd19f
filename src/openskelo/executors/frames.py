"""Messages between the engine and its worker processes: four bytes of length, then that many bytes of JSON."""

from __future__ import annotations

import socket
import struct
import time

from openskelo.executors import lookout

_LENGTH = struct.Struct(">I")
#: How much is read at once; more would be mapped and unmapped by the allocator for every message.
CHUNK = 64 * 1024
#: The longest message; larger outputs are refused before they are sent.
MAX_BYTES = 64 * 1024 * 1024
#: A chain of quick handlers sends its calls about so far apart: a sync lies in between.
_SOON_SECONDS = 0.0006


def pack(body: bytes) -> bytes:
    """The message as it is sent."""
    return _LENGTH.pack(len(body)) + body


class Unpacker:
    """Collects received bytes until a message is whole."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> bytes | None:
        """The message that these bytes complete, if they do (there is never more than one on its way)."""
        held = self._held
        held += data
        if len(held) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(held)
        if len(held) < _LENGTH.size + length:
            return None
        body = bytes(held[_LENGTH.size :])
        held.clear()
        return body


class Inbox:
    """The messages of the other side as they come. While they come soon one after the other, they are looked for."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lookout = lookout.Lookout(_SOON_SECONDS)
        self._soon = False  # whether the last one came so
        self._data = b""

    def receive(self) -> bytes | None:
        """The next message, blocking; None once the other side is gone."""
        began = time.perf_counter()
        if not (self._soon and self._lookout.sees(self._look)):
            self._data = self._channel.recv(CHUNK)
        self._soon = time.perf_counter() - began < _SOON_SECONDS
        unpacker = Unpacker()
        while self._data:
            body = unpacker.feed(self._data)
            if body is not None:
                return body
            self._data = self._channel.recv(CHUNK)
        return None

    def _look(self) -> bool:
        try:
            self._data = self._channel.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        return True

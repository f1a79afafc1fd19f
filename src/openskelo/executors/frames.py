"""Messages between the engine and its worker processes: four bytes of length, then that many bytes of JSON."""

from __future__ import annotations

import socket
import struct

_LENGTH = struct.Struct(">I")
#: How much is read at once; more would be mapped and unmapped by the allocator for every message.
CHUNK = 64 * 1024
#: The longest message; larger outputs are refused before they are sent.
MAX_BYTES = 64 * 1024 * 1024


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


def receive(channel: socket.socket) -> bytes | None:
    """The next message, blocking; None once the other side is gone."""
    unpacker = Unpacker()
    while True:
        data = channel.recv(CHUNK)
        if not data:
            return None
        body = unpacker.feed(data)
        if body is not None:
            return body

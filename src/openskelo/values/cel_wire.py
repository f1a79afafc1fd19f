"""The protobuf wire format, as far as serialised CEL expressions use it.

The library compiles and evaluates but does not show the syntax tree. Its serialised form does, and the protobuf package
would be a heavy dependency for a handful of small messages whose format is stable by design.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

_VARINT, _FIXED64, _BYTES = 0, 1, 2


class Field(NamedTuple):
    """One field of a message: its number, its wire type, and its content (an int unless it has a length)."""

    number: int
    kind: int
    content: int | bytes


Message: TypeAlias = "list[Field]"


def decode(data: bytes) -> Message:
    """The fields of the message `data`, in wire order."""
    found: Message = []
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            content, at = _read_varint(data, at)
        elif kind == _BYTES:
            length, at = _read_varint(data, at)
            content = data[at : at + length]
            at += length
        else:
            width = 8 if kind == _FIXED64 else 4
            content = int.from_bytes(data[at : at + width], "little")
            at += width
        found.append(Field(tag >> 3, kind, content))
    return found


def encode(message: Iterable[Field]) -> bytes:
    """The wire form of `message`."""
    parts: list[bytes] = []
    for field in message:
        parts.append(_varint(field.number << 3 | field.kind))
        if isinstance(field.content, bytes):
            parts += [_varint(len(field.content)), field.content]
        elif field.kind == _VARINT:
            parts.append(_varint(field.content))
        else:
            parts.append(field.content.to_bytes(8 if field.kind == _FIXED64 else 4, "little"))
    return b"".join(parts)


def nested(number: int, content: bytes) -> Field:
    """A field that holds text, bytes or a message."""
    return Field(number, _BYTES, content)


def integer(number: int, content: int) -> Field:
    """A field that holds an unsigned integer."""
    return Field(number, _VARINT, content)


def every(message: Message, number: int) -> list[bytes]:
    """The contents of all fields `number` that have a length."""
    return [field.content for field in message if field.number == number and isinstance(field.content, bytes)]


def first(message: Message, number: int) -> bytes:
    """The content of the first field `number`, empty without one."""
    return next(iter(every(message, number)), b"")


def text(message: Message, number: int) -> str:
    """The text in field `number`, empty without one."""
    return first(message, number).decode()


def number(message: Message, number: int) -> int:
    """The integer in field `number`, 0 without one."""
    contents = (field.content for field in message if field.number == number)
    return next((content for content in contents if isinstance(content, int)), 0)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)

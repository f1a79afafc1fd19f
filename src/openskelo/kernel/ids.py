"""Ids that follow from what they name, so that nobody has to draw them."""

from __future__ import annotations

import hashlib


def derive(namespace: str, name: str) -> str:
    """The version 5 UUID of `name` within the UUID `namespace`: the same arguments always give the same id."""
    digest = hashlib.sha1(bytes.fromhex(namespace.replace("-", "")) + name.encode(), usedforsecurity=False).digest()
    number = int.from_bytes(digest[:16], "big")
    number = number & ~(0xF000 << 64) | (5 << 76)
    number = number & ~(0xC000 << 48) | (0x8000 << 48)
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

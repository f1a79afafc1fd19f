"""Ids that follow from what they name, so that nobody has to draw them."""

from __future__ import annotations

import hashlib


def derive(namespace: str, name: str) -> str:
    """The version 5 UUID of `name` within the UUID `namespace`: the same arguments always give the same id."""
    return derive_in(space(namespace), name)


def space(namespace: str) -> bytes:
    """The UUID `namespace` as `derive_in` takes it, for whoever derives many ids in one."""
    return bytes.fromhex(namespace.replace("-", ""))


def derive_in(space: bytes, name: str) -> str:
    """As `derive`."""
    text = hashlib.sha1(space + name.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(text[16], 16) & 3]
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{variant}{text[17:20]}-{text[20:32]}"


def idempotency_key(run_id: str, node: str, visit: int, slot: int) -> str:
    """The same for every attempt of one visit and item, so that the outside can tell a repetition."""
    return hashlib.sha256(f"{run_id}/{node}/{visit}/{slot}".encode()).hexdigest()

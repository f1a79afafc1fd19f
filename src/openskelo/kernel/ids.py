"""Ids that follow from what they name, so that nobody has to draw them; and how one that was drawn is written."""

from __future__ import annotations

import hashlib

#: The digit of a UUID that says which kind it is, by the digit that stood there: its last two bits stay.
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def derive(namespace: str, name: str) -> str:
    """The version 5 UUID of `name` within the UUID `namespace`: the same arguments always give the same id."""
    return derive_in(space(namespace), name)


def space(namespace: str) -> bytes:
    """The UUID `namespace` as `derive_in` takes it, for whoever derives many ids in one."""
    return bytes.fromhex(namespace.replace("-", ""))


def derive_in(space: bytes, name: str) -> str:
    """As `derive`."""
    text = hashlib.sha1(space + name.encode(), usedforsecurity=False).hexdigest()
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANTS[text[16]]}{text[17:20]}-{text[20:32]}"


def drawn(random: bytes) -> str:
    """The version 4 UUID of 16 random bytes: what `uuid.uuid4` gives, in a third of its time."""
    text = random.hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANTS[text[16]]}{text[17:20]}-{text[20:]}"


def idempotency_key(run_id: str, node: str, visit: int, slot: int) -> str:
    """The same for every attempt of one visit and item, so that the outside can tell a repetition."""
    return hashlib.sha256(f"{run_id}/{node}/{visit}/{slot}".encode()).hexdigest()

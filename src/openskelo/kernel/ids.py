"""Ids that are derived from what they name, so that they need no randomness."""

from __future__ import annotations

import hashlib


def derive(namespace: str, name: str) -> str:
    """Return the version 5 UUID of `name` within the UUID `namespace`: equal arguments give equal ids."""
    digest = hashlib.sha1(bytes.fromhex(namespace.replace("-", "")) + name.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def idempotency_key(run_id: str, node: str, visit: int, slot: int) -> str:
    """Return the key that all attempts of one visit and item share, so that a service can recognise a repetition."""
    return hashlib.sha256(f"{run_id}/{node}/{visit}/{slot}".encode()).hexdigest()


def short(run_or_approval: object) -> str:
    """Return the first characters of a UUID, which every command accepts in its place."""
    return str(run_or_approval)[:8]

"""Secrets by name: resolved at the last moment, and masked out of everything that is kept."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping

import orjson

from openskelo import errors

_REFERENCE = re.compile(r"\$\{(env|secret):([A-Za-z_][A-Za-z0-9_.-]*)\}")
#: Shorter values (`1`, `dev`) are no secrets, and masking them would shred every message.
_SHORTEST = 4
MASK = "[secret]"


def lookup(declared: Mapping[str, str] | None, name: str) -> str:
    """The value of a secret that `skelo.yaml` declares (AttemptFailed SECRET_MISSING, never retried)."""
    if not declared or name not in declared:
        raise errors.AttemptFailed(
            f"no secret named {name!r} is declared",
            code="SECRET_MISSING",
            hint="add it to `secrets` in skelo.yaml, for example NAME: ${env:NAME}",
            retryable=False,
        )
    return resolve(declared[name], None)


def resolve(text: str, declared: Mapping[str, str] | None) -> str:
    """`text` with every `${env:NAME}` and `${secret:NAME}` replaced; what is unset is an error, not an empty string."""

    def value(match: re.Match[str]) -> str:
        kind, name = match.groups()
        if kind == "secret":
            return lookup(declared, name)
        found = os.environ.get(name)
        if found is None:
            raise errors.AttemptFailed(
                f"the environment variable {name} is not set",
                code="SECRET_MISSING",
                hint=f"set {name} before starting skelo",
                retryable=False,
            )
        return found

    return _REFERENCE.sub(value, text)


def references(text: str) -> bool:
    """Whether `text` names a secret or an environment variable."""
    return _REFERENCE.search(text) is not None


def named(text: str) -> tuple[str, ...]:
    """Every reference in `text`, as it is written there."""
    return tuple(match.group() for match in _REFERENCE.finditer(text))


def values(declared: Mapping[str, str] | None) -> tuple[str, ...]:
    """The values that must not be kept: those that are set and long enough to be masked, longest first."""
    if not declared:
        return ()
    found: set[str] = set()
    for reference in declared.values():
        with contextlib.suppress(errors.AttemptFailed):  # unset: there is nothing that could leak
            found.add(resolve(reference, None))
    return tuple(sorted((value for value in found if len(value) >= _SHORTEST), key=len, reverse=True))


def found_in(data: bytes, hidden: Iterable[str]) -> bool:
    """Whether JSON text holds one of the `hidden` values."""
    return any(orjson.dumps(value)[1:-1] in data for value in hidden)


def mask(text: str, hidden: Iterable[str]) -> str:
    """`text` without any of the `hidden` values."""
    for value in hidden:
        text = text.replace(value, MASK)
    return text

"""Secrets by name: read when they are needed, and masked in everything that is stored.

skelo.yaml declares a secret as a reference to an environment variable (`${env:NAME}`). Values are masked in every
spelling in which JSON or Python would quote them, so that a quoted secret does not leak either.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence

from openskelo import errors
from openskelo.kernel.json import Json

_REFERENCE = re.compile(r"\$\{(env|secret):([A-Za-z_][A-Za-z0-9_.-]*)\}")
#: Shorter values (`1`, `dev`) are not secrets, and masking them would make messages unreadable.
_MIN_LENGTH = 4
_MIN_LINE_LENGTH = 16
#: Text that is the same with and without quoting: printable ASCII without quotes and backslashes.
_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*")
MASK = "[secret]"


def lookup(declared: Mapping[str, str] | None, name: str) -> str:
    """Return the value of a secret that skelo.yaml declares (Missing SECRET_MISSING, never retried)."""
    if not declared or name not in declared:
        raise errors.Missing(
            f"no secret named {name!r} is declared",
            code="SECRET_MISSING",
            hint="add it to `secrets` in skelo.yaml, for example NAME: ${env:NAME}",
        )
    return resolve(declared[name], None)


def resolve(text: str, declared: Mapping[str, str] | None) -> str:
    """Return `text` with every `${env:NAME}` and `${secret:NAME}` replaced (Missing SECRET_MISSING)."""

    def replacement(match: re.Match[str]) -> str:
        kind, name = match.groups()
        if kind == "secret":
            return lookup(declared, name)
        value = os.environ.get(name)
        if value is None:
            raise errors.Missing(
                f"the environment variable {name} is not set",
                code="SECRET_MISSING",
                hint=f"set {name} before starting skelo",
            )
        return value

    return _REFERENCE.sub(replacement, text)


def references(text: str) -> bool:
    """True if `text` names a secret or an environment variable."""
    return _REFERENCE.search(text) is not None


def referenced_in(value: Json) -> bool:
    """True if a text anywhere in `value` names a secret or an environment variable."""
    match value:
        case str():
            return references(value)
        case Mapping():
            return any(referenced_in(part) for part in value.values())
        case list() | tuple():
            return any(referenced_in(part) for part in value)
        case _:
            return False


def named(text: str) -> tuple[str, ...]:
    """Return every reference in `text`, as it is written there."""
    return tuple(match.group() for match in _REFERENCE.finditer(text))


def values(declared: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the texts to mask: the declared secrets that are set and long enough, in every spelling."""
    if not declared:
        return ()
    secrets: set[str] = set()
    for reference in declared.values():
        with contextlib.suppress(errors.AttemptFailed):  # not set: there is nothing to leak
            secrets.add(resolve(reference, None))
    return spellings(value for value in secrets if len(value) >= _MIN_LENGTH)


def referenced_values(texts: Iterable[str], declared: Mapping[str, str] | None) -> set[str]:
    """Return the values of all references in these texts that are to be masked.

    A short value is no secret, and neither is a number of the environment that is not declared as one: it is a
    setting (`PORT=8080`), and masking it would change other numbers that contain it.
    """
    secret_values: set[str] = set()
    for reference in (reference for text in texts for reference in named(text)):
        with contextlib.suppress(errors.AttemptFailed):  # not set: there is nothing to leak
            value = resolve(reference, declared)
            is_setting = reference.startswith("${env:") and value.isdecimal()
            if len(value) >= _MIN_LENGTH and not is_setting:
                secret_values.add(value)
    return secret_values


def spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the texts to mask for these values, longest first.

    These are the values, and the longer lines of a value with several: as they are, quoted as JSON or Python does it,
    and quoted twice.
    """
    texts: set[str] = set()
    for value in secrets:
        texts.add(value)
        if not _PLAIN.fullmatch(value):
            for part in (value, *_lines(value)):
                texts |= _quoted(part)
    return tuple(sorted(texts, key=len, reverse=True))


def _lines(value: str) -> list[str]:
    """Return the lines of a value that are long enough to be secrets, without the first and last line of a PEM key."""
    lines = [line.strip() for line in value.splitlines()]
    return [line for line in lines if len(line) >= _MIN_LINE_LENGTH and not line.startswith("-----")]


def _quoted(value: str) -> set[str]:
    """Return the value, the value quoted, and the value quoted twice."""
    once = _quote(value)
    return {value, *once, *(twice for text in once for twice in _quote(text))}


def _quote(text: str) -> set[str]:
    """Return the text as it is between quotes in JSON and in Python, each with and without escaping non-ASCII."""
    import json  # noqa: PLC0415 -- keeps start-up fast; most secrets need no quoting

    literals = (json.dumps(text), json.dumps(text, ensure_ascii=False), repr(text), ascii(text))
    return {literal[1:-1] for literal in literals}


def contains_secret(data: bytes, hidden: Iterable[str]) -> bool:
    """True if the JSON text contains one of the `hidden` values."""
    return any(_json(value) in data for value in hidden)


def _json(value: str) -> bytes:
    if _PLAIN.fullmatch(value):
        return value.encode()
    import json  # noqa: PLC0415 -- as above; orjson rejects text that an environment may contain

    return json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")


def mask(text: str, hidden: Iterable[str]) -> str:
    """Return `text` with each of the `hidden` values masked."""
    for value in hidden:
        text = text.replace(value, MASK)
    return text


def mask_json(value: Json, hidden: Sequence[str]) -> Json:
    """Return a JSON value with each of the `hidden` values masked in all its texts and names."""
    match value:
        case str():
            return mask(value, hidden)
        case Mapping():
            return {mask(key, hidden): mask_json(part, hidden) for key, part in value.items()}
        case list() | tuple():
            return [mask_json(part, hidden) for part in value]
        case _:
            return value


class MaskedStream:
    """Masks a text that comes in pieces. The end of a piece is held back while it may be the start of a secret."""

    def __init__(self, hidden: Sequence[str]) -> None:
        self._hidden = hidden
        self._held = ""

    def add(self, piece: str) -> str:
        """Return what may be shown after this piece."""
        if not self._hidden:
            return piece
        text = mask(self._held + piece, self._hidden)
        end = len(text) - _prefix_length(text, self._hidden)
        self._held = text[end:]
        return text[:end]

    def flush(self) -> str:
        """Return what was held back: the text is over."""
        text, self._held = self._held, ""
        return text


def _prefix_length(text: str, hidden: Sequence[str]) -> int:
    """Return how many of the last characters may be the start of a hidden value."""
    longest = min(len(text), max(len(value) for value in hidden) - 1)
    for length in range(longest, 0, -1):
        if any(value.startswith(text[-length:]) for value in hidden):
            return length
    return 0

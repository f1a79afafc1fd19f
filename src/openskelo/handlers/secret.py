"""Secrets by name: resolved at the last moment, and masked out of everything that is kept."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping

from openskelo import errors

_REFERENCE = re.compile(r"\$\{(env|secret):([A-Za-z_][A-Za-z0-9_.-]*)\}")
#: Shorter values (`1`, `dev`) are no secrets, and masking them would shred every message.
_SHORTEST = 4
_SHORTEST_LINE = 16
#: What is spelled the same everywhere: printable ASCII without quotes and backslashes.
_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*")
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
    """The texts that must not be kept: those that are set and long enough to be masked, in every spelling."""
    if not declared:
        return ()
    found: set[str] = set()
    for reference in declared.values():
        with contextlib.suppress(errors.AttemptFailed):  # unset: there is nothing that could leak
            found.add(resolve(reference, None))
    return spellings(value for value in found if len(value) >= _SHORTEST)


def spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Every way in which the values are likely to be written, longest first: as they are, quoted as JSON or as Python
    does it, such a text quoted once more, and the longer lines of one that has several."""
    found: set[str] = set()
    for value in secrets:
        found.add(value)
        if not _PLAIN.fullmatch(value):
            found.update(*map(_quoted, (value, *_lines(value))))
    return tuple(sorted(found, key=len, reverse=True))


def _lines(value: str) -> list[str]:
    """The lines of a value that are long enough to be secret by themselves; the frame of a key says nothing."""
    lines = [line.strip() for line in value.splitlines()]
    return [line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith("-----")]


def _quoted(value: str) -> set[str]:
    once = _quote(value)
    return {value, *once, *(twice for text in once for twice in _quote(text))}


def _quote(text: str) -> set[str]:
    """What is between the quotes of a text in JSON (with and without letters beyond ASCII) and in Python."""
    import json  # noqa: PLC0415 -- start-up is counted, and most secrets need no quoting

    written = (json.dumps(text), json.dumps(text, ensure_ascii=False), repr(text), ascii(text))
    return {one[1:-1] for one in written}


def found_in(data: bytes, hidden: Iterable[str]) -> bool:
    """Whether JSON text holds one of the `hidden` values."""
    return any(_json(value) in data for value in hidden)


def _json(value: str) -> bytes:
    if _PLAIN.fullmatch(value):
        return value.encode()
    import json  # noqa: PLC0415 -- as above; orjson refuses what an environment may hold

    return json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")


def mask(text: str, hidden: Iterable[str]) -> str:
    """`text` without any of the `hidden` values."""
    for value in hidden:
        text = text.replace(value, MASK)
    return text

"""JSON text from outside: read as `canonical.loads` does, and a key that stands twice in an object is refused."""

from __future__ import annotations

import orjson

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.values import canonical


def loads(data: bytes | str) -> Json:
    """The admitted value; `InvalidInput` as `canonical.loads`, and DUPLICATE_KEY where that takes the last silently."""
    value = canonical.loads(data)
    if isinstance(value, dict | list) and not _is_whole(data if isinstance(data, bytes) else data.encode(), value):
        import json  # noqa: PLC0415 -- hardly ever: to say which key it is

        try:
            json.loads(data, object_pairs_hook=_keys_once)
        except RecursionError:  # deeper than any value that is admitted: it is what was overwritten
            raise _twice("a key") from None
    return value


def _is_whole(data: bytes, value: Json) -> bool:
    """Whether everything in the text is in the value, told by the quotation marks: those of a key that was overwritten
    are missing. One inside of a text is the same in both, unless it was written as a number.
    """
    return data.count(b'"') == orjson.dumps(value).count(b'"') and rb"\u0022" not in data


def _keys_once(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _twice(f"the key {key!r}")
        seen.add(key)


def _twice(what: str) -> errors.InvalidInput:
    return errors.InvalidInput(f"{what} stands twice in one object", code="DUPLICATE_KEY", hint="keep one of them")

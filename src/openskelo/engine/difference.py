"""Where two JSON values part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from openskelo.frozen import frozen
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import pointer

#: So many differences are listed for two values.
MAX_CHANGES = 100


@frozen
class Change:
    """One difference between two values, at an RFC 6901 JSON pointer."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Json = None
    after: Json = None

    def document(self) -> JsonObject:
        """The change as JSON; what is not there is left out."""
        document: dict[str, Json] = {"path": self.path, "kind": self.kind}
        if self.kind != "added":
            document["before"] = self.before
        if self.kind != "removed":
            document["after"] = self.after
        return document


def find(before: Json, after: Json) -> list[Change]:
    """Where two JSON values part, in document order, at most MAX_CHANGES of them."""
    found: list[Change] = []
    for change in _walk(before, after, ""):
        if len(found) == MAX_CHANGES:
            break
        found.append(change)
    return found


def _walk(before: Json, after: Json, path: str) -> Iterator[Change]:
    match before, after:
        case dict(), dict():
            for key in dict.fromkeys((*before, *after)):
                yield from _member(before, after, key, f"{path}/{pointer.token(key)}")
        case list(), list():
            shared = min(len(before), len(after))
            for index in range(shared):
                yield from _walk(before[index], after[index], f"{path}/{index}")
            for index in range(shared, len(before)):
                yield Change(path=f"{path}/{index}", kind="removed", before=before[index])
            for index in range(shared, len(after)):
                yield Change(path=f"{path}/{index}", kind="added", after=after[index])
        case _:
            # True == 1 in Python, but not in JSON.
            if before != after or isinstance(before, bool) != isinstance(after, bool):
                yield Change(path=path, kind="changed", before=before, after=after)


def _member(before: JsonObject, after: JsonObject, key: str, path: str) -> Iterator[Change]:
    if key not in after:
        yield Change(path=path, kind="removed", before=before[key])
    elif key not in before:
        yield Change(path=path, kind="added", after=after[key])
    else:
        yield from _walk(before[key], after[key], path)

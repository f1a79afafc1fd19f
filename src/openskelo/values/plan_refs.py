"""References (refs) in the arguments of a plan's step: find them, parse them, and replace them by values.

A string that is `var:a.b[0]`, `input:x`, `ctx:x` or `snap:x` from beginning to end is a ref, anywhere in the arguments
except at the paths that the op declares as free (`ops.Op.free_paths`). `{"$literal": …}` stands for the value in it,
which is not searched for refs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Literal, TypeAlias, cast

from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen

Kind: TypeAlias = Literal["var", "input", "ctx", "snap"]
Path: TypeAlias = tuple[str | int, ...]

#: The key of an object that stands for its value, in which no ref is looked for.
LITERAL = "$literal"

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_REF = re.compile(rf"(var|input|ctx|snap):({_NAME})((?:\.[A-Za-z0-9_-]+|\[[0-9]{{1,9}}\])*)", re.ASCII)
_PART = re.compile(r"\.([A-Za-z0-9_-]+)|\[([0-9]+)\]", re.ASCII)


class Unset(LookupError):
    """There is no value where a ref points."""


@frozen
class Ref:
    """A ref of a plan: it names a variable, an input, a context or a snapshot, and a path into its value."""

    kind: Kind
    name: str
    path: Path = ()

    @property
    def root(self) -> str:
        """The ref without its path into the value, such as `ctx:repo_diff`."""
        return f"{self.kind}:{self.name}"

    def __str__(self) -> str:
        return self.root + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)


def parse(text: str) -> Ref | None:
    """Return the ref that `text` is, or None if it is something else."""
    match = _REF.fullmatch(text)
    if match is None:
        return None
    path = tuple(key or int(index) for key, index in _PART.findall(match[3]))
    return Ref(kind=cast("Kind", match[1]), name=match[2], path=path)


def follow(value: Json, path: Path) -> Json:
    """Return the value at `path` in `value`; raise Unset if the path leads nowhere."""
    for part in path:
        match part, value:
            case str(), Mapping() if part in value:
                value = value[part]
            case int(), list() if part < len(value):
                value = value[part]
            case _:
                raise Unset(part)
    return value


def needs_literal(value: Json) -> bool:
    """True if something in a value would be taken for a ref or for a `$literal`."""
    match value:
        case str():
            return parse(value) is not None
        case list():
            return any(map(needs_literal, value))
        case Mapping():
            return LITERAL in value or any(map(needs_literal, value.values()))
        case _:
            return False


def as_written(arg: Json) -> Json:
    """Return the argument without the `$literal` that may be around it."""
    return arg[LITERAL] if isinstance(arg, Mapping) and LITERAL in arg else arg


def find(args: JsonObject, free: Set[Path]) -> Iterator[tuple[Path, Ref]]:
    """Yield every ref in the arguments of a step, with its path in them; `free` are the paths with no refs."""
    return _find(args, (), free)


def _find(value: Json, place: Path, free: Set[Path]) -> Iterator[tuple[Path, Ref]]:
    if place in free:
        return
    if isinstance(value, str):
        if (ref := parse(value)) is not None:
            yield place, ref
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _find(part, (*place, index), free)
    elif isinstance(value, Mapping) and LITERAL not in value:
        for key, part in value.items():
            yield from _find(part, (*place, key), free)


def replace(args: JsonObject, free: Set[Path], value_of: Callable[[Ref], Json]) -> JsonObject:
    """Return the arguments with every ref replaced by its value; a value that looks like a ref is not read again."""
    return cast("JsonObject", _replace(args, (), free, value_of))


def _replace(value: Json, place: Path, free: Set[Path], value_of: Callable[[Ref], Json]) -> Json:
    if place in free:
        return value
    if isinstance(value, str):
        ref = parse(value)
        return value if ref is None else value_of(ref)
    if isinstance(value, list):
        return [_replace(part, (*place, index), free, value_of) for index, part in enumerate(value)]
    if isinstance(value, Mapping):
        if LITERAL in value:
            return value[LITERAL]
        return {key: _replace(part, (*place, key), free, value_of) for key, part in value.items()}
    return value

"""References in the arguments of a plan's step: where they may stand, what they name, and the values in their place.

A string that is wholly `var:a.b[0]`, `input:x`, `ctx:x` or `snap:x` is a ref, wherever it stands in the arguments
but in a free text; `{"$literal": …}` stands for what it holds, whatever that looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias, cast

from openskelo.frozen import frozen
from openskelo.kernel.json import Json, JsonObject

Kind: TypeAlias = Literal["var", "input", "ctx", "snap"]
Path: TypeAlias = tuple[str | int, ...]

#: The key of an object that stands for its value, unread.
LITERAL = "$literal"

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_REF = re.compile(rf"(var|input|ctx|snap):({_NAME})((?:\.[A-Za-z0-9_-]+|\[[0-9]{{1,9}}\])*)", re.ASCII)
_PART = re.compile(r"\.([A-Za-z0-9_-]+)|\[([0-9]+)\]", re.ASCII)

#: Arguments that are text, or a schema, as written, by op: no ref is looked for in them.
FREE: Mapping[str, frozenset[Path]] = {
    "ask_human": frozenset({("request", "kind"), ("request", "message"), ("answer",)}),
    "branch": frozenset({("cond", "expr")}),
    "route_expert": frozenset({("output_schema",)}),
    "transform": frozenset({("expr",)}),
}
_NONE: frozenset[Path] = frozenset()
#: What is an object; that a dict is one is known in a tenth of the time.
_OBJECTS = (dict, Mapping)


class Unset(LookupError):
    """Nothing is where a ref points."""


@frozen
class Ref:
    """What a ref names: a variable, an input of the plan or a context, and the way into its value."""

    kind: Kind
    name: str
    path: Path = ()

    @property
    def root(self) -> str:
        """The ref without its way into the value, such as `ctx:repo_diff`."""
        return f"{self.kind}:{self.name}"

    def __str__(self) -> str:
        return self.root + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)


def parse(text: str) -> Ref | None:
    """The ref that `text` wholly is, or None."""
    found = _REF.fullmatch(text)
    if found is None:
        return None
    path = tuple(key or int(index) for key, index in _PART.findall(found[3]))
    return Ref(kind=cast("Kind", found[1]), name=found[2], path=path)


def follow(value: Json, path: Path) -> Json:
    """What lies at `path` in `value`; Unset where there is nothing."""
    for part in path:
        match part, value:
            case str(), Mapping() if part in value:
                value = value[part]
            case int(), list() if part < len(value):
                value = value[part]
            case _:
                raise Unset(part)
    return value


def is_read(value: Json) -> bool:
    """Whether something in a value would be taken for a ref, or for an escape."""
    match value:
        case str():
            return parse(value) is not None
        case list():
            return any(map(is_read, value))
        case Mapping():
            return LITERAL in value or any(map(is_read, value.values()))
        case _:
            return False


def find(op: str, args: JsonObject) -> Iterator[tuple[Path, Ref]]:
    """Every ref in the arguments of a step, with its place."""
    return _find(args, (), FREE.get(op, _NONE))


def _find(value: Json, place: Path, free: frozenset[Path]) -> Iterator[tuple[Path, Ref]]:
    if place in free:
        return
    if isinstance(value, str):
        if (found := parse(value)) is not None:
            yield place, found
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _find(part, (*place, index), free)
    elif isinstance(value, _OBJECTS) and LITERAL not in value:
        for key, part in value.items():
            yield from _find(part, (*place, key), free)


def is_free(op: str, args: JsonObject) -> bool:
    """Whether the only argument is one in which no ref is looked for."""
    return len(args) == 1 and op in FREE and (*args,) in FREE[op]


def replace(op: str, args: JsonObject, value_of: Callable[[Ref], Json]) -> JsonObject:
    """The arguments with a value in the place of every ref; a value that looks like a ref stays as it is."""
    return cast("JsonObject", _replace(args, (), FREE.get(op, _NONE), value_of))


def _replace(value: Json, place: Path, free: frozenset[Path], value_of: Callable[[Ref], Json]) -> Json:
    if place in free:
        return value
    if isinstance(value, str):
        found = parse(value)
        return value if found is None else value_of(found)
    if isinstance(value, list):
        return [_replace(part, (*place, index), free, value_of) for index, part in enumerate(value)]
    if isinstance(value, _OBJECTS):
        if LITERAL in value:
            return value[LITERAL]
        return {key: _replace(part, (*place, key), free, value_of) for key, part in value.items()}
    return value

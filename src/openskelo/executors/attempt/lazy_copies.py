"""Inputs that the items of a foreach share, each copied when an item first reads it.

Work may change its inputs. The engine uses this for handlers in its own process, a worker process for the others.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView

from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical


def encode(values: JsonObject) -> dict[str, bytes]:
    """Return the canonical bytes of those values that can be changed: `LazyCopies` makes its copies from them."""
    return {name: canonical.dumps(value) for name, value in values.items() if isinstance(value, Mapping | list)}


class LazyCopies(dict[str, Json]):
    """The inputs of one item, each copied when it is first read: most items never read the list that they come from.

    With a copy of the list for every item, the cost of a foreach would grow with the square of its items.
    """

    def __init__(self, values: JsonObject, encoded: Mapping[str, bytes]) -> None:
        super().__init__(values)
        self._encoded = dict(encoded)

    def __getitem__(self, name: str) -> Json:
        data = self._encoded.pop(name, None)
        if data is not None:
            super().__setitem__(name, canonical.loads_canonical(data))
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: Json) -> None:
        self._encoded.pop(name, None)
        super().__setitem__(name, value)

    # Methods of `dict` do not use `__getitem__`, so methods that return values make all copies first.

    def __iter__(self) -> Iterator[str]:  # also lets `dict(inputs)` and `{**inputs}` use `__getitem__`
        return super().__iter__()

    def get(self, name: str, default: Json = None) -> Json:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self[name] if name in self else default  # noqa: SIM401 -- this is `get`

    def pop(self, name: str, *default: Json) -> Json:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.get(name)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Json]:
        name = next(reversed(self))
        return name, self.pop(name)

    def setdefault(self, name: str, default: Json = None) -> Json:
        self.get(name)
        return super().setdefault(name, default)

    def copy(self) -> dict[str, Json]:
        return self._copied()

    def __or__(self, other: dict[str, Json]) -> dict[str, Json]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._copied() | other

    def items(self) -> ItemsView[str, Json]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._copied().items()

    def values(self) -> ValuesView[Json]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._copied().values()

    def __reduce__(self) -> tuple[type[dict[str, Json]], tuple[dict[str, Json]]]:
        return dict, (self._copied(),)

    def _copied(self) -> dict[str, Json]:
        return {name: self[name] for name in self}

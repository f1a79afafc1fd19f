"""A value under reading: knows its path, checks its type, and reports what is wrong there instead of raising."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from openskelo.kernel.json import Json
from openskelo.values import pointer as pointers
from openskelo.workflows import problems, spots, suggest
from openskelo.workflows.problems import Hint


class Cursor:
    """One place of a document. Its readers return None after they reported a Problem."""

    __slots__ = ("path", "report", "value")

    def __init__(self, value: Json, path: spots.Path, report: problems.Report) -> None:
        self.value = value
        self.path = path
        self.report = report

    def problem(self, code: str, message: str, *, hint: Hint = None) -> None:
        """Report something wrong with this value."""
        self.report.error(self.path, code, message, hint=hint)

    def key_problem(self, code: str, message: str, *, hint: Hint = None) -> None:
        """Report something wrong with the key this value stands under."""
        self.report.error_at_key(self.path, code, message, hint=hint)

    def warn(self, code: str, message: str, *, hint: Hint = None) -> None:
        """Report something worth knowing about this value."""
        self.report.warn(self.path, code, message, hint=hint)

    def wrong_type(self, wanted: str, *, hint: Hint = None) -> None:
        """Report that this value has another type than `wanted`."""
        self.problem("TYPE", f"{self.name} must be {wanted}, not {kind(self.value)}", hint=hint)

    @property
    def name(self) -> str:
        """What to call this place in a message."""
        indexes = ""
        for part in reversed(self.path):
            if isinstance(part, str):
                return f"`{part}{indexes}`"
            indexes = f"[{part}]{indexes}"
        return "the document"

    def at(self, part: str | int, value: Json) -> Cursor:
        """The place one step below."""
        return Cursor(value, (*self.path, part), self.report)

    def below(self, pointer: str) -> Cursor:
        """The place that a JSON pointer into this value names, or the last one on the way to it that is there."""
        place = self
        for token in pointer.split("/")[1:]:
            name = pointers.name_of(token)
            match place.value:
                case Mapping() if name in place.value:
                    place = place.at(name, place.value[name])
                case list() | tuple() if name in map(str, range(len(place.value))):
                    place = place.at(int(name), place.value[int(name)])
                case _:
                    break
        return place

    def fields(self, known: Set[str] | None = None) -> Fields | None:
        """This value as a map; keys outside `known` are Problems (None: any key is welcome)."""
        if not isinstance(self.value, Mapping):
            self.wrong_type("a map")
            return None
        if known is not None and not (self.value.keys() <= known):
            self._unknown_keys(self.value, known)
        return Fields(self, self.value)

    def items(self) -> list[Cursor] | None:
        """This value as a list."""
        if isinstance(self.value, str) or not isinstance(self.value, Sequence):
            self.wrong_type("a list")
            return None
        return [self.at(index, item) for index, item in enumerate(self.value)]

    def text(self, *, blank: bool = True) -> str | None:
        """This value as a string."""
        if not isinstance(self.value, str):
            hint = "quote it" if self.value is not None and not isinstance(self.value, Mapping | Sequence) else None
            self.wrong_type("a text", hint=hint)
            return None
        if not blank and not self.value.strip():
            self.problem("EMPTY", f"{self.name} is empty")
            return None
        return self.value

    def integer(self, low: int, high: int) -> int | None:
        """This value as an integer of `low` to `high`."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.wrong_type("a whole number")
            return None
        return self.value if self._bounded(self.value, low, high) else None

    def number(self, low: float, high: float) -> int | float | None:
        """This value as a number of `low` to `high`."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.wrong_type("a number")
            return None
        return self.value if self._bounded(self.value, low, high) else None

    def flag(self) -> bool | None:
        """This value as true or false."""
        if not isinstance(self.value, bool):
            hint = "write true or false" if isinstance(self.value, str | int) else None
            self.wrong_type("true or false", hint=hint)
            return None
        return self.value

    def choice(self, options: Sequence[str]) -> str | None:
        """This value as one of a few words."""
        if isinstance(self.value, str) and self.value in options:
            return self.value
        listed = ", ".join(options)
        if not isinstance(self.value, str):
            self.wrong_type(f"one of {listed}")
            return None
        hint = suggest.near(self.value, options)
        self.problem("CHOICE", f"{self.name} must be one of {listed}, not {self.value[:60]!r}", hint=hint)
        return None

    def _bounded(self, value: float, low: float, high: float) -> bool:
        if low <= value <= high:
            return True
        self.problem("RANGE", f"{self.name} must be from {low} to {high}, not {value}")
        return False

    def _unknown_keys(self, value: Mapping[str, Json], known: Set[str]) -> None:
        for key in value:
            if key not in known:
                free = [name for name in known if name not in value]
                otherwise = f"known here: {', '.join(sorted(known))}" if len(known) <= 12 else None
                hint = suggest.near(key, free, otherwise=otherwise)
                self.at(key, value[key]).key_problem("UNKNOWN_KEY", f"unknown key {key[:60]!r}", hint=hint)


class Fields:
    """A map under reading: what stands under each key, with a default for what does not."""

    __slots__ = ("cursor", "value")

    def __init__(self, cursor: Cursor, value: Mapping[str, Json]) -> None:
        self.cursor = cursor
        self.value = value

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def __iter__(self) -> Iterator[Cursor]:
        for key, value in self.value.items():
            yield self.cursor.at(key, value)

    def get(self, key: str) -> Cursor | None:
        """The place under `key`; None when the key is absent."""
        return self.cursor.at(key, self.value[key]) if key in self.value else None

    def need(self, key: str) -> Cursor | None:
        """As `get`; absence is a Problem."""
        found = self.get(key)
        if found is None:
            self.missing(key)
        return found

    def missing(self, key: str, *, hint: Hint = None) -> None:
        """Report that `key` has to be there."""
        self.cursor.problem("MISSING_KEY", f"{self.cursor.name} needs the key `{key}`", hint=hint)

    def text(self, key: str, default: str = "") -> str:
        found = self.get(key)
        value = None if found is None else found.text()
        return default if value is None else value

    def flag(self, key: str, *, default: bool) -> bool:
        found = self.get(key)
        value = None if found is None else found.flag()
        return default if value is None else value

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        found = self.get(key)
        value = None if found is None else found.integer(low, high)
        return default if value is None else value

    def number(self, key: str, default: float, low: float, high: float) -> int | float:
        found = self.get(key)
        value = None if found is None else found.number(low, high)
        return default if value is None else value

    def choice(self, key: str, options: Sequence[str], default: str) -> str:
        found = self.get(key)
        value = None if found is None else found.choice(options)
        return default if value is None else value

    def map(self, key: str) -> Mapping[str, Json]:
        """A map with any keys; empty when the key is absent."""
        found = self.get(key)
        fields = None if found is None else found.fields()
        return {} if fields is None else fields.value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; one text alone counts as a list of one."""
        found = self.get(key)
        if found is None:
            return ()
        if isinstance(found.value, str):
            return (found.value,)
        entries = found.items() or []
        return tuple(text for entry in entries if (text := entry.text(blank=False)) is not None)


def kind(value: Json) -> str:
    """What to call the type of a value in a message."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case int():
            return "a number"
        case float():
            return "a fraction"
        case str():
            return "a text"
        case Mapping():
            return "a map"
        case _:
            return "a list"

"""A cursor: one place of a document, with readers that check the value there and report Problems instead of raising.

    fields = cursor.fields({"name", "timeout_ms"})     a map; other keys are Problems
    timeout = fields.integer("timeout_ms", 1000, 1, 60_000)

Readers of a `Cursor` return None after they have reported a Problem; readers of `Fields` return the default, so that
the loader goes on and finds the next Problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from openskelo.kernel.json import Json
from openskelo.values import json_pointer
from openskelo.workflows.text import positions, problems
from openskelo.workflows.text.problems import Hint


class Cursor:
    """One place of a document: its value, its path and the report that collects Problems."""

    __slots__ = ("path", "report", "value")

    def __init__(self, value: Json, path: positions.Path, report: problems.Report) -> None:
        self.value = value
        self.path = path
        self.report = report

    def problem(self, code: str, message: str, *, hint: Hint = None) -> None:
        """Report something wrong with this value."""
        self.report.error(self.path, code, message, hint=hint)

    def key_problem(self, code: str, message: str, *, hint: Hint = None) -> None:
        """Report something wrong with the key of this value."""
        self.report.error_at_key(self.path, code, message, hint=hint)

    def problem_within(self, offset: int, code: str, message: str, *, hint: Hint = None) -> None:
        """Report something wrong at the character `offset` of this text."""
        before = str(self.value)[:offset]
        position = (before.count("\n") + 1, len(before) - before.rfind("\n"))
        self.report.error_within(self.path, code, message, position, hint=hint)

    def warn(self, code: str, message: str, *, hint: Hint = None) -> None:
        """Report something worth knowing about this value."""
        self.report.warn(self.path, code, message, hint=hint)

    def wrong_type(self, expected: str, *, hint: Hint = None) -> None:
        """Report that this value has another type than expected."""
        self.problem("TYPE", f"{self.name} must be {expected}, not {kind(self.value)}", hint=hint)

    @property
    def name(self) -> str:
        """The name of this place in messages."""
        indexes = ""
        for part in reversed(self.path):
            if isinstance(part, str):
                return f"`{part}{indexes}`"
            indexes = f"[{part}]{indexes}"
        return "the document"

    def at(self, part: str | int, value: Json) -> Cursor:
        """Return the cursor of the value under a key or index."""
        return Cursor(value, (*self.path, part), self.report)

    def below(self, pointer: str) -> Cursor:
        """Return the cursor of a JSON pointer into this value, or of the last value on the way that exists."""
        place = self
        for token in pointer.split("/")[1:]:
            name = json_pointer.name_of(token)
            match place.value:
                case Mapping() if name in place.value:
                    place = place.at(name, place.value[name])
                case list() | tuple() if name in map(str, range(len(place.value))):
                    place = place.at(int(name), place.value[int(name)])
                case _:
                    break
        return place

    def fields(self, allowed: Set[str] | None = None) -> Fields | None:
        """Return this value as a map; keys outside `allowed` are Problems, unless it is None."""
        if not isinstance(self.value, Mapping):
            self.wrong_type("a map")
            return None
        if allowed is not None and not (self.value.keys() <= allowed):
            self._unknown_keys(self.value, allowed)
        return Fields(self, self.value)

    def items(self) -> list[Cursor] | None:
        """Return this value as a list."""
        if isinstance(self.value, str) or not isinstance(self.value, Sequence):
            self.wrong_type("a list")
            return None
        return [self.at(index, item) for index, item in enumerate(self.value)]

    def text(self, *, blank: bool = True) -> str | None:
        """Return this value as a string."""
        if not isinstance(self.value, str):
            hint = "quote it" if self.value is not None and not isinstance(self.value, Mapping | Sequence) else None
            self.wrong_type("a text", hint=hint)
            return None
        if not blank and not self.value.strip():
            self.problem("EMPTY", f"{self.name} is empty")
            return None
        return self.value

    def integer(self, low: int, high: int) -> int | None:
        """Return this value as an integer of `low` to `high`."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.wrong_type("a whole number")
            return None
        if self._in_range(self.value, low, high):
            return self.value
        return None

    def number(self, low: float, high: float) -> int | float | None:
        """Return this value as a number of `low` to `high`."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.wrong_type("a number")
            return None
        if self._in_range(self.value, low, high):
            return self.value
        return None

    def flag(self) -> bool | None:
        """Return this value as a boolean."""
        if not isinstance(self.value, bool):
            hint = "write true or false" if isinstance(self.value, str | int) else None
            self.wrong_type("true or false", hint=hint)
            return None
        return self.value

    def choice(self, options: Sequence[str]) -> str | None:
        """Return this value as one of `options`."""
        if isinstance(self.value, str) and self.value in options:
            return self.value
        option_list = ", ".join(options)
        if not isinstance(self.value, str):
            self.wrong_type(f"one of {option_list}")
            return None
        hint = problems.did_you_mean(self.value, options)
        self.problem("CHOICE", f"{self.name} must be one of {option_list}, not {self.value[:60]!r}", hint=hint)
        return None

    def _in_range(self, value: float, low: float, high: float) -> bool:
        if low <= value <= high:
            return True
        self.problem("RANGE", f"{self.name} must be from {low} to {high}, not {value}")
        return False

    def _unknown_keys(self, value: Mapping[str, Json], allowed: Set[str]) -> None:
        for key in value:
            if key not in allowed:
                free = [name for name in allowed if name not in value]
                otherwise = f"known here: {', '.join(sorted(allowed))}" if len(allowed) <= 12 else None
                hint = problems.did_you_mean(key, free, otherwise=otherwise)
                self.at(key, value[key]).key_problem("UNKNOWN_KEY", f"unknown key {key[:60]!r}", hint=hint)


class Fields:
    """A map: the value of each key, or a default for a key that is absent or wrong."""

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
        """Return the cursor of the value of `key`; None when the key is absent."""
        if key in self.value:
            return self.cursor.at(key, self.value[key])
        return None

    def need(self, key: str) -> Cursor | None:
        """Return what `get` returns; absence is a Problem."""
        cursor = self.get(key)
        if cursor is None:
            self.missing(key)
        return cursor

    def missing(self, key: str, *, hint: Hint = None) -> None:
        """Report that `key` is missing."""
        self.cursor.problem("MISSING_KEY", f"{self.cursor.name} needs the key `{key}`", hint=hint)

    def text(self, key: str, default: str = "") -> str:
        cursor = self.get(key)
        value = None if cursor is None else cursor.text()
        return default if value is None else value

    def flag(self, key: str, *, default: bool) -> bool:
        cursor = self.get(key)
        value = None if cursor is None else cursor.flag()
        return default if value is None else value

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        cursor = self.get(key)
        value = None if cursor is None else cursor.integer(low, high)
        return default if value is None else value

    def number(self, key: str, default: float, low: float, high: float) -> int | float:
        cursor = self.get(key)
        value = None if cursor is None else cursor.number(low, high)
        return default if value is None else value

    def choice(self, key: str, options: Sequence[str], default: str) -> str:
        cursor = self.get(key)
        value = None if cursor is None else cursor.choice(options)
        return default if value is None else value

    def map(self, key: str) -> Mapping[str, Json]:
        """Return a map with any keys; an empty one when the key is absent."""
        cursor = self.get(key)
        fields = None if cursor is None else cursor.fields()
        return {} if fields is None else fields.value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; a single text counts as a list of one."""
        cursor = self.get(key)
        if cursor is None:
            return ()
        if isinstance(cursor.value, str):
            return (cursor.value,)
        entries = cursor.items() or []
        return tuple(text for entry in entries if (text := entry.text(blank=False)) is not None)


def kind(value: Json) -> str:
    """Return the name of a value's type for messages."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case int():
            return "a number"
        case float():
            if value.is_integer():
                return "a number beyond 2^53"
            return "a fraction"
        case str():
            return "a text"
        case Mapping():
            return "a map"
        case _:
            return "a list"

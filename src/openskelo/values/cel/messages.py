"""Errors about expressions, for their authors: the CEL library's reports turned into a message, a position and a hint.

The library reports faults as lines like `ERROR: <input>:1:8: undeclared reference to 'x' (in container '')`, with lists
of every token it would have accepted. The patterns below take out what an author can use.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from openskelo import errors
from openskelo.structs import frozen
from openskelo.values import suggestions


@frozen
class Position:
    """A position in an expression or template; line and column count from 1."""

    line: int
    column: int


class InvalidExpression(errors.InvalidInput):
    """The text is not a valid expression or template; `position` is where, or None if unknown."""

    default_code = "EXPR_INVALID"

    def __init__(
        self, message: str, *, position: Position | None = None, code: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.position = position

    @property
    def line(self) -> int | None:
        """The line, counted from 1."""
        return self.position.line if self.position else None

    @property
    def column(self) -> int | None:
        """The column, counted from 1."""
        return self.position.column if self.position else None


_LOCATED = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_EXPECTED_TOKENS = re.compile(r" expecting (\{.*|'.*|[A-Z_]+)$")
_TYPE_MISMATCH = re.compile(r"no matching overload for '(\S+)' applied to '\((.*)\)'")
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$| \(in container ''\)")
_RESERVED_WORD = re.compile(r"at input '\.(in|true|false|null)'")
_NO_VALUE = re.compile(r'No value with name "(.*)" found in Activation')


def from_report(report: str, visible: Collection[str]) -> InvalidExpression:
    """Return the first fault of the library's report as an error; `visible` are the names that may be used."""
    location = _LOCATED.search(report)
    message = location[3] if location else report
    if "recursion" in message:
        return InvalidExpression("the expression nests too deeply", hint="split it over several blocks")
    line, column = (int(location[1]), int(location[2])) if location else (0, 0)
    position = Position(line=line, column=column) if line > 0 and column > 0 else None
    unknown_name = _UNDECLARED.search(message)
    hint = suggest_name(unknown_name[1].partition(".")[0], visible) if unknown_name else mixed_numbers_hint(message)
    if word := _RESERVED_WORD.search(message):
        hint = f'{word[1]} is a reserved word of CEL: write ["{word[1]}"] for a field of that name'
    return InvalidExpression(simplify(message), position=position, hint=hint)


def is_only_static(report: str) -> bool:
    """True if the first fault is a mismatch of declared types in an operation that is defined for the values.

    `inputs.n > 0.5` with an integer `n` is one: CEL compares the two numbers, but its type checker refuses to.
    """
    mismatch = _TYPE_MISMATCH.search(report)
    if mismatch is None:
        return False
    operator, operands = mismatch[1], mismatch[2].split(", ")
    numbers = sorted(operands) == ["double", "int"]
    lists = all(operand.startswith("list(") for operand in operands)
    match operator:
        case "_?_:_":
            return True
        case "_<_" | "_<=_" | "_>_" | "_>=_":
            return numbers
        case "_==_" | "_!=_":
            return numbers or lists or "null_type" in operands
        case "_+_":
            return lists
        case "@in":
            return mismatch[2] in ("int, list(double)", "double, list(int)")
        case _:
            return False


def simplify(message: str) -> str:
    """Return the library's message without its status codes and its list of every possible token."""
    no_value = _NO_VALUE.search(message)
    if no_value:
        return f"{no_value[1]!r} has no value here"
    return shorten(_EXPECTED_TOKENS.sub("", _STATUS.sub("", message)).replace("@matches(", "matches("), 300)


def suggest_name(name: str, names: Collection[str]) -> str:
    """Return a hint with the one of `names` that the author may have meant, or with all of them."""
    similar = suggestions.name_like(name, sorted(names))
    if similar:
        return f"did you mean {similar!r}?"
    return f"known here: {', '.join(sorted(names)) or 'nothing'}"


def mixed_numbers_hint(message: str) -> str | None:
    """Return the way out when an int met a double, the one trap that CEL has for people who know JSON."""
    if "overload" in message and "int" in message and "double" in message:
        return "int and double do not mix in arithmetic: write double(x), or 1.0 for 1"
    return None


def position_at(text: str, offset: int) -> Position:
    """Return the position of the character at `offset` in `text`."""
    return Position(line=text.count("\n", 0, offset) + 1, column=offset - text.rfind("\n", 0, offset))


def shorten(text: str, length: int = 80) -> str:
    """Return `text`, cut to `length` characters."""
    if len(text) <= length:
        return text
    return text[: length - 3] + "..."

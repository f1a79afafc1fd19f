"""What is wrong with an expression, in words for its author: the library's reports, positions and advice."""

from __future__ import annotations

import re
from collections.abc import Collection

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.values import nearest


@frozen
class Position:
    """A place in an expression or template; both count from 1."""

    line: int
    column: int


class InvalidExpression(errors.InvalidInput):
    """The text is not a valid expression or template; `position` says where, if that is known."""

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
_UNKNOWN = re.compile(r"undeclared reference to '([^']*)'")
_EXPECTED = re.compile(r" expecting (\{.*|'.*|[A-Z_]+)$")
_MISMATCH = re.compile(r"no matching overload for '(\S+)' applied to '\((.*)\)'")
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$| \(in container ''\)")
_KEYWORD = re.compile(r"at input '\.(in|true|false|null)'")
_UNBOUND = re.compile(r'No value with name "(.*)" found in Activation')


def explained(report: str, visible: Collection[str]) -> InvalidExpression:
    """The library's report (located lines with excerpts of the text) as one error about the first fault."""
    located = _LOCATED.search(report)
    message = located[3] if located else report
    if "recursion" in message:
        return InvalidExpression("the expression nests too deeply", hint="split it over several blocks")
    line, column = (int(located[1]), int(located[2])) if located else (0, 0)
    position = Position(line=line, column=column) if line > 0 and column > 0 else None
    unknown = _UNKNOWN.search(message)
    hint = choice(unknown[1].partition(".")[0], visible) if unknown else number_advice(message)
    if keyword := _KEYWORD.search(message):
        hint = f'{keyword[1]} is a word of CEL: write ["{keyword[1]}"] for a field of that name'
    return InvalidExpression(plainly(message), position=position, hint=hint)


def is_scruple(report: str) -> bool:
    """Whether the first fault is one of types only: by the values themselves, the operation is defined and sensible."""
    found = _MISMATCH.search(report)
    if found is None:
        return False
    operator, operands = found[1], found[2].split(", ")
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
            return found[2] in ("int, list(double)", "double, list(int)")
        case _:
            return False


def plainly(message: str) -> str:
    """The library's message without its status codes and its lists of every token there is."""
    unbound = _UNBOUND.search(message)
    if unbound:
        return f"{unbound[1]!r} has no value here"
    return short(_EXPECTED.sub("", _STATUS.sub("", message)), 300)


def choice(given: str, known: Collection[str]) -> str:
    """What the author may have meant instead of `given`."""
    close = nearest.name_like(given, sorted(known))
    return f"did you mean {close!r}?" if close else f"known here: {', '.join(sorted(known)) or 'nothing'}"


def number_advice(message: str) -> str | None:
    """The way out when an int met a double, which is the one trap that CEL has for people who know JSON."""
    if "overload" in message and "int" in message and "double" in message:
        return "int and double do not mix in arithmetic: write double(x), or 1.0 for 1"
    return None


def position(text: str, offset: int) -> Position:
    """The place of the character at `offset` in `text`."""
    return Position(line=text.count("\n", 0, offset) + 1, column=offset - text.rfind("\n", 0, offset))


def short(text: str, length: int = 80) -> str:
    """`text`, or its beginning when it is longer than `length`."""
    return text if len(text) <= length else text[: length - 3] + "..."

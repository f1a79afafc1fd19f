r"""Text with `{{ CEL }}` in it and no other code. `\{{` stands for two plain braces."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.kernel.json import Json
from openskelo.values import canonical, expression
from openskelo.values.fit import JsonSchema

#: How long a template's text may be, in characters.
MAX_LENGTH = 256 * 1024
#: How long a rendered text may be, in characters.
MAX_RESULT = 1024 * 1024

_OPEN, _CLOSE = "{{", "}}"


@frozen
class Template:
    """A compiled template; `variables` are the declared variables it uses."""

    text: str
    variables: frozenset[str]
    _parts: tuple[str | expression.Expression, ...]

    def render(self, values: Mapping[str, Json], show: Callable[[Json], str] | None = None) -> str:
        """The text with every expression's result in place: text as it is, other values as canonical JSON.

        With `show`, every result looks as it makes it look.
        `AttemptFailed`: EXPR_FAILED, EXPR_RESULT or NUMBER_RANGE from an expression, TEMPLATE_TOO_LARGE beyond 1 MiB.
        """
        written = show or as_text
        pieces: list[str] = []
        size = 0
        for part in self._parts:
            piece = part if isinstance(part, str) else written(part.evaluate(values))
            size += len(piece)
            if size > MAX_RESULT:
                raise errors.AttemptFailed(
                    f"the rendered text is longer than {MAX_RESULT} characters",
                    code="TEMPLATE_TOO_LARGE",
                    hint="insert less, or write the value to a file",
                    retryable=False,
                )
            pieces.append(piece)
        return "".join(pieces)


def compile(text: str, variables: Mapping[str, JsonSchema | None]) -> Template:  # noqa: A001 -- `template.compile`
    """The compiled template; `InvalidExpression` (TEMPLATE_INVALID or a code of expressions) says where."""
    if len(text) > MAX_LENGTH:
        raise expression.InvalidExpression(
            f"the template has more than {MAX_LENGTH} characters", code="TEMPLATE_INVALID"
        )
    parts: list[str | expression.Expression] = []
    for piece in split(text):
        if isinstance(piece, str):
            parts.append(piece)
        else:
            parts.append(_compile_at(text, piece, variables))
    used = frozenset[str]().union(*(part.variables for part in parts if not isinstance(part, str)))
    return Template(text=text, variables=used, _parts=tuple(parts))


@functools.lru_cache(maxsize=1024)
def split(text: str) -> tuple[str | slice, ...]:
    """The plain texts of a template, and the places of its expressions, in order (InvalidExpression)."""
    pieces: list[str | slice] = []
    plain: list[str] = []
    at = 0
    while (start := text.find(_OPEN, at)) >= 0:
        if text[start - 1 : start] == "\\" and start > at:
            plain += [text[at : start - 1], _OPEN]
            at = start + 2
            continue
        plain.append(text[at:start])
        end = _end_of_expression(text, start + 2)
        pieces += ["".join(plain), slice(start + 2, end)]
        plain = []
        at = end + 2
    pieces.append("".join([*plain, text[at:]]))
    return tuple(piece for piece in pieces if piece != "")


def _end_of_expression(text: str, start: int) -> int:
    """Where the `}}` is that ends the expression at `start`, past the braces and quoted text inside the expression."""
    at, open_braces = start, 0
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = _end_of_quoted(text, at)
            continue
        if char == "{":
            open_braces += 1
        elif char == "}" and open_braces:
            open_braces -= 1
        elif text.startswith(_CLOSE, at):
            return at
        at += 1
    raise expression.InvalidExpression(
        "`{{` is never closed",
        code="TEMPLATE_INVALID",
        position=_position(text, start - 2),
        hint=r"close it with `}}`, or write `\{{` for plain braces",
    )


def _end_of_quoted(text: str, start: int) -> int:
    """Just after the CEL string literal that opens at `start`: raw and triple-quoted ones included."""
    quote = text[start]
    if text.startswith(quote * 3, start):
        quote *= 3
    raw = text[start - 1 : start] in ("r", "R") and start > 0
    at = start + len(quote)
    while at < len(text):
        if text[at] == "\\" and not raw:
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    return at


def _compile_at(text: str, place: slice, variables: Mapping[str, JsonSchema | None]) -> expression.Expression:
    try:
        return expression.compile(text[place], variables)
    except expression.InvalidExpression as error:
        inner = error.position or expression.Position(line=1, column=1)
        start = _position(text, place.start)
        column = inner.column + start.column - 1 if inner.line == 1 else inner.column
        position = expression.Position(line=start.line + inner.line - 1, column=column)
        raise expression.InvalidExpression(error.message, code=error.code, position=position, hint=error.hint) from None


def _position(text: str, at: int) -> expression.Position:
    return expression.Position(line=text.count("\n", 0, at) + 1, column=at - text.rfind("\n", 0, at))


def as_text(value: Json) -> str:
    """A result as templates write it: text as it is, other values as canonical JSON."""
    return value if isinstance(value, str) else canonical.dumps(value).decode()

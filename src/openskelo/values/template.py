r"""Templates: text with `{{ CEL expression }}` in it and no other code. `\{{` stands for two plain braces.

A template is split into plain texts and expressions once, when it is compiled. Where an expression ends is found by
reading CEL's string literals and braces, so that `{{ {"a": "}}"}.a }}` is one expression. A fault inside an
expression is reported at its line and column in the whole template.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.structs import frozen
from openskelo.values import canonical
from openskelo.values.cel import expression
from openskelo.values.schema.compatibility import JsonSchema

#: How long a template's text may be, in characters.
MAX_LENGTH = 256 * 1024
#: How long a rendered text may be, in characters.
MAX_RESULT = 1024 * 1024

_OPEN, _CLOSE = "{{", "}}"


@frozen
class Template:
    """A compiled template."""

    text: str
    #: The declared variables it uses.
    variables: frozenset[str]
    _parts: tuple[str | expression.Expression, ...]

    def render(self, values: Mapping[str, Json], show: Callable[[Json], str] | None = None) -> str:
        """Return the text with the result of every expression in place, as `show` writes it (by default `as_text`).

        Raise `AttemptFailed`: EXPR_FAILED, EXPR_RESULT or NUMBER_RANGE from an expression, TEMPLATE_TOO_LARGE for a
        result beyond 1 MiB.
        """
        write = show or as_text
        pieces: list[str] = []
        size = 0
        for part in self._parts:
            piece = part if isinstance(part, str) else write(part.evaluate(values))
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


def change_texts(value: Json, change: Callable[[str], str]) -> Json:
    """Return the JSON with every text in it changed; keys stay as they are."""
    match value:
        case str():
            return change(value)
        case Mapping():
            return {key: change_texts(part, change) for key, part in value.items()}
        case list() | tuple():
            return [change_texts(part, change) for part in value]
        case _:
            return value


def compile(text: str, variables: Mapping[str, JsonSchema | None]) -> Template:  # noqa: A001 -- `template.compile`
    """Return the compiled template; raise `InvalidExpression` (TEMPLATE_INVALID or a code of expressions)."""
    if len(text) > MAX_LENGTH:
        raise expression.InvalidExpression(
            f"the template has more than {MAX_LENGTH} characters", code="TEMPLATE_INVALID"
        )
    parts: list[str | expression.Expression] = []
    for piece in split(text):
        if isinstance(piece, str):
            parts.append(piece)
        else:
            parts.append(_compile_slice(text, piece, variables))
    names = frozenset[str]().union(*(part.variables for part in parts if not isinstance(part, str)))
    return Template(text=text, variables=names, _parts=tuple(parts))


@functools.lru_cache(maxsize=1024)
def split(text: str) -> tuple[str | slice, ...]:
    """Return the plain texts of a template and the slices of its expressions, in order; raise InvalidExpression."""
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
    """Return the index of the `}}` that ends the expression at `start`; braces and strings in it are skipped."""
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
        "`{{` has no closing `}}`",
        code="TEMPLATE_INVALID",
        position=_position(text, start - 2),
        hint=r"close it with `}}`, or write `\{{` for plain braces",
    )


def _end_of_quoted(text: str, start: int) -> int:
    """Return the index after the CEL string literal that opens at `start`, which may be raw or triple-quoted."""
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


def _compile_slice(text: str, part: slice, variables: Mapping[str, JsonSchema | None]) -> expression.Expression:
    try:
        return expression.compile(text[part], variables)
    except expression.InvalidExpression as error:
        inner = error.position or expression.Position(line=1, column=1)
        start = _position(text, part.start)
        column = inner.column + start.column - 1 if inner.line == 1 else inner.column
        position = expression.Position(line=start.line + inner.line - 1, column=column)
        raise expression.InvalidExpression(error.message, code=error.code, position=position, hint=error.hint) from None


def _position(text: str, at: int) -> expression.Position:
    return expression.Position(line=text.count("\n", 0, at) + 1, column=at - text.rfind("\n", 0, at))


def as_text(value: Json) -> str:
    """Return a result as templates write it: text as it is, other values as canonical JSON."""
    if isinstance(value, str):
        return value
    return canonical.dumps(value).decode()

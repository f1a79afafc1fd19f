"""CEL expressions of plans, over the four roots `input`, `var`, `ctx` and `snap`.

`var` is a reserved word of CEL. So the text is compiled with another name of the same length in its place, which keeps
every position right, and messages are translated back. The names that an expression reads of each root are found by
reading its tokens, so that the engine loads only those values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values.cel import expression, messages

ROOTS = ("ctx", "input", "snap", "var")

#: The name of `var` in the compiled text.
_CEL_VAR = "v__"
_TOKEN = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"""
    r"""|(?P<comment>//[^\n]*)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<space>\s+)|(?P<other>.)""",
    re.DOTALL,
)


@frozen
class PlanExpression:
    """A compiled expression."""

    text: str
    #: The names it reads of each root, None where it may read any of them.
    names: Mapping[str, frozenset[str] | None]
    _compiled: expression.Expression

    @property
    def returns(self) -> str:
        """The static type of the result, as `expression.Expression` has it."""
        return self._compiled.returns

    def evaluate(self, scope: JsonObject) -> Json:
        """Return the result; `scope` has a map for each root of `names`. Raise `AttemptFailed` as `Expression` does."""
        values = {_CEL_VAR if root == "var" else root: names for root, names in scope.items()}
        try:
            return self._compiled.evaluate(values)
        except errors.AttemptFailed as error:
            raise errors.AttemptFailed(
                _with_var(error.message), code=error.code, hint=error.hint, retryable=error.retryable
            ) from None


def evaluate(document: JsonObject) -> Json:
    """Return the result of an expression in the arguments of a step: its `text`, and the `scope` of values it names.

    Raise `AttemptFailed` COND_INVALID if either is missing.
    """
    text, scope = document.get("text"), document.get("scope")
    if not isinstance(text, str) or not isinstance(scope, dict):
        raise errors.AttemptFailed("an expression lacks its text or its scope", code="COND_INVALID", retryable=False)
    return compile(text).evaluate(scope)


@lru_cache(maxsize=1024)
def compile(text: str) -> PlanExpression:  # noqa: A001 -- called as `plan_expression.compile`
    """Return the compiled expression, cached; raise `InvalidExpression` as `expression.compile` does."""
    cel_text, names = _read(text)
    roots = (_CEL_VAR if root == "var" else root for root in ROOTS)
    try:
        program = expression.compile(cel_text, dict.fromkeys(roots))
    except messages.InvalidExpression as error:
        error.message = _with_var(error.message)
        error.args = (error.message,)
        error.hint = None if error.hint is None else _with_var(error.hint)
        raise
    variables = {"var" if name == _CEL_VAR else name for name in program.variables}
    return PlanExpression(text=text, names={root: names[root] for root in sorted(variables)}, _compiled=program)


def _with_var(message: str) -> str:
    """Return a message of the library with `var` as the author wrote it."""
    return re.sub(rf"\b{_CEL_VAR}\b", "var", message)


def _read(text: str) -> tuple[str, dict[str, frozenset[str] | None]]:
    """Return the text with `var` renamed, and which names of each root it reads."""
    tokens = [(match.lastgroup, match[0]) for match in _TOKEN.finditer(text)]
    pieces: list[str] = []
    previous = ""
    for kind, word in tokens:
        is_root = kind == "name" and word == "var" and previous != "."
        pieces.append(_CEL_VAR if is_root else word)
        if kind not in ("space", "comment"):
            previous = word
    return "".join(pieces), _names_read(tokens)


def _names_read(tokens: list[tuple[str | None, str]]) -> dict[str, frozenset[str] | None]:
    significant = [(kind, token) for kind, token in tokens if kind not in ("space", "comment")]
    with_padding = [*significant, *[("", "")] * 3]
    names: dict[str, frozenset[str] | None] = dict.fromkeys(ROOTS, frozenset())
    for index, (kind, root) in enumerate(significant):
        if kind != "name" or root not in ROOTS or (index and significant[index - 1][1] == "."):
            continue
        (_, dot), (name_kind, name), (_, after) = with_padding[index + 1 : index + 4]
        is_field = dot == "." and name_kind == "name" and after != "("
        so_far = names[root]
        names[root] = so_far | {name} if is_field and so_far is not None else None
    return names

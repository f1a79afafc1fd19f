"""CEL over what a plan knows: `input`, `var`, `ctx` and `snap`, of which only what it names is passed.

CEL keeps the word `var` for itself, so it goes by another name of the same length inside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import cel_report, expression

ROOTS = ("ctx", "input", "snap", "var")

#: What `var` is called inside.
_INSIDE = "v__"
_TOKEN = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"""
    r"""|(?P<comment>//[^\n]*)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<space>\s+)|(?P<other>.)""",
    re.DOTALL,
)


@frozen
class PlanExpression:
    """A compiled expression; `names` are those it reads of each root, None where it may read any of them."""

    text: str
    names: Mapping[str, frozenset[str] | None]
    _compiled: expression.Expression

    @property
    def returns(self) -> str:
        """The static type of the result, as `expression.Expression` has it."""
        return self._compiled.returns

    def evaluate(self, scope: JsonObject) -> Json:
        """The result, where `scope` has a map for each root of `names` (AttemptFailed, as `Expression`)."""
        inside = scope
        if "var" in scope:
            inside = {_INSIDE if root == "var" else root: known for root, known in scope.items()}
        try:
            return self._compiled.evaluate(inside)
        except errors.AttemptFailed as error:
            raise errors.AttemptFailed(
                _outside(error.message), code=error.code, hint=error.hint, retryable=error.retryable
            ) from None


@lru_cache(maxsize=1024)
def compile(text: str) -> PlanExpression:  # noqa: A001 -- called as `plan_expression.compile`
    """The expression (InvalidExpression, as from `expression.compile`, with the same offsets)."""
    inside, names = _read(text)
    roots = (_INSIDE if root == "var" else root for root in ROOTS)
    try:
        compiled = expression.compile(inside, dict.fromkeys(roots))
    except cel_report.InvalidExpression as error:
        error.message = _outside(error.message)
        error.args = (error.message,)
        error.hint = None if error.hint is None else _outside(error.hint)
        raise
    used = {"var" if name == _INSIDE else name for name in compiled.variables}
    return PlanExpression(text=text, names={root: names[root] for root in sorted(used)}, _compiled=compiled)


def _outside(message: str) -> str:
    return re.sub(rf"\b{_INSIDE}\b", "var", message)


def _read(text: str) -> tuple[str, dict[str, frozenset[str] | None]]:
    """The text with `var` renamed, and which names of each root it reads."""
    tokens = [(match.lastgroup, match[0]) for match in _TOKEN.finditer(text)]
    written = [(kind, word) for kind, word in tokens if kind not in ("space", "comment")]
    names: dict[str, frozenset[str] | None] = dict.fromkeys(ROOTS, frozenset())
    for index, (kind, word) in enumerate(written):
        if kind != "name" or word not in ROOTS or (index and written[index - 1][1] == "."):
            continue
        dot, name, call = ([*written[index + 1 : index + 4], *[("", "")] * 3])[:3]
        known = names[word]
        plain = dot[1] == "." and name[0] == "name" and call[1] != "("
        names[word] = known | {name[1]} if plain and known is not None else None
    inside: list[str] = []
    last = ""
    for kind, word in tokens:
        inside.append(_INSIDE if kind == "name" and word == "var" and last != "." else word)
        if kind not in ("space", "comment"):
            last = word
    return "".join(inside), names

"""Values between Markdown fences: how data is put into a prompt, and how JSON is read out of an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

_FENCED_JSON = re.compile(r"\A\s*```(?:json|JSON)?(.*?)```\s*\Z", re.DOTALL)
_TICKS = re.compile(r"`{3,}")
#: Some servers put it in front of everything they send.
_BYTE_ORDER_MARK = "\ufeff"


def fenced(value: Json) -> str:
    """Return `value` between fences longer than any inside of it: a text as it is, other values as JSON."""
    text = value if isinstance(value, str) else canonical.dumps(value).decode()
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def parse_object(text: str) -> JsonObject:
    """Return the JSON object that an answer is, alone or in one fence (AttemptFailed ANSWER_INVALID)."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.strip():
        raise errors.AttemptFailed("the answer is empty", code="ANSWER_INVALID")
    inside = _FENCED_JSON.match(text)
    try:
        value = canonical.loads(inside.group(1) if inside else text)
    except errors.InvalidInput as error:
        raise errors.AttemptFailed(
            f"the answer is not one JSON object: {error.message}", code="ANSWER_INVALID"
        ) from error
    if not isinstance(value, Mapping):
        raise errors.AttemptFailed("the answer is JSON, but not an object", code="ANSWER_INVALID")
    return cast("JsonObject", value)

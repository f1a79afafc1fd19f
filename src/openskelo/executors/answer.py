"""What goes into a model's prompt as data, and what is read out of its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from openskelo import errors
from openskelo.executors import job
from openskelo.kernel import outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import seam
from openskelo.values import canonical

_FENCED = re.compile(r"\A\s*```(?:json|JSON)?(.*?)```\s*\Z", re.DOTALL)
#: What some servers put in front of everything they send.
_BYTE_ORDER_MARK = "\ufeff"
_TICKS = re.compile(r"`{3,}")
_TAG = re.compile(r"<\s*/?\s*data", re.IGNORECASE)
#: A token has about four letters of English, and in plain words hardly more.
_LETTERS_AT_BEST = 5
#: How much of a refused answer a repair is shown.
MAX_ANSWER_BYTES = 8 * 1024


def fenced(value: Json) -> str:
    """`value` between fences that it cannot close itself: text as it is, other values as JSON."""
    text = value if isinstance(value, str) else canonical.dumps(value).decode()
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def marked(value: Json) -> str:
    """A value inside a sentence of the prompt: marked as data where it could be read as anything else."""
    if value is None or isinstance(value, bool | int | float):
        return canonical.dumps(value).decode()
    text = value if isinstance(value, str) else canonical.dumps(value).decode()
    if "\n" in text or _TAG.search(text):
        return f"\n{fenced(value)}\n"
    return f"<data>{text}</data>"


def bounded(text: str, most: int = MAX_ANSWER_BYTES) -> str:
    """The beginning of `text`, at most so many bytes of it, that can be stored."""
    data = text.encode("utf-8", "replace")
    return data.decode() if len(data) <= most else data[:most].decode("utf-8", "ignore") + " …"


def parse(text: str) -> JsonObject:
    """The JSON object that the answer is, alone or in one fence; AttemptFailed ANSWER_INVALID for anything else."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.strip():
        raise errors.AttemptFailed("the answer is empty", code="ANSWER_INVALID")
    inside = _FENCED.match(text)
    try:
        found = canonical.loads(inside.group(1) if inside else text)
    except errors.InvalidInput as error:
        raise errors.AttemptFailed(
            f"the answer is not one JSON object: {error.message}", code="ANSWER_INVALID"
        ) from error
    if not isinstance(found, Mapping):
        raise errors.AttemptFailed("the answer is JSON, but not an object", code="ANSWER_INVALID")
    return cast("JsonObject", found)


def needs(one: job.Job, provider: seam.Provider, way: seam.Planned) -> outcome.Needs:
    """What the attempt has taken in all when what is to be sent has had the longest answer.

    A prompt is counted as short as it may well be here: what fits must not be refused.
    """
    letters = sum(len(message.text) for message in way.request.messages)
    more = seam.Usage(tokens_in=letters // _LETTERS_AT_BEST, tokens_out=way.request.max_tokens or 0)
    return outcome.Needs(
        tokens=one.spent.tokens_in + one.spent.tokens_out + more.tokens_in + more.tokens_out,
        cost_nanousd=one.spent.cost_nanousd + seam.cost(provider, way, more),
    )


def count(spent: job.Spent, answered: seam.Answer) -> None:
    """Add what an answer took to what the attempt has used."""
    spent.tokens_in += answered.usage.tokens_in
    spent.tokens_out += answered.usage.tokens_out
    spent.cost_nanousd += answered.cost_nanousd


def reserved(one: job.Job, provider: seam.Provider, ways: Sequence[seam.Planned]) -> outcome.Metrics:
    """What an answer may have taken that is stopped before anybody can say: what its node has reserved for it, or an
    estimate where it has reserved nothing. `ways` are those it was asked for so far: none, while it waits its turn."""
    if not ways:
        return outcome.Metrics()
    held = one.task.node.reserve
    usages = [seam.estimated(way.request, "".join(one.heard) if way is ways[-1] else "") for way in ways]
    tokens_in = sum(usage.tokens_in for usage in usages)
    cost = sum(seam.cost(provider, way, usage) for way, usage in zip(ways, usages, strict=True))
    return outcome.Metrics(
        tokens_in=tokens_in,
        tokens_out=max(usages[-1].tokens_out, held.tokens - tokens_in),
        cost_nanousd=max(cost, held.cost_nanousd),
    )

"""What the next attempt is told about those before it, and about why its node was entered anew."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.kernel import events
from openskelo.kernel.json import Json, JsonObject

#: What stays from before the failure that is told, and is no part of it.
_REMEMBERED = ("sent_back", "refused")


def after(event: events.AttemptFailed, before: Json) -> JsonObject:
    """The feedback after a failure, where `before` was told to the attempt that failed.

    `attempt`, `error`, `verdicts` and perhaps `item` (of a foreach) and `detail` are about the failure. One that brings
    no verdict against the work leaves the last ones standing. `refused` is the last failure over a result, when this
    one is over none (a timeout, a provider); `sent_back` is what the visit was entered with, by a bounce.
    """
    told: dict[str, Json] = {"attempt": event.attempt, "error": event.error, "verdicts": list(event.verdicts or ())}
    if event.item is not None:
        told["item"] = event.item
    if event.detail is not None:
        told["detail"] = event.detail
    if isinstance(before, Mapping) and event.next != "bounce":  # to where it goes back, that one alone matters
        _remember(told, before)
    return told


def own(feedback: JsonObject) -> JsonObject:
    """What feedback says about the last failure alone."""
    return {name: part for name, part in feedback.items() if name not in _REMEMBERED}


def _remember(told: dict[str, Json], before: JsonObject) -> None:
    verdicts = told["verdicts"]
    against = isinstance(verdicts, list) and any(isinstance(one, Mapping) and _is_no(one) for one in verdicts)
    if not against and (earlier := before.get("verdicts")):
        told["verdicts"] = earlier
    if not _is_over_a_result(told):
        refused = own(before) if "from" not in before and _is_over_a_result(before) else before.get("refused")
        if refused is not None:
            told["refused"] = refused
    sent_back = before if "from" in before else before.get("sent_back")
    if sent_back is not None:
        told["sent_back"] = sent_back


def _is_no(verdict: JsonObject) -> bool:
    """Whether the gate said no; one that could not be asked (null) has said nothing."""
    return verdict.get("passed", False) is False


def _is_over_a_result(feedback: JsonObject) -> bool:
    """Whether the work gave something, and a contract or a gate would not have it."""
    error = feedback.get("error")
    return "detail" in feedback or (isinstance(error, Mapping) and "outputHash" in error)

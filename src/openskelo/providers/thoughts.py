"""What a model says to itself before it answers, between `<think>` and `</think>`, taken out of its answer."""

from __future__ import annotations

import re

_CLOSED = "</think>"
_OPEN = re.compile(r"\s*<think>")
#: How an answer begins that has no thoughts in front of it: JSON, or a fence around it.
_BEGUN = re.compile(r"\s*[{\[`]")


def without(said: str, thought: str = "") -> str:
    """The answer in what was `said`; in what a client took for `thought`, where nothing was said.

    Clients know the tags only where they come as pieces of their own, and some servers open them in the prompt. An
    answer in which a tag is part of a value stays as it is.
    """
    if not said.strip():
        return thought.rpartition(_CLOSED)[2] if _CLOSED in thought else said
    if _CLOSED in said and (_OPEN.match(said) or not _BEGUN.match(said)):
        return said.partition(_CLOSED)[2]
    return said

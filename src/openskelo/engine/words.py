"""The few words that an argument may be: not every caller has a type checker, and a wrong one must not pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast, get_args

from openskelo import errors
from openskelo.kernel import commands

Mode: TypeAlias = Literal["AUTO", "INTERACTIVE"]
GlobalMode: TypeAlias = Literal["PLANNING", "IMPLEMENTATION"]

_ANSWERS: tuple[str, ...] = get_args(commands.Answer)
_MODES: tuple[str, ...] = get_args(Mode)
_GLOBAL_MODES: tuple[str, ...] = get_args(GlobalMode)


def check(word: object, words: Sequence[str], what: str, *, code: str = "USAGE") -> None:
    """InvalidInput, with the `words` as its hint, when `word` is none of them."""
    if word not in words:
        raise errors.InvalidInput(f"{str(word)[:60]!r} is not {what}", code=code, hint=f"one of {', '.join(words)}")


def answer(word: object) -> commands.Answer:
    """The word as an answer to an approval (InvalidInput)."""
    check(word, _ANSWERS, "an answer", code="APPROVAL_INVALID")
    return cast("commands.Answer", word)


def mode(word: object) -> Mode:
    """The word as a run's mode, in the command line's lower case too (InvalidInput)."""
    if word == "AUTO":  # as nearly always
        return "AUTO"
    return cast("Mode", _capital(word, _MODES, "a mode"))


def global_mode(word: object) -> GlobalMode:
    """The word as a run's global mode, in lower case too (InvalidInput)."""
    if word == "IMPLEMENTATION":
        return "IMPLEMENTATION"
    return cast("GlobalMode", _capital(word, _GLOBAL_MODES, "a global mode"))


def _capital(word: object, words: Sequence[str], what: str) -> str:
    capital = word.upper() if isinstance(word, str) else word
    check(capital, words, what)
    return cast("str", capital)

"""Regular expressions that take time linear in the text, whoever wrote them (RE2 syntax)."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Protocol, cast

from openskelo import errors
from openskelo.frozen import frozen

#: How long a pattern may be, in characters.
MAX_LENGTH = 4096
# RE2 gives up on a pattern whose program would need more; its own default of 8 MiB is meant for a whole server.
_MAX_MEMORY = 1 << 20


class _Compiled(Protocol):
    def search(self, text: str, /) -> object: ...
    def fullmatch(self, text: str, /) -> object: ...


class _Options(Protocol):
    log_errors: bool
    max_mem: int


class _Re2(Protocol):
    error: type[Exception]
    Options: Callable[[], _Options]

    def compile(self, pattern: str, /, *, options: _Options) -> _Compiled: ...


@frozen
class Pattern:
    """A compiled pattern. Matching never raises and takes time linear in the text."""

    text: str
    _compiled: _Compiled

    def search(self, text: str) -> bool:
        """Whether the pattern occurs anywhere in `text`."""
        return self._compiled.search(_encodable(text)) is not None

    def fullmatch(self, text: str) -> bool:
        """Whether the pattern is all of `text`."""
        return self._compiled.fullmatch(_encodable(text)) is not None


@functools.lru_cache(maxsize=512)
def compile(pattern: str) -> Pattern:  # noqa: A001 -- read as `pattern.compile`
    """The compiled `pattern`, cached; `InvalidInput` REGEX_INVALID if it is no RE2 pattern."""
    # Imported by name: start-up is counted, and the package has no types.
    re2 = cast(_Re2, importlib.import_module("re2"))
    if len(pattern) > MAX_LENGTH:
        raise _invalid(f"it has more than {MAX_LENGTH} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        compiled = re2.compile(pattern, options=options)
    except (re2.error, UnicodeEncodeError) as error:
        raise _invalid(_reason(error)) from None
    return Pattern(text=pattern, _compiled=compiled)


def _encodable(text: str) -> str:
    """RE2 reads UTF-8: a lone surrogate, which has none, is seen as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "unknown"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _invalid(reason: str) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"not a valid regular expression: {reason}",
        code="REGEX_INVALID",
        hint="patterns use RE2 syntax: no look-ahead, no look-behind, no back-references",
    )

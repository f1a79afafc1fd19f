"""Regular expressions in RE2 syntax, whose matching takes a bounded time.

Patterns come from workflow files and texts from models, so a pattern with exponential backtracking, as Python's `re`
allows it, could stop the program. RE2 takes time linear in the text, but up to 4 ns for each byte and instruction of
the pattern, and no other thread of the process works meanwhile: `((a?){500}){2}b` has 4,000 instructions, and holds a
server for a minute over four megabytes. So a text that is too long for its pattern is refused.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping
from typing import Protocol, cast

from openskelo import errors
from openskelo.structs import frozen

#: How long a pattern may be, in characters.
MAX_LENGTH = 4096
# RE2 refuses a pattern whose program would need more; its default of 8 MiB is too much for many patterns.
_MAX_MEMORY = 1 << 20
#: How many bytes of text, times the instructions of the pattern, may be matched at once: two seconds at worst.
MAX_WORK = 1 << 29


class _Compiled(Protocol):
    programsize: int

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
    """A compiled pattern. Matching raises `AttemptFailed` REGEX_WORK if the text is too long for the pattern."""

    text: str
    _compiled: _Compiled

    def search(self, text: str) -> bool:
        """True if the pattern occurs anywhere in `text`."""
        self._check_work(text)
        return self._compiled.search(_encodable(text)) is not None

    def fullmatch(self, text: str) -> bool:
        """True if the pattern matches all of `text`."""
        self._check_work(text)
        return self._compiled.fullmatch(_encodable(text)) is not None

    def work(self, text: str) -> int:
        """Return how many instructions matching `text` may take: those of the pattern for each byte."""
        return self._compiled.programsize * len(text.encode("utf-8", "replace"))

    def _check_work(self, text: str) -> None:
        if self.work(text) > MAX_WORK:
            raise errors.AttemptFailed(
                f"a text of {len(text)} characters is too long for the pattern {self.text[:100]!r}",
                code="REGEX_WORK",
                hint="shorten the text, or use a pattern with fewer and smaller repetitions {m,n} and \\p{...}",
                retryable=False,
            )


@functools.lru_cache(maxsize=512)
def compile(pattern: str) -> Pattern:  # noqa: A001 -- called as `regex.compile`
    """Return the compiled `pattern`, cached; raise `InvalidInput` REGEX_INVALID if it is not an RE2 pattern."""
    # Imported here because it would slow every start, and by name because the package has no types.
    re2 = cast(_Re2, importlib.import_module("re2"))
    if len(pattern) > MAX_LENGTH:
        raise _invalid(f"it has more than {MAX_LENGTH} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        pattern_object = re2.compile(pattern, options=options)
    except (re2.error, UnicodeEncodeError) as error:
        raise _invalid(_reason(error)) from None
    return Pattern(text=pattern, _compiled=pattern_object)


_PATH_WILDCARDS = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


def compile_path(pattern: str) -> Pattern:
    """Return the pattern of paths in which `*` stands for any characters but `/`, `**` for any folders, `?` for one."""
    return _compile_wildcards(pattern, _PATH_WILDCARDS)


def compile_command(pattern: str) -> Pattern:
    """Return the pattern of command lines in which `*` stands for any characters."""
    return _compile_wildcards(pattern, {"*": r".*"})


def _compile_wildcards(pattern: str, wildcards: Mapping[str, str]) -> Pattern:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return compile("(?s)" + "".join(wildcards.get(part, re.escape(part)) for part in parts))


def _encodable(text: str) -> str:
    """Return `text` with lone surrogates replaced: RE2 reads UTF-8, which has no form for them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "unknown"
    if isinstance(reason, bytes):
        return reason.decode("utf-8", "replace")
    return str(reason)


def _invalid(reason: str) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"not a valid regular expression: {reason}",
        code="REGEX_INVALID",
        hint="patterns use RE2 syntax: no look-ahead, no look-behind, no back-references",
    )

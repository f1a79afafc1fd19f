"""The values in env files (`.env`, `.env.test`, `local.env`) that are copied into a workspace: they are secrets."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

_NAME = re.compile(r"\.env(rc|[.-].*)?|.*\.env([.-].*)?")
_LINE = re.compile(r"""\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*[=:]\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^#\n]*))""")
_MAX_BYTES = 1024 * 1024
#: Values that everyone knows: masking them would make texts unreadable and hide nothing.
_KNOWN = re.compile(
    r"true|false|none|null|enabled|disabled|development|production|staging|testing|test|local|localhost|debug|info|"
    r"warning|error|default|postgres|mysql|sqlite|redis|root|admin|user|utf-8|"
    r"\d{1,5}|\d+\.\d+|127\.0\.0\.1|0\.0\.0\.0|.{0,3}",
    re.IGNORECASE | re.DOTALL,
)


def is_env_file(name: str) -> bool:
    """True if a file of this name holds variables of an environment."""
    return _NAME.fullmatch(name) is not None


def read_values(paths: Iterable[Path]) -> set[str]:
    """Return the secret values in those of these files that are env files; an agent may have changed them."""
    return {value for path in paths if is_env_file(path.name) for value in _values(_read(path))}


def _values(text: str) -> Iterator[str]:
    for line in text.splitlines():
        match = _LINE.match(line)
        value = "" if match is None else next((part for part in match.groups() if part is not None), "").strip()
        if _KNOWN.fullmatch(value):
            continue
        yield value
        if password := _password(value):
            yield password


def _password(value: str) -> str | None:
    """Return the password in a URL (`postgres://ada:PASSWORD@host/db`), None if there is none."""
    try:
        password = urlsplit(value).password
    except ValueError:
        return None
    if password is not None and not _KNOWN.fullmatch(password):
        return password
    return None


def _read(path: Path) -> str:
    """Return the text of a small regular file, empty for anything else: links of an agent are not followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return file.read(_MAX_BYTES).decode("utf-8", "replace")

"""The path an author writes down: `{timestamp}`, `{home}`, `{run_id}`, `{block_id}` and `{index}`, and nothing else."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from openskelo import errors
from openskelo.handlers import context

FIELDS = ("timestamp", "home", "run_id", "block_id", "index")
DEFAULT_TIMESTAMP = "YYYYMMDD-HHmmss"
TOKENS = ("YYYY", "MM", "DD", "HH", "mm", "ss", "SSS")
_TOKEN = re.compile("|".join(TOKENS))
#: Parts of a date as other programs write them, where no word is around them.
_FOREIGN = re.compile(r"(?<![A-Za-z])(Y{1,3}|M|D|%[A-Za-z])(?![A-Za-z])")
_FIELD = re.compile(r"\{([^{}]*)\}")


def timestamp(moment: datetime, pattern: str) -> str:
    """`moment` in the pattern's tokens `YYYY MM DD HH mm ss SSS`; everything else stays as it is."""
    parts = {
        "YYYY": f"{moment.year:04d}",
        "MM": f"{moment.month:02d}",
        "DD": f"{moment.day:02d}",
        "HH": f"{moment.hour:02d}",
        "mm": f"{moment.minute:02d}",
        "ss": f"{moment.second:02d}",
        "SSS": f"{moment.microsecond // 1000:03d}",
    }
    return _TOKEN.sub(lambda match: parts[match.group()], pattern)


def untimely(pattern: str) -> str | None:
    """Why a pattern for a timestamp is no such thing, or not all of it; None when it is one."""
    rest, tokens = _TOKEN.subn("|", pattern)
    if (found := _FOREIGN.search(rest)) is not None:
        return f"a timestamp has no part {found[1]!r}"
    return None if tokens else "nothing in it changes with the time"


def unknown(template: str) -> list[tuple[str, int]]:
    """Every field of the template that is none of `FIELDS`, and where in the text its name begins."""
    return [(found[1], found.start(1)) for found in _FIELD.finditer(template) if found[1] not in FIELDS]


def expand(template: str, ctx: context.Context, pattern: str = DEFAULT_TIMESTAMP) -> str:
    """The path for this visit: equal in every attempt, because only recorded values go in."""

    def value(match: re.Match[str]) -> str:
        match match.group(1):
            case "timestamp":
                return timestamp(ctx.now, pattern)
            case "home":
                return str(Path.home())
            case "run_id":
                return ctx.run_id
            case "block_id":
                return ctx.block_id.replace("/", "-")  # a block of a sub-workflow is `outer/inner`
            case "index":
                return str(ctx.item_index or 0)
            case other:
                raise errors.AttemptFailed(
                    f"the path template has an unknown field {{{other}}}",
                    code="DET_CONFIG_INVALID",
                    hint="use {timestamp}, {home}, {run_id}, {block_id} or {index}",
                    retryable=False,
                )

    return _FIELD.sub(value, template)

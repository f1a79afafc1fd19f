"""What a plain YAML word means: null, true, false, a number of JSON, or else the text itself.

Deliberately smaller than YAML 1.1: `yes`, `on`, `1_000`, `1:30` and `2026-01-01` are texts, so that no word changes its
meaning behind the author's back.
"""

from __future__ import annotations

import math
import re

from openskelo.frozen import frozen
from openskelo.kernel.json import Json

_WORDS: dict[str, Json] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_PADDED = re.compile(r"[-+]?0[0-9]+\Z")
_BASED = re.compile(r"0(?:x[0-9a-fA-F]+|o[0-7]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_LARGEST = 2**53


@frozen
class Bad:
    """A word that looks like a number and cannot be one here."""

    code: str
    message: str
    hint: str


def plain(text: str) -> Json | Bad:
    """The value of an unquoted word."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _STARTS:
        return text
    return number(text)


def number(text: str) -> Json | Bad:
    """The number that `text` spells, the text itself when it spells none, or why it cannot be used."""
    if _INTEGER.match(text):
        return _integer(text)
    if _PADDED.match(text):
        return Bad(code="NUMBER_AMBIGUOUS", message=f"{text[:40]} has leading zeros", hint="quote it to make it a text")
    if _BASED.match(text):
        return _in_range(int(text, 0)) if len(text) < 40 else _out_of_range(text)
    if _FLOAT.match(text):
        return _float(text)
    if _NOT_FINITE.match(text):
        return Bad(code="NUMBER_INVALID", message=f"{text} is not a number of JSON", hint="quote it to make it a text")
    return text


def _integer(text: str) -> Json | Bad:
    # Python refuses to read endless digits, and nothing over seventeen can be in range.
    return _in_range(int(text)) if len(text) < 40 else _out_of_range(text)


def _in_range(value: int) -> Json | Bad:
    return value if abs(value) <= _LARGEST else _out_of_range(str(value))


def _float(text: str) -> Json | Bad:
    value = float(text)
    if not math.isfinite(value) or (value.is_integer() and abs(value) > _LARGEST):
        return _out_of_range(text)
    return int(value) if value.is_integer() else value


def _out_of_range(text: str) -> Bad:
    shown = text if len(text) <= 40 else text[:37] + "…"
    return Bad(code="NUMBER_RANGE", message=f"{shown} is larger than 2^53", hint="use a string")

"""Read JSON text as a value with positions.

orjson says whether the text is JSON. It gives no positions and takes the last of duplicate keys, so the value is read
by the YAML parser: JSON is YAML, once what only JSON may spell is rewritten (`_as_yaml`).
"""

from __future__ import annotations

import re

import orjson

from openskelo.workflows.text import yaml_text
from openskelo.workflows.text.positions import Located, TextError

#: Mistakes that the YAML parser describes better than orjson: too deep, or a number that orjson calls infinity.
_FROM_YAML = frozenset({"EMPTY", "TOO_DEEP", "NUMBER_RANGE"})
#: A string; and what is between it and its colon, if that is on another line.
_STRING = re.compile(r'("(?:[^"\\]|\\.)*"?)(?:([ \r]*\n[ \n\r]*):)?')  # linear: also a string without an end matches
_ESCAPE = re.compile(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)")
#: YAML breaks lines at these characters, and has escapes for them.
_LINE_ENDS = {"\x85": "\\N", "\u2028": "\\L", "\u2029": "\\P"}


def read(text: str) -> Located:
    """Return the JSON value of `text`; raise TextError at the first thing that is wrong."""
    located, mistake = None, None
    try:
        located = yaml_text.read(_STRING.sub(_as_yaml, text.replace("\t", " ")))
    except TextError as error:
        mistake = error
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if mistake is None or mistake.code not in _FROM_YAML:
            raise TextError("JSON_INVALID", error.msg, (error.lineno, error.colno)) from None
    if located is None:
        raise mistake or TextError("EMPTY", "the file is empty", (1, 1))
    return located


def _as_yaml(match: re.Match[str]) -> str:
    """Return a string as YAML spells it, padded so that everything after it stays in its place.

    The halves of a surrogate pair become one escape, and a colon on another line moves to its key.
    """
    string, space = match.groups()
    spelled = _ESCAPE.sub(_join_surrogates, string)
    for character, escape in _LINE_ENDS.items():
        spelled = spelled.replace(character, escape)
    padding = " " * (len(string) - len(spelled))
    return spelled + padding if space is None else f"{spelled}:{padding}{space} "


def _join_surrogates(match: re.Match[str]) -> str:
    high, low = match.groups()
    if high is None:
        return match.group()
    return f"\\U{0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF):08X}"

"""`cites_sources`: what a text cites is there, and what it quotes is really said there.

A **marker** is `[id]` or `[id, id]`, where each id is up to 64 letters, digits, `_`, `.`, `:` or `-`; `[text](address)`
is a link and no marker. A **quote** is what stands between “ and ” or between two straight double quotes in one
paragraph, of at least `min_quote_words` words. A quote belongs to the first marker after it in its paragraph, and is
looked for in each of the sources that this one names; a quote without one is looked for in all sources. White space
and the shapes of quotation marks do not count. Paragraphs are parted by blank lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from openskelo.executors.checkers import asked
from openskelo.frozen import field, mutable
from openskelo.kernel import fresh
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import template

_ID = r"[A-Za-z0-9_.:-]{1,64}"
_MARKER = re.compile(rf"\[({_ID}(?:\s*,\s*{_ID})*)\](?!\()")
_QUOTE = re.compile(r"“([^”]*)”|\"([^\"]*)\"")
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?])[\"”)]*\s+(?=[A-Z“\"])")
_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_MIN_WORDS = 3
_SHOWN = 200


@mutable
class _Found:
    """What the text was found to hold, and each way in which it is wrong."""

    citations: int = 0
    quotes: int = 0
    unknown: list[str] = field(default_factory=fresh.a_list)
    missing: list[str] = field(default_factory=fresh.a_list)
    uncited: list[str] = field(default_factory=fresh.a_list)


async def cites_sources(of: asked.Asked) -> JsonObject:
    """Every marker names a source, every quote is in it, and each `each` (text, paragraph, sentence) has a marker."""
    text = of.value
    if not isinstance(text, str):
        return asked.no("it is not a text")
    sources = {name: _plain(content) for name, content in _sources(of)}
    least = of.args.get("min_quote_words", _MIN_WORDS)
    found = _Found()
    for paragraph in filter(str.strip, _PARAGRAPH.split(text)):
        _look(paragraph, sources, least if isinstance(least, int) else _MIN_WORDS, found)
    found.uncited += [part for part in _parts(text, of.text("each", "text")) if not _MARKER.search(part)]
    return _verdict(found)


def _sources(of: asked.Asked) -> Iterator[tuple[str, str]]:
    """The sources by name: as `sources` calls them, or `1`, `2`, … in the order of `source_refs`."""
    listed, named = of.args.get("source_refs"), of.args.get("sources")
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        yield from ((str(number), template.as_text(one)) for number, one in enumerate(listed, 1))
    if isinstance(named, Mapping):
        yield from ((name, template.as_text(one)) for name, one in named.items())


def _look(paragraph: str, sources: Mapping[str, str], least: int, found: _Found) -> None:
    """Add what one paragraph cites and quotes."""
    markers = [(match.start(), _ids(match)) for match in _MARKER.finditer(paragraph)]
    for _, ids in markers:
        found.citations += len(ids)
        found.unknown += [one for one in ids if one not in sources and one not in found.unknown]
    for match in _QUOTE.finditer(paragraph):
        quote = match.group(1) or match.group(2) or ""
        if len(quote.split()) < least:
            continue
        found.quotes += 1
        behind = next((ids for start, ids in markers if start >= match.end()), tuple(sources))
        if not any(_plain(quote) in sources[one] for one in behind if one in sources):
            found.missing.append(quote)


def _ids(match: re.Match[str]) -> tuple[str, ...]:
    return tuple(part.strip() for part in match.group(1).split(","))


def _parts(text: str, each: str) -> list[str]:
    """What has to carry a marker; headings are no claims."""
    if each == "text":
        return [text]
    paragraphs = [part.strip() for part in _PARAGRAPH.split(text) if part.strip() and not part.lstrip().startswith("#")]
    if each == "paragraph":
        return paragraphs
    return [sentence for part in paragraphs for sentence in _SENTENCE.split(part) if sentence.strip()]


def _plain(text: str) -> str:
    return " ".join(text.translate(_MARKS).split())


def _verdict(found: _Found) -> JsonObject:
    seen: dict[str, Json] = {"citations": found.citations, "quotes": found.quotes}
    wrong = {"unknown": found.unknown, "not_found": found.missing, "uncited": found.uncited}
    if not any(wrong.values()):
        return {"ok": True, **seen}
    reasons = {
        "unknown": "it cites what is not among the sources",
        "not_found": "it quotes what its sources do not say",
        "uncited": "it makes claims without a citation",
    }
    reason = "; ".join(reasons[kind] for kind, listed in wrong.items() if listed)
    for kind, listed in wrong.items():
        seen[kind] = [one[:_SHOWN] for one in listed[: asked.MOST]]
    return asked.no(reason, **seen)

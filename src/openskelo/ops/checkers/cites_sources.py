"""The checker `cites_sources`: every source that a text cites exists, and every quote is in its source.

A **marker** is `[id]` or `[id, id]`, where each id is up to 64 letters, digits, `_`, `.`, `:` or `-`; `[text](address)`
is a link and no marker. A **quote** is what stands between “ and ” or between two straight double quotes in one
paragraph, of at least `min_quote_words` words. A quote belongs to the first marker after it in its paragraph, and is
looked for in each of the sources that this one names; a quote without one is looked for in all sources. White space
and the shapes of quotation marks do not count. Paragraphs are parted by blank lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import checkers
from openskelo.structs import field, mutable
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
class _Citations:
    """The citations and quotes of the text, and each error in them."""

    citations: int = 0
    quotes: int = 0
    #: Ids of no source.
    unknown: list[str] = field(default_factory=list[str])
    #: Quotes that no source has.
    missing: list[str] = field(default_factory=list[str])
    #: Parts without a citation.
    uncited: list[str] = field(default_factory=list[str])


async def _check(ctx: checkers.CheckContext) -> JsonObject:
    """Pass if every marker names a source that has its quotes, and every part (`each`) of the text has a marker."""
    text = ctx.value
    if not isinstance(text, str):
        return checkers.failed("it is not a text")
    sources = {name: _plain(content) for name, content in _sources(ctx)}
    least = ctx.args.get("min_quote_words", _MIN_WORDS)
    citations = _Citations()
    for paragraph in filter(str.strip, _PARAGRAPH.split(text)):
        _add_paragraph(paragraph, sources, least if isinstance(least, int) else _MIN_WORDS, citations)
    citations.uncited += [part for part in _parts(text, ctx.text("each", "text")) if not _MARKER.search(part)]
    return _verdict(citations)


def _sources(ctx: checkers.CheckContext) -> Iterator[tuple[str, str]]:
    """Yield the sources by name: as `sources` calls them, or `1`, `2`, … in the order of `source_refs`."""
    source_refs, sources = ctx.args.get("source_refs"), ctx.args.get("sources")
    if isinstance(source_refs, Sequence) and not isinstance(source_refs, str):
        yield from ((str(number), template.as_text(source)) for number, source in enumerate(source_refs, 1))
    if isinstance(sources, Mapping):
        yield from ((name, template.as_text(source)) for name, source in sources.items())


def _add_paragraph(paragraph: str, sources: Mapping[str, str], least: int, citations: _Citations) -> None:
    """Add what one paragraph cites and quotes."""
    markers = [(match.start(), _ids(match)) for match in _MARKER.finditer(paragraph)]
    for _, ids in markers:
        citations.citations += len(ids)
        citations.unknown += [name for name in ids if name not in sources and name not in citations.unknown]
    for match in _QUOTE.finditer(paragraph):
        quote = match.group(1) or match.group(2) or ""
        if len(quote.split()) < least:
            continue
        citations.quotes += 1
        behind = next((ids for start, ids in markers if start >= match.end()), tuple(sources))
        if not any(_plain(quote) in sources[name] for name in behind if name in sources):
            citations.missing.append(quote)


def _ids(match: re.Match[str]) -> tuple[str, ...]:
    return tuple(part.strip() for part in match.group(1).split(","))


def _parts(text: str, each: str) -> list[str]:
    """Return the parts of the text that need a marker each; headings make no claims."""
    if each == "text":
        return [text]
    paragraphs = [part.strip() for part in _PARAGRAPH.split(text) if part.strip() and not part.lstrip().startswith("#")]
    if each == "paragraph":
        return paragraphs
    return [sentence for part in paragraphs for sentence in _SENTENCE.split(part) if sentence.strip()]


def _plain(text: str) -> str:
    return " ".join(text.translate(_MARKS).split())


def _verdict(citations: _Citations) -> JsonObject:
    details: dict[str, Json] = {"citations": citations.citations, "quotes": citations.quotes}
    wrong = {"unknown": citations.unknown, "not_found": citations.missing, "uncited": citations.uncited}
    if not any(wrong.values()):
        return {"ok": True, **details}
    reasons = {
        "unknown": "it cites what is not among the sources",
        "not_found": "it quotes what its sources do not say",
        "uncited": "it makes claims without a citation",
    }
    reason = "; ".join(reasons[kind] for kind, claims in wrong.items() if claims)
    for kind, claims in wrong.items():
        details[kind] = [text[:_SHOWN] for text in claims[: checkers.MOST_LISTED]]
    return checkers.failed(reason, **details)


#: More of the reference, after the table of its keys.
_DOC = """\
`cites_sources` compares a text with sources. The sources are named by the keys of `sources`, or `1`, `2`, … in the
order of `source_refs`:

- A *marker* is `[id]` or `[id, id]`, with ids of up to 64 letters, digits, `_`, `.`, `:` or `-`. A link
  `[text](address)` is not a marker. Every id must be the name of a source; other ids are listed under `unknown`.
- A *quote* is the text between “ and ”, or between two straight double quotes, in one paragraph, if it has at least
  `min_quote_words` (3) words. It belongs to the first marker after it in its paragraph, and must occur in one of the
  sources of that marker. Without such a marker it must occur in any source. White space and the shape of quotation
  marks do not matter. Other quotes are listed under `not_found`.
- `each` says which parts need a marker: the `text` (the default), every `paragraph` (except headings) or every
  `sentence`. Parts without a marker are listed under `uncited`.
"""

CHECKER = checkers.Checker(
    name="cites_sources",
    summary="every citation names a source, and every quote is in the sources it cites",
    args=checkers.args_schema(
        {
            "source_refs": {"type": "array", "minItems": 1},
            "sources": {"type": "object", "minProperties": 1},
            "each": {"enum": ["text", "paragraph", "sentence"]},
            "min_quote_words": {**checkers.COUNT, "default": 3},
        },
        anyOf=[{"required": ["source_refs"]}, {"required": ["sources"]}],
    ),
    check=_check,
    doc=_DOC,
)

"""Every relative link in the documents leads to a file, and every fragment to a heading."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from tests.repo import tracked

_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)


def links(text: str) -> list[str]:
    """The targets of a Markdown page's links, code left out."""
    prose = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))
    return [inline or reference for inline, reference in _LINK.findall(prose)]


def anchors(text: str) -> set[str]:
    """The fragments a page offers, as code hosts make them from its headings."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        words = re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower().replace(" ", "-")
        found.add(words)
    return found


def broken(page: Path) -> list[str]:
    """The page's links that lead nowhere."""
    missing: list[str] = []
    for link in links(tracked.text(page)):
        if re.match(r"[a-z][a-z0-9+.-]*:", link, re.IGNORECASE):
            continue
        name, _, fragment = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        inside = target.is_relative_to(tracked.ROOT)
        if not inside or not target.exists():
            missing.append(f"{page.relative_to(tracked.ROOT)}: {link}: no such file here")
        elif fragment and target.suffix == ".md" and fragment not in anchors(tracked.text(target)):
            missing.append(f"{page.relative_to(tracked.ROOT)}: {link}: no such heading there")
    return missing


def test_every_relative_link_leads_somewhere() -> None:
    pages = tracked.files("*.md")
    assert tracked.ROOT / "README.md" in pages
    assert [problem for page in pages for problem in broken(page)] == []


def test_the_documents_index_names_every_guide_reference_decision_and_example() -> None:
    index = tracked.ROOT / "docs" / "README.md"
    named = {(index.parent / link).resolve() for link in links(tracked.text(index))}
    pages = tracked.files("docs/guide/*.md", "docs/reference/*.md", "docs/adr/*.md")
    examples = [page.parent for page in tracked.files("examples/*/README.md")]
    assert pages
    assert examples
    assert [str(path.relative_to(tracked.ROOT)) for path in (*pages, *examples) if path not in named] == []


def test_links_are_read_from_prose_and_not_from_code(tmp_path: Path) -> None:
    page = "See [a](a.md#b), ![b](<c d.png>) and `[no](no.md)`.\n\n```md\n[no](no.md)\n```\n\n[r]: ref.md\n"
    assert links(page.replace("<c d.png>", "c.png")) == ["a.md#b", "c.png", "ref.md"]
    assert anchors("# Two `words`, here\n```\n# no\n```\n") == {"two-words-here"}

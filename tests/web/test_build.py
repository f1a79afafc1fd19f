"""The build: small enough, nothing inline, in the wheel, and its types those of the server."""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path

import pytest

from openskelo.server import pages

WEB = Path(__file__).resolve().parents[2] / "web"
FIRST_LOAD_BYTES = 250_000


def _index() -> str:
    return (pages.FOLDER / "index.html").read_text("utf-8")


def test_the_first_load_is_below_250_kb_compressed() -> None:
    linked = re.findall(r'(?:src|href)="/(assets/[^"]+)"', _index())
    assert any(name.endswith(".js") for name in linked)
    assert any(name.endswith(".css") for name in linked)
    sizes = {name: len(gzip.compress((pages.FOLDER / name).read_bytes())) for name in linked}
    assert sum(sizes.values()) + len(gzip.compress(_index().encode())) < FIRST_LOAD_BYTES, sizes


def test_nothing_in_the_page_is_inline_or_from_elsewhere() -> None:
    assert re.findall(r"<style|style=|<script(?![^>]*\bsrc=)|https?://", _index()) == []


@pytest.mark.parametrize("named", ["ELK", "DOMPurify"])
def test_a_library_that_few_pages_need_is_not_part_of_the_first_load(named: str) -> None:
    """The layout engine, and what makes Markdown safe to show, are loaded when a page needs them."""
    linked = set(re.findall(r'(?:src|href)="/(assets/[^"]+\.js)"', _index()))
    scripts = {f"assets/{path.name}": path.read_text("utf-8") for path in (pages.FOLDER / "assets").glob("*.js")}
    with_library = {name for name, text in scripts.items() if named in text}
    assert (linked <= scripts.keys(), bool(linked), bool(with_library)) == (True, True, True)
    assert linked & with_library == set()


def test_the_types_are_those_of_the_servers_document() -> None:
    done = subprocess.run(
        ["node", "scripts/api-types.mjs", "--check"], cwd=WEB, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_lock_names_no_address() -> None:
    text = (WEB / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in text
    assert '"integrity"' in text


def test_no_type_is_given_up() -> None:
    """`any` and the comments that silence the checker are nowhere; what is made by a program is not looked at."""
    silenced = re.compile(r"\bas any\b|: any\b|<any>|@ts-(?:ignore|nocheck|expect-error)")
    files = [path for path in (WEB / "src").rglob("*.ts*") if path.name != "schema.ts"]
    assert files
    assert [path.name for path in files if silenced.search(path.read_text("utf-8"))] == []

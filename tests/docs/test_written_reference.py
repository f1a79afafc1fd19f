"""The parts of the reference that `make reference` writes are as the catalogs define them."""

from __future__ import annotations

from scripts import reference


def test_the_reference_is_as_the_files_of_extensions_say() -> None:
    old = [path.name for path, text in reference.texts().items() if path.read_text("utf-8") != text]
    assert old == [], "run `make reference`, and commit what it writes"

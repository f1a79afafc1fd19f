"""A mode that is misspelt is one mistake, and a cache is for work that nobody outside can see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows import marking


def test_a_mode_that_is_misspelt_makes_no_mistakes_of_the_keys_that_belong_to_it(tmp_path: Path) -> None:
    written = "blocks: [{id: a, mode: ‸determinstic, deterministic: {handler: builtin:pass}}]\n"
    text, wanted = marking.expected("CHOICE", written)
    assert marking.errors(marking.check(text, tmp_path)) == wanted


def test_an_effect_that_happens_once_by_its_handler_cannot_be_cached(tmp_path: Path) -> None:
    config = "{url: 'https://example.com', method: METHOD, body: x}"
    sending = f"{{handler: builtin:http-request, config: {config}}}"
    written = f"blocks: [{{id: a, mode: deterministic, cache: ‸true, deterministic: {sending}}}]\n"
    text, wanted = marking.expected("CONFLICT", written.replace("METHOD", "POST"))
    assert marking.errors(marking.check(text, tmp_path)) == wanted
    assert marking.errors(marking.check(text.replace("cache: true", "effect: idempotent, cache: true"), tmp_path)) == []


@pytest.mark.parametrize(
    "handler",
    [
        "{handler: builtin:write-file, config: {content_from: c, default_path_template: o.txt}}",
        "{handler: builtin:read-file, config: {path: o.txt}}",
    ],
)
def test_what_is_in_a_file_cannot_be_cached(tmp_path: Path, handler: str) -> None:
    written = (
        f"blocks: [{{id: a, mode: deterministic, inputs: {{c: string}}, cache: ‸true, deterministic: {handler}}}]\n"
    )
    text, wanted = marking.expected("CONFLICT", written)
    assert marking.errors(marking.check(text, tmp_path)) == wanted

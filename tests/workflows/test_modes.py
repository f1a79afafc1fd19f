"""A mode that is misspelt is one mistake, and a cache is for work that nobody outside can see."""

from __future__ import annotations

from pathlib import Path

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


def test_a_file_that_is_to_be_written_cannot_be_cached(tmp_path: Path) -> None:
    writing = "{handler: builtin:write-file, config: {content_from: c, default_path_template: o.txt}}"
    written = (
        f"blocks: [{{id: a, mode: deterministic, inputs: {{c: string}}, cache: ‸true, deterministic: {writing}}}]\n"
    )
    text, wanted = marking.expected("CONFLICT", written)
    assert marking.errors(marking.check(text, tmp_path)) == wanted

"""Values that may not be there although their block was not skipped are warned of, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows import marking

_FORM = "form: {v: {type: integer, default: 1}, w: integer, x: integer?}"


@pytest.mark.parametrize(
    ("codes", "blocks"),
    [
        ("MAY_BE_MISSING", "{id: a, outputs: {n: integer?}}, {id: b, inputs: {n: {type: integer, from: ‸a.n}}}"),
        ("", "{id: a, outputs: {n: {type: integer, default: 0}}}, {id: b, inputs: {n: {type: integer, from: a.n}}}"),
        (
            "MAY_BE_MISSING",
            f"{{id: a, mode: approval, approval: {{prompt: ok?, {_FORM}}}}}, {{id: b, inputs: {{v: {{from: a.v}}, "
            "w: {from: a.w}, x: {from: ‸a.x}}}",
        ),
        (
            "MAY_BE_MISSING MAY_BE_MISSING",
            f"{{id: a, mode: approval, approval: {{prompt: ok?, on_deny: continue, {_FORM}}}}}, {{id: b, inputs: "
            "{v: {from: ‸a.v}, w: {from: ‸a.w}, yes: {from: a.approved}}}",
        ),
    ],
)
def test_only_what_may_be_missing_is_warned_of(tmp_path: Path, codes: str, blocks: str) -> None:
    text, wanted = marking.expected(codes, f"blocks: [{blocks}]\n")
    found = marking.check(text, tmp_path)
    assert (marking.errors(found), marking.warnings(found)) == ([], wanted)

"""What `validate` says about trying an effect again that happens once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows import marking

GATES = "post_gates: [{type: not_empty, port: status}]"
CALL = "deterministic: {handler: 'builtin:http-request', config: {url: 'http://x.test', method: %s}}"


def block(*lines: str, method: str = "POST") -> str:
    own = ["id: pay", "mode: deterministic", "outputs: {status: integer}", CALL % method, *lines]
    return "name: flow\nblocks:\n  - " + "\n    ".join(own) + "\n"


def test_a_retry_of_the_authors_own_beside_post_gates_is_worth_a_warning(tmp_path: Path) -> None:
    text, (place,) = marking.unmarked(block(GATES, "retry: ‸{max_attempts: 3}"))
    found = marking.check(text, tmp_path)
    assert (marking.errors(found), marking.warnings(found)) == ([], [("RETRY_OVER_ONCE", *place)])


@pytest.mark.parametrize(
    "text",
    [
        block(GATES, "retry: {max_attempts: 3}", "repeatable: true"),
        block(GATES, "retry: {max_attempts: 3}", "effect: idempotent"),
        block(GATES, "retry: {max_attempts: 3}", method="GET"),
        block(GATES, "retry: {max_attempts: 1}"),
        block("retry: {max_attempts: 3}"),
        "defaults: {retry: {max_attempts: 3}}\n" + block(GATES),
    ],
)
def test_other_retries_are_not(tmp_path: Path, text: str) -> None:
    assert marking.check(text, tmp_path) == ()

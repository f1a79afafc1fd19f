"""The `webhooks` of a `skelo.yaml`: read as values, wrong ones are Problems where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.wire import webhook
from openskelo.workflows.project import project_file
from tests.workflows import marking

WHOLE = """\
secrets: {HOOK: "${env:HOOK}", WHERE: "${env:WHERE}"}
webhooks:
  - url: https://example.org/hook?room=1
    secret: ${secret:HOOK}
    events: [run.ended, approval.requested, run.ended]
  - {url: "${secret:WHERE}", secret: "${env:HOOK}"}
"""


def test_hooks_are_read_with_all_events_unless_some_are_named(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text(WHOLE)
    assert project_file.load(tmp_path).webhooks == (
        webhook.Webhook(
            url="https://example.org/hook?room=1", secret="${secret:HOOK}", events=("run.ended", "approval.requested")
        ),
        webhook.Webhook(url="${secret:WHERE}", secret="${env:HOOK}", events=webhook.EVENTS),
    )


def test_labels_show_no_more_of_an_address_than_its_host() -> None:
    hooks = [webhook.Webhook(url=url, secret="") for url in ("https://example.org:8443/key?x=1", "${secret:WHERE}")]
    assert [hook.label for hook in hooks] == ["https://example.org", "${secret:WHERE}"]
    assert hooks[0].id != hooks[1].id


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ("TYPE", "webhooks: ‸{}\n"),
        ("TYPE", "webhooks: [‸1]\n"),
        ("MISSING_KEY MISSING_KEY", "webhooks: [‸‸{}]\n"),
        ("UNKNOWN_KEY", 'webhooks: [{url: "https://a.b", secret: "${env:A}", ‸uri: x}]\n'),
        ("ADDRESS_INVALID", 'webhooks: [{url: ‸"ftp://a.b", secret: "${env:A}"}]\n'),
        ("ADDRESS_INVALID", 'webhooks: [{url: ‸"https://", secret: "${env:A}"}]\n'),
        ("ADDRESS_INVALID", 'webhooks: [{url: ‸"https://[", secret: "${env:A}"}]\n'),
        ("ADDRESS_INVALID", 'webhooks: [{url: ‸"https://me:pass@a.b", secret: "${env:A}"}]\n'),
        ("SECRET_INVALID", 'webhooks: [{url: "https://a.b", secret: ‸hunter2}]\n'),
        ("CHOICE", 'webhooks: [{url: "https://a.b", secret: "${env:A}", events: [‸run.end]}]\n'),
        ("EMPTY", 'webhooks: [{url: "https://a.b", secret: "${env:A}", events: ‸[]}]\n'),
        (
            "DUPLICATE_ID",
            'webhooks: [{url: "https://a.b", secret: "${env:A}"}, ‸{url: "https://a.b", secret: "${env:B}"}]\n',
        ),
    ],
)
def test_mistakes_are_problems_where_they_stand(codes: str, text: str, tmp_path: Path) -> None:
    clean, wanted = marking.expected(codes, text)
    (tmp_path / "skelo.yaml").write_text(clean)
    found = project_file.check(tmp_path)[1]
    assert marking.errors(found) == wanted
    assert not any("hunter2" in one.message or "pass@" in one.message for one in found)

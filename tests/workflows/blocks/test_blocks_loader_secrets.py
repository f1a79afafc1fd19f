"""A secret that no `skelo.yaml` declares is told before anybody waits for it."""

from __future__ import annotations

from pathlib import Path

from openskelo.kernel.json import Json
from openskelo.workflows import load

POST = """name: post
blocks:
  - id: post
    mode: deterministic
    deterministic:
      handler: builtin:http-request
      config:
        url: https://example.org
        headers: {Authorization: "Bearer ${secret:tokn}", X-Known: "${secret:token}", X-Env: "${env:USER}"}
"""


def test_an_undeclared_secret_is_a_warning_at_its_header(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("secrets: {token: '${env:TOKEN}'}\n")
    (tmp_path / "post.yaml").write_text(POST)
    workflow, problems = load.check(tmp_path / "post.yaml")
    assert workflow is not None
    assert [(found.code, found.severity, found.line, found.message, found.hint) for found in problems] == [
        ("SECRET_UNDECLARED", "warning", 9, "no secret 'tokn' is declared", "did you mean 'token'?")
    ]


def test_in_a_file_that_is_used_it_is_told_at_the_block_that_uses_it(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("name: x\n")
    (tmp_path / "post.yaml").write_text(POST.replace("tokn", "token"))
    (tmp_path / "flow.yaml").write_text("name: flow\nblocks:\n  - id: all\n    uses: ./post.yaml\n")
    workflow, problems = load.check(tmp_path / "flow.yaml")
    assert workflow is not None
    told = [(found.line, found.message, found.hint) for found in problems if found.code == "SECRET_UNDECLARED"]
    assert told == [(3, "no secret 'token' is declared", "add token to `secrets` in skelo.yaml")]


def test_a_document_without_a_project_may_name_any() -> None:
    config: Json = {"url": "https://example.org", "headers": {"X-Token": "${secret:any}"}}
    post: Json = {"handler": "builtin:http-request", "config": config}
    workflow, problems = load.check_document(
        {"name": "x", "blocks": [{"id": "a", "mode": "deterministic", "deterministic": post}]}
    )
    assert workflow is not None
    assert problems == ()


def test_what_is_filled_in_nowhere_but_elsewhere_is_a_warning_where_it_stands() -> None:
    config: Json = {
        "url": "https://example.org/?key=${secret:key}",
        "method": "POST",
        "json": {"keys": ["${env:KEY}"]},
        "headers": {"X-Name": "{{ inputs.name }}", "X-Key": "${secret:key}"},
    }
    post: Json = {"handler": "builtin:http-request", "config": config}
    workflow, problems = load.check_document(
        {"name": "x", "blocks": [{"id": "a", "mode": "deterministic", "deterministic": post}]}
    )
    assert workflow is not None
    place = "/blocks/0/deterministic/config"
    assert {(found.code, found.severity, found.path, found.message) for found in problems} == {
        ("NOT_FILLED_IN", "warning", f"{place}/url", "`${secret:key}` is not filled in here, and sent as it stands"),
        (
            "NOT_FILLED_IN",
            "warning",
            f"{place}/json/keys/0",
            "`${env:KEY}` is not filled in here, and sent as it stands",
        ),
        (
            "NOT_FILLED_IN",
            "warning",
            f"{place}/headers/X-Name",
            "`{{ … }}` is not filled in here, and sent as it stands",
        ),
    }

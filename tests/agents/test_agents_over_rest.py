"""What the server tells of an agent's node: its workspace, what it has changed there, and large questions whole."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from openskelo.kernel.json import Json
from tests.agents import repository
from tests.web import site as sites


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[sites.Site]:
    command: Json = [sys.executable, str(repository.AGENT)]
    root = repository.make(
        tmp_path_factory.mktemp("rest"),
        provider="claude",
        command=command,
        permissions="gated",
        workspace={"ports": 1, "copy": ["*.env"]},
    )
    (root / "local.env").write_text("API_KEY=copied-0123456789\n")
    made = sites.Site(root=root)
    made.start()
    yield made
    made.stop()


def _begin(site: sites.Site, *lines: str) -> str:
    site.write("agent.yaml", repository.block(*lines))
    return site.begin("agent.yaml")


def _get(site: sites.Site, run_id: str, more: str = "") -> tuple[int, dict[str, Any]]:
    """Return the status and the answer of a request about the run's only node."""
    with site.client() as client:
        (node,) = client.get(f"/api/runs/{run_id}/nodes").json()["nodes"]
        answer = client.get(f"/api/runs/{run_id}/nodes/{node['id']}{more}")
        return answer.status_code, answer.json()


def test_a_node_has_its_workspace_and_what_was_changed_there(site: sites.Site) -> None:
    run_id = _begin(site, "@write new.txt one", "@say Done.")
    site.ended(run_id)
    workspace = _get(site, run_id)[1]["workspace"]
    path = Path(workspace["path"])
    assert (path / "new.txt").read_text() == "one"
    assert (workspace["kind"], workspace["node"], len(workspace["ports"])) == ("worktree", "work", 1)
    status, changes = _get(site, run_id, "/changes")
    assert (status, changes["filesChanged"], changes["insertions"], changes["deletions"]) == (200, ["new.txt"], 1, 0)
    assert "+one" in changes["diff"]
    shutil.rmtree(path)
    assert _get(site, run_id, "/changes") == (200, changes)  # the last snapshot is there
    shutil.rmtree(path.parent / "shadow.git")
    status, problem = _get(site, run_id, "/changes")
    assert (status, problem["code"]) == (404, "WORKSPACE_NOT_FOUND")


def test_values_of_a_copied_env_file_are_masked_in_the_changes(site: sites.Site) -> None:
    run_id = _begin(site, "@run cp local.env copied.txt", "@say Done.")
    site.ended(run_id)
    status, changes = _get(site, run_id, "/changes")
    assert (status, "+API_KEY=[secret]" in changes["diff"]) == (200, True)


def test_a_node_without_an_agent_has_neither(site: sites.Site) -> None:
    block: Json = {"id": "work", "mode": "deterministic", "deterministic": {"handler": "builtin:pass"}}
    site.write("plain.yaml", {"name": "plain", "blocks": [block]})
    run_id = site.begin("plain.yaml")
    site.ended(run_id)
    assert "workspace" not in _get(site, run_id)[1]
    status, problem = _get(site, run_id, "/changes")
    assert (status, problem["code"]) == (404, "WORKSPACE_NOT_FOUND")


def test_the_arguments_of_a_large_call_are_whole_if_one_approval_is_requested(site: sites.Site) -> None:
    command = f"echo {'x' * 150_000}"
    run_id = _begin(site, f'@hook Bash {{"command": "{command}"}}')
    listed = site.asked(run_id)
    assert (listed["tool"]["args"], "stored" in listed["tool"]) == ({}, True)
    with site.client() as client:
        approval = client.get(f"/api/approvals/{listed['id']}").json()
    assert (approval["tool"]["args"], "stored" in approval["tool"]) == ({"command": command}, False)
    assert approval["call"]["rule"] == {"kind": "execute", "command": command}
    site.answer(run_id, "denied", reason="too long")
    assert site.ended(run_id)["ending"] == "ok"

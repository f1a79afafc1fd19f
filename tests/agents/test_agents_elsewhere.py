"""What other commands say of agents: doctor, explain and prune."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from openskelo.kernel.json import Json, JsonObject
from tests import forked_skelo
from tests.agents import repository


def skelo(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return forked_skelo.run(args, folder=root)


def _finding(root: Path) -> dict[str, Any]:
    document = json.loads(skelo(root, "doctor", "--json").stdout)
    (finding,) = [check for check in document["checks"] if check["name"] == "agent helper"]
    return cast("dict[str, Any]", finding)


def test_doctor_says_whether_an_agent_can_start(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    assert _finding(root)["state"] == "ok"
    settings: Json = {"provider": "custom", "command": ["no-such-agent"], "permissions": "skip"}
    (root / "skelo.yaml").write_text(yaml.safe_dump({"agents": {"helper": settings}}))
    finding = _finding(root)
    assert (finding["state"], finding["detail"]) == ("warn", "custom: no-such-agent: there is no such program")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "sandbox auto, permissions skip"),
        ({"permissions": "gated"}, "sandbox auto, permissions gated"),
        ({"sandbox": "none"}, "no sandbox, permissions skip"),
    ],
    ids=["skip", "gated", "no sandbox"],
)
def test_explain_names_the_agent_its_sandbox_and_its_permissions(
    tmp_path: Path, settings: JsonObject, words: str
) -> None:
    root = repository.make(tmp_path, **settings)
    (root / "flow.yaml").write_text(yaml.safe_dump(repository.block("@say x")))
    shown = skelo(root, "explain", "flow.yaml")
    assert shown.returncode == 0, shown.stderr
    assert f"agent helper (custom, workspace worktree or none, {words})" in " ".join(shown.stdout.split())


def _totals(root: Path) -> dict[str, Any]:
    (root / "flow.yaml").write_text(yaml.safe_dump(repository.block("@say x")))
    return json.loads(skelo(root, "explain", "flow.yaml", "--json").stdout)["totals"]


def test_explain_counts_an_agent_with_all_that_its_caps_allow(tmp_path: Path) -> None:
    prices: Json = {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}
    budget: Json = {"max_usd_per_turn": 0.25, "max_usd": 0.5, "max_tokens": 9000}
    root = repository.make(tmp_path, prices=prices, budget=budget, until="complete", max_turns=3)
    totals = _totals(root)
    worst = totals["all"]["worst"]
    assert (totals["all"]["expected"]["tokens"], totals["all"]["expected"]["costUsd"]) == (9000, 0.5)
    assert worst["costUsd"] >= 0.5
    assert totals["notes"] == ["agents, counted with all that their caps allow: work"]


def test_explain_says_what_is_not_known_of_an_agent(tmp_path: Path) -> None:
    root = repository.make(tmp_path, login="own")
    assert _totals(root)["notes"] == [
        "agents without a cap, counted as nothing: work",
        "agents with their own log-in, whose cost in USD is unknown: work",
    ]
    shown = skelo(root, "explain", "flow.yaml").stdout
    assert "own log-in, USD unknown" in " ".join(shown.split())


def test_prune_removes_workspaces_but_never_changes_that_were_not_applied(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    idle = repository.play(root, repository.block("@say nothing"))["runId"]
    busy = repository.play(root, repository.block("@write new.txt x", "@say done"))["runId"]
    pruned = skelo(root, "prune", idle, busy)
    assert pruned.returncode == 0, pruned.stderr
    assert f"left the workspace of work ({busy[:8]}): the workspace has changes that were not applied" in pruned.stderr
    left = [path.name for path in (root / ".skelo" / "workspaces").iterdir()]
    assert left == [busy]
    assert repository.git(root, "branch", "--list", "skelo/*", "--format=%(refname:short)") == f"skelo/{busy}/work"

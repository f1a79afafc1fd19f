"""A repository's own settings for agents can run code: the sandbox hides them, or the run says that it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from openskelo.kernel.json import Json
from tests import forked_skelo
from tests.agents import repository

WARNING = "the program may obey settings of the repository"


def play(root: Path) -> tuple[list[str], str, str]:
    """Return the settings that the record calls obeyed, the log of the attempt, and what `skelo events` prints."""
    for name in (".codex/config.toml", "part/.mcp.json", "part/inner/opencode.json"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    repository.git(root, "add", "--all")
    repository.git(root, "commit", "--quiet", "-m", "settings")
    run_id = str(repository.play(root, repository.block("@say done"))["runId"])
    log = [(event["type"], cast("dict[str, Any]", event["data"])) for event in repository.events(root, run_id)]
    (session,) = (data["session"] for kind, data in log if kind == "session.opened")
    lines = "".join(artifact.text for artifact in repository.artifacts(root, run_id) if artifact.name == "work.log")
    return session["obeyedSettings"], lines, forked_skelo.run(["events", run_id], folder=root).stdout


@pytest.mark.parametrize("sandbox", ["landlock", "none"])
def test_settings_that_nothing_hides_are_on_record_and_in_the_log(tmp_path: Path, sandbox: Json) -> None:
    root = repository.make(tmp_path, sandbox=sandbox, workspace={"folder": "part"})
    (root / "part").mkdir()
    obeyed, lines, printed = play(root)
    assert obeyed == ["part/.mcp.json", ".codex"]
    assert "; warning: it may obey settings of the repository: part/.mcp.json, .codex\n" in printed
    assert f"warning: {WARNING}, which can run commands and allow calls: part/.mcp.json, .codex; " in lines


def test_a_sandbox_that_hides_them_has_nothing_to_warn_of(tmp_path: Path) -> None:
    root = repository.make(tmp_path, sandbox="bubblewrap")
    obeyed, lines, printed = play(root)
    assert (obeyed, lines, "warning" in printed) == ([], "", False)

"""The example `agent-fix`, driven with an agent from the failing test to the commit on a branch of the repository."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from pathlib import Path
from typing import Any, cast

import yaml

from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from tests.agents import repository
from tests.repo import tracked

CAUSE = "The last price was left out of the sum."


def make(folder: Path, **agent: Json) -> Path:
    """Return the root of a copy of the example in a git repository; its agent has these settings beside its own."""
    root = folder / "agent-fix"
    ignored = shutil.ignore_patterns(".skelo", "__pycache__")
    shutil.copytree(tracked.ROOT / "examples" / "agent-fix", root, ignore=ignored)
    project = cast("dict[str, Any]", yaml.safe_load((root / "skelo.yaml").read_text()))
    fixer = project["agents"]["fixer"] | agent
    project["agents"]["fixer"] = {key: value for key, value in fixer.items() if value is not None}
    (root / "skelo.yaml").write_text(yaml.safe_dump(project))
    repository.git(root, "init", "--quiet", "--initial-branch=main")
    repository.git(root, "apply", "bug.patch")
    repository.git(root, "add", "--all")
    repository.git(root, "commit", "--quiet", "-m", "A basket with a bug")
    return root


def drive(root: Path, *lines: str) -> RunDocument:
    """Return the document of a run in which the agent plays these lines, and a person takes its change.

    TREE in a line is the folder of its workspace.
    """
    run_id = str(uuid.uuid4())
    tree = root / ".skelo" / "workspaces" / run_id / "fix" / "tree"
    script = "\n".join(line.replace("TREE", str(tree)) for line in lines)

    async def story() -> RunDocument:
        async with repository.engine(root) as engine:
            workflow = load.load(root / "fix.yaml")
            await engine.start(workflow, {"test": f"tests.test_basket\n{script}"}, run_id=run_id)
            document = await engine.wait(run_id)
            assert document["status"] == "paused", document.get("error")
            (approval,) = cast("list[JsonObject]", document["approvals"])
            await engine.answer(str(approval["id"]), status="approved", by="ada")
            return await engine.wait(run_id)

    return asyncio.run(asyncio.wait_for(story(), 280))


def fixed() -> str:
    """Return the fixed module as one line of a script."""
    source = (tracked.ROOT / "examples" / "agent-fix" / "shop" / "basket.py").read_text()
    return source.replace("\n", "\\n")


def check(root: Path, document: RunDocument, visits: int) -> None:
    """Assert that the change is one commit on the branch of the run, and nothing else of the user's has changed."""
    assert document["ending"] == "ok", document.get("error")
    nodes = cast("dict[str, Any]", document["nodes"])
    assert nodes["fix"]["visits"] == visits
    branch = f"skelo/apply/{document['runId']}"
    commit = repository.git(root, "rev-parse", branch)
    assert nodes["apply"]["outputs"] == {"branch": branch, "commit": commit, "files_changed": ["shop/basket.py"]}
    assert repository.git(root, "log", "--format=%s", f"main..{branch}") == CAUSE
    assert repository.git(root, "diff", "--stat=200", "main", branch).splitlines()[-1].strip() == (
        "1 file changed, 1 insertion(+), 1 deletion(-)"
    )
    assert repository.git(root, "status", "--porcelain") == ""

"""A project in a git repository of its own, with the scripted agent, and runs in it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Literal

import orjson
import yaml

import openskelo
from openskelo.history import verify
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows.project import project_file
from tests import forked_skelo

AGENT = Path(__file__).with_name("acp_agent.py")


def git(folder: Path, *args: str) -> str:
    """Return what git prints."""
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *args]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def make(folder: Path, **agent: Json) -> Path:
    """Return the root of a new project whose agent `helper` is the scripted one, with these settings."""
    root = folder / "repo"
    root.mkdir()
    settings: dict[str, Json] = {
        "provider": "custom",
        "command": [sys.executable, str(AGENT)],
        "permissions": "skip",
        **agent,
    }
    (root / "skelo.yaml").write_text(yaml.safe_dump({"allow": {"commands": True}, "agents": {"helper": settings}}))
    (root / "hello.txt").write_text("hello\n")
    (root / ".gitignore").write_text(".skelo/\n*.env\n")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "one")
    return root


def plant(git_dir: Path, proof: Path) -> None:
    """Put everything that git would run into a git dir: each leaves a line in `proof`."""
    program = proof.with_name("planted")
    program.write_text(f"#!/bin/sh\necho ran >> {proof}\ncat\n")
    program.chmod(0o755)
    for name, value in {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(git_dir / "hooks"),
        "filter.evil.clean": str(program),
        "filter.evil.smudge": str(program),
        "filter.evil.required": "true",
        "diff.evil.textconv": str(program),
        "diff.evil.command": str(program),
        "merge.evil.driver": str(program),
    }.items():
        subprocess.run(["git", "config", "-f", str(git_dir / "config"), name, value], check=True)
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "post-merge"):
        (git_dir / "hooks").mkdir(exist_ok=True)
        (git_dir / "hooks" / hook).symlink_to(program)


def block(*lines: str, **fields: Json) -> JsonObject:
    """Return a workflow with one block that lets the agent play these lines."""
    outputs: Json = {
        "diff": {"type": "string"},
        "files_changed": {"type": "array", "items": {"type": "string"}},
        "summary": {"type": "string"},
    }
    return {
        "name": "one",
        "blocks": [
            {"id": "work", "mode": "ai", "agent": "helper", "prompt": "\n".join(lines), "outputs": outputs, **fields}
        ],
    }


@contextlib.asynccontextmanager
async def engine(root: Path) -> AsyncGenerator[openskelo.Engine]:
    """Yield an engine over the project; every run that it leaves behind must verify."""
    async with await openskelo.Engine.open(project_file.project_at(root)) as opened:
        yield opened
        for row in await opened.store.list_runs():
            proof = await verify.verify_run(opened.store, row.run_id)
            assert proof.intact, proof.problems


def play(
    root: Path,
    document: JsonObject,
    run_id: str | None = None,
    global_mode: Literal["PLANNING", "IMPLEMENTATION"] = "IMPLEMENTATION",
) -> RunDocument:
    """Return the document of a run of the workflow, after its end."""

    async def story() -> RunDocument:
        async with engine(root) as opened:
            flow = openskelo.from_document(document, root=root)
            return await opened.wait(await opened.start(flow, run_id=run_id, global_mode=global_mode))

    return asyncio.run(asyncio.wait_for(story(), 120))


def events(root: Path, run_id: str) -> list[JsonObject]:
    """Return the events of a run."""

    async def story() -> list[JsonObject]:
        async with engine(root) as opened:
            return [orjson.loads(line) async for lines in opened.store.read_events(run_id) for line in lines]

    return asyncio.run(story())


def artifact(root: Path, run_id: str, name: str) -> str:
    """Return the text of an artifact of the run's only node."""
    printed = forked_skelo.run(["output", run_id, f"work:{name}"], folder=root)
    assert printed.returncode == 0, printed.stderr
    return printed.stdout


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; the caller bounds the time."""
    while not condition():  # noqa: ASYNC110 -- files and processes of others have no events
        await asyncio.sleep(0.05)


def processes_left(root: Path) -> list[str]:
    """Return the command lines of processes that still run the scripted agent below this folder."""
    left: list[str] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and str(root) in str((entry / "cwd").readlink()):
                left.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return [line for line in left if AGENT.name in line]


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A kept file, and the number of the attempt that has left it."""

    attempt: int
    name: str
    text: str


def artifacts(root: Path, run_id: str) -> list[Artifact]:
    """Return the artifacts of a run in the order of its log."""

    async def story() -> list[Artifact]:
        async with engine(root) as opened:
            found: list[Artifact] = []
            async for lines in opened.store.read_events(run_id):
                for event in map(orjson.loads, lines):
                    if event["type"] == "artifact.created":
                        data = event["data"]
                        content = await opened.store.read_blob(data["artifact"]["hash"])
                        found.append(Artifact(data["attempt"], data["artifact"]["name"], content.decode()))
            return found

    return asyncio.run(story())

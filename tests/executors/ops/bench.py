"""What the tests of ops share: one line to perform a step, and a real git repository in a folder."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from openskelo.executors.attempt import performer
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.providers import protocol
from tests.executors import workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of a step: its value or its failure, and what else the kernel is told."""

    value: Json
    failure: outcome.Failure | None
    whole: performer.AttemptResult

    @property
    def holds(self) -> bool | None:
        return self.whole.outcome.holds

    @property
    def code(self) -> str | None:
        return None if self.failure is None else self.failure.code


def step(op: definition.Op, args: JsonObject, **more: Any) -> definition.Node:
    """The node of a step that saves its value as `out`."""
    mode: definition.Mode = "ai" if op == "route_expert" else "deterministic"
    return definition.Node(key="s1", mode=mode, step=definition.Step(op=op, args=args, save_as="out"), **more)


def perform(
    where: Project,
    op: definition.Op,
    args: JsonObject,
    *,
    mode: definition.PlanMode = "normal",
    provider: protocol.Provider | None = None,
    written: JsonObject | None = None,
    **more: Any,
) -> Done:
    """The step with these (materialised) arguments; `written` are those of the plan, with their refs."""
    of = workshop.task_of(step(op, written or args, **more), args, plan_mode=mode)
    (whole,) = workshop.perform(where, of, provider=provider)
    return done(whole)


def done(whole: performer.AttemptResult) -> Done:
    stored = whole.outcome.outputs
    outputs = None if stored is None else cast("JsonObject", stored["value"])
    return Done(value=None if outputs is None else outputs["out"], failure=whole.outcome.failure, whole=whole)


def git(folder: Path, *args: str) -> str:
    """Return what git prints for a user without settings."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": f"{who}@example.test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        **{f"GIT_{who}_DATE": "2026-01-02T03:04:05Z" for who in ("AUTHOR", "COMMITTER")},
    }
    said = subprocess.run(["git", *args], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return said.stdout


def repository(folder: Path, **files: str) -> Path:
    """A repository with one commit of these files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, content in files.items():
        (folder / name).write_text(content)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def patch(name: str, before: str, after: str) -> str:
    """A patch that changes the only line of a file."""
    return f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{before}\n+{after}\n"

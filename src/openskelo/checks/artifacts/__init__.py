"""Checks that a folder has the artifacts of its steps: `check` reads its manifest and hashes every file anew.

    report      what was found

The steps in the manifest say what is required; the artifacts in it say which bytes each has. An artifact counts if it
is listed, exists with that hash, and is not empty unless it may be. Without a manifest nothing is proven.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from openskelo import errors, files
from openskelo.checks import json_files
from openskelo.checks.artifacts.report import Broken, Missing, Report
from openskelo.structs import frozen
from openskelo.values import path_scope

MANIFEST = "manifest.json"
#: A folder: at least one artifact is in it.
_SOURCES = "source_bundle/"
_BY_EVERY_STEP = ("request_snapshot.json", _SOURCES, "validation_logs.txt")
_BY_SKILL = {
    "schema-infer": ("inferred_schema.json", "trace_map.json"),
    "schema-build": ("trace_map.json",),
}
_BY_LEVEL = {
    "IMPLEMENT": ("allowlist.json", "diff.patch"),
    "COMMIT": ("allowlist.json", "diff.patch"),
}
_BY_OUTCOME = {"escalated": ("escalation_report.md",)}
#: Files that only a folder of artifacts has: where one of them is, a manifest has to be.
NAMES = frozenset({"request_snapshot.json", "validation_logs.txt", "escalation_report.md"})
_SKILL = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CHUNK = 1024 * 1024

Level: TypeAlias = Literal["READ", "SUGGEST", "IMPLEMENT", "COMMIT"]
Outcome: TypeAlias = Literal["success", "failed", "blocked", "escalated", "timeout"]


@frozen
class Step:
    """A skill that ran."""

    skill: str
    autonomy_level: Level
    outcome: Outcome


@frozen
class Artifact:
    """A file of the folder."""

    name: str
    #: In hexadecimal digits.
    sha256: str
    empty_allowed: bool = False


@frozen
class Manifest:
    """The steps of a correlation id and what they left."""

    correlation_id: str
    steps: tuple[Step, ...]
    artifacts: tuple[Artifact, ...]


def check(folder: Path) -> Report:
    """Return what is required in the folder, and what of it is missing or broken (NotFound PATH_NOT_FOUND)."""
    if not folder.is_dir():
        raise errors.NotFound(f"there is no folder {str(folder)!r}", code="PATH_NOT_FOUND")
    try:
        manifest = json_files.read(folder / MANIFEST, Manifest, "MANIFEST_INVALID")
    except errors.NotFound:
        return Report(required=(MANIFEST,), missing=(Missing(name=MANIFEST, required_by="every run"),))
    except errors.InvalidInput as error:
        return Report(required=(MANIFEST,), broken=(Broken(name=MANIFEST, why=error.message),))
    reasons = _find_required(manifest.steps)
    whys = _find_broken(folder, manifest.artifacts)
    broken = [*_faults_of_steps(manifest.steps), *(Broken(name=name, why=why) for name, why in whys.items())]
    listed = [artifact.name for artifact in manifest.artifacts]
    return Report(
        artifacts=len(listed),
        required=tuple(reasons),
        missing=tuple(
            Missing(name=name, required_by=reason) for name, reason in reasons.items() if not _is_listed(name, listed)
        ),
        broken=tuple(broken),
    )


def _find_required(steps: Sequence[Step]) -> dict[str, str]:
    """Return the names of what the steps have to leave, each with the reason."""
    required = dict[str, str]()
    for step in steps:
        for name in _BY_EVERY_STEP:
            required.setdefault(name, "every step")
        for name in _BY_SKILL.get(step.skill, ()):
            required.setdefault(name, f"the skill {step.skill}")
        for name in _BY_LEVEL.get(step.autonomy_level, ()):
            required.setdefault(name, f"the autonomy level {step.autonomy_level}")
        for name in _BY_OUTCOME.get(step.outcome, ()):
            required.setdefault(name, f"the outcome {step.outcome}")
    return required


def _faults_of_steps(steps: Sequence[Step]) -> Iterator[Broken]:
    if not steps:
        yield Broken(name=MANIFEST, why="it has no steps")
    for step in steps:
        if _SKILL.fullmatch(step.skill) is None:  # `Schema_Infer` would require less than `schema-infer`
            yield Broken(name=MANIFEST, why=f"{step.skill[:80]!r} is not the name of a skill")


def _is_listed(name: str, listed: Sequence[str]) -> bool:
    if name.endswith("/"):
        return any(other.startswith(name) for other in listed)
    return name in listed


def _find_broken(folder: Path, artifacts: Sequence[Artifact]) -> dict[str, str]:
    """Return the artifacts that are not as the manifest says, each with the reason."""
    broken, seen = dict[str, str](), set[str]()
    for artifact in artifacts:
        why = "it is named twice" if artifact.name in seen else _fault(folder, artifact)
        seen.add(artifact.name)
        if why is not None:
            broken[artifact.name] = why
    return broken


def _fault(folder: Path, artifact: Artifact) -> str | None:
    fault = path_scope.find_fault(artifact.name)
    if fault is not None:
        return fault
    path = folder / artifact.name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        return "it leads out of the folder"
    try:
        size, digest = _hash(path)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if digest != artifact.sha256:
        return "it has another hash"
    return "it is empty" if size == 0 and not artifact.empty_allowed else None


def _hash(path: Path) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with files.open_plain(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()

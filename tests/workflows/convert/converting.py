"""Both forms of a workflow side by side: converted in memory, run against the same script, and compared."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openskelo
from openskelo import testing
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from openskelo.workflows.convert import conversion, from_blocks, to_blocks
from openskelo.workflows.text import source

PROJECT = """\
providers: {tape: {kind: recorded}}
experts: {one: {provider: tape}, two: {provider: tape}}
default_expert: one
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a run is given: inputs, contexts, and what experts, tools, checkers and people say."""

    inputs: JsonObject = field(default_factory=dict[str, Json])
    contexts: JsonObject = field(default_factory=dict[str, Json])
    answers: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    results: Mapping[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])
    people: Mapping[str, Sequence[testing.Reply]] = field(default_factory=dict[str, Sequence[testing.Reply]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A workflow as it was written, and in the other form."""

    project: openskelo.Project
    written: openskelo.Workflow
    other: openskelo.Workflow
    document: dict[str, Any]

    def ends(self, played: Played, *, other: bool = False) -> dict[str, Any]:
        """The document of a run of one of the two."""
        workflow = self.other if other else self.written
        return dict(
            asyncio.run(
                testing.run(
                    workflow,
                    played.inputs,
                    project=self.project,
                    handlers=testing.stand_ins(played.results),
                    model=played.answers,
                    people=played.people,
                    contexts=played.contexts or None,
                )
            )
        )


def converted(folder: Path, text: str, project: str = PROJECT) -> Pair:
    """The workflow in `text` in both forms; the other one has no Problems."""
    (folder / "skelo.yaml").write_text(project)
    written, result = _convert(folder, text)
    assert result.document is not None, result.problems
    found, wrong = load.check_document(result.document, root=folder)
    assert found is not None, wrong
    return Pair(project=openskelo.project_at(folder), written=written, other=found, document=dict(result.document))


def refused(folder: Path, text: str) -> list[str]:
    """Why a workflow cannot be converted."""
    (folder / "skelo.yaml").write_text(PROJECT)
    _, result = _convert(folder, text)
    assert result.document is None
    assert {problem.code for problem in result.problems} == {"NOT_CONVERTIBLE"}
    return [problem.message for problem in result.problems]


def _convert(folder: Path, text: str) -> tuple[openskelo.Workflow, conversion.Converted]:
    path = folder / "written.yaml"
    path.write_text(text)
    workflow = openskelo.load(path, root=folder)
    make = from_blocks.convert_blocks if workflow.plan is None else to_blocks.convert_plan
    return workflow, make(workflow, source.read(path))

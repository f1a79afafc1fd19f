"""Converts a workflow file to the other form, and checks the result as if an author had written it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from openskelo import errors
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.workflows import load
from openskelo.workflows.convert import conversion, from_blocks, to_blocks
from openskelo.workflows.project import project_file
from openskelo.workflows.text import problems, source


def convert(path: Path | str, *, to: Literal["blocks", "plan"], root: Path | None = None) -> JsonObject:
    """Return the document of a plan as a blocks file, or of a blocks file as a plan.

    `root` is the project root; without it the nearest one above the file. Raise InvalidWorkflow with every mistake in
    the file, or everything that the other form cannot express; InvalidInput (USAGE) if the file has the other form
    already.
    """
    if to not in ("blocks", "plan"):
        raise errors.InvalidInput(
            f"{str(to)[:60]!r} is not a form of a workflow", code="USAGE", hint="one of blocks, plan"
        )
    path = Path(path)
    project_root = project_file.find_root(path) if root is None else root
    workflow = load.load(path, root=project_root)
    if (workflow.plan is None) == (to == "blocks"):
        form = "a file of blocks" if to == "blocks" else "a plan"
        raise errors.InvalidInput(f"{path} is {form} already", code="USAGE")
    text = source.read(path)
    convert_workflow = to_blocks.convert_plan if to == "blocks" else from_blocks.convert_blocks
    converted = convert_workflow(workflow, text)
    if converted.document is None:
        raise errors.InvalidWorkflow(converted.problems)
    loaded = load.from_document(converted.document, root=project_root, file="<converted>")
    if other_experts := _report_other_experts(workflow, loaded, text):
        raise errors.InvalidWorkflow(other_experts)
    return converted.document


def _report_other_experts(
    original: definition.Workflow, converted: definition.Workflow, text: source.Source
) -> tuple[problems.Problem, ...]:
    """Return a Problem for each node that would ask other experts than before: a plan's mode may deny fallbacks."""
    kept = {_experts_of(node) for node in converted.nodes.values()}
    failures = [
        conversion.NotConvertible(node.key, f"a plan's mode may leave out some fallbacks of {_experts_of(node)[0]!r}")
        for node in original.nodes.values()
        if node.work.calls_model and _experts_of(node) not in kept
    ]
    section = "blocks" if original.plan is None else "steps"
    return conversion.report_failures(text, section, failures).problems


def _experts_of(node: definition.Node) -> tuple[str, ...]:
    """Return the names of the experts that a node asks, in order."""
    pinned = node.config.get("pinned") if node.work.calls_model else None
    experts = pinned.get("experts") if isinstance(pinned, Mapping) else None
    names = [
        str(expert.get("expert"))
        for expert in (experts if isinstance(experts, list) else ())
        if isinstance(expert, Mapping)
    ]
    return tuple(names) or (str(node.config.get("expert")),)

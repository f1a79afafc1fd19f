"""A file in the other form: converted, and checked as if somebody had written it so."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.workflows import load, project, source
from openskelo.workflows.convert import from_blocks, result, to_blocks


def convert(path: Path | str, *, to: Literal["blocks", "plan"], root: Path | None = None) -> JsonObject:
    """A plan as a document of blocks, or blocks as a plan; `root` is the project's when not the nearest.

    InvalidWorkflow lists what is wrong with the file, or what the other form cannot say of it; InvalidInput USAGE where
    it has that form already.
    """
    if to not in ("blocks", "plan"):
        raise errors.InvalidInput(f"{str(to)[:60]!r} is no form", code="USAGE", hint="one of blocks, plan")
    path = Path(path)
    home = project.find_root(path) if root is None else root
    workflow = load.load(path, root=home)
    if (workflow.plan is None) == (to == "blocks"):
        what = "a file of blocks" if to == "blocks" else "a plan"
        raise errors.InvalidInput(f"{path} is {what} already", code="USAGE")
    text = source.read(path)
    converted = (to_blocks.convert_plan if to == "blocks" else from_blocks.convert_blocks)(workflow, text)
    if converted.document is None:
        raise errors.InvalidWorkflow(converted.problems)
    checked = load.from_document(converted.document, root=home, file="<converted>")
    if others := result.other_experts(workflow, checked, text).problems:
        raise errors.InvalidWorkflow(others)
    return converted.document

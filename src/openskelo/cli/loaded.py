"""The workflow that a command is given as a file: errors in it end the command, warnings are counted."""

from __future__ import annotations

import shlex
from pathlib import Path

from openskelo import errors
from openskelo.cli import output
from openskelo.kernel import definition
from openskelo.workflows import load


def workflow(file: str, path: Path, root: Path, *, quiet: bool) -> definition.Workflow:
    """The workflow at `path`, which was named `file` (InvalidWorkflow); says where its warnings can be read."""
    found, problems = load.check(path, root=root)
    if found is None:
        raise errors.InvalidWorkflow([one for one in problems if one.severity == "error"])
    warnings = sum(one.severity == "warning" for one in problems)
    if warnings and not quiet:
        output.note(f"{output.count(warnings, 'warning')}, told by: skelo validate {shlex.quote(file)}")
    return found

"""The difference of two workflows, shown before a fork goes on with the changed one."""

from __future__ import annotations

import sys

from openskelo.cli import ink, output
from openskelo.frozen import as_dict
from openskelo.kernel import definition


def note(before: definition.Workflow, after: definition.Workflow) -> None:
    """Name every node that was added, removed or changed, on stderr."""
    painter = ink.Ink(sys.stderr)
    if before.hash == after.hash:
        output.note("the workflow has not changed")
        return
    output.note(f"workflow {before.hash[:19]}… becomes {after.hash[:19]}…")
    for key in dict.fromkeys((*before.nodes, *after.nodes)):
        if key not in before.nodes:
            output.note(painter.paint(f"  + {key}", "green"))
        elif key not in after.nodes:
            output.note(painter.paint(f"  - {key}", "red"))
        elif before.nodes[key] != after.nodes[key]:
            parts = ", ".join(_changed(before.nodes[key], after.nodes[key]))
            output.note(painter.paint(f"  ~ {key} ({parts})", "yellow"))


def _changed(before: definition.Node, after: definition.Node) -> list[str]:
    then = as_dict(before)
    return [name for name, now in as_dict(after).items() if then[name] != now]

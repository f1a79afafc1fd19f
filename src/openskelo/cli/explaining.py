"""What `explain` and `run --dry-run` print of a workflow: its graph, blocks, inputs, outputs and totals."""

from __future__ import annotations

import shutil
import sys

from openskelo.cli import describe, graph, ink, output, totals
from openskelo.engine import outlook
from openskelo.kernel import definition
from openskelo.workflows import outline


def show(workflow: definition.Workflow, on: outlook.Basis, *, as_json: bool) -> None:
    """Print the workflow for a person, or as one document."""
    if as_json:
        output.document(outlook.document(workflow, on))
    elif workflow.plan is not None:
        from openskelo.cli import plan_explaining  # noqa: PLC0415 - only plans need it

        plan_explaining.show(workflow, workflow.plan, on)
    else:
        _print(workflow, on)


def _print(workflow: definition.Workflow, on: outlook.Basis) -> None:
    painter = ink.Ink(sys.stdout)
    columns = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 1000
    output.say(
        f"{painter.paint(ink.one_line(workflow.name), 'bold')}  {painter.paint(workflow.hash[:19] + '…', 'dim')}"
    )
    if workflow.description:
        output.say(ink.clean(workflow.description).strip())
    section(painter, "Inputs", [f"  {describe.port_text(port)}" for port in workflow.inputs] or ["  none"])
    section(painter, "Graph (side by side where braced)", graph.draw(workflow, painter, columns))
    output.say()
    output.say(painter.paint("Blocks", "bold"))
    for layer in outline.layers(workflow):
        for key in layer:
            for line in describe.block_lines(workflow.nodes[key], painter, columns):
                output.say(f"  {line}")
    size = max(map(ink.width, workflow.outputs), default=0)
    outputs = [f"  {ink.pad(name, size)}  ← {outline.source(found)}" for name, found in workflow.outputs.items()]
    section(painter, "Outputs", outputs)
    section(painter, "Bounds", [f"  {line}" for line in bounds(workflow)])
    section(painter, "Totals", totals.lines(workflow, on))


def section(painter: ink.Ink, title: str, lines: list[str]) -> None:
    """Print lines under a title; nothing when there are none."""
    if not lines:
        return
    output.say()
    output.say(painter.paint(title, "bold"))
    for line in lines:
        output.say(line)


def bounds(workflow: definition.Workflow) -> list[str]:
    """The budget in words."""
    limits = workflow.limits
    words = [
        (limits.max_steps, "{} steps"),
        (limits.max_tokens, "{} tokens"),
        (None if limits.max_wall_ms is None else output.duration(limits.max_wall_ms / 1000), "{} of work"),
        (_usd(limits.max_cost_nanousd), "{} for models"),
        (_usd(limits.max_tool_nanousd), "{} for tools"),
    ]
    return [f"at most {text.format(value)}" for value, text in words if value is not None]


def _usd(nano: int | None) -> str | None:
    return None if nano is None else f"{output.dollars(nano / 1e9)} USD"

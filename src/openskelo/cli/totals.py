"""What a workflow would take, as a table: minimum, expected and worst case by mode, beside what past runs took."""

from __future__ import annotations

from collections.abc import Callable

from openskelo.cli import ink, output
from openskelo.engine import outlook
from openskelo.kernel import definition
from openskelo.workflows import estimate


def lines(workflow: definition.Workflow, on: outlook.Basis) -> list[str]:
    """The totals as a small table, notes and the past under it."""
    report = outlook.report(workflow, on)
    before = on.past
    rows = [["", "blocks" if workflow.plan is None else "listed", "steps", "tokens", "USD", "time"]]
    for mode, found in report.by_mode.items():
        count = sum(node.mode == mode for node in workflow.nodes.values())
        rows.append([ink.BADGES[mode], str(count), *_cells(found)])
    rows.append(["all", str(len(workflow.nodes)), *_cells(report.total)])
    widths = [max(map(ink.width, column)) for column in zip(*rows, strict=True)]
    drawn = ["  " + "  ".join(map(ink.pad, row, widths)).rstrip() for row in rows]
    drawn.append("  minimum / expected / worst case (every retry, repair and bounce used)")
    drawn += [f"  {ink.one_line(text)}" for text in (*report.notes, *on.notes)]
    if before is not None:
        runs = f"{before.runs} past run{'' if before.runs == 1 else 's'} ({before.succeeded} ok)"
        steps = f"{before.steps:.0f} step{'' if round(before.steps) == 1 else 's'}"
        used = f"{steps}, {before.tokens:.0f} tokens, {output.dollars(before.cost_usd, 4)} USD"
        drawn.append(f"  {runs}, on the average: {used}, {output.duration(before.seconds)}")
    return drawn


def _cells(found: estimate.Range) -> list[str]:
    return [
        _three(found, lambda case: str(case.steps)),
        _three(found, lambda case: str(case.tokens)),
        _three(found, lambda case: output.dollars(case.cost_usd, 4)),
        _three(found, _time),
    ]


def _time(case: estimate.Quantity) -> str:
    """Every step takes some time: none at all means that nobody knows how much."""
    return "?" if case.steps and not case.duration_sec else output.duration(case.duration_sec)


def _three(found: estimate.Range, text: Callable[[estimate.Quantity], str]) -> str:
    """The three cases, or one when they are the same."""
    cases = [text(found.minimum), text(found.expected), text(found.worst)]
    return cases[0] if len(set(cases)) == 1 else " / ".join(cases)

"""What `explain` and `run --dry-run` print of a plan: its steps, where each leads, its loops, endings and totals."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Iterator, Mapping

from openskelo.cli import describe, explaining, ink, members, output, totals
from openskelo.engine import outlook
from openskelo.frozen import replace
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.workflows.plan import flow

_MARKS: Mapping[definition.Op, str] = {"branch": "◆", "emit": "■", "ask_human": "?", "retry": "↻"}


def show(workflow: definition.Workflow, plan: definition.Plan, on: outlook.Basis) -> None:
    """Print the plan for a person."""
    painter = ink.Ink(sys.stdout)
    columns = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 1000
    title = painter.paint(ink.one_line(workflow.name), "bold")
    output.say(f"{title}  a plan in mode {plan.mode}  {painter.paint(workflow.hash[:19] + '…', 'dim')}")
    if workflow.description:
        output.say(ink.clean(workflow.description).strip())
    say = explaining.section
    say(painter, "Inputs", [f"  {describe.port_text(port)}" for port in workflow.inputs] or ["  none"])
    say(painter, "Contexts", [f"  {name}" for name in plan.contexts])
    say(painter, "Steps", draw(workflow, painter, columns))
    say(painter, "Loops", [f"  {line}" for line in _loops(workflow)])
    say(painter, "Outputs without an emit", [f"  {name}  ← {_compact(value)}" for name, value in plan.outputs.items()])
    say(painter, "Bounds", [f"  {line}" for line in explaining.bounds(workflow)])
    say(painter, "Totals", totals.lines(workflow, on))


def draw(workflow: definition.Workflow, painter: ink.Ink, columns: int) -> list[str]:
    """The steps in their order, one line each; a line between two that follow each other, a gap where none does."""
    lines: list[str] = []
    order = list(workflow.nodes)
    size = min(28, max(map(len, order), default=0))
    for number, (key, step) in enumerate(_as_written(workflow).items()):
        node = workflow.nodes[key]
        head = f"  {_MARKS.get(step.op, '●')} {painter.badge(node.mode)} {painter.paint(ink.pad(key, size), 'bold')}"
        told = ", ".join(_words(node, step))
        ways = "  ".join(_ways(step, order, number))
        room = max(20, columns - 12 - size - ink.width(ways))
        lines.append(f"{head}  {step.op:<12}  {ink.one_line(told, room)}  {painter.paint(ways, 'dim')}".rstrip())
        if number + 1 < len(order):
            falls = order[number + 1] in (step.next, step.otherwise, step.then)
            lines.append(painter.paint("  │", "dim") if falls else "")
    return lines


def _as_written(workflow: definition.Workflow) -> dict[str, definition.Step]:
    """The steps with the ways that the text has: one with a retry of itself right behind it is entered through that
    retry, and in the text it comes first and leads there."""
    steps = flow.of(workflow).steps
    behind = {after: key for key, after in itertools.pairwise(steps) if steps[after].target == key}

    def place(way: str | None) -> str | None:
        return None if way is None else behind.get(way, way)

    written = {
        key: replace(
            step,
            next=place(step.next),
            then=place(step.then),
            otherwise=place(step.otherwise),
            on_denied=place(step.on_denied),
        )
        for key, step in steps.items()
    }
    return written | {key: replace(written[key], next=after) for after, key in behind.items()}


def _words(node: definition.Node, step: definition.Step) -> Iterator[str]:
    """What a step does, in a few words."""
    args = step.args
    match step.op:
        case "route_expert":
            most = f", at most {args['max_new_tokens']} tokens" if "max_new_tokens" in args else ""
            asked = args.get("prompt_ref") or ("its prompt" if "prompt" in args else "its input")
            yield f"{args.get('expert_id')} ← {asked}{most}"
        case "tool_call":
            yield f"{args.get('tool_id')} {_compact(args.get('args'))} ({node.effect})"
        case "verify":
            yield f"{args.get('checker_id')} ← {args.get('input_ref', 'nothing')}"
        case "transform":
            of = f" ← {', '.join(map(str, members.list_at(args, 'refs')))}" if "refs" in args else ""
            yield f"{args['fn']}{of}" if "fn" in args else f"= {args.get('expr')}"
        case "branch":
            cond = members.object_at(args, "cond")
            yield str(cond.get("expr", _compact(cond.get("ok")) if not isinstance(cond.get("ok"), str) else cond["ok"]))
        case "retry":
            yield f"{step.target}, at most {node.retry.max_attempts} times ({node.retry.backoff})"
        case "ask_human":
            yield f'"{members.object_at(args, "request").get("message")}"'
        case "emit":
            yield f"{step.ending} ← {args.get('result_ref', 'nothing')}"
    if node.timeout_ms is not None:
        yield f"stopped after {output.duration(node.timeout_ms / 1000)}"
    if step.max_visits is not None:
        yield f"at most {step.max_visits} times"


def _ways(step: definition.Step, order: list[str], number: int) -> Iterator[str]:
    """What a step saves, and the jumps it may make; `↺` marks those that lead back."""

    def arrow(target: str) -> str:
        return f"{'↺' if order.index(target) <= number else '→'} {target}"

    if step.save_as is not None:
        yield f"= var:{step.save_as}"
    if step.op == "branch":
        yield f"true {arrow(step.then)}" if step.then else ""
        yield f"false {arrow(step.otherwise)}" if step.otherwise else ""
    elif step.next is not None and order[number + 1 : number + 2] != [step.next]:
        yield arrow(step.next)
    elif step.next is None and step.op == "ask_human":
        yield "ends as escalated"
    if step.on_denied is not None:
        yield f"denied {arrow(step.on_denied)}"


def _loops(workflow: definition.Workflow) -> list[str]:
    ways = flow.of(workflow)
    order = {key: index for index, key in enumerate(workflow.nodes)}
    found: list[str] = []
    for group in flow.components(ways):
        if not flow.is_loop(ways, group):
            continue
        keys = sorted(group, key=order.__getitem__)
        bounds = [f"{key} at most {most} times" for key in keys if (most := ways.steps[key].max_visits) is not None]
        within = ", ".join(bounds) or f"within {workflow.limits.max_steps} steps of the budget"
        found.append(f"{' → '.join(keys)}: {within}")
    return found


def _compact(value: Json) -> str:
    return output.compact(value, 60)

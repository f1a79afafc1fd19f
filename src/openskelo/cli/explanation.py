"""Prints a workflow for `explain` and `run --dry-run`: its graph, blocks, inputs, outputs, limits and totals.

A blocks file is drawn layer by layer, with the contract, gates, effects and limits of each block. A plan is drawn
step by step, with the jumps of each step and its loops. The totals are the estimate of a run beside the average of
past runs.
"""

from __future__ import annotations

import itertools
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator

from openskelo import ops
from openskelo.cli import inputs, json_fields, output
from openskelo.history import run_estimate
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.structs import replace
from openskelo.workflows import outline
from openskelo.workflows.estimate import quantities
from openskelo.workflows.plan import control_flow


def show(workflow: definition.Workflow, on: run_estimate.Basis, *, as_json: bool) -> None:
    """Print the workflow for people, or as one JSON document."""
    if as_json:
        output.document(run_estimate.document(workflow, on))
    elif workflow.plan is not None:
        _print_plan(workflow, workflow.plan, on)
    else:
        _print_blocks(workflow, on)


def _print_blocks(workflow: definition.Workflow, on: run_estimate.Basis) -> None:
    painter = output.Painter(sys.stdout)
    columns = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 1000
    output.say(
        f"{painter.paint(output.one_line(workflow.name), 'bold')}  {painter.paint(workflow.hash[:19] + '…', 'dim')}"
    )
    if workflow.description:
        output.say(output.clean(workflow.description).strip())
    _print_section(painter, "Inputs", [f"  {port_text(port)}" for port in workflow.inputs] or ["  none"])
    _print_section(painter, "Graph (side by side where braced)", draw_graph(workflow, painter, columns))
    output.say()
    output.say(painter.paint("Blocks", "bold"))
    for layer in outline.layers(workflow):
        for key in layer:
            for line in block_lines(workflow.nodes[key], painter, columns):
                output.say(f"  {line}")
    size = max(map(output.width, workflow.outputs), default=0)
    outputs = [f"  {output.pad(name, size)}  ← {outline.source(source)}" for name, source in workflow.outputs.items()]
    _print_section(painter, "Outputs", outputs)
    _print_section(painter, "Bounds", [f"  {line}" for line in _limit_lines(workflow)])
    _print_section(painter, "Totals", total_lines(workflow, on))


def _print_section(painter: output.Painter, title: str, lines: list[str]) -> None:
    """Print lines under a title; nothing if there are no lines."""
    if not lines:
        return
    output.say()
    output.say(painter.paint(title, "bold"))
    for line in lines:
        output.say(line)


def _limit_lines(workflow: definition.Workflow) -> list[str]:
    """Return the budget as sentences."""
    limits = workflow.limits
    words = [
        (limits.max_steps, "{} steps"),
        (limits.max_tokens, "{} tokens"),
        (None if limits.max_wall_ms is None else output.duration(limits.max_wall_ms / 1000), "{} of wall time"),
        (_usd(limits.max_cost_nanousd), "{} for models"),
        (_usd(limits.max_tool_nanousd), "{} for tools"),
    ]
    return [f"at most {text.format(value)}" for value, text in words if value is not None]


def _usd(nano: int | None) -> str | None:
    if nano is None:
        return None
    return f"{output.dollars(nano / 1e9)} USD"


def draw_graph(workflow: definition.Workflow, painter: output.Painter, columns: int) -> list[str]:
    """Return the graph as lines, one for each node, layer by layer, with its sources and bounces."""
    lines: list[str] = []
    layers = outline.layers(workflow)
    size = min(28, max((len(key) for key in workflow.nodes), default=0))
    for index, keys in enumerate(layers):
        if index:
            lines.append(painter.paint("  │", "dim"))
        for place, key in enumerate(keys):
            mark = _mark(place, len(keys))
            head = f"  {painter.paint(mark, 'dim')} {painter.badge(workflow.nodes[key].mode)} "
            tail = _tail(workflow.nodes[key])
            room = max(20, columns - 11 - size - 2)
            name = output.pad(key, size)
            lines.append(
                f"{head}{painter.paint(name, 'bold')}  {painter.paint(output.one_line(tail, room), 'dim')}".rstrip()
            )
    return lines


def _mark(place: int, count: int) -> str:
    """Return the mark of a node: a dot if it is alone in its layer, else a part of a brace."""
    if count == 1:
        return "●"
    if place == 0:
        return "┌"
    return "└" if place == count - 1 else "├"


def _tail(node: definition.Node) -> str:
    parts: list[str] = []
    sources = [outline.source(binding) for binding in node.bindings.values()] + [f"after {key}" for key in node.after]
    if sources:
        parts.append("← " + ", ".join(dict.fromkeys(sources)))
    if node.when:
        parts.append(f"when {node.when}")
    if node.foreach:
        parts.append(f"for each {node.foreach.name} of {node.foreach.items}")
    bounces = Counter[str]()
    for bounce in outline.all_bounces(node):
        bounces[bounce.route_to] += bounce.max_bounces
    parts.extend(f"↺ {target} (at most {count})" for target, count in bounces.items())
    return " · ".join(parts)


def total_lines(workflow: definition.Workflow, on: run_estimate.Basis) -> list[str]:
    """Return the totals as the lines of a table, with notes and past runs under it."""
    report = run_estimate.report(workflow, on)
    before = on.past
    rows = [["", "blocks" if workflow.plan is None else "listed", "steps", "tokens", "USD", "time"]]
    for mode, cases in report.by_mode.items():
        count = sum(node.mode == mode for node in workflow.nodes.values())
        rows.append([output.badge(mode), str(count), *_cells(cases)])
    rows.append(["all", str(len(workflow.nodes)), *_cells(report.total)])
    widths = [max(map(output.width, column)) for column in zip(*rows, strict=True)]
    lines = ["  " + "  ".join(map(output.pad, row, widths)).rstrip() for row in rows]
    lines.append("  minimum / expected / worst case (every retry, repair and bounce used)")
    lines += [f"  {output.one_line(text)}" for text in (*report.notes, *on.notes)]
    if before is not None and before.runs:
        runs = f"{before.runs} past run{'' if before.runs == 1 else 's'} ({before.succeeded} ok)"
        steps = f"{before.steps:.0f} step{'' if round(before.steps) == 1 else 's'}"
        usage_text = f"{steps}, {before.tokens:.0f} tokens, {output.dollars(before.cost_usd, 4)} USD"
        lines.append(f"  {runs}, on average: {usage_text}, {output.duration(before.seconds)}")
    return lines


def _cells(found: quantities.Range) -> list[str]:
    return [
        _three(found, lambda case: str(case.steps)),
        _three(found, lambda case: str(case.tokens)),
        _three(found, lambda case: output.dollars(case.cost_usd, 4)),
        _three(found, _time),
    ]


def _time(case: quantities.Quantity) -> str:
    """Return the time; `?` if it is unknown, because every step takes some time."""
    if case.steps and not case.duration_sec:
        return "?"
    return output.duration(case.duration_sec)


def _three(found: quantities.Range, text: Callable[[quantities.Quantity], str]) -> str:
    """Return the three cases, or one if they are equal."""
    cases = [text(found.minimum), text(found.expected), text(found.worst)]
    return cases[0] if len(set(cases)) == 1 else " / ".join(cases)


def block_lines(node: definition.Node, painter: output.Painter, columns: int) -> list[str]:
    """Return the lines that describe one block, its title first."""
    title = f"{painter.badge(node.mode)} {painter.paint(node.key, 'bold')}"
    extra = [part for part in (node.label if node.label != node.key else "", node.handler or "") if part]
    lines = [" ".join([title, painter.paint("  ".join(map(output.one_line, extra)), "dim")]).rstrip()]
    rows: list[tuple[str, str]] = []
    if node.description:
        rows.append(("", output.one_line(node.description)))
    rows += [("in" if not at else "", _input_text(port, node)) for at, port in enumerate(node.inputs)]
    rows += [("out" if not at else "", port_text(port)) for at, port in enumerate(node.outputs)]
    rows += [("model" if not at else "or", text) for at, text in enumerate(models(node))]
    rows += [(f"gate {'before' if early else 'after'}", text) for early, text in _gate_texts(node)]
    rows += [("asks" if not at else "", text) for at, text in enumerate(_approval_text(node))]
    rows += [("back to", bounce_text(bounce)) for bounce in node.bounces]
    rows.append(("runs", ", ".join(run_words(node))))
    lines += [
        f"      {painter.paint(f'{head:<11}', 'dim')} {output.one_line(text, max(30, columns - 20))}"
        for head, text in rows
    ]
    return lines


def port_text(port: definition.Port) -> str:
    """Return a port's contract on one line."""
    kind = port.kind if port.kind != "json" else inputs.describe(port.schema)
    limits = {key: value for key, value in port.schema.items() if key not in ("type", "enum", "items", "description")}
    words = [f"{port.name}: {kind}"]
    if limits:
        words.append(output.compact(limits))
    if port.has_default:
        words.append(f"= {output.compact(port.default, 40)}")
    elif not port.required:
        words.append("(optional)")
    return " ".join(words)


def models(node: definition.Node) -> list[str]:
    """Return the experts that an ai block asks, in order, each with its provider and model; or its agent."""
    texts: list[str] = []
    agent = json_fields.object_at(json_fields.object_at(node.config, "pinned"), "agent")
    if agent:
        place = json_fields.object_at(agent, "workspace").get("kind") or "worktree or none"
        money = ", own log-in, USD unknown" if agent.get("login") == "own" else ""
        kind = json_fields.text_at(agent, "sandbox")
        sandbox = "no sandbox" if kind == "none" else f"sandbox {kind}"
        words = f"{agent['provider']}, workspace {place}, {sandbox}, permissions {agent['permissions']}{money}"
        texts.append(f"agent {agent['name']} ({words})")
    for pin in json_fields.objects_at(json_fields.object_at(node.config, "pinned"), "experts"):
        model = json_fields.text_at(pin, "model")
        name = f"{json_fields.text_at(pin, 'provider')}{': ' + model if model else ''}"
        limit = f", at most {pin['max_tokens']} tokens" if "max_tokens" in pin else ""
        expert = json_fields.text_at(pin, "expert")
        texts.append(f"{expert} ({name}{limit})" if expert else f"{name}{limit}")
    if node.work.calls_model and not texts and isinstance(node.config.get("expert"), str):
        texts.append(str(node.config["expert"]))
    return texts


def bounce_text(bounce: definition.Bounce) -> str:
    """Return a bounce rule as a sentence."""
    feedback = ", with the reason" if bounce.feedback else ""
    return f"{bounce.route_to} when {bounce.when_gate} fails, at most {bounce.max_bounces} times{feedback}"


def run_words(node: definition.Node) -> list[str]:
    """Return the effect, retries, timeout and other settings of a run of the block."""
    words = [f"effect {node.effect}"]
    if node.repeatable:
        words.append("repeatable")
    if node.retry.max_attempts > 1:
        wait = f" ({node.retry.backoff}, {output.duration(node.retry.delay_ms / 1000)})" if node.retry.delay_ms else ""
        words.append(f"at most {node.retry.max_attempts} attempts{wait}")
    if node.repairs:
        words.append(f"at most {node.repairs} repair{'s' if node.repairs > 1 else ''} of a broken answer")
    if node.timeout_ms is not None:
        words.append(f"stopped after {output.duration(node.timeout_ms / 1000)}")
    if node.cache:
        words.append("cached by inputs")
    if node.foreach:
        words.append(f"once for each {node.foreach.name} of {node.foreach.items}, {node.foreach.concurrency} at a time")
        if node.keeps_failed_items:
            words.append("goes on if an item fails")
    if node.when:
        words.append(f"only when {node.when}")
    return words


def _input_text(port: definition.Port, node: definition.Node) -> str:
    binding = node.bindings.get(port.name)
    if binding is None:
        return port_text(port)
    through = f" through {binding.transform}" if binding.transform else ""
    return f"{port_text(port)}  ← {outline.source(binding)}{through}"


def _gate_texts(node: definition.Node) -> list[tuple[bool, str]]:
    texts: list[tuple[bool, str]] = []
    for early, gates, composition in (
        (True, node.pre_gates, node.pre_composition),
        (False, node.post_gates, node.post_composition),
    ):
        any_of = " (any of these)" if composition == "any" and len(gates) > 1 else ""
        for gate in gates:
            shown_params = {key: value for key, value in gate.params.items() if key != "pinned"}
            params = f" {output.compact(shown_params)}" if shown_params else ""
            label = gate.name if gate.name == gate.type else f"{gate.name}: {gate.type}"
            texts.append((early, f"{label}{params}{any_of}"))
    return texts


def _approval_text(node: definition.Node) -> list[str]:
    approval = node.approval
    if approval is None:
        return []
    lines = [f'"{output.one_line(approval.prompt, 60)}"']
    if approval.approvers:
        lines.append(f"only {', '.join(approval.approvers)} may answer")
    form = json_fields.object_at(approval.form, "properties")
    if form:
        lines.append(f"may change {', '.join(form)}")
    lines.append(_waiting_text(approval))
    lines.append(f"a denial {_denial_text(approval, asks_only=node.work.asks_person)}")
    return lines


def _waiting_text(approval: definition.Approval) -> str:
    if approval.timeout_ms is None:
        return "waits until a person answers"
    verb = "denied" if approval.on_timeout == "deny" else "approved"
    return f"{verb} after {output.duration(approval.timeout_ms / 1000)} without an answer"


def _denial_text(approval: definition.Approval, *, asks_only: bool) -> str:
    """Return what a denial does; `asks_only` if the question is the whole work of the block."""
    if approval.bounce is not None:
        return f"goes back to {approval.bounce.route_to}, at most {approval.bounce.max_bounces} times"
    if approval.on_deny == "end":
        return "ends the run"
    if asks_only:
        return "goes on with approved = false"
    return "skips the block"


def _print_plan(workflow: definition.Workflow, plan: definition.Plan, on: run_estimate.Basis) -> None:
    """Print a plan for people."""
    painter = output.Painter(sys.stdout)
    columns = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 1000
    title = painter.paint(output.one_line(workflow.name), "bold")
    output.say(f"{title}  a plan in mode {plan.mode}  {painter.paint(workflow.hash[:19] + '…', 'dim')}")
    if workflow.description:
        output.say(output.clean(workflow.description).strip())
    say = _print_section
    say(painter, "Inputs", [f"  {port_text(port)}" for port in workflow.inputs] or ["  none"])
    say(painter, "Contexts", [f"  {name}" for name in plan.contexts])
    say(painter, "Steps", draw_steps(workflow, painter, columns))
    say(painter, "Loops", [f"  {line}" for line in _loops(workflow)])
    say(painter, "Outputs without an emit", [f"  {name}  ← {_compact(value)}" for name, value in plan.outputs.items()])
    say(painter, "Bounds", [f"  {line}" for line in _limit_lines(workflow)])
    say(painter, "Totals", total_lines(workflow, on))


def draw_steps(workflow: definition.Workflow, painter: output.Painter, columns: int) -> list[str]:
    """Return the steps as lines, joined by a bar where one follows the other and by a gap where not."""
    lines: list[str] = []
    order = list(workflow.nodes)
    size = min(28, max(map(len, order), default=0))
    for number, (key, step) in enumerate(_as_written(workflow).items()):
        node = workflow.nodes[key]
        mark = ops.OPS[step.op].mark
        head = f"  {mark} {painter.badge(node.mode)} {painter.paint(output.pad(key, size), 'bold')}"
        words = ", ".join(_step_words(node, step))
        jumps = "  ".join(_step_jumps(step, order, number))
        room = max(20, columns - 12 - size - output.width(jumps))
        lines.append(f"{head}  {step.op:<12}  {output.one_line(words, room)}  {painter.paint(jumps, 'dim')}".rstrip())
        if number + 1 < len(order):
            follows = order[number + 1] in (step.next, step.otherwise, step.then)
            lines.append(painter.paint("  │", "dim") if follows else "")
    return lines


def _as_written(workflow: definition.Workflow) -> dict[str, definition.Step]:
    """Return the steps with the jumps as the author wrote them.

    A step with a retry right behind it is entered through that retry; in the text it comes first and leads to the
    retry.
    """
    steps = control_flow.from_workflow(workflow).steps
    tried_by = {after: key for key, after in itertools.pairwise(steps) if steps[after].target == key}

    def as_written(target: str | None) -> str | None:
        if target is None:
            return None
        return tried_by.get(target, target)

    fields = {
        key: replace(
            step,
            next=as_written(step.next),
            then=as_written(step.then),
            otherwise=as_written(step.otherwise),
            on_denied=as_written(step.on_denied),
        )
        for key, step in steps.items()
    }
    return fields | {key: replace(fields[key], next=after) for after, key in tried_by.items()}


def _step_words(node: definition.Node, step: definition.Step) -> Iterator[str]:
    """Yield what a step does, in a few words."""
    words = ops.OPS[step.op].words
    if words is None:
        yield _compact(step.args)
    else:
        yield words(ops.ExplainContext(step=step, node=node, compact=_compact))
    if node.approval is not None:
        yield _waiting_text(node.approval)
    if node.timeout_ms is not None:
        yield f"stopped after {output.duration(node.timeout_ms / 1000)}"
    if step.max_visits is not None:
        yield f"at most {step.max_visits} times"
    if node.retry.stall_after not in (0, definition.ONE_TRY.stall_after):
        yield f"asks after {node.retry.stall_after} passes of a loop without progress"


def _step_jumps(step: definition.Step, order: list[str], number: int) -> Iterator[str]:
    """Yield what a step saves, and its jumps; `↺` marks a jump back."""

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
    flow = control_flow.from_workflow(workflow)
    order = {key: index for index, key in enumerate(workflow.nodes)}
    lines: list[str] = []
    for loop in control_flow.loops(flow):
        keys = sorted(loop, key=order.__getitem__)
        visits = {key: flow.steps[key].max_visits for key in keys}
        limits = [f"{key} at most {number} times" for key, number in visits.items() if number is not None]
        text = ", ".join(limits) or f"within {workflow.limits.max_steps} steps of the budget"
        lines.append(f"{' → '.join(keys)}: {text}")
    return lines


def _compact(value: Json) -> str:
    return output.compact(value, 60)

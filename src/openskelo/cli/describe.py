"""A workflow in words and as a document: contracts, gates, effects and bounds of each block, for `explain`."""

from __future__ import annotations

from openskelo.cli import ink, inputs, members, output
from openskelo.kernel import definition
from openskelo.workflows import outline


def block_lines(node: definition.Node, painter: ink.Ink, columns: int) -> list[str]:
    """Everything a reader should know of one block, its title first."""
    title = f"{painter.badge(node.mode)} {painter.paint(node.key, 'bold')}"
    extra = [part for part in (node.label if node.label != node.key else "", node.handler or "") if part]
    lines = [" ".join([title, painter.paint("  ".join(map(ink.one_line, extra)), "dim")]).rstrip()]
    rows: list[tuple[str, str]] = []
    if node.description:
        rows.append(("", ink.one_line(node.description)))
    rows += [("in" if not at else "", _input(port, node)) for at, port in enumerate(node.inputs)]
    rows += [("out" if not at else "", port_text(port)) for at, port in enumerate(node.outputs)]
    rows += [("model" if not at else "or", text) for at, text in enumerate(models(node))]
    rows += [(f"gate {'before' if early else 'after'}", text) for early, text in _gates(node)]
    rows += [("asks" if not at else "", text) for at, text in enumerate(_questions(node))]
    rows += [("back to", bounce_text(bounce)) for bounce in node.bounces]
    rows.append(("runs", ", ".join(run_words(node))))
    lines += [
        f"      {painter.paint(f'{head:<11}', 'dim')} {ink.one_line(text, max(30, columns - 20))}"
        for head, text in rows
    ]
    return lines


def port_text(port: definition.Port) -> str:
    """A port's contract on one line."""
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
    """Whom an ai block asks, first to last: expert, provider and model."""
    found: list[str] = []
    for way in members.objects_at(members.object_at(node.config, "pinned"), "experts"):
        model = members.text_at(way, "model")
        name = f"{members.text_at(way, 'provider')}{': ' + model if model else ''}"
        most = f", at most {way['max_tokens']} tokens" if "max_tokens" in way else ""
        expert = members.text_at(way, "expert")
        found.append(f"{expert} ({name}{most})" if expert else f"{name}{most}")
    if node.mode == "ai" and not found and isinstance(node.config.get("expert"), str):
        found.append(str(node.config["expert"]))
    return found


def bounce_text(bounce: definition.Bounce) -> str:
    """A bounce rule in words."""
    told = ", telling it why" if bounce.feedback else ""
    return f"{bounce.route_to} when {bounce.when_gate} fails, at most {bounce.max_bounces} times{told}"


def run_words(node: definition.Node) -> list[str]:
    """Effect, retries, time limit and the like."""
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
    if node.when:
        words.append(f"only when {node.when}")
    return words


def _input(port: definition.Port, node: definition.Node) -> str:
    binding = node.bindings.get(port.name)
    if binding is None:
        return port_text(port)
    through = f" through {binding.transform}" if binding.transform else ""
    return f"{port_text(port)}  ← {outline.source(binding)}{through}"


def _gates(node: definition.Node) -> list[tuple[bool, str]]:
    found: list[tuple[bool, str]] = []
    for early, gates, composition in (
        (True, node.pre_gates, node.pre_composition),
        (False, node.post_gates, node.post_composition),
    ):
        any_of = " (any of these)" if composition == "any" and len(gates) > 1 else ""
        for gate in gates:
            shown = {key: value for key, value in gate.params.items() if key != "pinned"}
            params = f" {output.compact(shown)}" if shown else ""
            label = gate.name if gate.name == gate.type else f"{gate.name}: {gate.type}"
            found.append((early, f"{label}{params}{any_of}"))
    return found


def _questions(node: definition.Node) -> list[str]:
    approval = node.approval
    if approval is None:
        return []
    lines = [f'"{ink.one_line(approval.prompt, 60)}"']
    if approval.approvers:
        lines.append(f"only {', '.join(approval.approvers)} may answer")
    form = members.object_at(approval.form, "properties")
    if form:
        lines.append(f"may change {', '.join(form)}")
    if approval.timeout_ms is not None:
        verb = "denied" if approval.on_timeout == "deny" else "approved"
        lines.append(f"{verb} after {output.duration(approval.timeout_ms / 1000)} without an answer")
    lines.append(f"a denial {_denied(approval, asks_only=node.mode == 'approval')}")
    return lines


def _denied(approval: definition.Approval, *, asks_only: bool) -> str:
    """What follows from a no: to the block's own question, or to the one before its work."""
    if approval.bounce is not None:
        return f"goes back to {approval.bounce.route_to}, at most {approval.bounce.max_bounces} times"
    if approval.on_deny == "end":
        return "ends the run"
    return "goes on with approved = false" if asks_only else "leaves the block out"

"""Fixes whom a workflow's blocks ask, so that its hash covers it, and what is set aside before each attempt."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors
from openskelo.frozen import replace
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, pinning
from openskelo.workflows import asking, cursor, spending


def fix(workflow: definition.Workflow, models: config.Config, place: cursor.Cursor) -> definition.Workflow:
    """The workflow with its experts pinned and its reservations made; Problems of its budget are reported.

    What names an expert that the project does not have is left as it is: a caller may bring a provider of its own.
    """
    if not any(asking.is_asking(node) for node in workflow.nodes.values()):
        return workflow
    nodes = {
        key: _fixed(node, workflow, models) if asking.is_asking(node) else node for key, node in workflow.nodes.items()
    }
    found = replace(workflow, nodes=nodes)
    limits = workflow.limits
    if limits.max_tokens is not None or limits.max_cost_nanousd is not None:
        return _reserved(found, models, place)
    return found


def _fixed(node: definition.Node, workflow: definition.Workflow, models: config.Config) -> definition.Node:
    try:
        asked = spending.questions(node, workflow, models)
    except errors.AttemptFailed:
        return node
    pins: list[Json] = [pinning.pin(question.ways, models) for question in asked]
    if node.mode == "ai":
        held = node.config.get("pinned")
        pinned: JsonObject = {**(held if isinstance(held, Mapping) else {}), "experts": pins.pop(0)}
        node = replace(node, config={**node.config, "pinned": pinned})
    if not pins:
        return node
    return replace(
        node,
        pre_gates=tuple(_review(gate, pins) for gate in node.pre_gates),
        post_gates=tuple(_review(gate, pins) for gate in node.post_gates),
    )


def _review(gate: definition.Gate, pins: list[Json]) -> definition.Gate:
    """A gate with the experts that review for it; `pins` are in the order of the gates."""
    if gate.type != "llm_review":
        return gate
    return replace(gate, params={**gate.params, "pinned": pins.pop(0)})


def _reserved(workflow: definition.Workflow, models: config.Config, place: cursor.Cursor) -> definition.Workflow:
    limits = workflow.limits
    nodes: dict[str, definition.Node] = {}
    for key, node in workflow.nodes.items():
        nodes[key] = node
        if not asking.is_asking(node):
            continue
        try:
            most = spending.worst(node, workflow, models, priced=limits.max_cost_nanousd is not None)
        except errors.AttemptFailed:
            continue
        _check(f"the {'block' if node.step is None else 'step'} {key!r}", most, limits, place)
        nodes[key] = replace(node, reserve=_reserve(node, most))
    return replace(workflow, nodes=nodes)


def _reserve(node: definition.Node, most: spending.Worst) -> definition.Amount:
    """The author's own estimate of tokens goes before ours, which knows nothing about the inputs."""
    told = node.estimate is not None and node.estimate.tokens > 0
    return definition.Amount(
        tokens=node.reserve.tokens if told else max(node.reserve.tokens, most.tokens),
        cost_nanousd=max(node.reserve.cost_nanousd, most.cost_nanousd),
    )


def _check(what: str, most: spending.Worst, limits: definition.Limits, place: cursor.Cursor) -> None:
    """A limit that nobody can keep to is a Problem of the limit, which may be far from the block."""
    budgets = place.at("budgets", None)
    if limits.max_tokens is not None and most.unbounded:
        budgets.at("max_tokens", None).problem(
            "TOKENS_UNBOUNDED",
            f"nothing says how much {', '.join(most.unbounded)} may answer to {what}",
            hint="give the block or the expert max_tokens",
        )
    if limits.max_cost_nanousd is not None and most.unpriced:
        budgets.at("max_cost_usd", None).problem(
            "PRICE_UNKNOWN",
            f"nobody knows the price of {', '.join(most.unpriced)}, which {what} asks",
            hint="give its provider `prices` in skelo.yaml",
        )
    if limits.max_cost_nanousd is not None and most.unbounded and not most.unpriced and most.cost_nanousd:
        budgets.at("max_cost_usd", None).problem(
            "TOKENS_UNBOUNDED",
            f"nothing says how much {', '.join(most.unbounded)} may answer to {what}, and it costs money",
            hint="give the block or the expert max_tokens",
        )

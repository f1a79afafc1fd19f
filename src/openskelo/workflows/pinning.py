"""Pins the experts of a workflow, and sets what each attempt reserves from the budget.

A node names an expert; the project file says which provider, model and fallbacks that is. Pinning writes them into
the node, so that the hash of the workflow covers them and a later change of the project file does not change a
running run. If the workflow limits tokens or cost, every node that asks a model also gets a reservation: what a first
attempt takes before the values of its inputs count. A limit that cannot be guaranteed (an answer without a token
limit, a model without a price) is a Problem.
"""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors, gates
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.providers import config, experts
from openskelo.structs import replace
from openskelo.workflows.blocks import model_settings
from openskelo.workflows.estimate import attempt_cost
from openskelo.workflows.text import cursor


def pin_experts(workflow: definition.Workflow, models: config.Config, place: cursor.Cursor) -> definition.Workflow:
    """Return the workflow with pinned experts and reservations; report limits that cannot be guaranteed.

    A node that names an expert unknown to the project stays as it is: the caller may bring a provider for it.
    """
    if not any(model_settings.calls_model(node) for node in workflow.nodes.values()):
        return workflow
    nodes = {
        key: _pin_node(node, workflow, models) if model_settings.calls_model(node) else node
        for key, node in workflow.nodes.items()
    }
    pinned_workflow = replace(workflow, nodes=nodes)
    limits = workflow.limits
    if limits.max_tokens is not None or limits.max_cost_nanousd is not None:
        return _reserve_amounts(pinned_workflow, models, place)
    return pinned_workflow


def _pin_node(node: definition.Node, workflow: definition.Workflow, models: config.Config) -> definition.Node:
    try:
        questions = attempt_cost.questions(node, workflow, models)
    except errors.AttemptFailed:
        return node
    pins: list[Json] = [experts.pin(question.candidates, models) for question in questions]
    if node.work.calls_model:
        node_pins = node.config.get("pinned")
        node_pins = {**(node_pins if isinstance(node_pins, Mapping) else {}), "experts": pins.pop(0)}
        node = replace(node, config={**node.config, "pinned": node_pins})
    if not pins:
        return node
    return replace(
        node,
        pre_gates=tuple(_pin_gate(gate, pins) for gate in node.pre_gates),
        post_gates=tuple(_pin_gate(gate, pins) for gate in node.post_gates),
    )


def _pin_gate(gate: definition.Gate, pins: list[Json]) -> definition.Gate:
    """Return a gate that asks a model with its expert, which it takes from `pins`; any other gate as it is."""
    if not gates.asks_model(gate.type):
        return gate
    return replace(gate, params={**gate.params, "pinned": pins.pop(0)})


def _reserve_amounts(workflow: definition.Workflow, models: config.Config, place: cursor.Cursor) -> definition.Workflow:
    limits = workflow.limits
    nodes: dict[str, definition.Node] = {}
    for key, node in workflow.nodes.items():
        nodes[key] = node
        if not model_settings.calls_model(node):
            continue
        try:
            has_cost_limit = limits.max_cost_nanousd is not None
            # Inputs and repairs need more: that is checked when their prompt is written.
            reserve = attempt_cost.reservation(node, workflow, models, priced=has_cost_limit)
        except errors.AttemptFailed:
            continue
        noun = "block" if node.step is None else "step"
        _check_limits(f"the {noun} {key!r}", reserve, limits, place)
        nodes[key] = replace(node, reserve=_reserve(node, reserve))
    return replace(workflow, nodes=nodes)


def _reserve(node: definition.Node, needed: attempt_cost.Use) -> definition.Amount:
    """Return what an attempt reserves. The author's estimate of tokens wins: ours knows nothing about the inputs."""
    has_estimate = node.estimate is not None and node.estimate.tokens > 0
    return definition.Amount(
        tokens=node.reserve.tokens if has_estimate else max(node.reserve.tokens, needed.tokens),
        cost_nanousd=max(node.reserve.cost_nanousd, needed.cost_nanousd),
    )


def _check_limits(what: str, needed: attempt_cost.Use, limits: definition.Limits, place: cursor.Cursor) -> None:
    """Report each limit that cannot be guaranteed because of `what`; the Problem is at the limit, not at the block."""
    budgets = place.at("budgets", None)
    if limits.max_tokens is not None and needed.unbounded:
        budgets.at("max_tokens", None).problem(
            "TOKENS_UNBOUNDED",
            f"{what} has no limit on the length of answers of {', '.join(needed.unbounded)}",
            hint="give the block or the expert max_tokens",
        )
    if limits.max_cost_nanousd is not None and needed.unpriced:
        budgets.at("max_cost_usd", None).problem(
            "PRICE_UNKNOWN",
            f"{what} asks {', '.join(needed.unpriced)}, whose price is unknown",
            hint="give its provider `prices` in skelo.yaml",
        )
    if limits.max_cost_nanousd is not None and needed.unbounded and not needed.unpriced and needed.cost_nanousd:
        budgets.at("max_cost_usd", None).problem(
            "TOKENS_UNBOUNDED",
            f"{what} has no limit on the length of answers of {', '.join(needed.unbounded)}, which cost money",
            hint="give the block or the expert max_tokens",
        )

"""Pins the experts of a workflow, and sets what each attempt reserves from the budget.

A node names an expert; the project file says which provider, model and fallbacks that is. Pinning writes them into
the node, so that the hash of the workflow covers them and a later change of the project file does not change a
running run. If the workflow limits tokens or cost, every node that asks a model also gets a reservation: the most
that a first attempt may take. A limit that cannot be guaranteed (an answer without a token limit, a model without a
price) is a Problem.
"""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors
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
    pinned = replace(workflow, nodes=nodes)
    limits = workflow.limits
    if limits.max_tokens is not None or limits.max_cost_nanousd is not None:
        return _reserve_amounts(pinned, models, place)
    return pinned


def _pin_node(node: definition.Node, workflow: definition.Workflow, models: config.Config) -> definition.Node:
    try:
        questions = attempt_cost.questions(node, workflow, models)
    except errors.AttemptFailed:
        return node
    pins: list[Json] = [experts.pin(question.candidates, models) for question in questions]
    if node.work.calls_model:
        pinned = node.config.get("pinned")
        pinned = {**(pinned if isinstance(pinned, Mapping) else {}), "experts": pins.pop(0)}
        node = replace(node, config={**node.config, "pinned": pinned})
    if not pins:
        return node
    return replace(
        node,
        pre_gates=tuple(_pin_gate(gate, pins) for gate in node.pre_gates),
        post_gates=tuple(_pin_gate(gate, pins) for gate in node.post_gates),
    )


def _pin_gate(gate: definition.Gate, pins: list[Json]) -> definition.Gate:
    """Return an llm_review gate with its expert, the first of `pins`, which it removes; any other gate as it is."""
    if gate.type != "llm_review":
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
            priced = limits.max_cost_nanousd is not None
            # A repair needs a little more: it is checked when its prompt is written.
            worst = attempt_cost.worst(node, workflow, models, priced=priced, repairs=False)
        except errors.AttemptFailed:
            continue
        what = "block" if node.step is None else "step"
        _check_limits(f"the {what} {key!r}", worst, limits, place)
        nodes[key] = replace(node, reserve=_reserve(node, worst))
    return replace(workflow, nodes=nodes)


def _reserve(node: definition.Node, worst: attempt_cost.Worst) -> definition.Amount:
    """Return what an attempt reserves. The author's estimate of tokens wins: ours knows nothing about the inputs."""
    estimated = node.estimate is not None and node.estimate.tokens > 0
    return definition.Amount(
        tokens=node.reserve.tokens if estimated else max(node.reserve.tokens, worst.tokens),
        cost_nanousd=max(node.reserve.cost_nanousd, worst.cost_nanousd),
    )


def _check_limits(what: str, worst: attempt_cost.Worst, limits: definition.Limits, place: cursor.Cursor) -> None:
    """Report each limit that cannot be guaranteed because of `what`; the Problem is at the limit, not at the block."""
    budgets = place.at("budgets", None)
    if limits.max_tokens is not None and worst.unbounded:
        budgets.at("max_tokens", None).problem(
            "TOKENS_UNBOUNDED",
            f"there is no limit on how much {', '.join(worst.unbounded)} may answer to {what}",
            hint="give the block or the expert max_tokens",
        )
    if limits.max_cost_nanousd is not None and worst.unpriced:
        budgets.at("max_cost_usd", None).problem(
            "PRICE_UNKNOWN",
            f"the price is unknown of {', '.join(worst.unpriced)}, which {what} asks",
            hint="give its provider `prices` in skelo.yaml",
        )
    if limits.max_cost_nanousd is not None and worst.unbounded and not worst.unpriced and worst.cost_nanousd:
        budgets.at("max_cost_usd", None).problem(
            "TOKENS_UNBOUNDED",
            f"there is no limit on how much {', '.join(worst.unbounded)} may answer to {what}, and it costs money",
            hint="give the block or the expert max_tokens",
        )

"""Describe the work that an approval is about for the person who answers: performer, inputs, outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo import errors
from openskelo.executors import stored_values
from openskelo.executors.inputs import node_inputs
from openskelo.handlers import builtin
from openskelo.kernel import definition
from openskelo.kernel.flows import plan
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NodeState, OpenApproval, Run
from openskelo.stores import api
from openskelo.values import template
from openskelo.values.schema import composition

#: How many characters of an earlier failure a person is shown.
_MAX_REASON = 400


def performer_name(node: definition.Node) -> str:
    """Return who does the work of a node: its handler, the tool of a step, a model, or an agent."""
    if node.step is not None:
        return str(node.step.args.get("tool_id") or node.step.args.get("expert_id") or node.step.op)
    return node.handler or ("a model" if node.work.calls_model else f"an {node.mode}")


def describe(run: Run, approval: OpenApproval) -> JsonObject | None:
    """Return who would do the work, with which `config`, the schema of its `outputs`, and the number of its items.

    None for an approval that is not about work: an approval block and `ask_human` say themselves what they are about,
    and what a stalled loop does has been done already.
    """
    node = run.workflow.nodes[approval.node]
    if node.work.asks_person or approval.kind not in ("approval", "uncertain"):
        return None
    about: dict[str, Json] = {
        "by": performer_name(node),
        "config": {name: value for name, value in node.config.items() if name != "pinned"},
        "outputs": _outputs(node),
    }
    if node.foreach is not None and approval.item is None:
        about["count"] = len(run.nodes[approval.node].slots)
    return about


def describe_failures(state: NodeState) -> str:
    """Return why earlier attempts of the work failed, as a sentence; empty if none did."""
    feedbacks = [slot.feedback for slot in state.slots if slot.attempt and slot.state == "ready"]
    failures = [
        feedback["error"]
        for feedback in feedbacks
        if isinstance(feedback, Mapping) and isinstance(feedback.get("error"), Mapping)
    ]
    if not failures:
        return ""
    last = cast("JsonObject", failures[0])
    why = f"{last.get('code')} {last.get('message')}"
    why = why if len(why) <= _MAX_REASON else f"{why[:_MAX_REASON]}…"
    if len(state.slots) == 1:
        return f"It was tried before, and failed: {why}"
    # Other items may still run, and fail or succeed while the approval is open.
    return f"Items that are done are not done again. Of {len(state.slots)} items at least {len(failures)} failed: {why}"


def _outputs(node: definition.Node) -> JsonObject:
    """Return the schema of the outputs: the ports of the node, or what a step saves."""
    if node.step is not None:
        saved_names: list[Json] = list(plan.outputs(node.step, None))
        return composition.object_of({str(name): {} for name in saved_names}, {"required": saved_names})
    required: list[Json] = [port.name for port in node.outputs if port.required]
    return composition.object_of({port.name: port.schema for port in node.outputs}, {"required": required})


async def load(blobs: api.BlobReader, run: Run, approval: OpenApproval) -> JsonObject | None:
    """Return what `describe` returns, with the `inputs` of the work and its `item`, or all `items`, of a foreach.

    The templates in `config` are rendered, as far as their values are known: a person sees what is, or was, sent.
    """
    description = describe(run, approval)
    if description is None:
        return None
    state = run.nodes[approval.node]
    about: dict[str, Json] = {**description, "inputs": await _inputs(blobs, run, approval)}
    if state.items is not None:
        items = cast("list[Json]", await stored_values.load(blobs, state.items))
        about |= {"items": items} if approval.item is None else {"item": items[approval.item]}
    return {**about, "config": _rendered_config(run.workflow.nodes[approval.node], about)}


def _rendered_config(node: definition.Node, about: JsonObject) -> JsonObject:
    """Return the config of the work with its templates rendered; a text that cannot be rendered stays as it is."""
    config = cast("JsonObject", about["config"])
    handler = builtin.HANDLERS.get(node.handler or "") if (node.handler or "").startswith("builtin:") else None
    if handler is None:
        return config
    values: dict[str, Json] = {"inputs": about["inputs"]}
    if node.foreach is not None and "item" in about:
        values |= {"item": about["item"], node.foreach.name: about["item"]}

    def render(text: str) -> str:
        try:
            return template.compile(text, dict.fromkeys(values)).render(values)
        except errors.OpenSkeloError:
            return text

    return {
        name: template.change_texts(value, render) if name in handler.templates else value
        for name, value in config.items()
    }


async def _inputs(blobs: api.BlobReader, run: Run, approval: OpenApproval) -> Json:
    """Return the inputs: before the work starts, what the approval is bound to; afterwards what it was given."""
    if approval.kind == "uncertain":
        return await node_inputs.inputs(blobs, run, run.workflow.nodes[approval.node])
    tool = cast("JsonObject", approval.document["tool"])
    if "stored" in tool:
        return await stored_values.load(blobs, cast("JsonObject", tool["stored"]))
    return tool["args"]

"""What an answer would let happen: the work that a question is about, who does it, what it is given and gives back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo.engine import wiring
from openskelo.executors import keeping
from openskelo.kernel import definition
from openskelo.kernel.flows import plan
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import NodeState, OpenApproval, Run
from openskelo.values import composition

#: So much of why work failed is told to whoever is asked about it again.
_REASON = 400


def doer(node: definition.Node) -> str:
    """Who does a node's work: its handler, the tool of a step, or a model."""
    if node.step is not None:
        return str(node.step.args.get("tool_id") or node.step.args.get("expert_id") or node.step.op)
    return node.handler or ("a model" if node.mode == "ai" else node.mode)


def of(run: Run, asked: OpenApproval) -> JsonObject | None:
    """Who would do the work, with which `config`, and the schema of the `outputs` that it owes; for how many items.

    None for a question that is about no work: what a person is asked for its own sake (an approval block, `ask_human`)
    says itself what it is about, and what a stalled loop does has been done already.
    """
    node = run.workflow.nodes[asked.node]
    if node.mode == "approval" or asked.kind not in ("approval", "uncertain"):
        return None
    about: dict[str, Json] = {
        "by": doer(node),
        "config": {name: value for name, value in node.config.items() if name != "pinned"},
        "outputs": _outputs(node),
    }
    if node.foreach is not None and asked.item is None:
        about["count"] = len(run.nodes[asked.node].slots)
    return about


def so_far(state: NodeState) -> str:
    """What has become of work about which a person is asked once more, as a sentence; empty before it began."""
    failed = [slot.feedback for slot in state.slots if slot.attempt and slot.state == "ready"]
    errors = [one["error"] for one in failed if isinstance(one, Mapping) and isinstance(one.get("error"), Mapping)]
    if not errors:
        return ""
    last = cast("JsonObject", errors[0])
    why = f"{last.get('code')} {last.get('message')}"
    why = why if len(why) <= _REASON else f"{why[:_REASON]}…"
    if len(state.slots) == 1:
        return f"It was tried before, and failed: {why}"
    # Others may be under way yet, and fail or succeed while the question is open.
    return f"Items that are done are not done again. Of {len(state.slots)} items at least {len(errors)} failed: {why}"


def _outputs(node: definition.Node) -> JsonObject:
    """What the work owes, as a schema: the values of the ports, or what a step saves."""
    if node.step is not None:
        saved: list[Json] = list(plan.outputs(node.step, None))
        return composition.composed({str(name): {} for name in saved}, {"required": saved})
    required: list[Json] = [port.name for port in node.outputs if port.required]
    return composition.composed({port.name: port.schema for port in node.outputs}, {"required": required})


async def whole(blobs: keeping.Blobs, run: Run, asked: OpenApproval) -> JsonObject | None:
    """As `of`, with the `inputs` of the work and, of a foreach, its `item`, or all `items`."""
    found = of(run, asked)
    if found is None:
        return None
    state = run.nodes[asked.node]
    about: dict[str, Json] = {**found, "inputs": await _inputs(blobs, run, asked)}
    if state.items is not None:
        items = cast("list[Json]", await keeping.load(blobs, state.items))
        about |= {"items": items} if asked.item is None else {"item": items[asked.item]}
    return about


async def _inputs(blobs: keeping.Blobs, run: Run, asked: OpenApproval) -> Json:
    """What the work would be given: before it starts, exactly what the answer is bound to; else what it was given."""
    if asked.kind == "uncertain":
        return await wiring.inputs(blobs, run, run.workflow.nodes[asked.node])
    tool = cast("JsonObject", asked.document["tool"])
    return await keeping.load(blobs, cast("JsonObject", tool["stored"])) if "stored" in tool else tool["args"]

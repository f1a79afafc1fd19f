"""Decide whether two nodes, or two items of a foreach, do the same work.

The cache and forks reuse earlier results only for the same work on the same values. `work_document` is the part of a
node's definition that says what is done; the other functions say what else the work can see (its run, its index in the
list).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import cast

from openskelo import gates
from openskelo.handlers import builtin
from openskelo.kernel import definition, workflow_codec
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import replace
from openskelo.values import canonical, template
from openskelo.values.cel import expression

#: A foreach over a list that is one of the node's inputs.
_LISTED = r"\s*inputs\.([A-Za-z_]\w*)\s*"
#: The word `inputs` without the name of an input after it: all inputs are used.
_ALL_INPUTS = r"\binputs\b(?!\s*\.\s*[A-Za-z_])"


def work_document(node: definition.Node) -> JsonObject:
    """Return the node as JSON, without the fields that do not change its work.

    The work of a model is its expert with all parameters, its prompt and its contract. Reserved budget, retries and
    the position in a drawing do not change it.
    """
    plain = definition.Node(key=node.key, mode=node.mode)
    same = replace(
        node,
        label=node.label if node.work.has_prompt else "",
        reserve=plain.reserve,
        estimate=None,
        retry=plain.retry,
        timeout_ms=None,
        bounces=(),
        repairs=0,
        metadata={},
    )
    return workflow_codec.encode_node(same)


def item_work_document(node: definition.Node) -> JsonObject:
    """Return the same for the work on one item of a foreach, without the sources of the node's inputs."""
    item = None if node.foreach is None else definition.Foreach(items="", name=node.foreach.name)
    return work_document(
        replace(node, foreach=item, bindings={}, after=(), when=None, approval=None, cache=False, inside="")
    )


def prompt_uses_run(node: definition.Node) -> bool:
    """True if a model's prompt uses `run`, which is not among the node's inputs."""
    return "run" in _prompt_variables(node)


def gates_use_run(node: definition.Node) -> bool:
    """True if a gate uses `run`, which is not among the node's inputs."""
    texts = [gate.params.get("expression") for gate in (*node.pre_gates, *node.post_gates)]
    variables: dict[str, JsonObject | None] = {"inputs": None, "outputs": None, "run": None}
    return any("run" in expression.compile(text, variables).variables for text in texts if isinstance(text, str))


def may_see_run(node: definition.Node) -> bool:
    """True if the prompt or a gate may see the inputs of the run."""
    return prompt_uses_run(node) or "run" in _gate_params(node)


def list_port(node: definition.Node) -> str | None:
    """Return the input that is the list of a foreach if the work on one item cannot see the others; else None.

    A handler that is not built in sees all inputs. A prompt that names no input shows all of them.
    """
    match = None if node.foreach is None else re.fullmatch(_LISTED, node.foreach.items)
    if match is None or node.pre_gates or any(gates.reads_all_values(gate.type) for gate in node.post_gates):
        return None
    prompt_has_inputs = node.work.has_prompt and "inputs" in _prompt_variables(node)
    handler = builtin.of(node)
    if not prompt_has_inputs and (handler is None or not handler.reads_named_inputs):
        return None
    name = match[1]
    text = canonical.dumps(node.config).decode() + _gate_params(node)
    if re.search(_ALL_INPUTS, text) or re.search(rf"\b{name}\b", text):
        return None
    return name


def sees_item_index(node: definition.Node) -> bool:
    """True if the work on an item of a foreach may see the item's index."""
    handler = builtin.of(node)
    return not node.work.has_prompt and (handler is None or handler.sees_item_index)


def _gate_params(node: definition.Node) -> str:
    return "".join(canonical.dumps(gate.params).decode() for gate in (*node.pre_gates, *node.post_gates))


def _prompt_variables(node: definition.Node) -> frozenset[str]:
    """Return the variables that the prompt of a model or an agent uses."""
    if not node.work.has_prompt:
        return frozenset()
    files = cast("JsonObject", cast("JsonObject", node.config.get("pinned") or {}).get("files") or {})
    texts = (node.config.get("prompt"), *(text for name, text in files.items() if not name.startswith("context/")))
    variables: dict[str, JsonObject | None] = {"inputs": None, "run": None}
    if node.foreach is not None:
        variables[node.foreach.name] = None
    names_used = [template.compile(text, variables).variables for text in texts if isinstance(text, str)]
    return frozenset[str]().union(*names_used)


def match_items(
    node: definition.Node, inputs: JsonObject, run_inputs: Json, items: Sequence[Json], earlier: Sequence[JsonObject]
) -> tuple[int, ...] | None:
    """Return for each item the number of the `earlier` item that did the same work, or -1; None if no item did.

    An earlier item matches if it saw the same values at the same index, or at any index where the work cannot see its
    own.
    """
    digest = item_digest(node, inputs, run_inputs)
    digests = [digest(item) for item in items]
    taken_indexes = [-1] * len(items)
    free_indexes: dict[str, list[int]] = {}
    for number, item in enumerate(earlier):
        index, saw = cast("int", item["index"]), cast("str", item["inputsHash"])
        if index < len(items) and digests[index] == saw:
            taken_indexes[index] = number
        else:
            free_indexes.setdefault(saw, []).append(number)
    if not sees_item_index(node):
        for index, saw in enumerate(digests):
            if taken_indexes[index] < 0 and free_indexes.get(saw):
                taken_indexes[index] = free_indexes[saw].pop(0)
    return tuple(taken_indexes) if max(taken_indexes, default=-1) >= 0 else None


def item_digest(node: definition.Node, inputs: JsonObject, run_inputs: Json) -> Callable[[Json], str]:
    """Return a function that returns the digest of everything that the work on an item can see."""
    hidden_port = list_port(node)
    common: dict[str, Json] = {"inputs": {name: value for name, value in inputs.items() if name != hidden_port}}
    if may_see_run(node):
        common["run"] = run_inputs
    common_digest = canonical.digest(common)
    return lambda item: canonical.digest({"shared": common_digest, "item": item})

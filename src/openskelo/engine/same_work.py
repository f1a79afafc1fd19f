"""When two nodes do the same work: what of a definition says what is done, and what the work can look at."""

from __future__ import annotations

import re
from typing import cast

from openskelo.frozen import replace
from openskelo.kernel import codec, definition
from openskelo.kernel.json import JsonObject
from openskelo.values import canonical, expression, template

#: A foreach over a list that is one of the node's inputs.
_LISTED = r"\s*inputs\.([A-Za-z_]\w*)\s*"
#: The inputs as a whole: not one of them by its name.
_ALL_INPUTS = r"\binputs\b(?!\s*\.\s*[A-Za-z_])"


def described(node: definition.Node) -> JsonObject:
    """The node as JSON, without what makes it no other work.

    For a model the work is its expert with all parameters, its prompt and its contract. What is set aside for it, how
    often it is tried and how it is drawn say nothing about it.
    """
    plain = definition.Node(key=node.key, mode=node.mode)
    same = replace(
        node,
        label=node.label if node.mode == "ai" else "",
        reserve=plain.reserve,
        estimate=None,
        retry=plain.retry,
        timeout_ms=None,
        bounces=(),
        repairs=0,
        metadata={},
    )
    return codec.encode_node(same)


def on_an_item(node: definition.Node) -> JsonObject:
    """As `described`, for the work on one item of a foreach: where its values come from is no part of it."""
    one = None if node.foreach is None else definition.Foreach(items="", name=node.foreach.name)
    return described(
        replace(node, foreach=one, bindings={}, after=(), when=None, approval=None, cache=False, inside="")
    )


def tells_of_run(node: definition.Node) -> bool:
    """Whether a model's prompt holds anything about the run that is not among the node's inputs."""
    return "run" in _named_by_prompt(node)


def is_judged_by_run(node: definition.Node) -> bool:
    """Whether a gate compares the work with anything about the run that is not among the node's inputs."""
    texts = [gate.params.get("expression") for gate in (*node.pre_gates, *node.post_gates)]
    seen: dict[str, JsonObject | None] = {"inputs": None, "outputs": None, "run": None}
    return any("run" in expression.compile(text, seen).variables for text in texts if isinstance(text, str))


def may_look_at_run(node: definition.Node) -> bool:
    """Whether the prompt, or a gate, may look at the inputs of the run."""
    return tells_of_run(node) or "run" in _gates(node)


def list_port(node: definition.Node) -> str | None:
    """The input that is the list of a foreach, where the work on one item cannot look at the others; else None.

    A handler of somebody else's is given all inputs. A prompt that names none of them shows all.
    """
    found = None if node.foreach is None else re.fullmatch(_LISTED, node.foreach.items)
    if found is None or node.pre_gates or any(gate.type == "command" for gate in node.post_gates):
        return None
    shown = node.mode == "ai" and "inputs" in _named_by_prompt(node)
    if not shown and node.handler != "builtin:transform":
        return None
    name = found[1]
    text = canonical.dumps(node.config).decode() + _gates(node)
    return None if re.search(_ALL_INPUTS, text) or re.search(rf"\b{name}\b", text) else name


def sees_its_place(node: definition.Node) -> bool:
    """Whether the work on an item of a foreach may know where it stands in the list."""
    return node.mode != "ai" and node.handler not in ("builtin:transform", "builtin:http-request")


def _gates(node: definition.Node) -> str:
    return "".join(canonical.dumps(gate.params).decode() for gate in (*node.pre_gates, *node.post_gates))


def _named_by_prompt(node: definition.Node) -> frozenset[str]:
    """The variables that a model's prompt uses."""
    if node.mode != "ai":
        return frozenset()
    files = cast("JsonObject", cast("JsonObject", node.config.get("pinned") or {}).get("files") or {})
    texts = (node.config.get("prompt"), *(text for name, text in files.items() if not name.startswith("context/")))
    seen: dict[str, JsonObject | None] = {"inputs": None, "run": None}
    if node.foreach is not None:
        seen[node.foreach.name] = None
    used = [template.compile(text, seen).variables for text in texts if isinstance(text, str)]
    return frozenset[str]().union(*used)

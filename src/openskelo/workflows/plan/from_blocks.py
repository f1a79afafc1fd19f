"""A file of blocks, one after the other, as a plan: edges become refs, the outputs become the result of an emit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from openskelo.kernel import definition
from openskelo.kernel.flows import dag
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import refs
from openskelo.workflows import source
from openskelo.workflows.plan import convert

_RESULT = "result"
_STEP = "builtin:step"
_MODEL = ("temperature", "top_p", "seed", "stop", "system")


def convert_blocks(workflow: definition.Workflow, text: source.Source) -> convert.Converted:
    """The plan of a workflow that was read from `text`; a Problem for each block that no step can express."""
    found: list[convert.Stuck] = []
    steps: list[Json] = []
    for key in _order(workflow):
        try:
            steps.append(_step(workflow, workflow.nodes[key]))
        except convert.Stuck as stuck:
            found.append(stuck)
    parts: list[str] = []
    try:
        parts += [f"{json.dumps(name)}: {_cel(workflow, one)}" for name, one in workflow.outputs.items()]
    except convert.Stuck as stuck:
        found.append(stuck)
    if found:
        return convert.refused(text, "blocks", found)
    steps.append(_plan_step(_free(workflow, _RESULT), "transform", {"expr": f"{{{', '.join(parts)}}}"}, _RESULT))
    steps.append({"id": _free(workflow, "done"), "op": "emit", "args": {"result_ref": f"var:{_RESULT}"}})
    document: dict[str, Json] = {
        "plan_id": workflow.name,
        "description": workflow.description,
        "inputs": {port.name: port.default if port.has_default else None for port in workflow.inputs},
        "steps": steps,
    }
    return convert.Converted(document=document)


def _order(workflow: definition.Workflow) -> list[str]:
    """The blocks, sources first, otherwise as they stand in the file."""
    shape = dag.graph(workflow)
    done: dict[str, None] = {}
    while len(done) < len(workflow.nodes):
        done |= dict.fromkeys(
            next([key] for key in workflow.nodes if key not in done and all(one in done for one in shape.sources[key]))
        )
    return list(done)


def _step(workflow: definition.Workflow, node: definition.Node) -> JsonObject:
    _check(node)
    match node.mode:
        case "ai":
            return _expert(workflow, node)
        case "approval":
            return _question(workflow, node)
        case "deterministic" if node.handler == _STEP:
            return _own_step(workflow, node)
        case "deterministic" if node.handler == "builtin:transform" and "template" not in node.config:
            texts = cast("Mapping[str, str]", node.config.get("map") or {})
            parts = [f"{json.dumps(name)}: {_rewritten(workflow, node, text)}" for name, text in texts.items()]
            return _plan_step(node.key, "transform", {"expr": f"{{{', '.join(parts)}}}"}, node.key)
        case _:
            raise convert.Stuck(node.key, f"no op does what {node.handler or node.mode!r} does")


def _check(node: definition.Node) -> None:
    """Only what runs once, after what it needs, is linear."""
    told = {
        "when": node.when is not None,
        "foreach": node.foreach is not None,
        "gates": bool(node.pre_gates or node.post_gates),
        "a checkpoint": node.approval is not None and node.mode != "approval",
        "retry": node.retry.max_attempts > 1,
        "cache": node.cache,
    }
    for what, there in told.items():
        if there:
            raise convert.Stuck(node.key, f"it has {what}, which a step cannot say")


def _question(workflow: definition.Workflow, node: definition.Node) -> JsonObject:
    asked = cast("definition.Approval", node.approval)
    if asked.on_deny != "end" or asked.on_timeout != "deny":
        raise convert.Stuck(node.key, "a plan ends when a question is denied or nobody answers")
    message = asked.prompt.replace("\\{{", "")
    if "{{" in message:
        raise convert.Stuck(node.key, "its prompt is a template")
    needed = asked.form.get("required")
    fields = set(map(str, needed if isinstance(needed, list) else ()))
    other = [port.name for port in node.outputs if port.name not in fields]
    if other:
        raise convert.Stuck(node.key, f"its output {other[0]!r} is no answer that has to be given")
    shown: dict[str, Json] = {name: _ref(workflow, node, name) for name in node.bindings}
    if twice := sorted(shown.keys() & cast("JsonObject", asked.form.get("properties") or {}).keys()):
        raise convert.Stuck(node.key, f"its input {twice[0]!r} is also an answer, which a question does not suggest")
    request: dict[str, Json] = {"message": asked.prompt.replace("\\{{", "{{")}
    args: dict[str, Json] = {"request": {**request, "details": shown} if shown else request, "answer": asked.form}
    if asked.timeout_ms is not None:
        args["timeout_ms"] = asked.timeout_ms
    if asked.approvers:
        args["approvers"] = list[Json](asked.approvers)
    return _plan_step(node.key, "ask_human", args, node.key)


def _own_step(workflow: definition.Workflow, node: definition.Node) -> JsonObject:
    """A block that does the work of a step is that step; its one output is the step's value."""
    op, args = str(node.config["op"]), cast("JsonObject", node.config["args"])
    ports = cast("Mapping[str, str]", node.config.get("refs") or {})
    if refs.LITERAL in json.dumps(args):
        raise convert.Stuck(node.key, "its arguments have a text that is no ref")

    def value_of(ref: refs.Ref) -> str:
        port = ports.get(ref.root, ref.name)
        if port not in node.bindings:
            raise convert.Stuck(node.key, f"nothing is bound to its input {port!r}")
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in ref.path)
        return _ref(workflow, node, port) + path

    step = _plan_step(node.key, op, refs.replace(op, args, value_of), node.key)
    return step if node.timeout_ms is None else {**step, "timeout_ms": node.timeout_ms}


def _expert(workflow: definition.Workflow, node: definition.Node) -> JsonObject:
    prompt = node.config.get("prompt")
    if isinstance(prompt, str) and "{{" in prompt:
        raise convert.Stuck(node.key, "its prompt is a template")
    pinned = node.config.get("pinned")
    experts = pinned.get("experts") if isinstance(pinned, Mapping) else None
    first = experts[0] if isinstance(experts, list) and experts else None
    name = node.config.get("expert") or (first.get("expert") if isinstance(first, Mapping) else None)
    if not isinstance(name, str):
        raise convert.Stuck(node.key, "it names no expert")
    given: dict[str, Json] = {
        port.name: _ref(workflow, node, port.name) for port in node.inputs if port.name in node.bindings
    }
    task: dict[str, Json] = {} if prompt is None else {"task": _kept(prompt)}
    args: dict[str, Json] = {"expert_id": name, "input": {**task, "inputs": given}}
    args["output_schema"] = {
        "type": "object",
        "properties": {port.name: port.schema for port in node.outputs},
        "required": [port.name for port in node.outputs if port.required],
        "additionalProperties": False,
    }
    args["repairs"] = node.repairs
    if "max_tokens" in node.config:
        args["max_new_tokens"] = node.config["max_tokens"]
    args |= {key: node.config[key] for key in _MODEL if key in node.config}
    return _plan_step(node.key, "route_expert", args, node.key)


def _kept(text: Json) -> Json:
    return {refs.LITERAL: text} if isinstance(text, str) and refs.parse(text) is not None else text


def _plan_step(key: str, op: str, args: JsonObject, save_as: str) -> JsonObject:
    return {"id": key, "op": op, "args": args, "save_as": save_as}


def _ref(workflow: definition.Workflow, node: definition.Node, port: str) -> str:
    binding = node.bindings[port]
    if binding.transform is not None:
        raise convert.Stuck(node.key, f"the edge into {port!r} has a transform")
    if not binding.node:
        return f"input:{binding.port}"
    return f"var:{binding.node}{_part(workflow, binding.node, binding.port)}"


def _part(workflow: definition.Workflow, key: str, port: str) -> str:
    """Where an output stands in the value of its block's step."""
    return "" if workflow.nodes[key].handler == _STEP else f".{port}"


def _rewritten(workflow: definition.Workflow, node: definition.Node, text: str) -> str:
    """CEL over the inputs of a block as CEL over what a plan knows."""

    def name_of(root: str, name: str) -> str | None:
        if root != "inputs":
            return None
        binding = node.bindings.get(name)
        if binding is None:
            raise convert.Stuck(node.key, f"nothing is bound to its input {name!r}")
        return f"({_cel(workflow, binding)})"

    return convert.renamed(text, name_of)


def _cel(workflow: definition.Workflow, binding: definition.Binding) -> str:
    text = f"input.{binding.port}"
    if binding.node:
        text = f"var.{binding.node}{_part(workflow, binding.node, binding.port)}"
    if "-" in text:
        raise convert.Stuck(binding.node or next(iter(workflow.nodes)), "an expression cannot write a name with a -")
    if binding.transform is not None:
        raise convert.Stuck(binding.node or next(iter(workflow.nodes)), "an edge from it has a transform")
    return text


def _free(workflow: definition.Workflow, name: str) -> str:
    while name in workflow.nodes:
        name += "_"
    return name

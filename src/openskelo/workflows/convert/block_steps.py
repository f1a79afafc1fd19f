"""The steps around a block: its questions to a model or a person, and the checks of its gates and types.

- A block that asks a model becomes a `route_expert`, whose prompt is the author's text with the data fenced below it.
  Where the author writes `{{ … }}`, the step has the name of the data in brackets: data never becomes part of the text.
- An approval becomes an `ask_human`.
- A gate becomes a `verify` or a CEL term, and a branch that ends the plan as failed, as a failed gate ends a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, mutable
from openskelo.values import plan_refs, template
from openskelo.values.cel import expression
from openskelo.values.schema import composition
from openskelo.workflows.convert import conversion, sources

_MODEL_SETTINGS = ("temperature", "top_p", "seed", "system")
_BRACKETS = "A name in brackets stands for the data of that name below."
_CHECKED = "The answer will be checked for this:"
#: A character that `str.strip` does not remove, as an RE2 class.
_NOT_BLANK = r"[^\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"

#: The JSON Schema types of CEL types, where the two agree.
_SCHEMA_TYPES = {"string": "string", "bool": "boolean", "int": "integer", "list": "array", "map": "object"}
#: Refs and the schemas that their values must match, by name.
_Schemas: TypeAlias = Mapping[str, tuple[str, JsonObject]]


def expert_steps(values: sources.Sources, node: definition.Node) -> tuple[list[Json], JsonObject]:
    """Return the steps that write the prompt of an ai block, and the route_expert that asks it."""
    args: dict[str, Json] = {"expert_id": _expert_id(node)}
    steps, prompt = _prompt(values, node)
    args |= prompt
    for port in node.outputs:
        if port.has_default or port.kind != "json":
            raise conversion.NotConvertible(node.key, f"its output {port.name!r} has a default, or is a file")
    required: list[Json] = [port.name for port in node.outputs if port.required]
    args["output_schema"] = composition.object_of(
        {port.name: port.schema for port in node.outputs}, {"required": required, "additionalProperties": False}
    )
    args["repairs"] = node.repairs
    if "max_tokens" in node.config:
        args["max_new_tokens"] = node.config["max_tokens"]
    args |= {key: node.config[key] for key in _MODEL_SETTINGS if key in node.config}
    if (stop := node.config.get("stop")) is not None:
        args["stop"] = [stop] if isinstance(stop, str) else stop
    return steps, values.work_step(node, "route_expert", args)


def _expert_id(node: definition.Node) -> str:
    config_pins = node.config.get("pinned")
    pinned: JsonObject = config_pins if isinstance(config_pins, Mapping) else {}
    if pinned.get("files"):
        raise conversion.NotConvertible(node.key, "its prompt is in the files of a folder (block_dir)")
    if own := [key for key in ("provider", "model", "model_params") if key in node.config]:
        raise conversion.NotConvertible(
            node.key, f"it has its own {own[0]!r}, and a step names an expert (declare one)"
        )
    experts = pinned.get("experts")
    first = experts[0] if isinstance(experts, list) and experts else None
    name = node.config.get("expert") or (first.get("expert") if isinstance(first, Mapping) else None)
    if not isinstance(name, str):
        raise conversion.NotConvertible(node.key, "it does not name an expert")
    return name


def _prompt(values: sources.Sources, node: definition.Node) -> tuple[list[Json], JsonObject]:
    """Return the steps that prepare a prompt, and the `prompt` or `prompt_ref` of the route_expert."""
    writer = _PromptWriter(values, node)
    text = writer.write(str(node.config.get("prompt") or ""))
    heading = f"# {node.label or node.key}"
    task = "\n\n".join(part for part in (heading, node.description.strip(), text.strip()) if part)
    if not writer.shown and not writer.mentions:
        inputs = [values.port(node, port.name) for port in node.inputs if _has_value(node, port)]
        writer.shown += [writer.ref_of(value) for value in inputs]
    instructions = [_BRACKETS] if writer.bracketed else []
    if errors := [gate.error for gate in node.post_gates if gate.error]:
        instructions.append("\n".join([_CHECKED, *(f"- {error}" for error in errors)]))
    if not writer.shown:
        return writer.steps, {"prompt": "\n\n".join([task, *instructions])}
    args: dict[str, Json] = {"fn": "assemble_prompt", "task": sources.escape_ref(task)}
    if instructions:
        args["instructions"] = "\n\n".join(instructions)
    args["refs"] = list[Json](dict.fromkeys(writer.shown))
    key = values.new_id(node, "prompt")
    saved = values.saved(key)
    return [*writer.steps, sources.step(key, "transform", args, saved.name)], {"prompt_ref": str(saved)}


def _has_value(node: definition.Node, port: definition.Port) -> bool:
    return port.name in node.bindings or port.has_default


class _PromptWriter:
    """Writes a prompt: the author's text, and the data that is shown below it."""

    def __init__(self, values: sources.Sources, node: definition.Node) -> None:
        self._values = values
        self._node = node
        self.steps: list[Json] = []
        self.shown: list[str] = []
        self.bracketed = False
        #: True if the author's text shows inputs: then the other inputs are not shown.
        self.mentions = False

    def write(self, text: str) -> str:
        """Return the text with the name of each value in place of its expression."""
        return "".join(
            self._piece(piece) if is_expression else piece for piece, is_expression in sources.template_pieces(text)
        )

    def _piece(self, text: str) -> str:
        self.mentions = True
        value = _plain_path(self._values, self._node, text)
        if isinstance(value, sources.Constant):
            return template.as_text(value.value)
        if value is None:
            value = self._save(self._values.rewrite_cel(self._node, text))
        self.bracketed = True
        self.shown.append(str(value))
        return f"[{value}]"

    def ref_of(self, value: sources.PortValue) -> str:
        """Return the ref of a value; a constant is saved in a variable first."""
        return str(self._save(sources.cel(value)) if isinstance(value, sources.Constant) else value)

    def _save(self, text: str) -> plan_refs.Ref:
        key = self._values.new_id(self._node, "words")
        saved = self._values.saved(key)
        self.steps.append(sources.step(key, "transform", {"expr": text}, saved.name))
        return saved


def _plain_path(values: sources.Sources, node: definition.Node, text: str) -> sources.PortValue | None:
    """Return the value of an expression that is only `inputs.NAME` with members; None for any other expression."""
    ref = plan_refs.parse(text.replace("inputs.", "var:", 1)) if text.startswith("inputs.") else None
    if ref is None:
        return None
    value = values.port(node, ref.name)
    if isinstance(value, sources.Constant):
        return None if ref.path else value
    return plan_refs.Ref(kind=value.kind, name=value.name, path=(*value.path, *ref.path))


def question_step(values: sources.Sources, node: definition.Node) -> JsonObject:
    """Return the ask_human of an approval; the inputs that the approval shows are the details of the request."""
    approval = cast("definition.Approval", node.approval)
    if approval.on_deny != "end" or approval.on_timeout != "deny":
        raise conversion.NotConvertible(node.key, "a plan ends when a question is denied or times out")
    shown: dict[str, Json] = {
        port.name: sources.argument(values.port(node, port.name)) for port in node.inputs if _has_value(node, port)
    }
    if both := sorted(shown.keys() & cast("JsonObject", approval.form.get("properties") or {}).keys()):
        raise conversion.NotConvertible(
            node.key, f"its input {both[0]!r} is also an answer, which a question does not suggest"
        )
    request: dict[str, Json] = {"message": _message(node, approval.prompt)}
    args: dict[str, Json] = {
        "request": {**request, "details": shown} if shown else request,
        "answer": composition.unmark_field_order(approval.form) or {"type": "object", "additionalProperties": False},
    }
    if approval.timeout_ms is not None:
        args["timeout_ms"] = approval.timeout_ms
    if approval.approvers:
        args["approvers"] = list[Json](approval.approvers)
    return values.work_step(node, "ask_human", args)


def _message(node: definition.Node, text: str) -> str:
    """Return the message, with the name of a detail in brackets where the approval shows its value."""
    written: list[str] = []
    for piece, is_expression in sources.template_pieces(text):
        if is_expression and not (piece.startswith("inputs.") and plan_refs.parse(piece.replace("inputs.", "var:", 1))):
            raise conversion.NotConvertible(
                node.key, f"its prompt computes `{piece}`, and a question's message is fixed"
            )
        written.append(f"[{piece.removeprefix('inputs.')}]" if is_expression else piece)
    return "".join(written)


@mutable
class Checks:
    """Steps that check, the last of which branches to `refusal`, the step that ends the plan."""

    steps: list[Json] = field(default_factory=list[Json])
    refusal: JsonObject | None = None


def input_checks(values: sources.Sources, inputs: tuple[definition.Port, ...]) -> Checks:
    """Return the checks of the inputs of the run against their schemas."""
    typed = {
        port.name: (str(plan_refs.Ref(kind="input", name=port.name)), port.schema) for port in inputs if port.schema
    }
    writer = _CheckWriter(values, None)
    return writer.refuse_unless("inputs", writer.check_schemas(typed))


def checks_before(values: sources.Sources, node: definition.Node) -> Checks:
    """Return the checks before the work of a block: inputs whose source has another schema, and its pre gates."""
    typed: dict[str, tuple[str, JsonObject]] = {}
    for port in node.inputs:
        binding = node.bindings.get(port.name)
        if binding is None or not binding.node:
            continue
        source_schema = _output_schema(values.workflow.nodes[binding.node], binding.port)
        if port.schema and source_schema != port.schema:
            value = values.port(node, port.name)
            if isinstance(value, plan_refs.Ref):
                typed[port.name] = (str(value), port.schema)
    return _GateWriter(values, node, "inputs").write(node.pre_gates, node.pre_composition, typed)


def _output_schema(node: definition.Node, name: str) -> JsonObject:
    return {port.name: port.schema for port in node.outputs}[name]


def checks_after(values: sources.Sources, node: definition.Node) -> Checks:
    """Return the checks after the work of a block: its contract, if its step does not ensure it, and its post gates."""
    schema = contract(node)
    typed = {} if schema is None else {"contract": (str(values.saved(values.step(node))), schema)}
    return _GateWriter(values, node, "outputs").write(node.post_gates, node.post_composition, typed)


def contract(node: definition.Node) -> JsonObject | None:
    """Return the JSON Schema that a block's step must check its value against; None if the step ensures it anyway."""
    if node.mode != "deterministic" or node.handler == "builtin:pass":
        return None
    if node.handler == sources.STEP:
        schema = node.outputs[0].schema
        ensured = node.config["op"] == "verify" and schema == {"type": "object"}
        return schema if schema and not ensured else None
    typed = {
        port.name: port.schema
        for port in node.outputs
        if port.schema and port.schema != _ensured_schema(node, port.name)
    }
    return composition.object_of(typed, {}) if typed else None


def _ensured_schema(node: definition.Node, name: str) -> JsonObject | None:
    """Return the schema that an output of a transform always matches; None if it is not known."""
    templates = node.config.get("template")
    expressions = node.config.get("map")
    if isinstance(templates, Mapping) and name in templates:
        return {"type": "string"}
    text = expressions.get(name) if isinstance(expressions, Mapping) else None
    cel_type = expression.compile(text, {"inputs": {"type": "object"}}).returns if isinstance(text, str) else ""
    return {"type": _SCHEMA_TYPES[cel_type]} if cel_type in _SCHEMA_TYPES else None


class _CheckWriter:
    """Writes the steps of checks, for a block or for the whole plan."""

    def __init__(self, values: sources.Sources, node: definition.Node | None) -> None:
        self._values = values
        self._node = node
        self.steps: list[Json] = []
        self._verdicts: list[Json] = []

    def check_schemas(self, typed: _Schemas) -> list[str]:
        """Add a check of each value against its schema, and return the CEL terms that must be true."""
        return [
            self.verify(f"{name}_type", {"checker_id": "json_schema", "input_ref": ref, "schema": schema})
            for name, (ref, schema) in typed.items()
        ]

    def verify(self, name: str, args: JsonObject) -> str:
        """Add a verify, and return the CEL of its verdict."""
        key = self._values.new_id(self._node, name)
        saved = self._values.saved(key, "ok")
        self.steps.append(sources.step(key, "verify", args, saved.name))
        self._verdicts.append(saved.root)
        return sources.cel(saved)

    def transform(self, name: str, text: str) -> str:
        """Add a transform of a CEL text, and return the ref of its value."""
        key = self._values.new_id(self._node, name)
        saved = self._values.saved(key)
        self.steps.append(sources.step(key, "transform", {"expr": text}, saved.name))
        return str(saved)

    def refuse_unless(self, what: str, terms: list[str], reason: str = "") -> Checks:
        """Return all steps, with a branch that ends the plan as failed unless every term is true."""
        if not terms:
            return Checks(steps=self.steps)
        branch = self._values.new_id(self._node, f"{what}_hold")
        refused = self._values.new_id(self._node, f"{what}_refused")
        cond: JsonObject = {"expr": f"!({' && '.join(terms)})"}
        self.steps.append({"id": branch, "op": "branch", "args": {"cond": cond, "then": refused}})
        args: JsonObject = {"audit_refs": self._verdicts, "status": "failed"}
        refusal: dict[str, Json] = {"id": refused, "op": "emit", "args": args}
        if reason:
            refusal["description"] = reason
        return Checks(steps=self.steps, refusal=refusal)


class _GateWriter:
    """Writes the gates of one side of a block (its inputs or its outputs) as steps."""

    def __init__(self, values: sources.Sources, node: definition.Node, side: sources.Side) -> None:
        self._values = values
        self._node = node
        self._side: sources.Side = side
        self._writer = _CheckWriter(values, node)

    def write(self, gates: tuple[definition.Gate, ...], composed: definition.Composition, typed: _Schemas) -> Checks:
        """Return the steps of the schema checks and of all gates."""
        terms = self._writer.check_schemas(typed)
        gate_terms = [f"({self._term(gate)})" for gate in gates]
        if gate_terms:
            operator = " && " if composed == "all" else " || "
            terms.append(f"({operator.join(gate_terms)})")
        return self._writer.refuse_unless(self._side, terms, "; ".join(gate.error for gate in gates if gate.error))

    def _term(self, gate: definition.Gate) -> str:
        """Return the CEL that must be true for a gate to pass; a gate that has a checker becomes a verify step."""
        params = gate.params
        match gate.type:
            case "expr":
                return self._values.rewrite_cel(self._node, str(params["expression"]))
            case "json_schema":
                args = {"checker_id": "json_schema", "input_ref": self._checked_ref(params), "schema": params["schema"]}
                return self._writer.verify(gate.name, args)
            case "regex":
                args = {"checker_id": "regex", "input_ref": self._checked_ref(params), "pattern": params["pattern"]}
                return self._writer.verify(gate.name, {**args, "negate": params.get("negate", False)})
            case "not_empty":
                return _not_empty(self._cel(params["port"]))
            case "length":
                size = f"size({self._cel(params['port'])})"
                bounds = [
                    f"{size} {sign} {params[end]}" for end, sign in (("min", ">="), ("max", "<=")) if end in params
                ]
                return " && ".join(bounds)
            case "diff":
                sign = "!=" if params.get("mode") == "not_equal" else "=="
                return f"{self._cel(params['left'])} {sign} {self._cel(params['right'])}"
            case _:
                raise conversion.NotConvertible(
                    self._node.key, f"its gate {gate.name!r} is of type {gate.type!r}, for which there is no checker"
                )

    def _port_value(self, name: Json) -> sources.PortValue:
        """Return the value of a port: of the output of that name if there is one, else of the input."""
        is_output = self._side == "outputs" and any(port.name == name for port in self._node.outputs)
        return self._values.port(self._node, str(name), "outputs" if is_output else "inputs")

    def _cel(self, name: Json) -> str:
        return sources.cel(self._port_value(name))

    def _checked_ref(self, params: JsonObject) -> str:
        """Return the ref of what a gate checks: a port, or an object of all ports of this side."""
        if "port" in params:
            value = self._port_value(params["port"])
            if isinstance(value, plan_refs.Ref):
                return str(value)
            text = sources.cel(value)
        elif self._side == "outputs" and self._node.handler != sources.STEP:
            return str(self._values.saved(self._values.step(self._node)))
        else:
            ports = self._node.inputs if self._side == "inputs" else self._node.outputs
            text = self._values.cel_object(self._node, [port.name for port in ports], self._side)
        return self._writer.transform(self._side, text)


def _not_empty(value: str) -> str:
    sized = " && ".join(f"(type({value}) != {kind} || size({value}) > 0)" for kind in ("list", "map"))
    return f"{value} != null && (type({value}) != string || {value}.matches(r'{_NOT_BLANK}')) && {sized}"

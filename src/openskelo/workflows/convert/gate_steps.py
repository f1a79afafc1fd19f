"""The gates of a block, and the types of its outputs, as steps: checks that are kept, and a branch that refuses.

What a branch refuses ends the plan as failed, as a gate that does not hold ends a run of blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from openskelo.frozen import field, mutable
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import composition, expression, refs
from openskelo.workflows.convert import result, sources

#: What is no blank: all that `str.strip` leaves, in RE2.
_NO_BLANK = r"[^\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"

#: What the type of an expression is called in JSON Schema, where the two agree.
_TYPES = {"string": "string", "bool": "boolean", "int": "integer", "list": "array", "map": "object"}
#: What has to keep which schema, by name: the ref of a value, and the schema.
_Typed: TypeAlias = Mapping[str, tuple[str, JsonObject]]


@mutable
class Checks:
    """The steps that look, the last of which refuses; `refusal` is the step that ends the plan then."""

    steps: list[Json] = field(default_factory=list[Json])
    refusal: JsonObject | None = None


def start(known: sources.Sources, inputs: tuple[definition.Port, ...]) -> Checks:
    """What is checked first: the types of what the run brings."""
    typed = {port.name: (str(refs.Ref(kind="input", name=port.name)), port.schema) for port in inputs if port.schema}
    look = _Look(known, None)
    return look.refusing("inputs", look.typed(typed))


def before(known: sources.Sources, node: definition.Node) -> Checks:
    """What is checked before the work of a block: what an edge may bring of another type, and its gates."""
    typed: dict[str, tuple[str, JsonObject]] = {}
    for port in node.inputs:
        binding = node.bindings.get(port.name)
        given = (
            None if binding is None or not binding.node else _given(known.workflow.nodes[binding.node], binding.port)
        )
        if port.schema and given not in (None, port.schema):
            found = known.port(node, port.name)
            typed |= {port.name: (str(found), port.schema)} if isinstance(found, refs.Ref) else {}
    return _Side(known, node, "inputs").checks(node.pre_gates, node.pre_composition, typed)


def _given(node: definition.Node, name: str) -> JsonObject:
    return {port.name: port.schema for port in node.outputs}[name]


def after(known: sources.Sources, node: definition.Node) -> Checks:
    """What is checked after it: its contract, where a step does not hold it by itself, then its gates."""
    schema = contract(node)
    typed = {} if schema is None else {"contract": (str(known.saved(known.step(node))), schema)}
    return _Side(known, node, "outputs").checks(node.post_gates, node.post_composition, typed)


def contract(node: definition.Node) -> JsonObject | None:
    """The JSON Schema of what a block's step saves, if nothing else makes sure of it."""
    if node.mode != "deterministic" or node.handler == "builtin:pass":
        return None
    if node.handler == sources.STEP:
        schema = node.outputs[0].schema
        sure = node.config["op"] == "verify" and schema == {"type": "object"}
        return schema if schema and not sure else None
    typed = {port.name: port.schema for port in node.outputs if port.schema and port.schema != _sure(node, port.name)}
    return composition.composed(typed, {}) if typed else None


def _sure(node: definition.Node, name: str) -> JsonObject | None:
    """The type that an output of a transform has in any case, where it can be told."""
    texts, maps = node.config.get("template"), node.config.get("map")
    if isinstance(texts, Mapping) and name in texts:
        return {"type": "string"}
    text = maps.get(name) if isinstance(maps, Mapping) else None
    found = expression.compile(text, {"inputs": {"type": "object"}}).returns if isinstance(text, str) else ""
    return {"type": _TYPES[found]} if found in _TYPES else None


class _Look:
    """Checks that are steps, for a block or for the whole plan, and what comes of them."""

    def __init__(self, known: sources.Sources, node: definition.Node | None) -> None:
        self._known = known
        self._node = node
        self.steps: list[Json] = []
        self._verdicts: list[Json] = []

    def typed(self, typed: _Typed) -> list[str]:
        """What has to be true for values to keep their schemas, in CEL."""
        return [
            self.verify(f"{name}_type", {"checker_id": "json_schema", "input_ref": ref, "schema": schema})
            for name, (ref, schema) in typed.items()
        ]

    def verify(self, name: str, args: JsonObject) -> str:
        """A check that is kept; what it came to, in CEL."""
        key = self._known.id(self._node, name)
        saved = self._known.saved(key, "ok")
        self.steps.append(sources.step(key, "verify", args, saved.name))
        self._verdicts.append(saved.root)
        return sources.cel(saved)

    def made(self, name: str, text: str) -> str:
        """The ref of a value that an expression makes."""
        key = self._known.id(self._node, name)
        saved = self._known.saved(key)
        self.steps.append(sources.step(key, "transform", {"expr": text}, saved.name))
        return str(saved)

    def refusing(self, what: str, terms: list[str], told: str = "") -> Checks:
        """All steps, and the branch that refuses unless every term is true."""
        if not terms:
            return Checks(steps=self.steps)
        branch, refused = self._known.id(self._node, f"{what}_hold"), self._known.id(self._node, f"{what}_refused")
        cond: JsonObject = {"expr": f"!({' && '.join(terms)})"}
        self.steps.append({"id": branch, "op": "branch", "args": {"cond": cond, "then": refused}})
        args: JsonObject = {"audit_refs": self._verdicts, "status": "failed"}
        refusal: JsonObject = {"id": refused, "op": "emit", "args": args}
        return Checks(steps=self.steps, refusal={**refusal, "description": told} if told else refusal)


class _Side:
    """The checks of one side of a block."""

    def __init__(self, known: sources.Sources, node: definition.Node, side: sources.Side) -> None:
        self._known = known
        self._node = node
        self._side: sources.Side = side
        self._look = _Look(known, node)

    def checks(self, gates: tuple[definition.Gate, ...], composition: definition.Composition, typed: _Typed) -> Checks:
        """The steps of all of them."""
        terms = self._look.typed(typed)
        if held := [f"({self._term(gate)})" for gate in gates]:
            terms.append(f"({(' && ' if composition == 'all' else ' || ').join(held)})")
        return self._look.refusing(self._side, terms, "; ".join(gate.error for gate in gates if gate.error))

    def _term(self, gate: definition.Gate) -> str:
        """What has to be true for a gate, in CEL; a check that is worth keeping becomes a step."""
        params = gate.params
        match gate.type:
            case "expr":
                return self._known.rewritten(self._node, str(params["expression"]))
            case "json_schema":
                args = {"checker_id": "json_schema", "input_ref": self._looked_at(params), "schema": params["schema"]}
                return self._look.verify(gate.name, args)
            case "regex":
                args = {"checker_id": "regex", "input_ref": self._looked_at(params), "pattern": params["pattern"]}
                return self._look.verify(gate.name, {**args, "negate": params.get("negate", False)})
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
                raise result.Stuck(self._node.key, f"its gate {gate.name!r} is of type {gate.type!r}: no checker is")

    def _found(self, name: Json) -> sources.Found:
        """The value of a port: an output where there is one of that name, else an input."""
        after = self._side == "outputs" and any(port.name == name for port in self._node.outputs)
        return self._known.port(self._node, str(name), "outputs" if after else "inputs")

    def _cel(self, name: Json) -> str:
        return sources.cel(self._found(name))

    def _looked_at(self, params: JsonObject) -> str:
        """The ref of what a gate looks at: a port, or all values of this side."""
        if "port" in params:
            found = self._found(params["port"])
            if isinstance(found, refs.Ref):
                return str(found)
            text = sources.cel(found)
        elif self._side == "outputs" and self._node.handler != sources.STEP:
            return str(self._known.saved(self._known.step(self._node)))
        else:
            ports = self._node.inputs if self._side == "inputs" else self._node.outputs
            text = self._known.object(self._node, [port.name for port in ports], self._side)
        return self._look.made(self._side, text)


def _not_empty(value: str) -> str:
    sized = " && ".join(f"(type({value}) != {kind} || size({value}) > 0)" for kind in ("list", "map"))
    return f"{value} != null && (type({value}) != string || {value}.matches(r'{_NO_BLANK}')) && {sized}"

"""A workflow as JSON and back: stable, without defaults, exact. The hash of a workflow is taken over this form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from openskelo import errors
from openskelo.frozen import Field, fields, frozen, replace
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject


def encode(workflow: definition.Workflow) -> JsonObject:
    """The workflow as JSON; whatever has its default is left out, and so is an empty `hash`."""
    if workflow.document is not None:
        return {**workflow.document, "hash": workflow.hash}
    return cast("JsonObject", _WORKFLOW.encode(workflow))


def sealed(workflow: definition.Workflow, digest: Callable[[JsonObject], str]) -> definition.Workflow:
    """The workflow with its hash, as `digest` takes it; it keeps the form that was hashed, which pinning it needs."""
    document = encode(replace(workflow, hash=""))
    return replace(workflow, hash=digest(document), document=document)


def encode_node(node: definition.Node) -> JsonObject:
    """One node as JSON: what makes a cached result that of the same work."""
    return cast("JsonObject", _NODE.encode(node))


def decode_node(document: JsonObject) -> definition.Node:
    """The node that `encode_node` gave as `document`; InvalidInput DEFINITION_INVALID for anything else."""
    return cast("definition.Node", _NODE.decode(document))


def decode(document: JsonObject) -> definition.Workflow:
    """The workflow that `encode` gave as `document`; InvalidInput DEFINITION_INVALID for anything else."""
    return cast("definition.Workflow", _WORKFLOW.decode(document))


def restore(document: JsonObject) -> definition.Workflow:
    """As `decode`, in half the time, for a document that is known to be one that `encode` gave: it is not checked."""
    return cast("definition.Workflow", _built(_WORKFLOW)(document))


@frozen
class _Form:
    """How a value is written and read; `build` reads what is known to be right, and is None where JSON is as good."""

    encode: Callable[[object], Json]
    decode: Callable[[Json], object]
    build: Callable[[Any], object] | None = None


def _built(form: _Form) -> Callable[[Any], object]:
    return form.build or _as_it_is


def _invalid(what: str) -> errors.InvalidInput:
    return errors.InvalidInput(f"not an encoded workflow: {what}", code="DEFINITION_INVALID")


def _as_it_is(value: object) -> Json:
    return cast("Json", value)


def _text(value: Json) -> object:
    if not isinstance(value, str):
        raise _invalid("a text is missing")
    return value


def _whole(value: Json) -> object:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _invalid("a whole number is missing")
    return value


def _number(value: Json) -> object:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _invalid("a number is missing")
    return float(value)


def _flag(value: Json) -> object:
    if not isinstance(value, bool):
        raise _invalid("true or false is missing")
    return value


def _object(value: Json) -> object:
    if not isinstance(value, dict):
        raise _invalid("a map is missing")
    return value


def _plain(decoder: Callable[[Json], object]) -> _Form:
    return _Form(encode=_as_it_is, decode=decoder)


def _choice(*options: str) -> _Form:
    def decoder(value: Json) -> object:
        if value not in options:
            raise _invalid(f"one of {', '.join(options)} is missing")
        return value

    return _plain(decoder)


def _many(form: _Form) -> _Form:
    """A tuple, written as a list."""
    decode = form.decode

    def encoder(value: object) -> Json:
        return [form.encode(part) for part in cast("Sequence[object]", value)]

    def decoder(value: Json) -> object:
        if not isinstance(value, list):
            raise _invalid("a list is missing")
        return tuple([decode(part) for part in value])

    def builder(parts: list[Json]) -> object:
        return tuple(parts) if form.build is None else tuple([form.build(part) for part in parts])

    return _Form(encode=encoder, decode=decoder, build=builder)


def _map(form: _Form) -> _Form:
    """Values by name; their order means nothing."""

    def encoder(value: object) -> Json:
        return {key: form.encode(part) for key, part in cast("Mapping[str, object]", value).items()}

    def decoder(value: Json) -> object:
        if not isinstance(value, dict):
            raise _invalid("a map is missing")
        return {key: form.decode(part) for key, part in value.items()}

    build = _built(form)

    def builder(parts: JsonObject) -> object:
        return {key: build(part) for key, part in parts.items()}

    return _Form(encode=encoder, decode=decoder, build=builder)


def _ordered(form: _Form) -> _Form:
    """Values by name, in their order: a map where canonical JSON, which sorts its names, keeps that; else a list."""
    mapped = _map(form)

    def encoder(value: object) -> Json:
        named = cast("Mapping[str, object]", value)
        if _is_sorted(tuple(named)):
            return mapped.encode(named)
        return [[name, form.encode(part)] for name, part in named.items()]

    def decoder(value: Json) -> object:
        if not isinstance(value, list):
            return mapped.decode(value)
        named: dict[str, object] = {}
        for entry in value:
            match entry:
                case [str() as name, part]:
                    named[name] = form.decode(part)
                case _:
                    raise _invalid("a name with its value is missing")
        if len(named) < len(value) or _is_sorted(tuple(named)):
            raise _invalid("a list of names has to be one")
        return named

    return _Form(encode=encoder, decode=decoder, build=decoder)


def _is_sorted(names: tuple[str, ...]) -> bool:
    return names == tuple(sorted(names))


def _keyed(form: _Form) -> _Form:
    """Nodes under their keys, written as a list: their order is the workflow's, and canonical JSON would sort a map."""
    listed = _many(form)

    def encoder(value: object) -> Json:
        return listed.encode(tuple(cast("Mapping[str, object]", value).values()))

    def decoder(value: Json) -> object:
        return by_key(listed.decode(value))

    def by_key(nodes: object) -> object:
        return {node.key: node for node in cast("tuple[definition.Node, ...]", nodes)}

    return _Form(encode=encoder, decode=decoder, build=lambda value: by_key(_built(listed)(value)))


def _optional(form: _Form) -> _Form:
    """None, or a value; None is the default everywhere, so it is never written."""
    return _Form(
        encode=form.encode, decode=lambda value: None if value is None else form.decode(value), build=form.build
    )


def _record(kind: type, forms: Mapping[str, _Form]) -> _Form:
    """A class: its fields by name, without those at their default."""
    parts = tuple((field.name, _default(field), forms[field.name]) for field in fields(kind) if field.name in forms)
    needed = frozenset(field.name for field in fields(kind) if field.required and field.name != "hash")
    blank = {"hash": ""} if "hash" in forms else {}
    decoders = {name: form.decode for name, form in forms.items()}
    builders = {name: form.build for name, form in forms.items() if form.build is not None}

    def encoder(value: object) -> Json:
        encoded: dict[str, Json] = {}
        for name, default, form in parts:
            part = getattr(value, name)
            if part != default:
                encoded[name] = form.encode(part)
        return encoded

    def decoder(value: Json) -> object:
        if not isinstance(value, dict):
            raise _invalid(f"a {kind.__name__} is missing")
        if not needed <= value.keys():
            raise _invalid(f"a {kind.__name__} lacks a key")
        try:
            found = {name: decoders[name](part) for name, part in value.items()}
        except KeyError:
            raise _invalid(f"a {kind.__name__} has other keys") from None
        return kind(**blank, **found) if "hash" not in found else kind(**found)

    def plain_builder(value: dict[str, Any]) -> object:
        return kind(**value)

    def builder(value: JsonObject) -> object:
        found: dict[str, Any] = {**blank, **value}
        for name in value:
            if name in builders:
                found[name] = builders[name](found[name])
        return kind(**found)

    return _Form(encode=encoder, decode=decoder, build=builder if builders or blank else plain_builder)


def _default(field: Field) -> object:
    return "" if field.name == "hash" else field.default


_STRING, _INT, _BOOL, _JSON = _plain(_text), _plain(_whole), _plain(_flag), _plain(_as_it_is)
_FLOAT = _Form(encode=_as_it_is, decode=_number, build=float)
_TEXTS, _MAYBE_TEXT, _MAYBE_INT, _FREE = _many(_STRING), _optional(_STRING), _optional(_INT), _plain(_object)
_COMPOSITION = _choice("all", "any")

_PORT = _record(
    definition.Port,
    {
        "name": _STRING,
        "schema": _FREE,
        "kind": _choice("json", "file", "artifact"),
        "required": _BOOL,
        "has_default": _BOOL,
        "default": _JSON,
        "description": _STRING,
    },
)
_BINDING = _record(definition.Binding, {"node": _STRING, "port": _STRING, "transform": _MAYBE_TEXT, "origin": _STRING})
_GATE = _record(definition.Gate, {"name": _STRING, "type": _STRING, "params": _FREE, "error": _STRING})
_RETRY = _record(
    definition.Retry,
    {
        "max_attempts": _INT,
        "backoff": _choice("none", "linear", "exponential"),
        "delay_ms": _INT,
        "max_delay_ms": _INT,
        "stall_after": _INT,
    },
)
_BOUNCE = _record(
    definition.Bounce,
    {
        "when_gate": _STRING,
        "route_to": _STRING,
        "max_bounces": _INT,
        "feedback": _BOOL,
        "reset": _TEXTS,
        "told": _TEXTS,
    },
)
_APPROVAL = _record(
    definition.Approval,
    {
        "prompt": _STRING,
        "approvers": _TEXTS,
        "timeout_ms": _MAYBE_INT,
        "on_timeout": _choice("deny", "approve"),
        "form": _FREE,
        "on_deny": _choice("end", "continue", "bounce"),
        "bounce": _optional(_BOUNCE),
    },
)
_FOREACH = _record(definition.Foreach, {"items": _STRING, "name": _STRING, "concurrency": _INT})
_AMOUNT = _record(definition.Amount, {"steps": _INT, "tokens": _INT, "cost_nanousd": _INT, "tool_nanousd": _INT})
_ESTIMATE = _record(definition.Estimate, {"tokens": _INT, "cost_usd": _FLOAT, "duration_sec": _FLOAT})
_LIMITS = _record(
    definition.Limits,
    {
        "max_steps": _MAYBE_INT,
        "max_tokens": _MAYBE_INT,
        "max_wall_ms": _MAYBE_INT,
        "max_cost_nanousd": _MAYBE_INT,
        "max_tool_nanousd": _MAYBE_INT,
    },
)
_ENDING = _choice("ok", "failed", "cancelled", "budget_exceeded", "denied", "escalated")
_OP = _choice("route_expert", "tool_call", "verify", "transform", "branch", "retry", "ask_human", "emit")
_STEP = _record(
    definition.Step,
    {
        "op": _OP,
        "args": _FREE,
        "save_as": _MAYBE_TEXT,
        "next": _MAYBE_TEXT,
        "then": _MAYBE_TEXT,
        "otherwise": _MAYBE_TEXT,
        "target": _MAYBE_TEXT,
        "on_denied": _MAYBE_TEXT,
        "ending": _optional(_ENDING),
        "max_visits": _MAYBE_INT,
    },
)
_PLAN = _record(
    definition.Plan,
    {
        "entry": _STRING,
        "mode": _choice("normal", "degraded", "offline"),
        "variables": _FREE,
        "outputs": _FREE,
        "contexts": _TEXTS,
    },
)
_TURN = _record(
    definition.Turn,
    {"role": _STRING, "provider": _STRING, "capabilities": _FREE, "max_turns": _INT, "stall_after": _INT},
)
_NODE = _record(
    definition.Node,
    {
        "key": _STRING,
        "mode": _choice("ai", "deterministic", "approval", "dag"),
        "label": _STRING,
        "description": _STRING,
        "inputs": _many(_PORT),
        "outputs": _many(_PORT),
        "bindings": _map(_BINDING),
        "after": _TEXTS,
        "when": _MAYBE_TEXT,
        "foreach": _optional(_FOREACH),
        "handler": _MAYBE_TEXT,
        "config": _FREE,
        "pre_gates": _many(_GATE),
        "post_gates": _many(_GATE),
        "pre_composition": _COMPOSITION,
        "post_composition": _COMPOSITION,
        "approval": _optional(_APPROVAL),
        "retry": _RETRY,
        "timeout_ms": _MAYBE_INT,
        "bounces": _many(_BOUNCE),
        "repairs": _INT,
        "effect": _choice("pure", "idempotent", "once"),
        "repeatable": _BOOL,
        "cache": _BOOL,
        "reserve": _AMOUNT,
        "estimate": _optional(_ESTIMATE),
        "metadata": _FREE,
        "step": _optional(_STEP),
        "turn": _optional(_TURN),
        "inside": _STRING,
    },
)
_WORKFLOW = _record(
    definition.Workflow,
    {
        "name": _STRING,
        "hash": _STRING,
        "nodes": _keyed(_NODE),
        "description": _STRING,
        "inputs": _many(_PORT),
        "outputs": _ordered(_BINDING),
        "limits": _LIMITS,
        "parallel": _INT,
        "plan": _optional(_PLAN),
        "live": _BOOL,
    },
)

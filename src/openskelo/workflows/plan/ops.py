"""The eight ops and their arguments in one table: it holds texts to them, gives defaults, and is the published schema.

An argument is of a kind: a `name` or a `plain` value is as written; a `ref` and `refs` point at values; a `value` may
hold refs at any depth; `free` text and schemas are never looked into; a `step` names where the run goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from openskelo.frozen import field, frozen
from openskelo.kernel import definition, fresh
from openskelo.kernel.json import Json, JsonObject

Kind: TypeAlias = Literal["name", "plain", "ref", "refs", "value", "free", "step"]

OPS: tuple[definition.Op, ...] = get_args(definition.Op)
#: What a ref looks like; `values.refs` reads it.
REF_PATTERN = r"^(var|input|ctx|snap):[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+|\[[0-9]{1,9}\])*$"
#: Ops that a retry may try, and that a mode may deny.
RETRIABLE: frozenset[definition.Op] = frozenset({"route_expert", "tool_call", "verify", "transform"})
#: Arguments of checkers and transforms that are as written: no ref is looked for in them.
CONSTANT = frozenset({"schema", "pattern", "argv", "template", "separator"})
#: Ops that have no value to save.
SILENT: frozenset[definition.Op] = frozenset({"branch", "emit"})
#: Ops whose step may run out of time.
TIMED: frozenset[definition.Op] = frozenset({"route_expert", "tool_call", "verify", "transform"})

_TEXT: JsonObject = {"type": "string", "minLength": 1}
_REF: JsonObject = {"type": "string", "pattern": REF_PATTERN}
_STEP: JsonObject = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$"}
_ANY: JsonObject = {}
_MOST_MS = 7 * 86_400_000
_MS: JsonObject = {"type": "integer", "minimum": 0, "maximum": _MOST_MS}


@frozen
class Arg:
    """One argument: what it is, the JSON Schema of what is written, and the value it has when nothing is."""

    kind: Kind
    about: str
    schema: JsonObject = field(default_factory=fresh.a_dict)
    required: bool = False
    default: Json = None


@frozen
class Op:
    """An op: its arguments, of which of each group in `one_of` exactly one is given; an `open` op takes those of the
    function that it names as well."""

    about: str
    args: Mapping[str, Arg]
    one_of: tuple[tuple[str, ...], ...] = ()
    open: bool = False


def _name(about: str, *, required: bool = True) -> Arg:
    return Arg(kind="name", about=about, schema=_TEXT, required=required)


def _step(about: str, *, required: bool = False) -> Arg:
    return Arg(kind="step", about=about, schema=_STEP, required=required)


def _ref(about: str) -> Arg:
    return Arg(kind="ref", about=about, schema=_REF)


def _refs(about: str) -> Arg:
    return Arg(kind="refs", about=about, schema={"type": "array", "items": _REF, "maxItems": 1000})


def _plain(about: str, schema: JsonObject, default: Json = None) -> Arg:
    return Arg(kind="plain", about=about, schema=schema, default=default)


def _free(about: str, schema: JsonObject) -> Arg:
    return Arg(kind="free", about=about, schema=schema)


_ON_DENIED = _step("where the run goes when the mode or a limit denies it; without one the run ends as denied")
_COND: JsonObject = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "properties": {"ok": {"anyOf": [_REF, {"type": "boolean"}]}, "expr": _TEXT},
    "additionalProperties": False,
}
_REQUEST: JsonObject = {
    "type": "object",
    "properties": {"kind": _TEXT, "message": _TEXT, "details": _ANY},
    "required": ["message"],
    "additionalProperties": False,
}

_EXPERT = Op(
    about="asks a registered expert once and saves its answer: text, or JSON under `output_schema`",
    args={
        "expert_id": _name("an expert of skelo.yaml"),
        "prompt_ref": _ref("what is asked"),
        "prompt": _free("what is asked, as written", _TEXT),
        "input": Arg(kind="value", about="structured input, with refs at any depth", schema=_ANY),
        "system": _free("goes in front, after the expert's own words", _TEXT),
        "max_new_tokens": _plain(
            "how long the answer may be; the expert's own limit when absent",
            {"type": "integer", "minimum": 1, "maximum": 10_000_000},
        ),
        "temperature": _plain("", {"type": "number", "minimum": 0, "maximum": 2}),
        "top_p": _plain("", {"type": "number", "minimum": 0, "maximum": 1}),
        "seed": _plain("", {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}),
        "stop": _plain("texts that end an answer", {"type": "array", "items": _TEXT, "maxItems": 16}),
        "output_schema": _free("the JSON Schema of the answer", {"type": "object"}),
        "repairs": _plain(
            "how often an answer that breaks `output_schema` is asked for again (1 with one, else 0)",
            {"type": "integer", "minimum": 0, "maximum": 3},
        ),
        "on_denied": _ON_DENIED,
    },
    one_of=(("prompt_ref", "prompt", "input"),),
)

_TOOL = Op(
    about="calls a registered tool and saves what it gives",
    args={
        "tool_id": _name("a tool of skelo.yaml, or a built-in one"),
        "args": Arg(
            kind="value", about="the tool's arguments, with refs at any depth", schema={"type": "object"}, default={}
        ),
        "on_denied": _ON_DENIED,
    },
)

_VERIFY = Op(
    about='runs a registered checker, whose arguments stand beside, and saves its verdict, `{"ok": true, …}`',
    args={
        "checker_id": _name("a checker of skelo.yaml, or a built-in one"),
        "input_ref": _ref("what is checked; needed by every checker but those without input"),
    },
    open=True,
)

_TRANSFORM = Op(
    about="makes a value of others, without effects: by a registered function, whose arguments stand beside, or by CEL",
    args={
        "fn": _name("a transform of skelo.yaml, or a built-in one", required=False),
        "expr": _free("CEL over `input`, `var`, `ctx` and `snap`", _TEXT),
        "refs": _refs("the values it is made of"),
    },
    one_of=(("fn", "expr"),),
    open=True,
)

_BRANCH = Op(
    about="goes to `then` when its condition holds, else to `else`; the condition is strictly true or false",
    args={
        "cond": Arg(kind="value", about='`{"ok": ref}` or `{"expr": CEL}`', schema=_COND, required=True),
        "then": _step("where the run goes when it holds", required=True),
        "else": _step("and when not; the following step when absent"),
    },
)

_RETRY = Op(
    about="tries a step until it succeeds (and its check holds), and goes on after the retry",
    args={
        "step_id": _step("the step that is tried: route_expert, tool_call, verify or transform", required=True),
        "max_retries": _plain("how many tries there are", {"type": "integer", "minimum": 1, "maximum": 20}, 1),
        "backoff": _plain("how waits grow", {"enum": ["none", "linear", "exponential"]}, "none"),
        "delay_ms": _plain("the first wait; 1000 for waits that grow", _MS),
        "max_delay_ms": _plain("the longest wait", _MS, 60_000),
    },
)

_ASK = Op(
    about="asks a person and waits, durably; the answer is saved",
    args={
        "request": Arg(
            kind="value",
            about="what is asked: `message`, a `kind` for programs, and `details`, with refs at any depth",
            schema=_REQUEST,
            required=True,
        ),
        "answer": _free(
            "the answer's form, as of an approval: names with types, or a JSON Schema; one text `answer` when absent",
            {"type": "object"},
        ),
        "resume": _step("where the run goes on; the following step when absent, and where there is none the run ends"),
        "timeout_ms": _plain(
            "how long it waits; for ever when absent", {"type": "integer", "minimum": 1, "maximum": 366 * 86_400_000}
        ),
        "approvers": _plain("who may answer; anybody when absent", {"type": "array", "items": _TEXT, "minItems": 1}),
    },
)

_EMIT = Op(
    about="ends the run with a result and its evidence; refs that were never set are null",
    args={
        "result_ref": _ref("the result; what the plan's `outputs` name when absent"),
        "audit_refs": _refs("the evidence; likewise"),
        "status": _plain("how the run ends", {"enum": ["ok", "failed", "denied", "escalated"]}, "ok"),
    },
)

TABLE: Mapping[definition.Op, Op] = MappingProxyType(
    {
        "route_expert": _EXPERT,
        "tool_call": _TOOL,
        "verify": _VERIFY,
        "transform": _TRANSFORM,
        "branch": _BRANCH,
        "retry": _RETRY,
        "ask_human": _ASK,
        "emit": _EMIT,
    }
)

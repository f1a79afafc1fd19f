"""The rules that fill in what a file leaves open: ports, inputs, outputs, effects, reserves, warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from openskelo import gates
from openskelo.kernel import workflow_codec
from openskelo.kernel.definition import Amount, Binding, Gate, Port, Retry, Workflow
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from tests.workflows import marking

TEXT: JsonObject = {"type": "string"}


def _load(*blocks: Json, **top: Json) -> Workflow:
    return load.from_document({"name": "w", "blocks": list(blocks), **top})


@pytest.mark.parametrize(
    ("written", "port"),
    [
        ("string", Port(name="x", schema=TEXT)),
        ("integer?", Port(name="x", schema={"type": "integer"}, required=False)),
        ("string[]", Port(name="x", schema={"type": "array", "items": TEXT})),
        ("json", Port(name="x", schema={})),
        ("json[]", Port(name="x", schema={"type": "array"})),
        ("file", Port(name="x", schema=TEXT, kind="file")),
        ({"type": "artifact?"}, Port(name="x", schema=TEXT, kind="artifact", required=False)),
        ({}, Port(name="x", schema={})),
        ({"type": "string", "kind": "file"}, Port(name="x", schema=TEXT, kind="file")),
        ({"type": "string", "required": False}, Port(name="x", schema=TEXT, required=False)),
        (
            {"type": "string", "default": "a", "description": "d"},
            Port(name="x", schema=TEXT, required=False, has_default=True, default="a", description="d"),
        ),
        (
            {"type": "object", "required": ["a"], "properties": {"a": TEXT}},
            Port(name="x", schema={"type": "object", "properties": {"a": TEXT}, "required": ["a"]}),
        ),
        (
            {"type": ["string", "null"], "enum": ["a", None]},
            Port(name="x", schema={"type": ["string", "null"], "enum": ["a", None]}),
        ),
    ],
)
def test_a_port_is_read(written: Json, port: Port) -> None:
    assert _load({"id": "a", "outputs": {"x": written}}).nodes["a"].outputs == (port,)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("strng", "did you mean 'string'?"),
        ("Integer", "did you mean 'integer'?"),
        ("text", "did you mean 'string'?"),
        ("int[]", "did you mean 'integer[]'?"),
        ("file[]", "lists of files are not supported; use string[]"),
        (
            "zzz",
            "types: string, number, integer, boolean, object, array, null, json, file, artifact, each also with []",
        ),
    ],
)
def test_a_type_that_is_not_known_has_a_hint(written: str, hint: str) -> None:
    _, found = load.check_document({"name": "w", "blocks": [{"id": "a", "inputs": {"x": written}}]})
    assert [(one.code, one.path, one.hint) for one in found] == [("TYPE_UNKNOWN", "/blocks/0/inputs/x", hint)]


@pytest.mark.parametrize(
    ("handler", "config", "effect"),
    [
        ("builtin:transform", {"map": {}}, "pure"),
        ("builtin:read-file", {"path": "a"}, "pure"),
        ("builtin:write-file", {"content_from": "c", "default_path_template": "a"}, "idempotent"),
        ("builtin:http-request", {"url": "http://a.example"}, "idempotent"),
        ("builtin:http-request", {"url": "http://a.example", "method": "HEAD"}, "idempotent"),
        ("builtin:http-request", {"url": "http://a.example", "method": "POST"}, "once"),
        ("builtin:http-request", {"url": "http://a.example", "method": "POST", "idempotency_key": True}, "idempotent"),
        ("local:f", {}, "idempotent"),
    ],
)
def test_a_handler_has_the_effect_that_is_safe_to_assume(handler: str, config: JsonObject, effect: str) -> None:
    block: dict[str, Json] = {"id": "a", "mode": "deterministic", "inputs": {"c": "string"}}
    node = _load({**block, "deterministic": {"handler": handler, "config": config}}).nodes["a"]
    assert node.effect == effect
    own = _load({**block, "effect": "pure", "deterministic": {"handler": handler, "config": config}}).nodes["a"]
    assert own.effect == "pure"


def test_models_are_pure_and_people_idempotent() -> None:
    nodes = _load({"id": "a"}, {"id": "b", "mode": "approval", "prompt": "ok?"}).nodes
    assert {key: node.effect for key, node in nodes.items()} == {"a": "pure", "b": "idempotent"}


def test_what_nothing_feeds_becomes_an_input_of_its_name() -> None:
    workflow = _load(
        {"id": "a", "inputs": {"x": "string", "maybe": "string?", "preset": {"type": "string", "default": "p"}}},
        {
            "id": "b",
            "inputs": {"x": {"type": "string", "maxLength": 5}, "y": {"type": "number", "from": "inputs.size"}},
        },
    )
    both: JsonObject = {"allOf": [TEXT, {"type": "string", "maxLength": 5}]}
    assert workflow.inputs == (Port(name="size", schema={"type": "number"}), Port(name="x", schema=both))
    assert workflow.nodes["a"].bindings == {"x": Binding(port="x")}
    assert workflow.nodes["b"].bindings == {"x": Binding(port="x"), "y": Binding(port="size")}


def test_one_input_serves_many_ports_while_they_agree() -> None:
    def ask(n: int, own: JsonObject) -> JsonObject:
        return {"id": f"b{n}", "inputs": {"x": own}}

    bounds: list[JsonObject] = [{"type": "string", "maxLength": n} for n in range(1, 4)]
    workflow = _load(*(ask(n, bounds[n % 3]) for n in range(300)))
    assert workflow.inputs == (Port(name="x", schema={"allOf": bounds}),)
    other = load.check_document(
        {"name": "w", "blocks": [*(ask(n, bounds[n]) for n in range(3)), ask(9, {"type": "null"})]}
    )
    assert [one.code for one in other[1]] == ["INPUT_CONFLICT"]
    many = [ask(n, {"type": "string", "maxLength": n}) for n in range(3000)]
    codes = {one.code for one in load.check_document({"name": "w", "blocks": many})[1]}
    assert codes == {"INPUT_CONFLICT", "TOO_MANY_PROBLEMS"}


def test_a_schema_as_deep_as_json_may_be_is_a_problem_and_no_crash() -> None:
    for depth in range(40, 64):
        deep: JsonObject = {"type": "string"}
        for _ in range(depth // 2):
            deep = {"properties": {"a": deep}}
        blocks: list[Json] = [{"id": "a", "foreach": {"items": "[1]"}, "outputs": {"x": deep}}]
        workflow, found = load.check_document({"name": "w", "blocks": blocks})
        assert (workflow is None) == bool(found)


def test_an_input_that_only_optional_ports_use_is_optional() -> None:
    workflow = _load({"id": "a", "inputs": {"x": {"type": "string", "default": "d", "from": "inputs.x"}}})
    assert workflow.inputs == (Port(name="x", schema=TEXT, required=False),)


def test_a_transformed_input_may_be_anything() -> None:
    workflow = _load({"id": "a", "inputs": {"n": {"type": "integer", "from": "inputs.x", "transform": "size(value)"}}})
    assert workflow.inputs == (Port(name="x", schema={}),)


def test_the_item_of_a_foreach_is_no_input() -> None:
    workflow = _load({"id": "a", "inputs": {"n": "integer"}, "foreach": {"items": "[1]", "as": "n"}})
    assert workflow.inputs == ()
    assert workflow.nodes["a"].bindings == {}


def test_the_outputs_are_those_of_the_last_blocks() -> None:
    workflow = _load(
        {"id": "a", "outputs": {"x": "string"}},
        {"id": "b", "after": ["a"], "outputs": {"x": "string", "y": "string"}},
        {"id": "c", "after": "a", "outputs": {"x": "string"}},
    )
    assert workflow.outputs == {
        "b_x": Binding(node="b", port="x"),
        "y": Binding(node="b", port="y"),
        "c_x": Binding(node="c", port="x"),
    }


def test_a_form_of_ports_becomes_a_schema_and_outputs() -> None:
    node = _load(
        {
            "id": "a",
            "mode": "approval",
            "inputs": {"text": "string?"},
            "approval": {"prompt": "ok?", "form": {"stars": {"type": "integer", "default": 3, "description": "of 5"}}},
            "outputs": {"text": "string?", "stars": "number", "by": "string"},
        }
    ).nodes["a"]
    assert node.approval is not None
    assert node.approval.form == {
        "type": "object",
        "properties": {"stars": {"type": "integer", "description": "of 5", "default": 3}},
        "additionalProperties": False,
    }
    assert [port.name for port in node.outputs] == ["text", "stars", "by"]


@pytest.mark.parametrize(
    ("written", "timeout_ms"), [({}, None), ({"timeout_ms": None}, None), ({"timeout_sec": 5}, 5_000)]
)
def test_an_approval_waits_for_ever_unless_its_author_writes_a_limit(written: Any, timeout_ms: int | None) -> None:
    node = _load({"id": "a", "mode": "approval", "approval": {"prompt": "ok?", **written}}).nodes["a"]
    assert node.approval is not None
    assert node.approval.timeout_ms == timeout_ms


def test_an_old_run_keeps_the_limit_that_it_has_pinned() -> None:
    pinned = {"key": "a", "mode": "approval", "approval": {"prompt": "ok?"}}
    approval = workflow_codec.decode_node(cast("Any", pinned)).approval
    assert approval is not None
    assert approval.timeout_ms == 1_800_000


@pytest.mark.parametrize(
    ("written", "gate"),
    [
        ({"type": "not_empty", "port": "t"}, Gate(name="not_empty", type="not_empty", params={"port": "t"})),
        (
            {"name": "m", "type": "length", "port": "t", "min": 3, "error": "short"},
            Gate(name="m", type="length", params={"port": "t", "min": 3}, error="short"),
        ),
        (
            {"name": "k", "type": "json_schema", "port": "t", "schema": TEXT},
            Gate(name="k", type="json_schema", params={"schema": TEXT, "port": "t"}),
        ),
        ({"type": "expr", "expression": "true"}, Gate(name="expr", type="expr", params={"expression": "true"})),
        (
            {"type": "llm_review", "port": "t", "criteria": ["kind"], "threshold": 0.5},
            Gate(name="llm_review", type="llm_review", params={"port": "t", "criteria": ["kind"], "threshold": 0.5}),
        ),
        ({"type": "cost", "max_usd": 0.1}, Gate(name="cost", type="cost", params={"max_usd": 0.1})),
        (
            {"type": "diff", "left": "t", "right": "u", "mode": "not_equal"},
            Gate(name="diff", type="diff", params={"left": "t", "right": "u", "mode": "not_equal"}),
        ),
        (
            {"type": "http", "url": "http://a.example", "expect_status": 204},
            Gate(name="http", type="http", params={"url": "http://a.example", "expect_status": 204}),
        ),
    ],
)
def test_a_gate_is_read(written: Json, gate: Gate) -> None:
    node = _load({"id": "a", "outputs": {"t": "string", "u": "string"}, "post_gates": [written]}).nodes["a"]
    assert node.post_gates == (gate,)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("regexp", "did you mean 'regex'?"),
        ("not-empty", "did you mean 'not_empty'?"),
        ("shell", f"types: {', '.join(gates.GATES)}"),
    ],
)
def test_a_gate_type_that_is_not_known_has_a_hint(written: str, hint: str) -> None:
    block: Json = {"id": "a", "outputs": {"t": "string"}, "post_gates": [{"type": written, "port": "t"}]}
    _, found = load.check_document({"name": "w", "blocks": [block]})
    assert [(one.code, one.path, one.hint) for one in found] == [("GATE_UNKNOWN", "/blocks/0/post_gates/0/type", hint)]


def test_defaults_hold_where_a_block_says_nothing() -> None:
    defaults: Json = {"retry": {"max_attempts": 3, "delay_ms": 5}, "timeout_ms": 7, "concurrency": 2, "stall_after": 0}
    ask: Json = {"id": "b", "mode": "approval", "prompt": "ok?"}
    workflow = _load({"id": "a", "retry": {"backoff": "linear"}}, ask, {"id": "c", "timeout_ms": 9}, defaults=defaults)
    found = {key: (node.retry, node.timeout_ms) for key, node in workflow.nodes.items()}
    assert found == {
        "a": (Retry(max_attempts=3, backoff="linear", delay_ms=5, stall_after=0), 7),
        "b": (Retry(), None),
        "c": (Retry(max_attempts=3, delay_ms=5, stall_after=0), 9),
    }
    assert workflow.parallel == 2


def test_money_and_tokens_are_set_aside_before() -> None:
    nodes = _load(
        {"id": "a", "estimate": {"tokens": 5, "cost_usd": 0.000000001}},
        {"id": "b", "max_tokens": 9},
    ).nodes
    assert nodes["a"].reserve == Amount(tokens=5, cost_nanousd=1)
    assert nodes["b"].reserve == Amount(tokens=9)


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ("INPUT_UNUSED", "inputs: {x: ‸string}\nblocks: [{id: a}]\n"),
        ("SCHEMA_UNCHECKED", "blocks: [{id: a, inputs: {x: {type: string, format: ‸emial}}}]\n"),
        (
            "SCHEMA_UNCHECKED",
            "blocks: [{id: a, outputs: {x: {type: array, items: {anyOf: [{type: string, minLenght: ‸3}]}}}}]\n",
        ),
        (
            "SCHEMA_UNCHECKED",
            "blocks: [{id: a, post_gates: [{type: json_schema, schema: {properties: {a: {nullable: ‸true}}}}]}]\n",
        ),
        (
            "SCHEMA_UNCHECKED",
            "blocks: [{id: a, mode: approval, prompt: b, approval: {form: {type: object, requried: ‸[a]}}}]\n",
        ),
        ("PORT_UNFED", "blocks: [{id: a, inputs: {x: ‸string?, y: {type: string, default: z}}}]\n"),
        ("INPUT_UNDECLARED", "inputs: {}\nblocks: [{id: a, inputs: {x: ‸string}}]\n"),
        (
            "MAY_BE_MISSING",
            "blocks: [{id: a, outputs: {x: string?}}, {id: b, inputs: {x: {type: string, from: ‸a.x}}}]\n",
        ),
        (
            "DEFAULT_UNUSED",
            "blocks: [{id: a, when: 1 == 2, outputs: {x: string}}, "
            "{id: b, inputs: {x: ‸{type: string, default: n, from: a.x}, y: {type: string, default: n}}}]\n",
        ),
        (
            "DEFAULT_UNUSED",
            "blocks: [{id: a, approval: {prompt: ok?, on_deny: continue}, outputs: {x: string}}, "
            "{id: b, inputs: {x: {type: string, from: a.x}}, outputs: {x: string}}, "
            "{id: c, inputs: {x: ‸{type: string, default: n, from: b.x}}}]\n",
        ),
        (
            "UNKNOWN_PORT",
            "blocks: [{id: a, mode: deterministic, inputs: {c: string}, deterministic: {handler: builtin:write-file, "
            "config: {content_from: c, path_from: ‸nowhere, default_path_template: a.md}}}]\n",
        ),
    ],
)
def test_an_oversight_is_a_warning_and_no_error(codes: str, text: str, tmp_path: Path) -> None:
    clean, wanted = marking.expected(codes, text)
    found = marking.check(clean, tmp_path)
    assert marking.warnings(found) == wanted
    assert marking.errors(found) == []
    assert load.load(tmp_path / "flow.yaml").name == "flow"


MAYBE = "{id: a, when: 1 == 2, outputs: {x: string, z: string?}}, {id: o, outputs: {x: string}}"


@pytest.mark.parametrize(
    "joined",
    [
        "{id: b, after: [o], inputs: {x: {type: string, default: n, from: a.x}}}",
        "{id: b, inputs: {x: {type: string, default: n, from: a.x}, y: {type: string, from: o.x}}}",
        "{id: p, when: 1 == 1, outputs: {x: string}}, "
        "{id: b, inputs: {x: {type: string, default: n, from: a.x}, y: {type: string, default: n, from: p.x}}}",
        "{id: b, inputs: {z: {type: string, default: n, from: a.z}}}",
        "{id: b, inputs: {x: {type: string, default: n, from: o.x}}}",
        "{id: b, inputs: {x: {type: string, required: false, from: a.x}}}",
    ],
    ids=["waits", "needs another", "joins two", "may be missing", "always there", "no default"],
)
def test_a_default_that_may_count_is_no_oversight(joined: str, tmp_path: Path) -> None:
    assert marking.check(f"blocks: [{MAYBE}, {joined}]\n", tmp_path) == ()


def test_a_default_in_a_file_that_is_used_is_for_others(tmp_path: Path) -> None:
    inner = (
        "name: i\ninputs: {x: {type: string, default: n}}\n"
        "blocks: [{id: c, inputs: {x: {from: inputs.x, type: string}}}]\n"
    )
    (tmp_path / "inner.yaml").write_text(inner)
    text = f"blocks: [{MAYBE}, {{id: b, uses: ./inner.yaml, inputs: {{x: {{from: a.x}}}}}}]\n"
    assert marking.check(text, tmp_path) == ()


def test_a_once_block_may_be_repeated_where_it_says_so_or_has_not_run(tmp_path: Path) -> None:
    way = (
        "post_gates: [{type: not_empty, port: t}], on_gate_fail: [{when_gate: not_empty, route_to: a, max_bounces: 1}]"
    )
    text = (
        "blocks:\n  - {id: a}\n  - {id: pay, after: [a], effect: once, repeatable: true}\n"
        f"  - {{id: b, after: [pay], outputs: {{t: string}}, {way}}}\n  - {{id: later, after: [b], effect: once}}\n"
    )
    assert marking.check(text, tmp_path) == ()


def test_a_thousand_ways_back_are_refused_before_they_fill_memory(tmp_path: Path) -> None:
    lines = ["blocks:"]
    for n in range(3000):
        after = f"after: [b{n - 1}], " if n else ""
        gate = "post_gates: [{type: not_empty, port: t}], on_gate_fail: "
        way = "[{when_gate: not_empty, route_to: b0, max_bounces: 1}]"
        lines.append(f"  - {{id: b{n}, {after}outputs: {{t: string}}, {gate}{way}}}")
    assert [one.code for one in marking.check("\n".join(lines), tmp_path)] == ["TOO_MANY_ROUTES"]


def test_expressions_may_do_what_their_values_allow(tmp_path: Path) -> None:
    good = (
        "has(inputs.note) && inputs.note != ''",
        "inputs.note.size() > 1",
        "has(inputs.n) && inputs.n > 0.5",
        "inputs.t != null && inputs.t != ''",
        "inputs.n == inputs.x",
        "run.name == inputs.t && size(run.inputs) == 1 && has(run.inputs.n)",
        "'inputs.nope' != inputs.t // and not inputs.nope",
    )
    for text in good:
        flow = (
            "blocks:\n  - id: a\n    inputs:\n      {n: integer, t: {type: string, default: x}, "
            "note: {type: string?, from: inputs.note}, x: json}\n"
            f"    when: |\n      {text}\n"
        )
        assert marking.check(flow, tmp_path) == (), text


def test_the_item_of_a_foreach_is_an_input_where_the_work_is_and_not_before(tmp_path: Path) -> None:
    flow = (
        "blocks:\n  - id: a\n    mode: deterministic\n    inputs: {all: 'integer[]', item: integer}\n"
        "    outputs: {y: integer}\n    foreach: {items: inputs.all}\n    when: size(inputs.all) > PLACE\n"
        "    deterministic: {handler: builtin:transform, config: {map: {y: inputs.item + item}}}\n"
        "    post_gates: [{type: expr, expression: outputs.y > inputs.item}]\n"
    )
    assert marking.check(flow.replace("PLACE", "0"), tmp_path) == ()
    clean, wanted = marking.expected("UNKNOWN_PORT", flow.replace("PLACE", "inputs.‸item"))
    assert marking.errors(marking.check(clean, tmp_path)) == wanted

"""Each mistake in ports, edges, gates, routes and approvals is a Problem with its code, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows import marking

_A = "{id: a, outputs: {text: string, n: integer, tags: 'string[]', path: file}}"

PORTS = {
    "a type that is not known": ("TYPE_UNKNOWN", "blocks: [{id: a, inputs: {x: ‸strng}}]\n"),
    "a type that is not known in a map": ("TYPE_UNKNOWN", "blocks: [{id: a, inputs: {x: {type: ‸text}}}]\n"),
    "a port that is a number": ("TYPE", "blocks: [{id: a, inputs: {x: ‸5}}]\n"),
    "a port name with a dot": ("NAME_INVALID", "blocks: [{id: a, inputs: {‸x.y: string}}]\n"),
    "a port key that is not known": ("UNKNOWN_KEY", "blocks: [{id: a, inputs: {x: {type: string, ‸defualt: a}}}]\n"),
    "a schema that is none": ("SCHEMA_INVALID", "blocks: [{id: a, inputs: {x: ‸{type: string, minLength: a}}}]\n"),
    "a default that does not fit": ("DEFAULT_INVALID", "blocks: [{id: a, inputs: {x: {type: string, default: ‸5}}}]\n"),
    "a link on an output": ("UNKNOWN_KEY", "blocks: [{id: a, outputs: {x: {type: string, ‸from: b.c}}}]\n"),
    "a transform without a link": (
        "MISSING_KEY",
        "blocks: [{id: a, inputs: {x: {type: string, ‸transform: value}}}]\n",
    ),
    "a list of files": ("TYPE_UNKNOWN", "blocks: [{id: a, inputs: {x: ‸'file[]'}}]\n"),
    "a default where the schema is none": (
        "SCHEMA_INVALID",
        "blocks: [{id: a, inputs: {x: ‸{type: string, minLength: a, default: b}}}]\n",
    ),
    "a schema of an older draft": (
        "SCHEMA_INVALID",
        "blocks: [{id: a, outputs: {x: ‸{$schema: 'http://json-schema.org/draft-07/schema#', items: {}}}}]\n",
    ),
    "ports that are too long together": (
        "SCHEMA_INVALID",
        f"blocks: [{{id: a, outputs: ‸{{x: {{enum: [{'a' * 150_000}]}}, y: {{enum: [{'b' * 150_000}]}}}}}}]\n",
    ),
    "a form that is too long with its defaults": (
        "SCHEMA_INVALID",
        "blocks: [{id: a, mode: approval, approval: {prompt: ok?, form: ‸{x: {type: string, default: "
        f"{'d' * 300_000}}}}}}}}}]\n",
    ),
    "ports in a list": ("TYPE", "blocks: [{id: a, inputs: ‸[x, y]}]\n"),
    "a required that is a text": ("TYPE", "blocks: [{id: a, inputs: {x: {type: string, required: ‸no}}}]\n"),
}
EDGES = {
    "a link to nowhere": ("REFERENCE_INVALID", "blocks: [{id: b, inputs: {x: {from: ‸a}}}]\n"),
    "a link from a block that is not there": (
        "UNKNOWN_BLOCK",
        f"blocks: [{_A}, {{id: b, inputs: {{x: {{from: ‸aa.text}}}}}}]\n",
    ),
    "a link from a port that is not there": (
        "UNKNOWN_PORT",
        f"blocks: [{_A}, {{id: b, inputs: {{x: {{from: ‸a.txt}}}}}}]\n",
    ),
    "a link of another type": (
        "TYPE_MISMATCH",
        f"blocks: [{_A}, {{id: b, inputs: {{x: {{type: integer, from: ‸a.text}}}}}}]\n",
    ),
    "a file where an artifact is wanted": (
        "TYPE_MISMATCH",
        f"blocks: [{_A}, {{id: b, inputs: {{x: {{type: artifact, from: ‸a.path}}}}}}]\n",
    ),
    "a list's elements of another type": (
        "TYPE_MISMATCH",
        f"blocks: [{_A}, {{id: b, inputs: {{x: {{type: 'integer[]', from: ‸a.tags}}}}}}]\n",
    ),
    "a transform of another type": (
        "TYPE_MISMATCH",
        f"blocks: [{_A}, {{id: b, inputs: {{x: {{type: string, from: a.text, transform: ‸size(value)}}}}}}]\n",
    ),
    "a transform that is not CEL": (
        "EXPR_INVALID",
        f"blocks: [{_A}, {{id: b, inputs: {{x: {{from: a.text, transform: value ‸!}}}}}}]\n",
    ),
    "a transform that looks at inputs": (
        "EXPR_INVALID",
        f"blocks: [{_A}, {{id: b, inputs: {{x: {{from: a.text, transform: inputs‸.x}}}}}}]\n",
    ),
    "a foreach's results taken for one": (
        "TYPE_MISMATCH",
        'blocks: [{id: a, foreach: {items: "[1]"}, outputs: {y: string}}, '
        "{id: b, inputs: {x: {type: string, from: ‸a.y}}}]\n",
    ),
    "an item that has a source already": (
        "CONFLICT",
        f'blocks: [{_A}, {{id: b, foreach: {{items: "[1]"}}, inputs: {{item: {{from: ‸a.text}}}}}}]\n',
    ),
    "two edges into one port": (
        "TWO_EDGES",
        f"blocks:\n  - {_A}\n  - {{id: b, inputs: {{x: {{type: string, from: a.text}}}}}}\n"
        "edges:\n  - ‸{from: a, output: text, to: b, input: x}\n",
    ),
    "an edge to a block that is not there": (
        "UNKNOWN_BLOCK",
        f"blocks:\n  - {_A}\nedges:\n  - {{from: a, output: text, to: ‸bb, input: x}}\n",
    ),
    "an edge to a port that is not there": (
        "UNKNOWN_PORT",
        f"blocks:\n  - {_A}\n  - {{id: b, inputs: {{x: string?}}}}\n"
        "edges:\n  - {from: a, output: text, to: b, input: ‸y}\n",
    ),
    "an edge without its input": (
        "MISSING_KEY",
        f"blocks:\n  - {_A}\n  - {{id: b, inputs: {{x: string?}}}}\nedges:\n  - ‸{{from: a.text, to: b}}\n",
    ),
    "an edge with a key too many": (
        "UNKNOWN_KEY",
        f"blocks:\n  - {_A}\n  - {{id: b, inputs: {{x: string}}}}\nedges:\n  - {{from: a.text, to: b.x, ‸label: hi}}\n",
    ),
    "an edge that names its port twice": (
        "CONFLICT",
        f"blocks:\n  - {_A}\n  - {{id: b, inputs: {{x: string?}}}}\n"
        "edges:\n  - {from: a.text, ‸output: n, to: b.x}\n",
    ),
    "a link on an input of the workflow": (
        "UNKNOWN_KEY",
        "inputs: {x: {type: string, ‸from: a.b}}\nblocks: [{id: a, inputs: {x: string}}]\n",
    ),
    "an input whose name is none": ("NAME_INVALID", "blocks: [{id: a, inputs: {x: {from: ‸inputs.a b}}}]\n"),
    "an output whose name is none": ("NAME_INVALID", "outputs: {‸a b: a.x}\nblocks: [{id: a, outputs: {x: string}}]\n"),
    "a block that waits for itself": (
        "CYCLE",
        "blocks:\n  - ‸{id: a, inputs: {x: {type: string, from: a.y}}, outputs: {y: string}}\n",
    ),
    "blocks that wait for each other": (
        "CYCLE",
        "blocks:\n  - {id: z, outputs: {q: string}}\n  - ‸{id: a, after: [c]}\n  - {id: b, after: [a]}\n"
        "  - {id: c, after: [b, z]}\n",
    ),
    "an input that is not declared": (
        "UNKNOWN_INPUT",
        "inputs: {topic: string}\nblocks: [{id: a, inputs: {x: {type: string, from: ‸inputs.topik}, "
        "y: {type: string, from: inputs.topic}}}]\n",
    ),
    "an input of another type": (
        "TYPE_MISMATCH",
        "inputs: {x: integer}\nblocks: [{id: a, inputs: {x: ‸string}}]\n",
    ),
    "two ports that want different inputs": (
        "INPUT_CONFLICT",
        "blocks: [{id: a, inputs: {x: string}}, {id: b, inputs: {x: ‸integer}}]\n",
    ),
    "an output of a block that is not there": ("UNKNOWN_BLOCK", "outputs: {r: ‸b.text}\nblocks: [{id: a}]\n"),
    "an output without source": ("MISSING_KEY", "outputs: {r: ‸{description: x}}\nblocks: [{id: a}]\n"),
    "an output of an input that is not there": ("UNKNOWN_INPUT", "outputs: {r: ‸inputs.x}\nblocks: [{id: a}]\n"),
}
GATES = {
    "a gate without type": ("MISSING_KEY", "blocks: [{id: a, post_gates: [‸{name: x}]}]\n"),
    "a gate type that is not known": ("GATE_UNKNOWN", "blocks: [{id: a, post_gates: [{type: ‸regexp}]}]\n"),
    "a gate on a port that is not there": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, outputs: {text: string}, post_gates: [{type: not_empty, port: ‸txt}]}]\n",
    ),
    "a gate before the work that looks at outputs": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, outputs: {text: string}, pre_gates: [{type: not_empty, port: ‸text}]}]\n",
    ),
    "a gate before the work whose expression looks at outputs": (
        "EXPR_INVALID",
        "blocks: [{id: a, outputs: {text: string}, pre_gates: [{type: expr, expression: outputs‸.text == ''}]}]\n",
    ),
    "a gate parameter that is not known": (
        "UNKNOWN_KEY",
        "blocks: [{id: a, outputs: {t: string}, post_gates: [{type: length, port: t, min: 1, ‸maxx: 2}]}]\n",
    ),
    "a length without bounds": (
        "MISSING_KEY",
        "blocks: [{id: a, outputs: {t: string}, post_gates: [‸{type: length, port: t}]}]\n",
    ),
    "bounds the wrong way round": (
        "RANGE",
        "blocks: [{id: a, outputs: {t: string}, post_gates: [‸{type: word_count, port: t, min: 5, max: 2}]}]\n",
    ),
    "a pattern that is none": (
        "REGEX_INVALID",
        "blocks: [{id: a, outputs: {t: string}, post_gates: [{type: regex, port: t, pattern: ‸'(a'}]}]\n",
    ),
    "an expression that gives no truth": (
        "EXPR_TYPE",
        "blocks: [{id: a, outputs: {t: string}, post_gates: [{type: expr, expression: ‸size(outputs.t)}]}]\n",
    ),
    "a schema that is none": (
        "SCHEMA_INVALID",
        "blocks: [{id: a, post_gates: [{type: json_schema, schema: ‸{type: 5}}]}]\n",
    ),
    "two gates of one name": (
        "DUPLICATE_GATE",
        "blocks: [{id: a, outputs: {t: string, u: string}, post_gates: "
        "[{type: not_empty, port: t}, ‸{type: not_empty, port: u}]}]\n",
    ),
    "a gate before and one after of one name": (
        "DUPLICATE_GATE",
        "blocks: [{id: a, inputs: {t: string}, pre_gates: [{type: not_empty, port: t}], "
        "post_gates: [‸{type: not_empty, port: t}]}]\n",
    ),
    "a command where commands are not allowed": (
        "COMMANDS_NOT_ALLOWED",
        'blocks: [{id: a, post_gates: [{type: command, ‸argv: ["true"]}]}]\n',
    ),
    "a command that is one text": (
        "COMMANDS_NOT_ALLOWED TYPE",
        "blocks: [{id: a, post_gates: [{type: command, ‸argv: ‸make all}]}]\n",
    ),
    "a command without a name": (
        "COMMANDS_NOT_ALLOWED EMPTY",
        "blocks: [{id: a, post_gates: [{type: command, ‸argv: [‸'', x]}]}]\n",
    ),
    "an argument that no program can be given": (
        "COMMANDS_NOT_ALLOWED TEXT_INVALID",
        'blocks: [{id: a, post_gates: [{type: command, ‸argv: [echo, ‸"a\\0b"]}]}]\n',
    ),
    "a command of nothing": (
        "COMMANDS_NOT_ALLOWED EMPTY",
        "blocks: [{id: a, post_gates: [{type: command, ‸argv: ‸[]}]}]\n",
    ),
    "a negation that is a text": (
        "TYPE",
        "blocks: [{id: a, outputs: {t: string}, post_gates: [{type: regex, port: t, pattern: a, negate: ‸no}]}]\n",
    ),
    "a method that is not known": (
        "CHOICE",
        "blocks: [{id: a, post_gates: [{type: http, url: 'http://a.example', method: ‸get}]}]\n",
    ),
    "a difference of a strange kind": (
        "CHOICE",
        "blocks: [{id: a, outputs: {t: string}, post_gates: [{type: diff, left: t, right: t, mode: ‸same}]}]\n",
    ),
    "a review without criteria": (
        "EMPTY",
        "blocks: [{id: a, outputs: {t: string}, post_gates: [{type: llm_review, port: t, criteria: ‸[]}]}]\n",
    ),
    "a measure before the work": ("GATE_TOO_EARLY", "blocks: [{id: a, pre_gates: [{type: ‸latency, max_ms: 5}]}]\n"),
    "an address that is none": ("URL_INVALID", "blocks: [{id: a, post_gates: [{type: http, url: ‸ftp://x}]}]\n"),
    "a composition that is not known": ("CHOICE", "blocks: [{id: a, gate_composition: {post: ‸some}}]\n"),
    "gates in a map": ("TYPE", "blocks: [{id: a, post_gates: ‸{type: not_empty}}]\n"),
}
_G = "post_gates: [{type: not_empty, port: t}]"
ROUTES = {
    "a gate of another block": (
        "UNKNOWN_GATE",
        "blocks:\n  - {id: a, outputs: {t: string}, " + _G + "}\n"
        "  - {id: b, after: [a], on_gate_fail: [{when_gate: ‸not_empty, route_to: a, max_bounces: 1}]}\n",
    ),
    "a way back that leads forward": (
        "ROUTE_FORWARD",
        "blocks:\n  - {id: a, outputs: {t: string}, " + _G + ", on_gate_fail: "
        "[{when_gate: not_empty, route_to: ‸b, max_bounces: 1}]}\n  - {id: b, after: [a]}\n",
    ),
    "a way back to nowhere": (
        "UNKNOWN_BLOCK",
        "blocks:\n  - {id: a, outputs: {t: string}, " + _G + ", on_gate_fail: "
        "[{when_gate: not_empty, route_to: ‸aa, max_bounces: 1}]}\n",
    ),
    "a way back without bound": (
        "MISSING_KEY",
        "blocks:\n  - {id: a, outputs: {t: string}, "
        + _G
        + ", on_gate_fail: [‸{when_gate: not_empty, route_to: a}]}\n",
    ),
    "a bound that is too large": (
        "RANGE",
        "blocks:\n  - {id: a, outputs: {t: string}, " + _G + ", on_gate_fail: "
        "[{when_gate: not_empty, route_to: a, max_bounces: ‸21}]}\n",
    ),
    "a key of a way back that is not known": (
        "UNKNOWN_KEY",
        "blocks:\n  - {id: a, outputs: {t: string}, " + _G + ", on_gate_fail: "
        "[{when_gate: not_empty, route_to: a, max_bounces: 1, ‸reset_blocks: [a]}]}\n",
    ),
    "a way back over an effect that happens once": (
        "BOUNCE_OVER_ONCE",
        "blocks:\n  - {id: a}\n  - {id: pay, after: [a], effect: once}\n"
        "  - {id: b, after: [pay], outputs: {t: string}, " + _G + ", on_gate_fail: "
        "[{when_gate: not_empty, route_to: ‸a, max_bounces: 1}]}\n",
    ),
    "a way back over the block's own effect": (
        "BOUNCE_OVER_ONCE",
        "blocks:\n  - {id: pay, effect: once, outputs: {t: string}, " + _G + ", on_gate_fail: "
        "[{when_gate: not_empty, route_to: ‸pay, max_bounces: 1}]}\n",
    ),
    "a denial that leads forward": (
        "ROUTE_FORWARD",
        "blocks:\n  - {id: a, mode: approval, approval: {prompt: ok?, on_deny: {route_to: ‸b, max_bounces: 1}}}\n"
        "  - {id: b, after: [a]}\n",
    ),
}
APPROVALS = {
    "an approval without prompt": ("MISSING_KEY", "blocks: [{id: a, mode: approval, approval: ‸{approver: ann}}]\n"),
    "an approval that asks nobody": ("CHOICE", "blocks: [{id: a, approval: {required: ‸false, prompt: x}}]\n"),
    "a prompt that is not a template": (
        "EXPR_INVALID",
        'blocks: [{id: a, mode: approval, approval: {prompt: "{{ 1 + ‸}}"}}]\n',
    ),
    "an approval key that is not known": ("UNKNOWN_KEY", "blocks: [{id: a, approval: {prompt: x, ‸timeout: 5}}]\n"),
    "two timeouts": ("CONFLICT", "blocks: [{id: a, approval: {prompt: x, timeout_ms: 5, ‸timeout_sec: 5}}]\n"),
    "a consequence that is not known": ("CHOICE", "blocks: [{id: a, approval: {prompt: x, on_timeout: ‸ignore}}]\n"),
    "a denial that leads to nothing known": ("CHOICE", "blocks: [{id: a, approval: {prompt: x, on_deny: ‸go_on}}]\n"),
    "one approver and several": (
        "CONFLICT",
        "blocks: [{id: a, approval: {prompt: x, ‸approver: a, approvers: [b]}}]\n",
    ),
    "a denial without bound": (
        "MISSING_KEY",
        "blocks: [{id: a, approval: {prompt: x, on_deny: ‸{route_to: a}}}]\n",
    ),
    "an approval that is true": ("TYPE", "blocks: [{id: a, approval: ‸true}]\n"),
    "a checkpoint's form with a strange field": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, inputs: {x: string}, approval: {prompt: ok?, form: ‸{y: string}}}]\n",
    ),
    "a form that is no object": (
        "SCHEMA_INVALID",
        "blocks: [{id: a, mode: approval, approval: {prompt: x, form: ‸{type: object, properties: {a: {type: 5}}}}}]\n",
    ),
    "an output that no answer gives": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, mode: approval, prompt: ok?, outputs: {‸aproved: boolean}}]\n",
    ),
    "an output of another type than the answer": (
        "TYPE_MISMATCH",
        "blocks: [{id: a, mode: approval, prompt: ok?, outputs: {approved: ‸string}}]\n",
    ),
    "tokens of a person": (
        "ESTIMATE_INVALID",
        "blocks: [{id: a, mode: approval, prompt: ok?, estimate: {tokens: ‸5}}]\n",
    ),
}
GROUPS = {"ports": PORTS, "edges": EDGES, "gates": GATES, "routes": ROUTES, "approvals": APPROVALS}


@pytest.mark.parametrize("group", GROUPS)
def test_every_mistake_is_found_at_its_place(group: str, tmp_path: Path) -> None:
    found: dict[str, list[marking.Place]] = {}
    wanted: dict[str, list[marking.Place]] = {}
    for name, case in GROUPS[group].items():
        text, wanted[name] = marking.expected(*case)
        found[name] = marking.errors(marking.check(text, tmp_path))
    assert found == wanted


@pytest.mark.parametrize("source", ["a.txt", "inputs.texd", "aa.text", "nothing"])
@pytest.mark.parametrize("required", ["true", "false"])
def test_a_wrong_source_is_not_also_called_missing(source: str, required: str, tmp_path: Path) -> None:
    port = f"{{type: string, required: {required}, from: {source}}}"
    text = f"inputs: {{text: string}}\nblocks: [{_A}, {{id: b, inputs: {{text: {port}, x: {port}}}}}]\n"
    found = marking.check(text, tmp_path)
    assert len(marking.errors(found)) == 2
    assert marking.warnings(found) == []

"""Mistakes seeded into otherwise good plans: each is found before anything starts, where it was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows import marking
from tests.workflows.plan import seed

#: A plan with what the specification's own does not show: tools, a retry, a loop, a question in the middle.
RICH = """\
plan_id: publish
budgets: {max_tokens: 4000, max_tool_spend_usd: 2}
inputs: {topic: bees, limit: 3, strict: true}
variables: {tries: 0}
steps:
  - {id: ask, op: route_expert, args: {expert_id: slm_code_v1, prompt: "write", max_new_tokens: 100, output_schema: {type: object, properties: {text: {type: string}, good: {type: boolean}}, required: [text], additionalProperties: false}}, save_as: draft, max_visits: 3}
  - {id: look, op: tool_call, args: {tool_id: look, args: {q: "input:topic"}, on_denied: sorry}, save_as: found}
  - {id: check, op: verify, args: {checker_id: regex, input_ref: "var:draft.text", pattern: "^[A-Z]"}, save_as: v}
  - {id: again, op: retry, args: {step_id: check, max_retries: 2, backoff: linear}}
  - {id: good, op: branch, args: {cond: {expr: "var.v.ok && var.tries < 3"}, then: person, else: ask}}
  - {id: person, op: ask_human, args: {request: {message: "Publish?", details: "var:draft"}, answer: {title: string}, resume: act}, save_as: said}
  - {id: act, op: tool_call, args: {tool_id: publish, args: {title: "var:said.title"}}, save_as: url}
  - {id: done, op: emit, args: {result_ref: "var:url", audit_refs: ["var:v"]}}
  - {id: sorry, op: emit, args: {status: denied}}
outputs: {result_ref: "var:draft"}
"""  # noqa: E501 - one line a step

#: What is wrong, the codes to be found, the plan, the text to change, and what it becomes with a mark at each place.
CASES: dict[str, tuple[str, str, str, str]] = {
    "an unknown key of the plan": ("UNKNOWN_KEY", seed.PLAN, '"variables": {}', '‸"variable": {}'),
    "no plan_id": ("MISSING_KEY", seed.PLAN, '{\n  "plan_id": "fix_bug_v1",', "‸{"),
    "an empty plan_id": ("EMPTY", seed.PLAN, '"fix_bug_v1"', '‸" "'),
    "an unknown mode": ("CHOICE", seed.PLAN, '"degraded"', '‸"degrade"'),
    "an unknown budget": ("UNKNOWN_KEY", seed.PLAN, '"max_wall_ms"', '‸"max_wall_sec"'),
    "a negative budget": ("RANGE", seed.PLAN, '"max_steps": 18', '"max_steps": ‸-1'),
    "a budget that is no number": ("TYPE", seed.PLAN, '"max_tokens": 1600', '"max_tokens": ‸"1600"'),
    "inputs that are no map": ("TYPE", seed.PLAN, '"variables": {}', '"variables": ‸[]'),
    "a variable with a name that no ref can write": (
        "NAME_INVALID",
        seed.PLAN,
        '"variables": {}',
        '"variables": {‸"a b": 1}',
    ),
    "an input that names no context": (
        "REF_INVALID",
        seed.PLAN,
        '"snapshot_ref": "snap:t381"}',
        '"snapshot_ref": "snap:t381", "x_ref": ‸"t381"}',
    ),
    "an argument of a function that ought to be a ref": (
        "REF_INVALID",
        RICH,
        "{id: look,",
        "{id: part, op: transform, args: {fn: pick, from_ref: ‸topic, keys: [a]}, save_as: part}\n  - {id: look,",
    ),
    "a ref that is none where a function needs one": (
        "REF_INVALID",
        RICH,
        "{id: look,",
        '{id: part, op: transform, args: {fn: join, refs: [‸"input:topic[-1]"]}, save_as: part}\n  - {id: look,',
    ),
    "a check of something that is no ref": ("REF_INVALID", RICH, '"var:draft.text"', '‸"draft.text"'),
    "no steps": ("EMPTY", "plan_id: p\nsteps: []\n", "[]", "‸[]"),
    "a step without an id": ("MISSING_KEY", seed.PLAN, '{"id":"s9","op"', '‸{"op"'),
    "an id that is none": ("ID_INVALID", seed.PLAN, '{"id":"s1",', '{"id":‸"1s",'),
    "two steps with one id": ("STEP_UNKNOWN DUPLICATE_ID", RICH, "on_denied: sorry", "on_denied: ‸sorry"),
    "an unknown op": (
        "OP_UNKNOWN",
        seed.PLAN,
        '"op":"emit","args":{"result_ref":"var:patch",',
        '"op":‸"emitt","args":{"result_ref":"var:patch",',
    ),
    "an unknown key of a step": ("UNKNOWN_KEY", seed.PLAN, '"save_as":"prompt"', '"save_as":"prompt",‸"when":true'),
    "a name to save under that is none": ("NAME_INVALID", seed.PLAN, '"save_as":"v2"', '"save_as":‸"v 2"'),
    "a branch that saves": ("CONFLICT", seed.PLAN, '"else":"s5"}}', '"else":"s5"},‸"save_as":"x"}'),
    "a time limit on an emit": ("CONFLICT", RICH, "{id: sorry,", "{id: sorry, ‸timeout_ms: 5,"),
    "no visits": ("RANGE", RICH, "max_visits: 3", "max_visits: ‸0"),
    "args that are no map": ("TYPE", RICH, "args: {status: denied}", "args: ‸[denied]"),
    "an unknown argument": (
        "UNKNOWN_KEY",
        seed.PLAN,
        '"max_new_tokens":220,"temperature":0.0},"save_as":"patch"}',
        '‸"max_tokens":220,"temperature":0.0},"save_as":"patch"}',
    ),
    "a missing argument": ("MISSING_KEY", seed.PLAN, '"args":{"expert_id":"slm_code_v2",', '"args":‸{'),
    "an argument out of range": (
        "ARG_INVALID",
        seed.PLAN,
        '"temperature":0.0},"save_as":"patch"}',
        '"temperature":‸3},"save_as":"patch"}',
    ),
    "an argument of the wrong type": (
        "ARG_INVALID",
        seed.PLAN,
        '"max_new_tokens":220,"temperature":0.0},"save_as":"patch"}',
        '"max_new_tokens":‸"many"},"save_as":"patch"}',
    ),
    "nothing to ask": (
        "MISSING_KEY",
        seed.PLAN,
        '"args":{"expert_id":"slm_code_v1","prompt_ref":"var:prompt",',
        '"args":‸{"expert_id":"slm_code_v1",',
    ),
    "two prompts": ("CONFLICT", RICH, 'prompt: "write"', 'prompt: "write", ‸input: {a: 1}'),
    "a status that is none": ("ARG_INVALID", RICH, "status: denied", "status: ‸fine"),
    "repairs of a text": (
        "CONFLICT",
        seed.PLAN,
        '"prompt_ref":"var:prompt","max_new_tokens":220,"temperature":0.0},"save_as":"patch"}',
        '"prompt_ref":"var:prompt","max_new_tokens":220,‸"repairs":1},"save_as":"patch"}',
    ),
    "a schema that is none": (
        "SCHEMA_INVALID",
        RICH,
        "{type: object, properties: {text: {type: string}, good: {type: boolean}}, required: [text], additionalProperties: false}",  # noqa: E501
        "‸{type: objekt}",
    ),
    "a schema that no answer can keep": (
        "SCHEMA_INVALID",
        seed.PLAN,
        '"prompt_ref":"var:prompt","max_new_tokens":220,"temperature":0.0},"save_as":"patch"}',
        '"prompt_ref":"var:prompt","max_new_tokens":220,"output_schema":{"type":‸["array","null"]}},"save_as":"patch"}',
    ),
    "a request without a message": (
        "ARG_INVALID",
        seed.PLAN,
        '"request":{"kind":"needs_context",',
        '"request":‸{"kind":"needs_context"}}},{"id":"s13","op":"emit","args":{"result_ref":"var:patch"}}],"outputs":{}}',
    ),
    "a form with an unknown type": ("TYPE_UNKNOWN", RICH, "{title: string}", "{title: ‸strin}"),
    "a jump nowhere: then": ("STEP_UNKNOWN", seed.PLAN, '"then":"s7"', '"then":‸"s70"'),
    "a jump nowhere: else": ("STEP_UNKNOWN", seed.PLAN, '"else":"s12"', '"else":‸"s11"'),
    "a jump nowhere: resume": ("STEP_UNKNOWN", RICH, "resume: act", "resume: ‸acts"),
    "a jump nowhere: on_denied": ("STEP_UNKNOWN", RICH, "on_denied: sorry", "on_denied: ‸sory"),
    "a retry of nothing": ("STEP_UNKNOWN", RICH, "step_id: check", "step_id: ‸checks"),
    "a retry of a branch": ("RETRY_TARGET", RICH, "step_id: check", "step_id: ‸good"),
    "a retry of itself": ("RETRY_TARGET", RICH, "step_id: check", "step_id: ‸again"),
    "fewer than no retries": ("ARG_INVALID", RICH, "max_retries: 2", "max_retries: ‸-1"),
    "a ref that is none": (
        "REF_INVALID",
        seed.PLAN,
        '"prompt_ref":"var:prompt","max_new_tokens":220,"temperature":0.0},"save_as":"patch"}',
        '"prompt_ref":‸"prompt","max_new_tokens":220},"save_as":"patch"}',
    ),
    "a text that only begins like a ref": ("REF_INVALID", RICH, '{q: "input:topic"}', '{q: ‸"input:topic?"}'),
    "a list of refs with a text in it": (
        "REF_INVALID",
        seed.PLAN,
        '["ctx:repo_diff","snap:t381"]',
        '["ctx:repo_diff",‸"t381"]',
    ),
    "a variable that nobody sets": ("REF_UNKNOWN", seed.PLAN, '"input_ref":"var:patch2"', '"input_ref":‸"var:patch3"'),
    "an audit of a variable that nobody sets": (
        "REF_UNKNOWN",
        seed.PLAN,
        '"audit_refs":["var:v2"]',
        '"audit_refs":[‸"var:v3"]',
    ),
    "an output of a variable that nobody sets": (
        "REF_UNKNOWN",
        RICH,
        'result_ref: "var:draft"',
        'result_ref: ‸"var:drft"',
    ),
    "an output that is no ref": (
        "NAME_INVALID",
        RICH,
        'outputs: {result_ref: "var:draft"}',
        'outputs: {‸result: "var:draft"}',
    ),
    "an input that the plan does not have": ("REF_UNKNOWN", RICH, '"input:topic"', '‸"input:topics"'),
    "a context that nobody declares": (
        "CONTEXT_UNKNOWN",
        seed.PLAN,
        '"refs":["ctx:repo_diff",',
        '"refs":[‸"ctx:repo_dif",',
    ),
    "a variable read before it is set": (
        "REF_UNSET",
        seed.PLAN,
        '"id":"s2","op":"route_expert","args":{"expert_id":"slm_code_v1","prompt_ref":"var:prompt"',
        '"id":"s2","op":"route_expert","args":{"expert_id":"slm_code_v1","prompt_ref":‸"var:patch"',
    ),
    "a variable that only one way sets": (
        "REF_UNSET REF_UNSET",
        seed.PLAN,
        '{"cond":{"ok":"var:v1.ok"},"then":"s9","else":"s8"}',
        '{"cond":{"ok":‸"var:v2.ok"},"then":"s9","else":"s8"}',
    ),
    "branches that disagree, as one value was written in between": (
        "REF_UNSET",
        seed.PLAN.replace('"result_ref":"var:patch2"', '"result_ref":"var:patch"'),
        '"input_ref":"var:patch2"},"save_as":"v2"},\n    {"id":"s7","op":"branch","args":{"cond":{"ok":"var:v1.ok"},"then":"s9","else":"s8"}},\n    {"id":"s8","op":"branch","args":{"cond":{"ok":"var:v2.ok"}',  # noqa: E501
        '"input_ref":"var:patch2"},"save_as":"v2"},\n    {"id":"s7","op":"verify","args":{"checker_id":"diff_applies_cleanly","input_ref":"var:patch"},"save_as":"v1"},\n    {"id":"s7b","op":"branch","args":{"cond":{"ok":"var:v1.ok"},"then":"s9","else":"s8"}},\n    {"id":"s8","op":"branch","args":{"cond":{"ok":‸"var:v2.ok"}',  # noqa: E501
    ),
    "a variable that an expression reads too early": (
        "REF_UNSET",
        RICH,
        'prompt: "write"',
        'prompt: "write"}, save_as: x}\n  - {id: early, op: transform, args: {expr: ‸"var.v"}, save_as: y}\n  - {id: ask2, op: route_expert, args: {expert_id: slm_code_v1, prompt: "write"',  # noqa: E501
    ),
    "an unreachable step": ("UNREACHABLE", seed.PLAN, '"then":"s10","else":"s12"', '"then":"s12","else":"s12"'),
    "a plan that ends without an ending": (
        "NO_ENDING",
        RICH,
        '  - {id: done, op: emit, args: {result_ref: "var:url", audit_refs: ["var:v"]}}\n  - {id: sorry, op: emit, args: {status: denied}}',  # noqa: E501
        '  - ‸{id: sorry, op: transform, args: {expr: "1"}}',
    ),
    "a branch that falls off the end": (
        "NO_ENDING",
        RICH.replace("variables: {tries: 0}", 'variables: {tries: 0, url: ""}'),
        "  - {id: sorry, op: emit, args: {status: denied}}",
        '  - ‸{id: sorry, op: branch, args: {cond: {ok: "input:strict"}, then: done}}',
    ),
    "a result that a path does not set": (
        "REF_UNSET",
        seed.PLAN,
        '"result_ref":"var:patch","status":"ok"',
        '"result_ref":‸"var:patch2","status":"ok"',
    ),
    "a result of the plan that a path does not set": (
        "REF_UNSET",
        seed.PLAN.replace('"result_ref":"var:patch","status":"ok",', ""),
        '"outputs": {"result_ref":"var:patch"',
        '"outputs": {"result_ref":‸"var:patch2"',
    ),
    "a loop without a bound": ("LOOP_UNBOUNDED", RICH, ", max_visits: 3", ""),
    "a step that jumps to itself": (
        "LOOP_UNBOUNDED UNREACHABLE",
        RICH,
        '{id: done, op: emit, args: {result_ref: "var:url", audit_refs: ["var:v"]}}',
        '‸{id: done, op: branch, args: {cond: {ok: "var:v.ok"}, then: done, else: done}}\n  - ‸{id: late, op: emit}',
    ),
    "an expert that is not there": ("EXPERT_UNKNOWN", seed.PLAN, '"slm_code_v2"', '‸"slm_code_v3"'),
    "an expert that the mode denies": ("MODE_DENIED", seed.PLAN, '"slm_code_v2"', '‸"far"'),
    "a checker that is not there": ("CHECKER_UNKNOWN", RICH, "checker_id: regex", "checker_id: ‸regexp"),
    "a checker without its argument": (
        "MISSING_KEY",
        RICH,
        'args: {checker_id: regex, input_ref: "var:draft.text", pattern: "^[A-Z]"}',
        'args: ‸{checker_id: regex, input_ref: "var:draft.text"}',
    ),
    "a checker without input": (
        "MISSING_KEY",
        RICH,
        'args: {checker_id: regex, input_ref: "var:draft.text",',
        "args: ‸{checker_id: regex,",
    ),
    "a checker with another's argument": ("UNKNOWN_KEY", RICH, 'pattern: "^[A-Z]"', 'pattern: "^[A-Z]", ‸expected: 1'),
    "a pattern that does not compile": ("REGEX_INVALID", RICH, 'pattern: "^[A-Z]"', 'pattern: ‸"^[A-Z"'),
    "a checker's schema that is none": (
        "SCHEMA_INVALID",
        RICH,
        'checker_id: regex, input_ref: "var:draft.text", pattern: "^[A-Z]"',
        'checker_id: json_schema, input_ref: "var:draft.text", schema: ‸{const: "var:draft", type: objekt}',
    ),
    "a template that does not compile": (
        "EXPR_INVALID",
        seed.PLAN,
        '"fn":"assemble_prompt","refs":["ctx:repo_diff","snap:t381"]',
        '"fn":"template","values":{"d":"ctx:repo_diff","s":"snap:t381"},"template":"See {{ values.d }} and {{ ‸d }}"',
    ),
    "a template that is never closed": (
        "TEMPLATE_INVALID",
        seed.PLAN,
        '"fn":"assemble_prompt","refs":["ctx:repo_diff","snap:t381"]',
        '"fn":"template","values":{"d":"ctx:repo_diff","s":"snap:t381"},"template":"See ‸{{ values.d"',
    ),
    "a transform that is not there": ("TRANSFORM_UNKNOWN", seed.PLAN, '"assemble_prompt"', '‸"assemble_promt"'),
    "a tool that is not there": ("TOOL_UNKNOWN", RICH, "tool_id: look", "tool_id: ‸lok"),
    "a tool without its argument": ("MISSING_KEY", RICH, '{q: "input:topic"}', "‸{}"),
    "a tool with an unknown argument": ("UNKNOWN_KEY", RICH, '{q: "input:topic"}', '{q: "input:topic", ‸r: 1}'),
    "a tool with an argument of the wrong type": ("ARG_INVALID", RICH, '{q: "input:topic"}', "{q: ‸5}"),
    "a built-in with effects that the project does not declare": (
        "CAPABILITY_DENIED",
        RICH,
        'tool_id: publish, args: {title: "var:said.title"}',
        'tool_id: ‸write-file, args: {path: a, content: "var:said.title"}',
    ),
    "a command in a project that allows none": (
        "COMMANDS_NOT_ALLOWED",
        RICH,
        'checker_id: regex, input_ref: "var:draft.text", pattern: "^[A-Z]"',
        "checker_id: ‸tests_pass, argv: [make]",
    ),
    "a condition that is an object": (
        "COND_NOT_BOOLEAN",
        seed.PLAN,
        '{"cond":{"ok":"var:v2.ok"}',
        '{"cond":{"ok":‸"var:v2"}',
    ),
    "a condition that is a text": (
        "COND_NOT_BOOLEAN",
        seed.PLAN,
        '{"cond":{"ok":"var:v2.ok"}',
        '{"cond":{"ok":‸"input:task"}',
    ),
    "a condition with two keys": (
        "ARG_INVALID",
        seed.PLAN,
        '{"cond":{"ok":"var:v2.ok"}',
        '{"cond":‸{"ok":"var:v2.ok","expr":"true"}',
    ),
    "a condition that is a number": ("EXPR_TYPE", RICH, '"var.v.ok && var.tries < 3"', '‸"1 + 2"'),
    "an expression that does not compile": ("EXPR_INVALID", RICH, '"var.v.ok && var.tries < 3"', '"var.v.ok &&‸"'),
    "a part of a text": ("REF_TYPE", seed.PLAN, '"result_ref":"var:patch2"', '"result_ref":‸"var:patch2.diff"'),
    "a part that the schema excludes": ("REF_TYPE", RICH, '"var:draft.text"', '‸"var:draft.txt"'),
    "a budget that no path fits into: steps": ("BUDGET_TOO_SMALL", seed.PLAN, '"max_steps": 18', '"max_steps": ‸5'),
    "a budget that no path fits into: tokens": (
        "BUDGET_TOO_SMALL",
        seed.PLAN,
        '"max_tokens": 1600',
        '"max_tokens": ‸200',
    ),
    "a budget that no path fits into: tools": (
        "BUDGET_TOO_SMALL",
        RICH.replace(
            'id: look, op: tool_call, args: {tool_id: look, args: {q: "input:topic"}, on_denied: sorry}',
            'id: look, op: transform, args: {expr: "1"}',
        ).replace("  - {id: sorry, op: emit, args: {status: denied}}\n", ""),
        "max_tool_spend_usd: 2",
        "max_tool_spend_usd: ‸0.4",
    ),
    "a budget of tokens for an answer without a bound": (
        "TOKENS_UNBOUNDED",
        RICH,
        "max_tokens: 4000, max_tool_spend_usd: 2}",
        "max_tokens: ‸4000, max_tool_spend_usd: 2}",
    ),
}


def _marked(name: str) -> tuple[str, str]:
    codes, plan, old, new = CASES[name]
    assert plan.count(old) >= 1, "the text to change is there"
    text = plan.replace(old, new, 1)
    if name == "a budget of tokens for an answer without a bound":
        text = text.replace("max_new_tokens: 100, ", "")
    if name == "two steps with one id":
        text = text.replace("id: sorry", "id: ‸done")
    if name == "a variable that only one way sets":
        text = text.replace('{"cond":{"ok":"var:v2.ok"},"then":"s10"', '{"cond":{"ok":‸"var:v2.ok"},"then":"s10"')
    if name == "an unreachable step":
        text = text.replace('    {"id":"s10"', '    ‸{"id":"s10"')
    if name == "a loop without a bound":
        text = text.replace("  - {id: good,", "  - ‸{id: good,")
    if name == "a request without a message":
        text = text[: text.index('"outputs":{}}') + len('"outputs":{}}')]
    return codes, text


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_found_where_it_was_made(name: str, tmp_path: Path) -> None:
    codes, marked = _marked(name)
    clean, wanted = marking.expected(codes, marked)
    file = "plan.json" if clean.startswith("{") else "plan.yaml"
    assert marking.errors(seed.check(clean, tmp_path, name=file)) == wanted


def test_there_are_fifty_and_more() -> None:
    assert len(CASES) > 60


@pytest.mark.parametrize(("text", "name"), [(seed.PLAN, "plan.json"), (RICH, "plan.yaml")], ids=["seed", "rich"])
def test_without_a_mistake_there_is_no_problem(text: str, name: str, tmp_path: Path) -> None:
    assert seed.check(text, tmp_path, name=name) == ()

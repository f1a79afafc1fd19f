"""Linear blocks as a plan: gates, types, retries, texts, prompts and questions come to the same ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openskelo import errors, testing
from openskelo.kernel.json import Json, JsonObject
from tests.workflows.convert import converting


def _same(pair: converting.Pair, played: converting.Played, ending: str, outputs: JsonObject | None = None) -> None:
    """Both forms come to this ending; the result of the plan are the outputs of the blocks."""
    blocks, plan = pair.ends(played), pair.ends(played, other=True)
    assert (blocks["ending"], plan["ending"]) == (ending, ending), (blocks, plan)
    assert blocks["status"] == plan["status"]
    if outputs is not None:
        assert (blocks["outputs"], plan["outputs"]) == (outputs, {"result": outputs, "audit": []})


def _ops(pair: converting.Pair) -> list[str]:
    return [step["op"] for step in pair.document["steps"]]


def _steps(pair: converting.Pair) -> dict[str, Any]:
    return {step["id"]: step for step in pair.document["steps"]}


GATED = """\
name: gated
inputs: {v: json, w: {type: string, default: same}}
blocks:
  - id: it
    mode: deterministic
    inputs: {v: {from: inputs.v}, w: {from: inputs.w}, fixed: {type: string, default: "x y"}}
    outputs: {out: json}
    SIDE: [GATES]
    deterministic: {handler: builtin:transform, config: {map: {out: inputs.v}}}
outputs: {out: it.out}
"""
GATES: list[tuple[str, list[Json], list[Json]]] = [
    ("{type: json_schema, port: PORT, schema: {type: string, maxLength: 3}}", ["abc"], ["abcd", 5, None]),
    ("{type: json_schema, schema: {properties: {PORT: {type: integer}}}}", [5], ["x"]),
    ("{type: regex, port: PORT, pattern: '^a+$', error: only letters a}", ["aa"], ["b", 7]),
    ("{type: regex, port: PORT, pattern: b, negate: true}", ["aa"], ["abc", []]),
    ("{type: regex, port: fixed, pattern: 'x y'}", [1], []),
    ("{type: expr, expression: 'KIND.PORT > 3'}", [4, 3.5], [3, "x", None]),
    ("{type: not_empty, port: PORT}", ["x", [0], {"a": 1}, 0, False], ["", " \u00a0\n", [], {}, None]),
    ("{type: length, port: PORT, min: 1, max: 2}", ["ab", [1], {"a": 1}], ["", "abc", [1, 2, 3], 5, None]),
    ("{type: length, port: PORT, max: 2}", ["", "\U0001f41d\U0001f41d"], ["abc"]),
    ("{type: diff, left: PORT, right: w}", ["same"], ["other", 1, None]),
    ("{type: diff, left: PORT, right: w, mode: not_equal}", ["other", {"a": [1, None]}], ["same"]),
]


@pytest.mark.parametrize("side", ["pre_gates", "post_gates"])
@pytest.mark.parametrize(("gate", "good", "bad"), GATES)
def test_a_gate_lets_through_and_refuses_the_same(
    gate: str, good: list[Json], bad: list[Json], side: str, tmp_path: Path
) -> None:
    before = side == "pre_gates"
    gate = gate.replace("PORT", "v" if before else "out").replace("KIND", "inputs" if before else "outputs")
    pair = converting.converted(tmp_path, GATED.replace("SIDE", side).replace("GATES", gate))
    assert "branch" in _ops(pair)
    for value in good:
        _same(pair, converting.Played(inputs={"v": value}), "ok", {"out": value})
    for value in bad:
        _same(pair, converting.Played(inputs={"v": value}), "failed")


def test_any_of_several_gates_is_enough_where_the_block_says_so(tmp_path: Path) -> None:
    gates = "{type: expr, expression: 'outputs.out > 3'}, {type: regex, port: out, pattern: a}"
    text = GATED.replace("SIDE: [GATES]", f"gate_composition: {{post: any}}\n    post_gates: [{gates}]")
    pair = converting.converted(tmp_path, text)
    for value, ending in ((5, "ok"), ("cat", "ok"), (2, "failed"), ("dog", "failed")):
        _same(pair, converting.Played(inputs={"v": value}), ending)


def test_what_a_gate_found_is_the_evidence_of_the_plan(tmp_path: Path) -> None:
    gate = "{type: regex, port: out, pattern: a, error: say a}"
    pair = converting.converted(tmp_path, GATED.replace("SIDE", "post_gates").replace("GATES", gate))
    done = pair.ends(converting.Played(inputs={"v": "dog"}), other=True)
    verdict = {"ok": False, "reason": "it does not match the pattern"}
    assert (done["ending"], done["outputs"]) == ("failed", {"result": None, "audit": [verdict]})
    assert _steps(pair)["it_outputs_refused"]["description"] == "say a"


TYPED = """\
name: typed
inputs: {n: {type: integer, default: 3}, any: json}
blocks:
  - id: twice
    mode: deterministic
    inputs: {n: {type: integer, from: inputs.n}, any: {from: inputs.any}}
    outputs: {value: integer, text: string, free: json}
    deterministic:
      handler: builtin:transform
      config: {map: {value: "inputs.any", text: "string(inputs.n)", free: "inputs.any"}}
  - id: last
    mode: deterministic
    inputs: {value: {type: integer, maximum: 9, from: twice.value}}
    outputs: {shown: string}
    deterministic:
      {handler: builtin:transform, config: {template: {shown: 'is {{ inputs.value + 1 }}, \\{{ so }}'}}}
outputs: {shown: last.shown, n: inputs.n}
"""


def test_types_of_ports_hold_in_the_plan(tmp_path: Path) -> None:
    pair = converting.converted(tmp_path, TYPED)
    checked = [step["id"] for step in pair.document["steps"] if step["op"] == "verify"]
    assert checked == ["n_type", "twice_contract_type", "last_value_type"]
    _same(pair, converting.Played(inputs={"any": 4}), "ok", {"shown": "is 5, {{ so }}", "n": 3})
    _same(pair, converting.Played(inputs={"any": "x"}), "failed")
    _same(pair, converting.Played(inputs={"any": 12}), "failed")
    refused = pair.ends(converting.Played(inputs={"n": 1.5, "any": 4}), other=True)
    assert (refused["ending"], refused["error"]["node"]) == ("failed", "inputs_refused")


LINEAR = """\
name: linear
inputs: {text: {type: string, default: a note}}
budgets: {max_tokens: 5000, max_wall_ms: 60000, max_steps: 9}
blocks:
  - id: check-it
    mode: deterministic
    timeout_ms: 5000
    inputs: {text: {type: string, from: inputs.text}}
    outputs: {verdict: object}
    deterministic:
      handler: builtin:step
      config: {op: verify, args: {checker_id: regex, input_ref: "var:it", pattern: note}, refs: {"var:it": text}}
  - id: ask
    mode: approval
    outputs: {say: string, text: string, approved: boolean}
    inputs: {seen: {type: object, from: check-it.verdict}, text: {type: string, from: inputs.text}}
    approval: {prompt: "Say {{ inputs.text }}, \\\\{{ please }}.", form: {say: string}, timeout_ms: 60000}
  - id: write
    name: Writer
    description: Writes.
    inputs:
      say: {type: string, from: ask.say}
      sure: {type: boolean, from: ask.approved}
      text: {type: string, from: ask.text}
      verdict: {type: object, from: check-it.verdict}
    outputs: {text: string, more: string?}
    expert: one
    max_tokens: 50
    retry: {max_attempts: 2, backoff: linear, delay_ms: 1}
    prompt: "Write {{ inputs.say }} of {{ size(inputs.text) }} and {{ inputs.verdict.ok }}. \\\\{{ so }}"
outputs: {text: write.text, ok: check-it.verdict, sure: ask.approved}
"""


def test_experts_questions_and_steps_give_the_same_as_a_plan(tmp_path: Path) -> None:
    pair = converting.converted(tmp_path, LINEAR)
    steps = _steps(pair)
    ops = ["verify", "branch", "verify", "ask_human", "transform", "transform", "retry", "transform", "emit"]
    assert _ops(pair) == [*ops, "emit", "route_expert"]
    assert pair.document["budgets"] == {"max_tokens": 5000, "max_wall_ms": 60000}
    assert steps["check-it"]["timeout_ms"] == 5000
    assert steps["ask"]["args"]["request"] == {
        "message": "Say [text], {{ please }}.",
        "details": {"seen": "var:check_it", "text": "input:text"},
    }
    assert steps["write_prompt"]["args"] == {
        "fn": "assemble_prompt",
        "task": "# Writer\n\nWrites.\n\nWrite [var:ask.say] of [var:write_words] and [var:check_it.ok]. {{ so }}",
        "instructions": "A name in brackets stands for the data of that name below.",
        "refs": ["var:ask.say", "var:write_words", "var:check_it.ok"],
    }
    assert steps["write_words"]["args"] == {"expr": "size(input.text)"}  # what the approval was shown
    assert steps["write_tries"]["args"] == {
        "step_id": "write",
        "max_retries": 1,
        "backoff": "linear",
        "delay_ms": 1,
        "max_delay_ms": 60000,
    }
    outputs: JsonObject = {"text": "done", "ok": {"ok": True}, "sure": True}
    broken = errors.AttemptFailed("no", code="MODEL_DOWN")
    said = {"ask": [testing.Reply(status="modified", values={"say": "x"})]}
    scripts: list[tuple[list[Any], str]] = [
        ([{"text": "done"}], "ok"),
        ([broken, {"text": "done"}], "ok"),
        ([broken, broken], "failed"),
    ]
    for answers, ending in scripts:
        played = converting.Played(answers={"write": answers}, people=said)
        _same(pair, played, ending, outputs if ending == "ok" else None)
        tried = [pair.ends(played, other=other)["nodes"]["write"]["attempts"] for other in (False, True)]
        assert tried == [len(answers)] * 2
    _same(pair, converting.Played(people={"ask": [testing.Reply(status="denied")]}), "denied")


def test_a_check_that_is_tried_until_it_holds_is_a_retry(tmp_path: Path) -> None:
    text = LINEAR[: LINEAR.index("  - id: ask\n")].replace(
        "    timeout_ms: 5000\n",
        "    retry: {max_attempts: 5, stall_after: 0}\n"
        "    post_gates: [{type: expr, expression: outputs.verdict.ok}]\n",
    )
    pair = converting.converted(tmp_path, text)
    assert _ops(pair) == ["verify", "branch", "retry", "transform", "emit", "emit", "verify"]
    no, yes = {"ok": False}, {"ok": True}
    _same(pair, converting.Played(results={"check-it": [no, no, no, no, yes]}), "ok", {"verdict": yes})
    _same(pair, converting.Played(results={"check-it": [no] * 5}), "failed")


def test_a_prompt_without_data_is_asked_as_it_is_written(tmp_path: Path) -> None:
    gate = "post_gates: [{type: not_empty, port: text, error: say something}]\n    stop: END\n    expert: one"
    text = f"blocks:\n  - id: w\n    prompt: Sing.\n    outputs: {{text: string}}\n    {gate}\n"
    pair = converting.converted(tmp_path, text)
    asked = pair.document["steps"][0]["args"]
    assert asked["prompt"] == "# w\n\nSing.\n\nThe answer will be checked for this:\n- say something"
    assert asked["stop"] == ["END"]
    _same(pair, converting.Played(answers={"w": [{"text": "la"}]}), "ok", {"text": "la"})
    _same(pair, converting.Played(answers={"w": [{"text": " "}]}), "failed")


def test_inputs_that_no_words_show_are_shown_below(tmp_path: Path) -> None:
    text = (
        "inputs: {a: {type: string, default: x}}\nblocks:\n  - id: w\n    prompt: Sing.\n    expert: one\n"
        "    inputs: {a: {type: string, from: inputs.a}, b: {type: string, default: 'var:c'}}\n"
        "    outputs: {text: string}\n"
    )
    pair = converting.converted(tmp_path, text)
    assert _steps(pair)["w_prompt"]["args"] == {
        "fn": "assemble_prompt",
        "task": "# w\n\nSing.",
        "refs": ["input:a", "var:w_words"],
    }
    assert _steps(pair)["w_words"]["args"] == {"expr": '("var:c")'}
    _same(pair, converting.Played(answers={"w": [{"text": "la"}]}), "ok", {"text": "la"})


def test_blocks_that_use_another_file_are_its_steps(tmp_path: Path) -> None:
    (tmp_path / "shout.yaml").write_text(
        "inputs: {text: string, mark: {type: string, default: '!'}}\nblocks:\n  - id: up\n    mode: deterministic\n"
        "    inputs: {text: {type: string, from: inputs.text}, mark: {type: string, from: inputs.mark}}\n"
        "    outputs: {said: string}\n"
        "    deterministic: {handler: builtin:transform, config: {map: {said: 'inputs.text + inputs.mark'}}}\n",
    )
    pair = converting.converted(
        tmp_path,
        "inputs: {text: {type: string, default: hey}}\nblocks:\n  - id: one\n    uses: ./shout.yaml\n"
        "    inputs: {text: {from: inputs.text}}\n    post_gates: [{type: length, port: said, max: 5}]\n",
    )
    _same(pair, converting.Played(), "ok", {"said": "hey!"})
    _same(pair, converting.Played(inputs={"text": "hello"}), "failed")


def test_a_tool_in_a_mode_makes_that_the_mode_of_the_plan(tmp_path: Path) -> None:
    tool = "op: tool_call, args: {tool_id: read-file, args: {path: note.txt}}, mode: offline"
    text = (
        "blocks:\n  - id: look\n    mode: deterministic\n    outputs: {note: json}\n"
        f"    deterministic: {{handler: builtin:step, config: {{{tool}}}}}\n"
    )
    (tmp_path / "note.txt").write_text("a note")
    pair = converting.converted(tmp_path, text)
    assert (pair.document["mode"], _ops(pair)) == ("offline", ["tool_call", "transform", "emit"])
    note: JsonObject = {"file_path": str(tmp_path / "note.txt"), "content": "a note", "bytes": 6}
    _same(pair, converting.Played(), "ok", {"note": note})
    other = text + BASE[BASE.index("  - id: draft") : BASE.index("  - id: ask")]
    assert converting.refused(tmp_path, "inputs: {text: string}\n" + other) == [
        "look: it is held to the mode 'offline', which would hold 'draft' too"
    ]


def test_texts_of_a_step_that_only_look_like_refs_stay_texts(tmp_path: Path) -> None:
    step = "{op: transform, args: {fn: template, template: '{{ values.x }}/{{ values.y }}', values: VALUES}}"
    step = step.replace("VALUES", '{x: "var:a", y: {$literal: "var:a"}}')
    pair = converting.converted(
        tmp_path,
        "inputs: {a: {type: string, default: x}}\nblocks:\n  - id: j\n    mode: deterministic\n"
        "    inputs: {a: {type: string, from: inputs.a}}\n    outputs: {t: json}\n"
        f"    deterministic: {{handler: builtin:step, config: {step}}}\n",
    )
    _same(pair, converting.Played(), "ok", {"t": "x/var:a"})


#: One block of each kind to which something is added that a plan cannot say.
BASE = """\
inputs: {text: {type: string, default: t}}
blocks:
  - id: draft
    inputs: {text: {type: string, from: inputs.text}}
    outputs: {said: string}
    expert: one
  - id: ask
    mode: approval
    inputs: {said: {type: string, from: draft.said}}
    approval: {prompt: Good?, form: {say: string}}
  - id: end
    mode: deterministic
    inputs: {say: {type: string, from: ask.say}}
    outputs: {out: string}
    deterministic: {handler: builtin:transform, config: {map: {out: inputs.say}}}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("expert: one", "when: 'true'", "draft: it has when, which a step cannot say"),
        ("expert: one", "cache: true", "draft: it has cache, which a step cannot say"),
        ("expert: one", "approval: {prompt: May I?}", "draft: it has a checkpoint, which a step cannot say"),
        ("expert: one", "model: other", "draft: it has its own 'model', and a step names an expert (declare one)"),
        (
            "expert: one",
            "retry: {max_attempts: 4}",
            "draft: after 3 equal failures it asks a person, and a retry does not (retry.stall_after: 0 would say so)",
        ),
        ("expert: one", "retry: {max_attempts: 22}", "draft: it is tried more than 21 times"),
        (
            "expert: one",
            "retry: {max_attempts: 2}\n    post_gates: [{type: not_empty, port: said}]",
            "draft: what its gates refuse is tried again with their verdicts, and a retry has none",
        ),
        (
            "expert: one",
            "post_gates: [{type: word_count, name: short, port: said, max: 3}]",
            "draft: its gate 'short' is of type 'word_count', for which there is no checker",
        ),
        (
            "expert: one",
            "post_gates: [{type: not_empty, port: said}]\n"
            "    on_gate_fail: [{when_gate: not_empty, route_to: draft, max_bounces: 1}]",
            "draft: it has on_gate_fail, which a step cannot say",
        ),
        (
            "expert: one",
            "prompt: 'It is {{ run.name }}.'",
            "draft: an expression of it reads 'run' as a whole, which a plan does not have",
        ),
        (
            "{said: string}\n    expert",
            "{said: {type: string, default: s}}\n    expert",
            "draft: its output 'said' has a default, or is a file",
        ),
        (
            "{text: {type: string, default: t}}",
            "{text: {type: json, default: t}}",
            "inputs: 'text' has a default of one type and takes others, which an input of a plan does not",
        ),
        (
            "prompt: Good?",
            "prompt: Good?, on_deny: continue",
            "ask: a plan ends when a question is denied or times out",
        ),
        (
            "prompt: Good?",
            "prompt: 'Good, {{ size(inputs.said) }}?'",
            "ask: its prompt computes `size(inputs.said)`, and a question's message is fixed",
        ),
        (
            "form: {say: string}",
            "form: {say: string, said: string}",
            "ask: its input 'said' is also an answer, which a question does not suggest",
        ),
        (
            "from: ask.say",
            "from: ask.by",
            "ask: its output 'by' is not a required answer, and something reads it",
        ),
        (
            "from: ask.say",
            "from: ask.say, transform: value + '!'",
            "end: the edge that brings 'say' to it has a transform",
        ),
        (
            "map: {out: inputs.say}",
            "map: {out: 'string(size(inputs))'}",
            "end: an expression of it reads 'inputs' as a whole, which a plan does not have",
        ),
        (
            "builtin:transform, config: {map: {out: inputs.say}}",
            "builtin:write-file, config: {content_from: say, default_path_template: x}",
            "end: there is no op that does what 'builtin:write-file' does",
        ),
        (
            "{text: {type: string, default: t}}",
            "{text: string?}",
            "inputs: 'text' may be left out, and an input of a plan may not",
        ),
        ("text:", "text_ref:", "inputs: in a plan a name like 'text_ref' declares contexts"),
    ],
)
def test_what_a_plan_cannot_say_is_a_problem_that_names_the_block(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in BASE
    text = BASE.replace(old, new).replace("inputs.text}", "inputs.text_ref}" if old == "text:" else "inputs.text}")
    if "write-file" in new:
        text = text.replace("outputs: {out: string}", "outputs: {file_path: string}")
    if "string?" in new:
        text = text.replace("{text: {type: string, from", "{text: {type: string, required: false, from")
    if "json" in new:
        text = text.replace("{text: {type: string, from", "{text: {from")
    assert converting.refused(tmp_path, text) == [message]

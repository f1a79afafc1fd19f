"""`skelo convert`: the other form validates, and runs to the same outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openskelo.kernel.json import Json, JsonObject
from tests.cli.conftest import Skelo

#: Branches on values, a variable that two ways set, a retry, tools, checkers, contexts and a result that may be null.
PLAN = """\
plan_id: sort
budgets: {max_tool_spend_usd: 1}
inputs: {n: 4, text: hello}
variables: {size: none}
steps:
  - {id: even, op: transform, args: {expr: "{'ok': input.n % 2 == 0, 'half': input.n / 2}"}, save_as: even}
  - {id: which, op: branch, args: {cond: {ok: "var:even.ok"}, then: big, else: odd}}
  - {id: odd, op: transform, args: {fn: join, refs: ["input:text", "ctx:rules"], separator: "-"}, save_as: said}
  - {id: again, op: retry, args: {step_id: check, max_retries: 2}}
  - {id: no, op: branch, args: {cond: {expr: "var.even.ok"}, then: done, else: end}}
  - {id: end, op: emit, args: {result_ref: "var:said", audit_refs: ["var:v", "var:size"]}}
  - {id: big, op: transform, args: {expr: "'big ' + string(var.even.half)"}, save_as: said}
  - {id: look, op: tool_call, args: {tool_id: read-file, args: {path: note.txt}}, save_as: note}
  - {id: size, op: transform, args: {expr: "size(var.note.content) > 3 ? 'long' : 'short'"}, save_as: size}
  - {id: done, op: emit, args: {result_ref: "var:said", audit_refs: ["var:size", "var:v.ok", "var:note.content"]}}
  - {id: check, op: verify, args: {checker_id: regex, input_ref: "var:said", pattern: "-"}, save_as: v}
"""
PROJECT = "contexts: {rules: {text: be brief}}\n"

BLOCKS = """\
name: chain
inputs: {n: {type: integer, default: 3}}
blocks:
  - id: twice
    mode: deterministic
    inputs: {n: {type: integer, from: inputs.n}}
    outputs: {value: integer}
    deterministic: {handler: builtin:transform, config: {map: {value: "inputs.n * 2"}}}
  - id: shown
    mode: deterministic
    inputs: {value: {type: integer, from: twice.value}, n: {type: integer, from: inputs.n}}
    outputs: {text: string}
    deterministic: {handler: builtin:transform, config: {map: {text: "string(inputs.value) + '/' + string(inputs.n)"}}}
outputs: {text: shown.text, value: twice.value}
"""


def _project(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", PROJECT)
    skelo.write("note.txt", "a note")


@pytest.mark.parametrize("number", [4, 5])
def test_a_plan_as_blocks_gives_the_same(number: int, skelo: Skelo) -> None:
    _project(skelo)
    skelo.write("sort.yaml", PLAN)
    asked = skelo("convert", "sort.yaml", "--to", "blocks", "--out", "blocks.json")
    assert asked.code == 0, asked.err
    assert skelo("validate", "blocks.json").code == 0
    plan = skelo("run", "sort.yaml", "--input", f"n={number}", "--json")
    more = () if number == 4 else ("--input", "text=hello")
    blocks = skelo("run", "blocks.json", "--input", f"n={number}", "--input", "ctx_rules=be brief", *more, "--json")
    assert (plan.code, blocks.code) == (0, 0), plan.err + blocks.err
    assert plan.document["outputs"]["result"] == ("big 2" if number == 4 else "hello-be brief")
    assert blocks.document["outputs"] == plan.document["outputs"]


def test_blocks_as_a_plan_give_the_same(skelo: Skelo) -> None:
    skelo.write("chain.yaml", BLOCKS)
    asked = skelo("convert", "chain.yaml", "--to", "plan", "--out", "plan.json", "--json")
    assert asked.code == 0, asked.err
    assert asked.document["hash"] == skelo("hash", "plan.json").out.split()[0]
    blocks, plan = (skelo("run", file, "--input", "n=5", "--json").document for file in ("chain.yaml", "plan.json"))
    assert blocks["outputs"] == {"text": "10/5", "value": 10}
    assert plan["outputs"] == {"result": blocks["outputs"], "audit": []}


@pytest.mark.parametrize(
    ("step", "text", "changed"),
    [
        ("no", "then: done, else: end", "then: even, else: end"),
        ("look", "args: {path: note.txt}}", "args: {path: note.txt}, on_denied: done}"),
    ],
)
def test_what_blocks_cannot_say_is_a_problem_that_names_the_step(
    step: str, text: str, changed: str, skelo: Skelo
) -> None:
    _project(skelo)
    assert text in PLAN
    skelo.write("sort.yaml", PLAN.replace("max_tool_spend_usd: 1", "max_steps: 50").replace(text, changed))
    done = skelo("convert", "sort.yaml", "--to", "blocks", "--json")
    assert done.code == 2
    (problem,) = done.document["problems"]
    assert (problem["code"], problem["message"].partition(":")[0]) == ("NOT_CONVERTIBLE", step)
    lines = (skelo.folder / "sort.yaml").read_text().splitlines()
    assert lines[int(problem["line"]) - 1].startswith(f"  - {{id: {step},")
    assert (problem["column"], problem["path"]) == (5, f"/steps/{problem['line'] - 6}")


def test_a_block_that_no_step_can_be_is_named(skelo: Skelo) -> None:
    skelo.write(
        "chain.yaml", BLOCKS.replace("outputs: {value: integer}\n", "outputs: {value: integer}\n    when: 'true'\n")
    )
    done = skelo("convert", "chain.yaml", "--to", "plan", "--json")
    assert [one["message"].partition(":")[0] for one in done.document["problems"]] == ["twice"]


#: Two experts, a variable that either sets, a branch on it, a question with a field that may be left out.
ASKING = """\
plan_id: asking
inputs: {deep: true, what: bees}
steps:
  - {id: which, op: branch, args: {cond: {ok: "input:deep"}, then: long, else: short}}
  - {id: long, op: route_expert, args: {expert_id: one, prompt_ref: "input:what", output_schema: {type: object,
      properties: {ok: {type: boolean}, text: {type: string}}, required: [ok, text]}}, save_as: said}
  - {id: on, op: branch, args: {cond: {expr: "true"}, then: sure, else: short}}
  - {id: short, op: route_expert, args: {expert_id: two, input: {about: "input:what"}, output_schema: {type: object,
      properties: {ok: {type: boolean}, text: {type: string}}, required: [ok, text]}}, save_as: said}
  - {id: sure, op: branch, args: {cond: {ok: "var:said.ok"}, then: done, else: ask}}
  - {id: ask, op: ask_human, args: {request: {message: "Is {{ it }} so?", details: {said: "var:said.text"}},
      answer: {type: object, properties: {yes: {type: boolean}, why: {type: string}}, required: [yes]}}, save_as: told}
  - {id: also, op: emit, args: {result_ref: "var:told", audit_refs: ["var:said.text", "var:told.why"]}}
  - {id: done, op: emit, args: {result_ref: "var:said"}}
"""
SURE = {"ok": True, "text": "Bees."}
UNSURE = {"ok": False, "text": "Wasps?"}


@pytest.mark.parametrize(
    ("deep", "answer", "told", "result", "audit"),
    [
        (True, SURE, None, SURE, []),
        (False, SURE, None, SURE, []),
        (True, UNSURE, {"yes": False, "why": "no"}, {"yes": False, "why": "no"}, ["Wasps?", "no"]),
        (False, UNSURE, {"yes": True}, {"yes": True}, ["Wasps?", None]),
    ],
)
def test_experts_and_questions_give_the_same_both_ways(
    deep: bool, answer: JsonObject, told: JsonObject | None, result: JsonObject, audit: list[Json], skelo: Skelo
) -> None:
    skelo.write(
        "skelo.yaml", "providers: {tape: {kind: recorded}}\nexperts: {one: {provider: tape}, two: {provider: tape}}\n"
    )
    skelo.write("asking.yaml", ASKING)
    asked = skelo("convert", "asking.yaml", "--to", "blocks", "--out", "blocks.json")
    assert asked.code == 0, asked.err
    expert = "long" if deep else "short"
    expected = {"ending": "ok", "outputs": {"result": result, "audit": audit}}
    case: dict[str, Json] = {}
    for file, question, said in (("asking.yaml", "ask", answer), ("blocks.json", "ask_asked", {"value": answer})):
        case = {"inputs": {"deep": deep, "what": "bees"}, "answers": {expert: [said]}, "expect": expected}
        if told is not None:
            case["approvals"] = {question: {"set": told}}
        skelo.write("script.yaml", json.dumps({"tests": [case]}))
        held = skelo("test", file, "--script", "script.yaml")
        assert held.code == 0, held.out + held.err
    denied: JsonObject = {
        **case,
        "approvals": {"ask_asked": {"status": "denied", "reason": "no"}},
        "expect": {"ending": "denied"},
    }
    if told is not None:
        skelo.write("script.yaml", json.dumps({"tests": [denied]}))
        assert skelo("test", "blocks.json", "--script", "script.yaml").code == 0


MODES = """\
plan_id: modes
mode: degraded
inputs: {what: bees}
steps:
  - {id: look, op: tool_call, args: {tool_id: near, args: {path: note.txt}}, save_as: note}
  - {id: say, op: route_expert, args: {expert_id: one, prompt_ref: "input:what"}, save_as: said}
  - {id: end, op: emit, args: {result_ref: "var:note.content", audit_refs: ["var:said"]}}
"""
NEAR = "tools: {near: {builtin: read-file, modes: [degraded]}}\nproviders: {tape: {kind: recorded}}\n"


def test_experts_of_whom_the_mode_chooses_stay_a_plans_own(skelo: Skelo) -> None:
    skelo.write(
        "skelo.yaml",
        NEAR + "experts: {one: {provider: tape, fallbacks: [two]}, two: {provider: tape, modes: [normal]}}\n",
    )
    skelo.write("plan.yaml", MODES)
    done = skelo("convert", "plan.yaml", "--to", "blocks", "--json")
    assert done.code == 2
    (problem,) = done.document["problems"]
    assert problem["message"] == "say: a plan's mode may leave out some fallbacks of 'one'"


def test_experts_whom_a_plan_would_not_ask_stay_the_blocks_own(skelo: Skelo) -> None:
    skelo.write(
        "skelo.yaml",
        "providers: {tape: {kind: recorded}}\n"
        "experts: {one: {provider: tape, fallbacks: [two]}, two: {provider: tape, modes: [offline]}}\n",
    )
    skelo.write("blocks.yaml", "blocks:\n  - {id: draft, expert: one, prompt: Sing., outputs: {said: string}}\n")
    done = skelo("convert", "blocks.yaml", "--to", "plan")
    assert done.code == 2
    assert "NOT_CONVERTIBLE draft: a plan's mode may leave out some fallbacks of 'one'" in done.err


def test_a_file_in_its_own_form_is_left_alone(skelo: Skelo) -> None:
    skelo.write("chain.yaml", BLOCKS)
    done = skelo("convert", "chain.yaml", "--to", "blocks", "--json")
    assert (done.code, done.document["error"]["code"]) == (2, "USAGE")


def test_standard_output_has_the_document(skelo: Skelo, tmp_path: Path) -> None:
    skelo.write("chain.yaml", BLOCKS)
    done = skelo("convert", "chain.yaml", "--to", "plan")
    assert json.loads(done.out)["plan_id"] == "chain"

"""Models on the command line: whom a workflow asks, what stops it before it starts, and what is kept of a question."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Skelo

FLOW = """
name: ask
blocks:
  - {id: ask, prompt: Say something., outputs: {text: {type: string, maxLength: 20}}}
"""
RECORDED = """
providers: {kept: {kind: recorded, recordings: said, record: here}, here: {kind: local}}
experts: {default: {provider: kept, max_tokens: 24}}
"""


def test_a_model_that_is_not_there_stops_a_run_before_it_starts(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("skelo.yaml", "providers: {gone: {kind: local, model_path: nowhere.gguf}}\n")
    done = skelo("run", "flow.yaml", "--json")
    assert (done.code, done.document["error"]["code"]) == (2, "PROVIDER_MISSING")
    assert skelo("runs", "--json").document == {"runs": []}


def test_an_answer_is_recorded_once_and_its_question_can_be_read(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("skelo.yaml", RECORDED)
    first = skelo("run", "flow.yaml", "--json")
    assert first.code == 0, first.err
    text = first.document["outputs"]["text"]
    assert isinstance(text, str)
    assert len(list((skelo.folder / "said").iterdir())) == 1
    again = skelo("run", "flow.yaml", "--json")
    assert again.document["outputs"] == {"text": text}
    prompt = skelo("output", "last", "ask:prompt.full.txt").out
    assert prompt.endswith("=== user ===\n# ask\n\nSay something.\n\n")
    assert "Answer with one JSON object" in prompt
    missing = skelo("output", "last", "ask:other.txt", "--json")
    assert (missing.code, missing.document["error"]["code"]) == (2, "ARTIFACT_NOT_FOUND")


def test_explain_says_whom_a_block_asks(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("skelo.yaml", RECORDED)
    document = skelo("explain", "flow.yaml", "--json").document
    assert document["blocks"][0]["experts"] == [
        {"expert": "default", "provider": "kept", "kind": "recorded", "model": "", "max_tokens": 24}
    ]
    assert document["totals"]["all"]["expected"]["tokens"] > 24


def test_explain_leaves_out_what_past_runs_took_for_a_block_that_is_another_now(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("skelo.yaml", RECORDED)
    assert skelo("run", "flow.yaml", "--json").document["budget"]["tokens"]["used"] > 0
    skelo.write(
        "flow.yaml",
        "name: ask\nblocks:\n  - id: ask\n    mode: deterministic\n    outputs: {x: integer}\n"
        "    deterministic: {handler: builtin:transform, config: {map: {x: '1'}}}\n    estimate: {tokens: 0}\n",
    )
    document = skelo("explain", "flow.yaml", "--json").document
    assert document["history"] is None
    assert document["totals"]["byMode"]["deterministic"]["expected"] == {
        "steps": 1,
        "tokens": 0,
        "costUsd": 0.0,
        "durationSec": 0.0,
    }


def test_explain_expects_what_past_runs_took(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("skelo.yaml", RECORDED)
    used = skelo("run", "flow.yaml", "--json").document["budget"]["tokens"]["used"]
    assert used > 0
    document = skelo("explain", "flow.yaml", "--json").document
    total = document["totals"]["all"]
    assert (total["minimum"]["tokens"], total["expected"]["tokens"], document["history"]["runs"]) == (0, used, 1)
    assert total["worst"]["tokens"] > used
    assert f"on average: 1 step, {used} tokens, " in skelo("explain", "flow.yaml").out


BUDGETED = """
name: greet
budgets: {max_tokens: 300}
blocks:
  - id: greet
    prompt: Answer {{ inputs.said }}.
    inputs: {said: string}
    outputs: {text: {type: string, maxLength: 20}}
"""
PLAN = """
plan_id: greet
budgets: {max_tokens: 100}
steps:
  - {id: ask, op: route_expert, args: {expert_id: default, prompt: hi, max_new_tokens: 20}, save_as: said}
  - {id: end, op: emit, args: {result_ref: "var:said", status: ok}}
"""


def _minimum(skelo: Skelo, file: str) -> int:
    return skelo("explain", file, "--json").document["totals"]["all"]["minimum"]["tokens"]


def test_a_small_budget_is_enough_for_a_short_input_and_not_for_a_long_one(skelo: Skelo) -> None:
    skelo.write("flow.yaml", BUDGETED)
    skelo.write("skelo.yaml", RECORDED)
    least = _minimum(skelo, "flow.yaml")
    assert 24 < least < 300
    short = skelo("run", "flow.yaml", "--input", "said=hi", "--json")
    assert short.code == 0, short.err
    assert 0 < short.document["budget"]["tokens"]["used"] <= least
    long = skelo("run", "flow.yaml", "--input", "said=" + "hi " * 1000, "--json")
    assert (long.code, long.document["ending"], long.document["budget"]["tokens"]["used"]) == (4, "budget_exceeded", 0)


def test_what_explain_calls_the_minimum_is_what_a_run_needs(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", RECORDED)
    skelo.write("flow.yaml", BUDGETED)
    least = _minimum(skelo, "flow.yaml")
    for limit, code in ((least, 0), (least - 1, 4)):
        skelo.write("flow.yaml", BUDGETED.replace("300", str(limit)))
        assert skelo("run", "flow.yaml", "--input", "said=hi", "--json").code == code


def test_a_plan_with_a_short_prompt_runs_on_a_hundred_tokens(skelo: Skelo) -> None:
    skelo.write("plan.yaml", PLAN)
    skelo.write("skelo.yaml", RECORDED)
    done = skelo("run", "plan.yaml", "--json")
    assert done.code == 0, done.err
    assert 0 < done.document["budget"]["tokens"]["used"] <= _minimum(skelo, "plan.yaml") <= 100


LATER = """
name: later
blocks:
  - {id: ok, mode: approval, outputs: {by: string}, approval: {prompt: "Go on?"}}
  - {id: ask, after: ok, expert: writer, prompt: Say something., outputs: {text: {type: string, maxLength: 20}}}
"""
PLAN_LATER = """
plan_id: later
steps:
  - {id: ok, op: ask_human, args: {request: {message: "Go on?"}}}
  - {id: ask, op: route_expert, save_as: text, args: {expert_id: writer, prompt: Say something., max_new_tokens: 24}}
  - {id: end, op: emit, args: {result_ref: "var:text"}}
"""
WRITER = "providers: {here: {kind: local}}\nexperts: {writer: {provider: here, max_tokens: 24}}\n"


@pytest.mark.slow
@pytest.mark.parametrize("flow", [LATER, PLAN_LATER])
@pytest.mark.parametrize("without", ["{}\n", WRITER.replace("kind: local", "kind: ollama, model: m")])
def test_a_run_whose_provider_was_taken_out_is_refused_until_it_is_back_and_loses_nothing(
    skelo: Skelo, flow: str, without: str
) -> None:
    skelo.write("flow.yaml", flow)
    skelo.write("skelo.yaml", WRITER)
    assert skelo("run", "flow.yaml").code == 3
    question = skelo("approvals", "--json").document
    log = skelo("events", "last", "--json").out
    skelo.write("skelo.yaml", without)
    for command in ("approve", "resume"):
        refused = skelo(command, "last", "--json")
        assert (refused.code, refused.document["error"]["code"]) == (2, "PROVIDER_UNKNOWN")
    assert (skelo("approvals", "--json").document, skelo("events", "last", "--json").out) == (question, log)
    skelo.write("skelo.yaml", WRITER)
    done = skelo("approve", "last", "--json")
    assert (done.code, done.document["ending"]) == (0, "ok"), done.err
    assert skelo("verify", "last").code == 0

"""What a workflow will take, added up by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel.json import Json
from openskelo.workflows import load
from openskelo.workflows.estimate import estimator, quantities
from openskelo.workflows.estimate.quantities import Quantity, Range
from tests.workflows import marking


def _report(*blocks: Json, items: int = 10, history: quantities.Quantities | None = None) -> quantities.Report:
    return estimator.estimate(load.from_document({"name": "w", "blocks": list(blocks)}), history, items=items)


def test_one_ai_block_with_retries_and_repairs() -> None:
    report = _report(
        {
            "id": "a",
            "estimate": {"tokens": 100, "cost_usd": 0.5, "duration_sec": 2},
            "contract_repair_attempts": 2,
            "retry": {"max_attempts": 3, "backoff": "linear", "delay_ms": 1000},
            "timeout_ms": 4000,
        }
    )
    one = Quantity(steps=1, tokens=100, cost_usd=0.5, duration_sec=2.0)
    # three tries and two repairs; each may last its timeout; waits of one and two seconds between the tries
    worst = Quantity(steps=5, tokens=500, cost_usd=2.5, duration_sec=23.0)
    whole = Range(minimum=one, expected=one, worst=worst)
    assert report == quantities.Report(by_node={"a": whole}, by_mode={"ai": whole}, total=whole, items=10)


def test_side_by_side_blocks_share_their_time() -> None:
    slow = {"estimate": {"tokens": 1, "duration_sec": 5}, "contract_repair_attempts": 0}
    report = _report({"id": "a", **slow}, {"id": "b", **slow}, {"id": "c", **slow, "after": ["a", "b"]})
    assert report.total.expected == Quantity(steps=3, tokens=3, duration_sec=10.0)
    assert report.by_mode["ai"].expected == Quantity(steps=3, tokens=3, duration_sec=15.0)
    assert report.total.worst == Quantity(steps=3, tokens=3, duration_sec=15.0)


def test_what_may_be_skipped_costs_nothing_at_least() -> None:
    one = {"estimate": {"tokens": 1}, "contract_repair_attempts": 0}
    report = _report(
        {"id": "a", **one, "outputs": {"x": "string"}},
        {"id": "b", **one, "when": "1 == 1", "after": ["a"]},
        {"id": "c", **one, "after": ["b"]},
        {"id": "d", **one, "after": ["a", "c"]},
        {"id": "e", **one, "cache": True},
        {"id": "f", **one, "approval": {"prompt": "ok?", "on_deny": "continue"}},
        {"id": "g", **one, "after": ["f"]},
    )
    least = {key: value.minimum.steps for key, value in report.by_node.items()}
    assert least == {"a": 1, "b": 0, "c": 0, "d": 1, "e": 0, "f": 0, "g": 0}
    assert report.total.expected.steps == 7


def test_ways_back_over_the_same_blocks_add_up_and_do_not_multiply() -> None:
    gate = {"outputs": {"t": "string"}, "post_gates": [{"name": "g", "type": "not_empty", "port": "t"}]}
    one = {"estimate": {"tokens": 1}, "contract_repair_attempts": 0}
    report = _report(
        {"id": "a", **one},
        {"id": "b", **one, **gate, "after": ["a"],
         "on_gate_fail": [{"when_gate": "g", "route_to": "b", "max_bounces": 2}]},
        {"id": "c", **one, **gate, "after": ["b"],
         "on_gate_fail": [{"when_gate": "g", "route_to": "a", "max_bounces": 3}]},
        {"id": "d", "mode": "approval", "after": ["c"],
         "approval": {"prompt": "?", "timeout_sec": 10, "on_deny": {"route_to": "c", "max_bounces": 1}}},
    )  # fmt: skip
    assert {key: value.worst.steps for key, value in report.by_node.items()} == {
        "a": 1 + 3,
        "b": 1 + 2 + 3,
        "c": 1 + 3 + 1,  # while b goes back to itself, c has not begun
        "d": 1 + 1,
    }
    assert report.by_mode["approval"].worst == Quantity(steps=2, duration_sec=20.0)


def test_a_block_beside_the_one_that_goes_back_is_entered_anew() -> None:
    gate = {"outputs": {"t": "string"}, "post_gates": [{"name": "g", "type": "not_empty", "port": "t"}]}
    back = {"on_gate_fail": [{"when_gate": "g", "route_to": "a", "max_bounces": 3}]}
    one = {"estimate": {"tokens": 1}, "contract_repair_attempts": 0}
    report = _report(
        {"id": "a", **one},
        {"id": "judge", **one, **gate, **back, "after": ["a"]},
        {"id": "beside", **one, "after": ["a"]},
        {"id": "last", **one, "after": ["judge", "beside"]},
    )
    assert {key: value.worst.steps for key, value in report.by_node.items()} == {
        "a": 4,
        "judge": 4,
        "beside": 4,
        "last": 1,
    }


def test_a_foreach_is_counted_with_the_assumed_items_and_says_so() -> None:
    block = {"id": "a", "foreach": {"items": "[1, 2]", "concurrency": 4}, "estimate": {"tokens": 3, "duration_sec": 2}}
    report = _report(block, items=10)
    assert report.by_node["a"].minimum == Quantity()
    assert report.by_node["a"].expected == Quantity(steps=10, tokens=30, duration_sec=6.0)
    assert report.notes == ("lists of unknown length, counted with 10 items: a",)


def test_a_deterministic_block_costs_no_tokens_and_no_money() -> None:
    block = {"id": "a", "mode": "deterministic", "deterministic": {"handler": "local:f"}, "retry": {"max_attempts": 4}}
    assert _report(block).total.worst == Quantity(steps=4)


def test_the_past_goes_before_the_authors_word() -> None:
    past = {"a": Quantity(tokens=70, cost_usd=0.1, duration_sec=3.0)}
    report = _report({"id": "a", "estimate": {"tokens": 5}}, history=past)
    assert report.total.expected == Quantity(steps=1, tokens=70, cost_usd=0.1, duration_sec=3.0)
    assert report.total.minimum == Quantity(steps=1, tokens=5)


def test_what_past_runs_took_is_no_bound() -> None:
    report = _report({"id": "a"}, history={"a": Quantity(tokens=70, duration_sec=3.0)})
    assert report.total == Range(
        minimum=Quantity(steps=1),
        expected=Quantity(steps=1, tokens=70, duration_sec=3.0),
        worst=Quantity(steps=2, tokens=140, duration_sec=6.0),
    )
    assert report.notes == ("no time limit, at worst counted with the time of past runs: a",)


def test_bounds_count_where_nobody_has_estimated() -> None:
    bounds = {"a": Quantity(tokens=50, cost_usd=0.2), "b": Quantity(tokens=50, cost_usd=0.2)}
    told: Json = {"id": "b", "estimate": {"tokens": 5}, "after": ["a"]}
    flow = load.from_document({"name": "w", "blocks": [{"id": "a"}, told]})
    report = estimator.estimate(flow, bounds=bounds)
    assert report.by_node["a"].expected == Quantity(steps=1, tokens=50, cost_usd=0.2)
    assert report.by_node["a"].minimum == Quantity(steps=1)
    assert report.by_node["b"].expected == Quantity(steps=1, tokens=5)
    assert report.by_node["b"].worst == Quantity(steps=2, tokens=100, cost_usd=0.4)
    assert report.notes == ("no estimate, counted as a full prompt and the longest answer: a",)


def test_what_cannot_be_counted_is_noted() -> None:
    review = {"type": "llm_review", "port": "t", "criteria": ["good"]}
    report = _report(
        {"id": "a", "outputs": {"t": "string"}, "post_gates": [review]},
        {"id": "b", "mode": "approval", "approval": {"prompt": "?", "timeout_ms": None}},
    )
    assert report.notes == (
        "no estimate, counted as nothing: a",
        "waits for a person without a time limit: b",
        "gates that ask a model are not counted: a",
    )


@pytest.mark.parametrize(("limit", "warned"), [(1, True), (2, False)])
def test_a_bound_that_the_best_run_exceeds_is_a_warning(tmp_path: Path, limit: int, warned: bool) -> None:
    text, expected = marking.expected(
        "BUDGET_TOO_SMALL",
        f"""\
name: small
budgets: {{max_steps: ‸{limit}}}
inputs: {{maybe: boolean}}
blocks:
  - {{id: a, mode: deterministic, outputs: {{x: integer}}, deterministic: {{handler: local:a}}}}
  - {{id: b, mode: deterministic, outputs: {{x: integer}}, deterministic: {{handler: local:b}}}}
  - id: c
    mode: deterministic
    when: inputs.maybe
    inputs: {{maybe: {{type: boolean, from: inputs.maybe}}}}
    outputs: {{x: integer}}
    deterministic: {{handler: local:c}}
outputs: {{x: a.x}}
""",
    )
    found = marking.check(text, tmp_path)
    assert (marking.errors(found), marking.warnings(found)) == ([], expected if warned else [])

"""A plan's text as a Workflow: values, warnings, paths, bounds, totals, and the published schema."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values.schema import validator as schemas
from openskelo.workflows import load
from openskelo.workflows.estimate import estimator, plan_estimate, quantities
from openskelo.workflows.plan import drafting_guide
from openskelo.workflows.text import source
from tests.workflows import marking
from tests.workflows.plan import seed
from tests.workflows.plan.test_mistakes import RICH

GOLDEN = Path(openskelo.__file__).parent / "workflows" / "schema" / "plan.schema.json"


def _loaded(text: str, folder: Path, name: str = "plan.json") -> definition.Workflow:
    (seed.project(folder) / name).write_text(text, encoding="utf-8")
    return load.load(folder / name)


def _steps(workflow: definition.Workflow) -> dict[str, definition.Step]:
    return {key: node.step for key, node in workflow.nodes.items() if node.step is not None}


def test_the_specifications_plan_is_read_as_printed(tmp_path: Path) -> None:
    workflow = _loaded(seed.PLAN, tmp_path)
    steps = _steps(workflow)
    assert (workflow.name, list(steps)) == (
        "fix_bug_v1",
        ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s12"],
    )
    assert workflow.plan == definition.Plan(
        entry="s1",
        mode="degraded",
        outputs={"result_ref": "var:patch", "audit_refs": ["var:v1", "var:v2"]},
        contexts=("ctx:repo_diff", "snap:t381"),
    )
    assert workflow.limits == definition.Limits(max_steps=18, max_tokens=1600, max_wall_ms=45000, max_tool_nanousd=0)
    assert [(port.name, port.default) for port in workflow.inputs] == [
        ("task", "Patch TypeError in futures component"),
        ("context_ref", "ctx:repo_diff"),
        ("snapshot_ref", "snap:t381"),
    ]
    assert (steps["s4"].then, steps["s4"].otherwise, steps["s4"].next) == ("s7", "s5", None)
    assert (steps["s9"].ending, steps["s9"].next, steps["s12"].next) == ("ok", None, None)
    assert {key: node.mode for key, node in workflow.nodes.items() if node.mode != "deterministic"} == {
        "s2": "ai",
        "s5": "ai",
        "s12": "approval",
    }
    assert workflow.nodes["s2"].reserve.tokens == 264


def test_yaml_and_json_are_the_same_plan(tmp_path: Path) -> None:
    assert _loaded(seed.PLAN, tmp_path).hash == _loaded(seed.PLAN, tmp_path, "plan.yaml").hash


def test_everything_a_step_may_say_is_read(tmp_path: Path) -> None:
    workflow = _loaded(RICH, tmp_path, "plan.yaml")
    steps = _steps(workflow)
    assert (steps["ask"].max_visits, workflow.nodes["ask"].repairs) == (3, 1)
    assert (steps["look"].on_denied, workflow.nodes["act"].effect) == ("sorry", "once")
    assert workflow.nodes["act"].reserve == definition.Amount(tool_nanousd=500_000_000)
    assert (steps["again"].target, workflow.nodes["again"].retry) == (
        "check",
        definition.Retry(max_attempts=3, backoff="linear", delay_ms=1000, stall_after=0),
    )
    assert (steps["person"].next, workflow.nodes["person"].approval) == (
        "act",
        definition.Approval(
            prompt="Publish?",
            timeout_ms=None,
            form={
                "type": "object",
                "properties": {"title": {"type": "string"}},
                "required": ["title"],
                "additionalProperties": False,
            },
        ),
    )


def test_an_emit_gives_what_the_plan_declares_unless_it_says_otherwise(tmp_path: Path) -> None:
    text = (
        "plan_id: p\ninputs: {a: 1, b: 2}\n"
        "outputs: {result_ref: 'input:a', audit_refs: ['input:b'], more_ref: 'input:a'}\n"
        "steps:\n  - {id: go, op: branch, args: {cond: {expr: input.a > 1}, then: own, else: plain}}\n"
        "  - {id: own, op: emit, args: {result_ref: 'input:b', audit_refs: []}}\n  - {id: plain, op: emit}\n"
    )
    steps = _steps(_loaded(text, tmp_path, "plan.yaml"))
    assert [steps[key].args for key in ("own", "plain")] == [
        {"result_ref": "input:b", "audit_refs": [], "status": "ok"},
        {"result_ref": "input:a", "audit_refs": ["input:b"], "status": "ok"},
    ]


def test_texts_that_look_like_refs_are_kept_as_texts(tmp_path: Path) -> None:
    text = RICH.replace('prompt: "write"', 'prompt: "var:draft"').replace('"Publish?"', '"input:what {{ is it }}"')
    workflow = _loaded(text, tmp_path, "plan.yaml")
    assert _steps(workflow)["ask"].args["prompt"] == {"$literal": "var:draft"}
    asked = workflow.nodes["person"].approval
    assert asked is not None
    assert asked.prompt == "input:what \\{{ is it }}"


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ("BUDGET_AT_WORST", seed.PLAN.replace('"max_steps": 18', '"max_steps": ‸8')),
        ("BUDGET_AT_WORST", seed.PLAN.replace('"max_tokens": 1600', '"max_tokens": ‸500')),
        ("UNVERIFIED", RICH.replace('{title: "var:said.title"}', '{title: ‸"var:draft.text"}').replace(
            "- {id: check, op: verify, args: {checker_id: regex, input_ref: \"var:draft.text\", pattern: \"^[A-Z]\"}, save_as: v}",  # noqa: E501
            "- {id: check, op: verify, args: {checker_id: equals, input_ref: \"input:topic\", expected: bees}, save_as: v}",  # noqa: E501
        )),
        ("RETRY_NEVER", RICH.replace("max_retries: 2", "max_retries: ‸0")),
        ("MODE_DENIED", RICH.replace("expert_id: slm_code_v1, prompt", "expert_id: ‸far, on_denied: sorry, prompt").replace(  # noqa: E501
            "plan_id: publish", "plan_id: publish\nmode: offline")),
    ],
    ids=["steps", "tokens", "unverified", "a retry that never retries", "denied, and somewhere to go"],
)  # fmt: skip
def test_doubts_are_warnings(codes: str, text: str, tmp_path: Path) -> None:
    clean, wanted = marking.expected(codes, text)
    name = "plan.json" if clean.startswith("{") else "plan.yaml"
    found = seed.check(clean, tmp_path, name=name)
    assert (marking.errors(found), marking.warnings(found)) == ([], wanted)
    assert load.load(tmp_path / name).plan is not None


def test_the_figures_are_in_the_warning(tmp_path: Path) -> None:
    (found,) = seed.check(seed.PLAN.replace('"max_steps": 18', '"max_steps": 8'), tmp_path)
    assert found.message == "max_steps = 8 may not be enough: at best 6, at worst 9 steps"


def test_a_path_that_shows_the_mistake_is_in_the_message(tmp_path: Path) -> None:
    wrong = seed.PLAN.replace(
        '{"ok":"var:v1.ok"},"then":"s9","else":"s8"', '{"ok":"var:v1.ok"},"then":"s8","else":"s9"'
    )
    found, result = seed.check(wrong, tmp_path)
    assert (result.code, result.path) == ("REF_UNSET", "/steps/9/args/result_ref")
    assert (found.code, found.message) == (
        "REF_UNSET",
        "var:v2.ok may not be set when 's8' reads it on the way s1 → s2 → s3 → s4 → s7 → s8",
    )


def _diamonds(count: int) -> JsonObject:
    """So many branches on values of their own, each of which sets something, and the same branches again to read it."""
    steps: list[Json] = [{"id": "start", "op": "transform", "args": {"expr": "1"}}]
    for number in range(count):
        cond: JsonObject = {"cond": {"ok": f"input:i{number}"}, "then": f"set{number}", "else": f"b{number + 1}"}
        steps.append({"id": f"b{number}", "op": "branch", "args": cond})
        steps.append({"id": f"set{number}", "op": "transform", "args": {"expr": "1"}, "save_as": f"v{number}"})
    steps.append(
        {"id": f"b{count}", "op": "branch", "args": {"cond": {"ok": "input:i0"}, "then": "use", "else": "end"}}
    )
    steps.append({"id": "use", "op": "transform", "args": {"fn": "join", "refs": ["var:v0"]}})
    steps.append({"id": "end", "op": "emit"})
    inputs: JsonObject = {f"i{number}": True for number in range(count)}
    return {"plan_id": "many", "inputs": inputs, "steps": steps}


def test_many_branches_cost_little_time(tmp_path: Path) -> None:
    started = time.process_time()
    workflow, found = load.check_document(_diamonds(200))
    assert workflow is not None, found
    assert time.process_time() - started < 5


def test_a_long_plan_is_checked_quickly() -> None:
    steps: list[Json] = [
        {"id": f"s{number}", "op": "transform", "args": {"expr": f"{number}"}, "save_as": f"v{number}"}
        for number in range(2000)
    ]
    steps.append({"id": "end", "op": "emit", "args": {"result_ref": "var:v7"}})
    started = time.process_time()
    workflow, found = load.check_document({"plan_id": "long", "steps": steps})
    assert workflow is not None, found
    assert time.process_time() - started < 20


def test_best_and_worst_case_follow_the_paths(tmp_path: Path) -> None:
    workflow = _loaded(seed.PLAN, tmp_path)
    worst = plan_estimate.worst_case(workflow)
    assert (plan_estimate.best_case(workflow).steps, plan_estimate.best_case(workflow).tokens) == (6, 264)
    assert (worst.cost.steps, worst.cost.tokens, worst.bounded) == (9, 528, True)
    assert plan_estimate.likely_path(workflow) == ("s1", "s2", "s3", "s4", "s7", "s9")


def test_loops_count_as_often_as_they_may_be_gone_round(tmp_path: Path) -> None:
    workflow = _loaded(RICH, tmp_path, "plan.yaml")
    worst = plan_estimate.worst_case(workflow)
    assert worst.visits["ask"] == 3
    assert worst.bounded
    assert worst.cost.tokens >= 3 * 2 * 100
    unbounded = _loaded(
        RICH.replace(", max_visits: 3", "").replace("max_tokens: 4000", "max_steps: 50"), tmp_path, "p.yaml"
    )
    assert (plan_estimate.worst_case(unbounded).bounded, plan_estimate.worst_case(unbounded).visits["ask"]) == (
        False,
        50,
    )


def test_totals_are_by_mode(tmp_path: Path) -> None:
    report = estimator.estimate(_loaded(seed.PLAN, tmp_path))
    total = report.total
    assert (total.minimum.steps, total.expected.steps, total.worst.steps) == (6, 6, 9)
    assert {mode: (one.minimum.steps, one.worst.steps) for mode, one in report.by_mode.items()} == {
        "ai": (1, 2),
        "deterministic": (5, 8),
        "approval": (0, 1),
    }


def test_an_expert_is_expected_to_use_what_it_has_used_and_needs_what_it_reserves(
    tmp_path: Path,
) -> None:
    plan = _loaded(seed.PLAN, tmp_path)
    bounds = {"s2": quantities.Quantity(tokens=500)}
    alone = estimator.estimate(plan, bounds=bounds).by_mode["ai"]
    assert (alone.minimum.tokens, alone.expected.tokens, alone.expected.duration_sec) == (500, 500, 0)
    past = {"s2": quantities.Quantity(tokens=60, duration_sec=2.0)}
    known = estimator.estimate(plan, past, bounds=bounds).by_mode["ai"]
    assert (known.minimum.tokens, known.expected.tokens, known.expected.duration_sec) == (500, 60, 2.0)


def test_the_published_schema_is_current() -> None:
    assert drafting_guide.schema_text() == GOLDEN.read_text(encoding="utf-8"), drafting_guide.schema_text.__doc__


@pytest.mark.parametrize(("text", "name"), [(seed.PLAN, "p.json"), (RICH, "p.yaml")], ids=["seed", "rich"])
def test_good_plans_keep_the_published_schema(text: str, name: str) -> None:
    value = source.parse(text.encode(), file=name).value
    assert schemas.compile(drafting_guide.plan_schema()).check(value) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"variables"', '"variable"'),
        ('"op":"verify"', '"op":"verfy"'),
        ('"max_new_tokens":220', '"max_new_tokens":0'),
        ('"result_ref":"var:patch",', '"result_ref":"patch",'),
        ('"then":"s7",', ""),
        ('"prompt_ref":"var:prompt",', ""),
    ],
)
def test_mistakes_of_form_break_the_published_schema(old: str, new: str) -> None:
    assert old in seed.PLAN
    wrong = cast("JsonObject", json.loads(seed.PLAN.replace(old, new, 1)))
    assert schemas.compile(drafting_guide.plan_schema()).check(wrong)


def test_a_fallback_that_the_mode_denies_is_not_asked(tmp_path: Path) -> None:
    project = seed.PROJECT.replace(
        "slm_code_v1: {provider: here}", "slm_code_v1: {provider: here, fallbacks: [far, slm_code_v2]}"
    )
    (seed.project(tmp_path, project) / "plan.json").write_text(seed.PLAN)
    pinned = cast("JsonObject", load.load(tmp_path / "plan.json").nodes["s2"].config["pinned"])
    assert [one["expert"] for one in cast("list[JsonObject]", pinned["experts"])] == ["slm_code_v1", "slm_code_v2"]


def test_a_plan_cannot_be_a_part_of_blocks(tmp_path: Path) -> None:
    (seed.project(tmp_path) / "plan.json").write_text(seed.PLAN)
    found = marking.check("blocks: [{id: a, uses: plan.json}]\n", tmp_path)
    assert [one.code for one in found if one.severity == "error"] == ["KIND_UNSUPPORTED"]


def test_arguments_of_a_tool_are_held_to_the_definitions_of_its_schema(tmp_path: Path) -> None:
    project = seed.PROJECT.replace(
        "properties: {q: {type: string}}", "properties: {q: {$ref: '#/$defs/q'}}, $defs: {q: {type: string}}"
    )
    seed.project(tmp_path, project)
    assert marking.check(RICH, tmp_path, name="plan.yaml") == ()
    found = marking.check(RICH.replace('{q: "input:topic"}', "{q: 5}"), tmp_path, name="plan.yaml")
    assert [(one.code, one.message) for one in found] == [("ARG_INVALID", '`q`: the value is not of type "string"')]


@pytest.mark.parametrize("key", ["²", "٣", "2", "a/b", "~"])
def test_a_wrong_argument_is_found_under_any_key(key: str, tmp_path: Path) -> None:
    inner = {"type": "object", "properties": {key: {"type": "null"}}}
    tool = {"python": "tools.py:look", "effect": "pure", "network": False, "args": {"properties": {"m": inner}}}
    seed.project(tmp_path, json.dumps({"tools": {"look": tool}}))
    steps = [
        {"id": "look", "op": "tool_call", "args": {"tool_id": "look", "args": {"m": {key: 5}}}, "save_as": "found"},
        {"id": "done", "op": "emit", "args": {"result_ref": "var:found"}},
    ]
    text = json.dumps({"plan_id": "p", "steps": steps}, ensure_ascii=False).replace(": 5}", ": ‸5}")
    clean, wanted = marking.expected("ARG_INVALID", text)
    assert marking.errors(marking.check(clean, tmp_path, name="plan.json")) == wanted


def test_what_a_projects_own_checker_is_given_is_its_own_affair(tmp_path: Path) -> None:
    seed.project(tmp_path, seed.PROJECT + 'checkers: {regex: {python: "tools.py:look"}}\n')
    text = RICH.replace('pattern: "^[A-Z]"', 'pattern: "(?=x"')
    assert marking.check(text, tmp_path, name="plan.yaml") == ()


def test_a_small_token_budget_is_enough_for_a_small_prompt_and_explained_as_it_is_checked(tmp_path: Path) -> None:
    text = (
        "plan_id: p\nbudgets: {max_tokens: 100}\nsteps:\n"
        "  - {id: ask, op: route_expert, args: {expert_id: slm_code_v1, prompt: hi, max_new_tokens: 20}, save_as: a}\n"
        "  - {id: end, op: emit, args: {result_ref: 'var:a'}}\n"
    )
    workflow = _loaded(text, tmp_path, "plan.yaml")
    needed = workflow.nodes["ask"].reserve.tokens
    assert 20 < needed < 100
    report = estimator.estimate(workflow)
    assert (report.total.minimum.tokens, report.by_mode["ai"].minimum.tokens) == (needed, needed)
    (found,) = seed.check(text.replace("max_tokens: 100", f"max_tokens: {needed - 1}"), tmp_path, name="plan.yaml")
    assert (found.code, found.message) == (
        "BUDGET_TOO_SMALL",
        f"no path fits into max_tokens = {needed - 1}: at best {needed}, at worst {needed} tokens",
    )


def test_a_stop_text_and_an_approver_that_look_like_refs_are_text(tmp_path: Path) -> None:
    text = (
        "plan_id: p\nsteps:\n"
        "  - {id: ask, op: route_expert, args: {expert_id: slm_code_v1, prompt: hi, stop: ['var:x']}, save_as: a}\n"
        "  - {id: who, op: ask_human, args: {request: {kind: clarify, message: '?'}, approvers: ['input:nora']}}\n"
        "  - {id: end, op: emit, args: {result_ref: 'var:a'}}\n"
    )
    workflow = _loaded(text, tmp_path, "plan.yaml")
    approval = workflow.nodes["who"].approval
    assert workflow.nodes["ask"].config["stop"] == ["var:x"]
    assert approval is not None
    assert approval.approvers == ("input:nora",)
    (found,) = seed.check(text.replace("slm_code_v1", "'var:a'"), tmp_path, name="plan.yaml")
    assert (found.code, found.message) == ("EXPERT_UNKNOWN", "there is no expert 'var:a'")

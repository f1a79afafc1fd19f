"""What ai blocks say about their models: checked where the project names them, pinned, and paid for in advance."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from openskelo.workflows.estimate import attempt_cost, estimator
from openskelo.workflows.project import project_file
from tests.workflows import marking

PROJECT = """
providers:
  cloud:
    {kind: openai, model: gpt-none, base_url: "http://127.0.0.1:1/v1",
     prices: {input_usd_per_mtok: 2, output_usd_per_mtok: 10}}
  dark: {kind: openai, model: gpt-none, base_url: "http://127.0.0.1:1/v1"}
  here: {kind: local}
  tape: {kind: recorded, record: cloud}
  dark-tape: {kind: recorded, record: dark}
experts:
  writer: {provider: cloud, max_tokens: 100, temperature: 0.5, system: Write well., fallbacks: [spare]}
  spare: {provider: here, max_tokens: 50}
  secretive: {provider: dark, max_tokens: 10}
  endless: {provider: cloud}
  taped: {provider: tape, max_tokens: 100}
  taped-in-the-dark: {provider: dark-tape, max_tokens: 10}
default_expert: spare
"""


def _check(text: str, folder: Path) -> list[marking.Place]:
    (folder / "skelo.yaml").write_text(PROJECT)
    return marking.errors(marking.check(text, folder))


CASES = {
    "an expert that is not there": ("EXPERT_UNKNOWN", "blocks: [{id: a, expert: ‸writr}]\n"),
    "a provider that is not there": ("PROVIDER_UNKNOWN", "blocks: [{id: a, provider: ‸clod}]\n"),
    "an expert that is a list": ("TYPE", "blocks: [{id: a, expert: ‸[writer]}]\n"),
    "a reviewer that is not there": (
        "EXPERT_UNKNOWN",
        "blocks:\n  - id: a\n    outputs: {t: string}\n"
        "    post_gates: [{type: llm_review, port: t, criteria: [x], expert: ‸wr}]\n",
    ),
    "a temperature beyond reason": ("RANGE", "blocks: [{id: a, temperature: ‸3}]\n"),
    "a top_p that is a text": ("TYPE", "blocks: [{id: a, top_p: ‸high}]\n"),
    "a seed below nothing": ("RANGE", "blocks: [{id: a, seed: ‸-1}]\n"),
    "a stop that is a number": ("TYPE", "blocks: [{id: a, stop: ‸3}]\n"),
    "parameters that are a text": ("TYPE", "blocks: [{id: a, model_params: ‸x}]\n"),
    "an empty model": ("EMPTY", 'blocks: [{id: a, model: ‸""}]\n'),
    "no token at all": ("RANGE", "blocks: [{id: a, max_tokens: ‸0}]\n"),
    "a cap in dollars over an unknown price": (
        "PRICE_UNKNOWN",
        "budgets: {max_cost_usd: ‸1}\nblocks: [{id: a, expert: secretive}]\n",
    ),
    "a cap in dollars over what is recorded at an unknown price": (
        "PRICE_UNKNOWN",
        "budgets: {max_cost_usd: ‸1}\nblocks: [{id: a, expert: taped-in-the-dark}]\n",
    ),
    "a cap in dollars over a reviewer's unknown price": (
        "PRICE_UNKNOWN",
        "budgets: {max_cost_usd: ‸1}\nblocks:\n"
        "  - id: a\n    mode: deterministic\n    deterministic: {handler: local:f}\n    outputs: {t: string}\n"
        "    post_gates: [{type: llm_review, port: t, criteria: [x], expert: secretive}]\n",
    ),
    "a cap in tokens over an answer without end": (
        "TOKENS_UNBOUNDED",
        "budgets: {max_tokens: ‸1000}\nblocks: [{id: a, expert: endless}]\n",
    ),
    "a cap in dollars over an answer without end": (
        "TOKENS_UNBOUNDED",
        "budgets: {max_cost_usd: ‸1}\nblocks: [{id: a, expert: endless}]\n",
    ),
    "parameters that would replace what the engine sends": (
        "MODEL_PARAM_RESERVED",
        "blocks: [{id: a, expert: secretive, model_params: {top_k: 3, ‸max_completion_tokens: 9}}]\n",
    ),
    "a folder outside": ("BLOCK_DIR_INVALID", "blocks: [{id: a, block_dir: ‸../x}]\n"),
    "a folder whose name no file system takes": (
        "BLOCK_DIR_INVALID",
        f"blocks: [{{id: a, block_dir: ‸{'x' * 300}}}]\n",
    ),
    "a folder that is not there": ("BLOCK_DIR_NOT_FOUND", "blocks: [{id: a, block_dir: ‸prompts}]\n"),
}


@pytest.mark.parametrize("case", CASES)
def test_mistake_is_found_at_its_place(case: str, tmp_path: Path) -> None:
    text, wanted = marking.expected(*CASES[case])
    assert _check(text, tmp_path) == wanted


def test_a_mistyped_expert_gets_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text(PROJECT)
    (problem,) = marking.check("blocks: [{id: a, expert: writr}]\n", tmp_path)
    assert problem.hint == "did you mean 'writer'?"


@pytest.mark.parametrize("project", [None, "", "name: blog\n", "experts: {default: {provider: local}}\n"])
@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("EXPERT_UNKNOWN", "blocks: [{id: a, expert: ‸anybody}]\n"),
        ("PROVIDER_UNKNOWN", "blocks: [{id: a, provider: ‸anybody}]\n"),
        ("TOKENS_UNBOUNDED", "budgets: {max_tokens: ‸9000}\nblocks: [{id: a, provider: local}]\n"),
        ("EXPERT_UNKNOWN", "steps: [{id: s, op: route_expert, args: {expert_id: ‸anybody, prompt: x}}]\n"),
    ],
)
def test_models_that_nobody_names_are_checked_like_named_ones(
    project: str | None, code: str, text: str, tmp_path: Path
) -> None:
    if project is not None:
        (tmp_path / "skelo.yaml").write_text(project)
    text, wanted = marking.expected(code, text)
    found = [one for one in marking.errors(marking.check(text, tmp_path)) if one[0] == code]
    assert found == wanted


def test_a_document_without_a_project_lets_its_caller_bring_models() -> None:
    document: JsonObject = {"name": "x", "blocks": [{"id": "a", "expert": "anybody"}, {"id": "b", "provider": "any"}]}
    assert load.check_document(document)[1] == ()


@pytest.mark.parametrize(
    "text",
    [
        "blocks: [‸{id: a, prompt: x}]\n",
        "blocks:\n  - id: a\n    mode: deterministic\n    deterministic: {handler: local:f}\n"
        "    outputs: {t: string}\n    post_gates: [‸{type: llm_review, port: t, criteria: [x]}]\n",
    ],
)
def test_a_question_to_nobody_is_a_problem(text: str, tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("experts: {e1: {provider: local}, e2: {provider: local}}\n")
    text, wanted = marking.expected("EXPERT_MISSING", text)
    assert marking.errors(marking.check(text, tmp_path)) == wanted


def _load(text: str, folder: Path) -> definition.Workflow:
    (folder / "skelo.yaml").write_text(PROJECT)
    (folder / "flow.yaml").write_text(text)
    return load.load(folder / "flow.yaml")


def _pinned(node: definition.Node) -> JsonObject:
    return cast("JsonObject", node.config["pinned"])


WRITER: list[Json] = [
    {
        "expert": "writer",
        "provider": "cloud",
        "kind": "openai",
        "model": "gpt-none",
        "max_tokens": 80,
        "parameters": {"model": "gpt-none", "temperature": 0.9},
        "system": "Write well.\n\nIn verse.",
    },
    {
        "expert": "spare",
        "provider": "here",
        "kind": "local",
        "model": "",
        "max_tokens": 80,
        "parameters": {"temperature": 0.9},
        "system": "In verse.",
    },
]
SPARE: list[Json] = [{"expert": "spare", "provider": "here", "kind": "local", "model": "", "max_tokens": 50}]


def test_the_expert_and_its_fallbacks_are_pinned(tmp_path: Path) -> None:
    flow = _load("blocks: [{id: a, expert: writer, temperature: 0.9, system: In verse., max_tokens: 80}]\n", tmp_path)
    assert _pinned(flow.nodes["a"]) == {"experts": WRITER}


def test_the_default_expert_and_reviewers_are_pinned(tmp_path: Path) -> None:
    gates = "[{type: not_empty, port: t}, {type: llm_review, port: t, criteria: [x]}]"
    flow = _load(f"blocks: [{{id: a, outputs: {{t: string}}, post_gates: {gates}}}]\n", tmp_path)
    assert _pinned(flow.nodes["a"]) == {"experts": SPARE}
    first, second = flow.nodes["a"].post_gates
    assert (first.params, second.params["pinned"]) == ({"port": "t"}, SPARE)


def test_what_makes_no_answer_is_not_pinned(tmp_path: Path) -> None:
    flow = "blocks: [{id: a, expert: writer}]\n"
    one = _load(flow, tmp_path).hash
    dearer = PROJECT.replace("input_usd_per_mtok: 2", "input_usd_per_mtok: 3").replace(":1/v1", ":2/v1")
    (tmp_path / "skelo.yaml").write_text(dearer)
    assert load.load(tmp_path / "flow.yaml").hash == one
    (tmp_path / "skelo.yaml").write_text(PROJECT.replace("temperature: 0.5", "temperature: 0.6"))
    assert load.load(tmp_path / "flow.yaml").hash != one


def test_repairs_are_one_unless_the_block_says_otherwise(tmp_path: Path) -> None:
    flow = _load(
        "blocks: [{id: a}, {id: b, contract_repair_attempts: 3}, {id: c, contract_repair_attempts: 0}]\n", tmp_path
    )
    assert [node.repairs for node in flow.nodes.values()] == [1, 3, 0]


def test_a_limit_makes_every_block_reserve_what_it_may_take(tmp_path: Path) -> None:
    text = (
        "budgets: {max_tokens: 9000, max_cost_usd: 1}\nblocks: [{id: a, expert: writer, contract_repair_attempts: 0}]\n"
    )
    node = _load(text, tmp_path).nodes["a"]
    # the writer: 207 letters around a prompt and 11 of its system, and an answer of 100; then the spare one
    assert node.reserve == definition.Amount(tokens=73 + 100 + 69 + 50, cost_nanousd=(73 * 2 + 100 * 10) * 1000)
    told = text.replace("expert: writer,", "expert: writer, estimate: {tokens: 700, cost_usd: 0.5},")
    assert _load(told, tmp_path).nodes["a"].reserve == definition.Amount(tokens=700, cost_nanousd=500_000_000)


SMALL = """\
budgets: {max_tokens: ‸LIMIT}
blocks: [{id: a, outputs: {text: string}, prompt: hi, max_tokens: 20}]
"""


@pytest.mark.parametrize(("limit", "warned"), [(98, True), (99, False)])
def test_a_token_limit_that_no_attempt_fits_into_is_a_warning(tmp_path: Path, limit: int, warned: bool) -> None:
    text, expected = marking.expected("BUDGET_TOO_SMALL", SMALL.replace("LIMIT", str(limit)))
    (tmp_path / "skelo.yaml").write_text(PROJECT)
    found = marking.check(text, tmp_path)
    assert (marking.errors(found), marking.warnings(found)) == ([], expected if warned else [])
    cases = estimator.estimate(load.load(tmp_path / "flow.yaml"))
    assert (cases.total.minimum.tokens, cases.by_mode["ai"].minimum.tokens) == (99, 99)


def test_what_is_recorded_from_a_paid_provider_is_reserved_at_its_price(tmp_path: Path) -> None:
    text = "budgets: {max_cost_usd: 1}\nblocks: [{id: a, expert: taped, contract_repair_attempts: 0}]\n"
    node = _load(text, tmp_path).nodes["a"]
    assert node.reserve == definition.Amount(tokens=69 + 100, cost_nanousd=(69 * 2 + 100 * 10) * 1000)


def test_a_reservation_leaves_out_the_values_of_inputs(tmp_path: Path) -> None:
    """Up to how long an input may be is as long as what it comes from; it counts when the prompt is written."""
    text = (
        "budgets: {max_tokens: 99000}\n"
        "blocks:\n"
        "  - {id: a, outputs: {t: {type: string, maxLength: 28}}}\n"
        "  - {id: b, contract_repair_attempts: 0, inputs: {t: {type: string, from: a.t}}}\n"
    )
    flow = _load(text, tmp_path)
    models = project_file.check(tmp_path)[0].models
    (question,) = attempt_cost.questions(flow.nodes["b"], flow, models)
    assert (question.length, question.data) == (248, 30)
    assert flow.nodes["b"].reserve.tokens == 83 + 50


def _folder(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / "prompts" / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_folder_of_prompts_is_pinned_with_its_content(tmp_path: Path) -> None:
    _folder(tmp_path, role="An editor.", task="Edit {{ inputs.t }}.", context__b="B {{ any }}", context__a="A")
    text = "blocks: [{id: a, inputs: {t: string}, block_dir: prompts}]\n"
    flow = _load(text, tmp_path)
    assert _pinned(flow.nodes["a"])["files"] == {
        "role.md": "An editor.",
        "task.md": "Edit {{ inputs.t }}.",
        "context/a.md": "A",
        "context/b.md": "B {{ any }}",
    }
    _folder(tmp_path, context__a="changed")
    assert load.load(tmp_path / "flow.yaml").hash != flow.hash


def test_a_mistake_in_a_folder_is_found_in_its_file(tmp_path: Path) -> None:
    _folder(tmp_path, task="Edit\n  {{ inputs.tt }}.")
    (problem,) = marking.check("blocks: [{id: a, inputs: {t: string}, block_dir: prompts}]\n", tmp_path)
    assert (problem.file, problem.line, problem.column) == (str(tmp_path / "prompts" / "task.md"), 2, 13)
    assert (problem.code, problem.hint) == ("UNKNOWN_PORT", "did you mean 't'?")


def test_folders_that_make_no_prompt_are_problems(tmp_path: Path) -> None:
    text = "blocks: [{id: a, block_dir: prompts}]\n"
    (tmp_path / "prompts").mkdir()
    assert [one.code for one in marking.check(text, tmp_path)] == ["BLOCK_DIR_EMPTY"]
    _folder(tmp_path, tasks="x", role="y")
    (warning,) = marking.check(text, tmp_path)
    assert (warning.code, warning.severity, warning.hint) == ("BLOCK_DIR_UNUSED", "warning", "did you mean 'task.md'?")
    (tmp_path / "prompts" / "tasks.md").unlink()
    (tmp_path / "prompts" / "rules.md").write_bytes(b"\xff")
    assert [one.code for one in marking.check(text, tmp_path)] == ["NOT_UTF8"]
    (tmp_path / "prompts" / "rules.md").write_text("x" * 200_000)
    assert [one.code for one in marking.check(text, tmp_path)] == ["BLOCK_DIR_TOO_LARGE"]
    (tmp_path / "prompts" / "rules.md").unlink()
    (tmp_path / "prompts" / "rules.md").symlink_to("/etc/hosts")
    assert [one.code for one in marking.check(text, tmp_path)] == ["BLOCK_DIR_INVALID"]
    (tmp_path / "prompts" / "rules.md").unlink()
    (tmp_path / "prompts" / "rules.md").mkdir()
    assert [one.code for one in marking.check(text, tmp_path)] == ["BLOCK_DIR_INVALID"]


def test_a_document_without_a_project_has_no_folders() -> None:
    _, found = load.check_document({"name": "w", "blocks": [{"id": "a", "block_dir": "prompts"}]})
    assert [one.code for one in found] == ["BLOCK_DIR_INVALID"]

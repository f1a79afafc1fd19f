"""Files and documents that are right become exactly the workflow they say."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from openskelo import errors
from openskelo.kernel import workflow_codec
from openskelo.kernel.definition import (
    Amount,
    Approval,
    Binding,
    Bounce,
    Estimate,
    Foreach,
    Gate,
    Limits,
    Node,
    Port,
    Retry,
    Workflow,
)
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import replace
from openskelo.values import canonical
from openskelo.workflows import load
from tests.workflows import marking

SEED = """\
blocks:
  - id: publish
    mode: deterministic                # ai | deterministic | approval (default ai)
    inputs:
      final_markdown: { type: string }
    outputs:
      file_path: { type: string }
      bytes_written: { type: number }
      save_summary: { type: string }
    deterministic:
      handler: builtin:write-file      # builtin:* or project-relative path
      config:
        content_from: final_markdown
        path_from: file_path           # optional
        default_path_template: "/Users/nora/Downloads/content-{timestamp}.md"
        timestamp_format: "YYYYMMDD-HHmmss"
        mkdir: true
        overwrite: false
"""
TEXT: JsonObject = {"type": "string"}
TEXTS: JsonObject = {"type": "array", "items": TEXT}


def unsealed(workflow: Workflow) -> Workflow:
    """The workflow without its hash, which is checked to be right."""
    bare = replace(workflow, hash="")
    assert workflow.hash == canonical.digest(workflow_codec.encode(bare))
    return bare


@pytest.mark.parametrize("text", [SEED, "name: flow\n" + SEED], ids=["as printed", "with a name"])
def test_the_seeds_example_is_a_workflow(text: str, tmp_path: Path) -> None:
    assert marking.check(text, tmp_path) == ()
    outputs = (
        Port(name="file_path", schema=TEXT),
        Port(name="bytes_written", schema={"type": "number"}),
        Port(name="save_summary", schema=TEXT),
    )
    publish = Node(
        key="publish",
        mode="deterministic",
        inputs=(Port(name="final_markdown", schema=TEXT),),
        outputs=outputs,
        bindings={"final_markdown": Binding(port="final_markdown")},
        handler="builtin:write-file",
        config={
            "content_from": "final_markdown",
            "path_from": "file_path",
            "default_path_template": "/Users/nora/Downloads/content-{timestamp}.md",
            "timestamp_format": "YYYYMMDD-HHmmss",
            "mkdir": True,
            "overwrite": False,
        },
        effect="idempotent",
        timeout_ms=300_000,
    )
    assert unsealed(load.load(tmp_path / "flow.yaml")) == Workflow(
        name="flow",
        hash="",
        nodes={"publish": publish},
        inputs=(Port(name="final_markdown", schema=TEXT),),
        outputs={port.name: Binding(node="publish", port=port.name) for port in outputs},
    )


EVERYTHING = """\
name: article
description: from a topic to a file
version: 2
metadata: {owner: ann}
inputs:
  topic: {type: string, minLength: 1, description: what about}
defaults: {retry: {max_attempts: 2, backoff: exponential}, timeout_ms: 60000, concurrency: 8, stall_after: 4}
budgets: {max_steps: 100, max_tokens: 9000, max_wall_ms: 600000, max_tool_spend_usd: 0, max_cost_usd: 0.5}
outputs: {where: publish.file_path, topic: {from: inputs.topic}}
blocks:
  - id: outline
    name: Outline
    prompt: Outline {{ inputs.topic }}
    expert: default
    inputs: {topic: {type: string, from: inputs.topic}}
    outputs: {points: {type: array, items: {type: string}, minItems: 1}}
    estimate: {tokens: 500, cost_usd: 0.01, duration_sec: 5}
    max_tokens: 800
    cache: true
  - id: draft
    inputs: {points: array, item: string}
    when: size(inputs.points) > 0
    foreach: {items: inputs.points, concurrency: 3}
    outputs: {text: string}
    post_gates:
      - {name: long, type: length, port: text, min: 5, error: longer please}
      - {type: expr, expression: outputs.text != item}
      - {name: an_a, type: regex, port: text, pattern: a+, error: an a}
    gate_composition: {post: any}
    on_gate_fail: [{when_gate: long, route_to: outline, max_bounces: 2, feedback: false}]
    retry: {max_attempts: 5}
  - id: review
    mode: approval
    inputs: {texts: {type: "string[]", from: draft.text}}
    approval:
      prompt: Good? {{ size(inputs.texts) }}
      approvers: [ann, bob]
      timeout_sec: 60
      on_timeout: approve
      form: {texts: "string[]", note: string?}
      on_deny: {route_to: draft, max_bounces: 1}
  - id: publish
    mode: deterministic
    after: [outline]
    inputs: {text: {type: string, default: nothing}}
    outputs: {file_path: file}
    approval: {required: true, prompt: "publish?", approver: owner}
    deterministic: {handler: builtin:write-file, config: {content_from: text, default_path_template: out.md}}
    effect: once
    repeatable: true
    timeout_ms: 5
edges:
  - {from: outline, output: points, to: draft, input: points}
  - {from: review.texts, to: publish.text, transform: "value[0]"}
"""


def _everything() -> Workflow:
    points: JsonObject = {"type": "array", "items": TEXT, "minItems": 1}
    retry = Retry(max_attempts=2, backoff="exponential", delay_ms=1000, stall_after=4)
    outline = Node(
        key="outline",
        mode="ai",
        label="Outline",
        inputs=(Port(name="topic", schema=TEXT),),
        outputs=(Port(name="points", schema=points),),
        bindings={"topic": Binding(port="topic")},
        config={
            "prompt": "Outline {{ inputs.topic }}",
            "expert": "default",
            "max_tokens": 800,
            **marking.embedded(800),
        },
        retry=retry,
        timeout_ms=60_000,
        repairs=1,
        cache=True,
        reserve=Amount(tokens=800, cost_nanousd=10_000_000),
        estimate=Estimate(tokens=500, cost_usd=0.01, duration_sec=5.0),
    )
    draft = Node(
        key="draft",
        mode="ai",
        inputs=(Port(name="points", schema={"type": "array"}), Port(name="item", schema=TEXT)),
        outputs=(Port(name="text", schema=TEXT),),
        bindings={"points": Binding(node="outline", port="points")},
        when="size(inputs.points) > 0",
        foreach=Foreach(items="inputs.points", concurrency=3),
        post_gates=(
            Gate(name="long", type="length", params={"port": "text", "min": 5}, error="longer please"),
            Gate(name="expr", type="expr", params={"expression": "outputs.text != item"}),
            Gate(name="an_a", type="regex", params={"port": "text", "pattern": "a+"}, error="an a"),
        ),
        post_composition="any",
        retry=replace(retry, max_attempts=5),
        timeout_ms=60_000,
        bounces=(
            Bounce(
                when_gate="long",
                route_to="outline",
                max_bounces=2,
                feedback=False,
                reset=("outline", "draft", "review", "publish"),
            ),
        ),
        config=marking.embedded(),
        repairs=1,
        reserve=Amount(tokens=654),
    )
    form: JsonObject = {
        "type": "object",
        "properties": {"texts": TEXTS, "note": TEXT},
        "required": ["texts"],
        "additionalProperties": False,
        "x-order": ["texts", "note"],
    }
    review = Node(
        key="review",
        mode="approval",
        inputs=(Port(name="texts", schema=TEXTS),),
        outputs=(
            Port(name="approved", schema={"type": "boolean"}),
            Port(name="decision", schema=TEXT),
            Port(name="reason", schema=TEXT),
            Port(name="by", schema=TEXT),
            Port(name="texts", schema=TEXTS, required=False),
            Port(name="note", schema=TEXT, required=False),
        ),
        bindings={"texts": Binding(node="draft", port="text")},
        approval=Approval(
            prompt="Good? {{ size(inputs.texts) }}",
            approvers=("ann", "bob"),
            timeout_ms=60_000,
            on_timeout="approve",
            form=form,
            on_deny="bounce",
            bounce=Bounce(when_gate="approval", route_to="draft", max_bounces=1, reset=("draft", "review", "publish")),
        ),
        effect="idempotent",
    )
    publish = Node(
        key="publish",
        mode="deterministic",
        inputs=(Port(name="text", schema=TEXT, required=False, has_default=True, default="nothing"),),
        outputs=(Port(name="file_path", schema=TEXT, kind="file"),),
        bindings={"text": Binding(node="review", port="texts", transform="value[0]")},
        after=("outline",),
        handler="builtin:write-file",
        config={"content_from": "text", "default_path_template": "out.md"},
        approval=Approval(prompt="publish?", approvers=("owner",), timeout_ms=None),
        retry=retry,
        timeout_ms=5,
        effect="once",
        repeatable=True,
    )
    return Workflow(
        name="article",
        hash="",
        description="from a topic to a file",
        nodes={node.key: node for node in (outline, draft, review, publish)},
        inputs=(Port(name="topic", schema={"type": "string", "minLength": 1}, description="what about"),),
        outputs={"where": Binding(node="publish", port="file_path"), "topic": Binding(port="topic")},
        limits=Limits(
            max_steps=100, max_tokens=9000, max_wall_ms=600_000, max_cost_nanousd=500_000_000, max_tool_nanousd=0
        ),
        parallel=8,
    )


def test_a_file_with_everything_is_exactly_the_workflow_it_says(tmp_path: Path) -> None:
    assert marking.check(EVERYTHING, tmp_path) == ()
    assert unsealed(load.load(tmp_path / "flow.yaml")) == _everything()


def test_nodes_keep_the_order_of_the_file(tmp_path: Path) -> None:
    marking.check(EVERYTHING, tmp_path)
    assert list(load.load(tmp_path / "flow.yaml").nodes) == ["outline", "draft", "review", "publish"]


def test_a_document_gives_the_same_hash_as_its_file(tmp_path: Path) -> None:
    text = '{"name": "one", "blocks": [{"id": "a", "inputs": {"x": "string"}, "outputs": {"y": {"type": "number"}}}]}'
    marking.check(text, tmp_path, name="one.json")
    document: JsonObject = {
        "name": "one",
        "blocks": [{"id": "a", "inputs": {"x": "string"}, "outputs": {"y": {"type": "number"}}}],
    }
    assert load.from_document(document, root=tmp_path) == load.load(tmp_path / "one.json")


def test_a_change_of_meaning_changes_the_hash() -> None:
    first = load.from_document({"name": "one", "blocks": [{"id": "a", "timeout_ms": 5}]})
    second = load.from_document({"name": "one", "blocks": [{"id": "a", "timeout_ms": 6}]})
    same = load.from_document({"blocks": [{"timeout_ms": 5, "id": "a"}], "name": "one"})
    assert first.hash == same.hash
    assert first.hash != second.hash


def test_a_document_may_change_after_it_was_loaded() -> None:
    config: dict[str, Json] = {"map": {"y": "1"}}
    block: dict[str, Json] = {"id": "a", "mode": "deterministic", "outputs": {"y": "integer"}}
    block["deterministic"] = {"handler": "builtin:transform", "config": config}
    workflow = load.from_document({"name": "one", "blocks": (block,)})
    config.clear()
    assert workflow.nodes["a"].config == {"map": {"y": "1"}}


def test_a_document_needs_a_name() -> None:
    with pytest.raises(errors.InvalidWorkflow) as caught:
        load.from_document({"blocks": [{"id": "a"}]})
    assert str(caught.value.problems[0]) == "<document>:1:1: MISSING_KEY the document needs the key `name`"


@pytest.mark.parametrize(
    ("value", "code"),
    [(2**60 + 1, "NUMBER_RANGE"), (float("nan"), "NUMBER_INVALID"), ({1: 2}, "NOT_JSON"), ({"a"}, "NOT_JSON")],
)
def test_a_document_that_is_not_json_is_a_problem(value: object, code: str) -> None:
    with pytest.raises(errors.InvalidWorkflow) as caught:
        load.from_document({"name": "x", "blocks": [{"id": "a", "metadata": {"x": cast("Json", value)}}]})
    assert [one.code for one in caught.value.problems] == [code]


def test_every_error_is_reported_at_once(tmp_path: Path) -> None:
    text, wanted = marking.expected(
        "UNKNOWN_KEY CHOICE TYPE_UNKNOWN UNKNOWN_BLOCK",
        "‸nme: x\nblocks:\n  - {id: a, mode: ‸aii, inputs: {x: ‸strin}}\n  - {id: b, after: [‸c]}\n",
    )
    path = tmp_path / "flow.yaml"
    assert marking.errors(marking.check(text, tmp_path)) == wanted
    with pytest.raises(errors.InvalidWorkflow) as caught:
        load.load(path)
    assert [str(one) for one in caught.value.problems] == [
        f"{path}:1:1: UNKNOWN_KEY unknown key 'nme' (did you mean 'name'?)",
        f"{path}:3:19: CHOICE `mode` must be one of ai, deterministic, approval, not 'aii' (did you mean 'ai'?)",
        f"{path}:3:36: TYPE_UNKNOWN there is no type 'strin' (did you mean 'string'?)",
        f"{path}:4:21: UNKNOWN_BLOCK there is no block 'c'",
    ]


def test_thousands_of_errors_are_cut_and_say_so(tmp_path: Path) -> None:
    text = "blocks:\n" + "".join(f"  - {{id: b{n}, modee: ai}}\n" for n in range(3000))
    found = marking.check(text, tmp_path)
    assert len(found) == 201
    assert found[-1].code == "TOO_MANY_PROBLEMS"


@pytest.mark.parametrize(
    ("text", "code"),
    [("skills: []\n", "KIND_UNSUPPORTED")],
)
def test_a_file_of_another_kind_says_which(text: str, code: str, tmp_path: Path) -> None:
    assert [one.code for one in marking.check(text, tmp_path)] == [code]


def _chain(length: int) -> JsonObject:
    def one(n: int) -> Mapping[str, Json]:
        source: Mapping[str, Json] = {"from": f"b{n - 1}.x"} if n else {}
        return {
            "id": f"b{n}",
            "mode": "deterministic",
            "inputs": {"x": {"type": "string", **source}},
            "outputs": {"x": "string"},
            "deterministic": {"handler": "local:step"},
        }

    return {"name": "chain", "blocks": [one(n) for n in range(length)]}


def test_the_content_of_a_file_that_is_no_workflow_is_not_shown(tmp_path: Path) -> None:
    (found,) = marking.check("hunter2: topsecret\nother: 1\n", tmp_path)
    assert (found.code, found.line, found.column) == ("KIND_UNKNOWN", 1, 1)
    assert "hunter2" not in str(found)


def test_a_mistyped_blocks_is_recognised(tmp_path: Path) -> None:
    found = marking.check("blcoks: [{id: a}]\n", tmp_path)
    assert [(one.code, one.hint) for one in found] == [
        ("UNKNOWN_KEY", "did you mean 'blocks'?"),
        ("MISSING_KEY", None),
    ]


def test_a_chain_of_ten_thousand_blocks_costs_ten_times_one_of_a_thousand() -> None:
    took: dict[int, float] = {}
    for length in (1_000, 10_000):
        document = _chain(length)
        started = time.process_time()
        workflow = load.from_document(document)
        took[length] = time.process_time() - started
        assert workflow.outputs == {"x": Binding(node=f"b{length - 1}", port="x")}
        assert len(workflow.nodes) == length
    assert took[10_000] < 30 * took[1_000]  # a quadratic loader would need a hundred times as long

"""The ai executor over the scripted provider: what is asked, what is accepted, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openskelo import errors
from openskelo.executors import attempt
from openskelo.kernel import definition, outcome
from openskelo.providers import scripted, seam
from tests.executors import workshop


def node(**changes: Any) -> definition.Node:
    plain: dict[str, Any] = {
        "key": "draft",
        "mode": "ai",
        "label": "Draft",
        "description": "Write a text.",
        "inputs": (workshop.port("topic", "string"),),
        "outputs": (workshop.port("text", "string"), workshop.port("score", "integer", required=False)),
        "post_gates": (
            definition.Gate(name="g", type="not_empty", params={"port": "text"}, error="Must say something."),
        ),
        "config": {"prompt": "About {{ inputs.topic }}.", "expert": "writer", "max_tokens": 200},
    }
    return definition.Node(**{**plain, **changes})


def ask(root: Path, provider: seam.Provider | None, one: definition.Node | None = None, **more: Any) -> outcome.Outcome:
    task = workshop.task_of(one or node(), {"topic": "bees ``` and ants"}, **more)
    return workshop.outcome_of(workshop.project(root), task, provider=provider)


def test_a_good_answer_becomes_the_outputs(tmp_path: Path) -> None:
    answer = seam.Answer(
        text='{"text": "Bees!", "score": 2.0}', usage=seam.Usage(tokens_in=40, tokens_out=9), model="m", cost_nanousd=77
    )
    provider = scripted.Scripted([answer])
    found = ask(tmp_path, provider, feedback={"attempt": 1, "error": {"code": "X"}})
    assert found.outputs == {"value": {"text": "Bees!", "score": 2}}
    assert (found.metrics.tokens_in, found.metrics.tokens_out, found.metrics.cost_nanousd) == (40, 9, 77)
    (asked,) = provider.asked
    assert (asked.node, asked.parameters, asked.max_tokens) == ("draft", {"expert": "writer"}, 200)
    assert asked.schema is not None
    assert asked.schema["required"] == ["text"]
    prompt = asked.messages[1].text
    for part in (
        "# Draft",
        "Write a text.",
        "About bees",
        '````\n{"topic":"bees ``` and ants"}\n````',
        "Must say something.",
    ):
        assert part in prompt
    assert '{"attempt":1,"error":{"code":"X"}}' in prompt


def test_the_item_of_a_foreach_is_shown(tmp_path: Path) -> None:
    provider = scripted.Scripted([{"text": "a"}])
    one = node(config={"prompt": "On {{ page.id }}"}, foreach=definition.Foreach(items="", name="page"))
    assert ask(tmp_path, provider, one, item={"id": 7}, item_index=0).failure is None
    prompt = provider.asked[0].messages[1].text
    assert "On 7" in prompt
    assert '```\n{"id":7}\n```' in prompt


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("no json", "ANSWER_INVALID"),
        ("[1]", "ANSWER_INVALID"),
        ('{"text": "a"} and more', "ANSWER_INVALID"),
        ('{"text": NaN}', "ANSWER_INVALID"),
        ("[" * 200 + "]" * 200, "ANSWER_INVALID"),
        ('{"text": 3}', "OUTPUT_CONTRACT"),
        ('{"text": "a", "extra": 1}', "OUTPUT_CONTRACT"),
        ('{"text": " "}', "POST_GATE_FAILED"),
        ('```json\n{"text": "a"}\n```', None),
        ('\n {"text": "a"} \n', None),
    ],
)
def test_only_one_json_object_that_keeps_the_contract_is_accepted(
    tmp_path: Path, answer: str, code: str | None
) -> None:
    assert workshop.code_of(ask(tmp_path, scripted.Scripted([answer]))) == code


def test_repairs_are_bounded_and_told_what_is_wrong(tmp_path: Path) -> None:
    one = node(config={"contract_repair_attempts": 2})
    provider = scripted.Scripted(["nonsense", {"text": 3}, {"text": "good"}])
    found = ask(tmp_path, provider, one)
    assert found.outputs == {"value": {"text": "good"}}
    assert [len(request.messages) for request in provider.asked] == [2, 4, 6]
    assert "output 'text': the value is not of type \"string\"" in provider.asked[2].messages[-1].text
    assert found.metrics.tokens_in > 0
    provider = scripted.Scripted([{"text": 1}, {"text": 2}, {"text": 3}, {"text": "too late"}])
    found = ask(tmp_path, provider, one)
    assert (workshop.code_of(found), len(provider.asked)) == ("OUTPUT_CONTRACT", 3)


def test_without_a_provider_nothing_is_tried_twice(tmp_path: Path) -> None:
    assert ask(tmp_path, None).failure == outcome.Failure(
        code="PROVIDER_MISSING", message="no model provider is set up", retryable=False
    )


def test_a_providers_failure_is_the_attempts_failure(tmp_path: Path) -> None:
    failed = errors.AttemptFailed("slow down", code="RATE_LIMITED", retry_after_ms=900)
    assert ask(tmp_path, scripted.Scripted([failed])).failure == outcome.Failure(
        code="RATE_LIMITED", message="slow down", retry_after_ms=900
    )
    assert ask(tmp_path, scripted.Scripted([])).failure == outcome.Failure(
        code="SCRIPT_EXHAUSTED", message="the script has no answer left for 'draft'", retryable=False
    )


def test_a_provider_with_a_bug_fails_one_attempt_only(tmp_path: Path) -> None:
    class Broken:
        async def complete(self, request: seam.Request, on_text: Callable[[str], None]) -> seam.Answer:
            raise KeyError("oops")

    assert ask(tmp_path, Broken()).failure == outcome.Failure(code="INTERNAL", message="KeyError: 'oops'")


def test_the_text_is_heard_while_it_comes(tmp_path: Path) -> None:
    heard: list[tuple[str, str]] = []

    async def scenario() -> attempt.Attempted:
        performer = attempt.Performer(
            project=workshop.project(tmp_path),
            blobs=workshop.MemoryBlobs(),
            provider=scripted.Scripted([{"text": "a"}]),
            on_text=lambda task, text: heard.append((task.node.key, text)),
        )
        return await performer.perform(workshop.task_of(node(), {"topic": "x"}))

    assert asyncio.run(scenario()).outcome.failure is None
    assert heard == [("draft", '{"text":"a"}')]

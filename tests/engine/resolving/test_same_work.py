"""What makes the work on an item of a foreach the same, and what a model's answer to one can have seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openskelo import errors
from openskelo.engine.resolving import same_work
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import scripted
from openskelo.structs import replace
from tests.engine import stage, test_models

EACH = definition.Foreach(items="inputs.pages", name="page")


def asking(prompt: str, **more: Any) -> definition.Node:
    return definition.Node(key="ask", mode="ai", foreach=EACH, config={"prompt": prompt}, **more)


def mapped(expression: str) -> definition.Node:
    config: JsonObject = {"map": {"n": expression}}
    return definition.Node(key="map", mode="deterministic", foreach=EACH, handler="builtin:transform", config=config)


def gate(kind: str, **params: Json) -> definition.Gate:
    return definition.Gate(name="g", type=kind, params=params)


@pytest.mark.parametrize(
    ("node", "hidden"),
    [
        (asking("In a {{ inputs.tone }} tone: {{ page }}"), "pages"),
        (asking("{{ page }}"), None),  # names no input, and so shows all
        (asking("{{ inputs.tone }}: {{ page }} of {{ inputs.pages }}"), None),
        (asking("{{ inputs.tone }}: {{ page }} of {{ size(inputs) }}"), None),
        (asking("{{ inputs.tone }} {{ page }}", post_gates=(gate("length", port="text"),)), "pages"),
        (asking("{{ inputs.tone }} {{ page }}", post_gates=(gate("expression", expression="inputs.pages"),)), None),
        (asking("{{ inputs.tone }} {{ page }}", post_gates=(gate("command", run=["true"]),)), None),
        (asking("{{ inputs.tone }} {{ page }}", pre_gates=(gate("length", port="page"),)), None),
        (replace(asking("{{ inputs.tone }} {{ page }}"), foreach=definition.Foreach(items="run.inputs.pages")), None),
        (mapped("page * inputs.factor"), "pages"),
        (mapped("page"), "pages"),
        (mapped("size(inputs['pages'])"), None),
        (replace(mapped("page"), handler="work.py:each"), None),
        (replace(mapped("page"), foreach=None), None),
    ],
)
def test_the_list_is_hidden_where_the_work_cannot_look_at_it(node: definition.Node, hidden: str | None) -> None:
    assert same_work.list_port(node) == hidden


@pytest.mark.parametrize(
    ("node", "looks"),
    [
        (asking("{{ page }}"), False),
        (asking("{{ run.inputs.topic }}: {{ page }}"), True),
        (asking("{{ page }}", post_gates=(gate("expression", expression="size(run.inputs.topic) > 2"),)), True),
        (mapped("page"), False),
    ],
)
def test_work_that_may_look_at_the_run_is_known(node: definition.Node, looks: bool) -> None:
    assert same_work.may_see_run(node) is looks


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"retry": definition.Retry(max_attempts=3)}, True),
        ({"foreach": definition.Foreach(items="run.inputs.all", name="page", concurrency=1)}, True),
        ({"when": "true"}, True),
        ({"approval": definition.Approval(prompt="Go on?")}, True),
        ({"foreach": definition.Foreach(items="inputs.pages", name="item")}, False),
        ({"config": {"prompt": "Otherwise: {{ page }}"}}, False),
        ({"post_gates": (gate("length", port="text", max=3),)}, False),
    ],
)
def test_where_items_come_from_makes_no_other_work_on_one(changed: dict[str, Any], same: bool) -> None:
    node = asking("{{ page }}")
    assert (same_work.item_work_document(replace(node, **changed)) == same_work.item_work_document(node)) is same


def test_a_model_is_asked_about_what_it_has_not_answered_wherever_that_stands_now(tmp_path: Path) -> None:
    block: dict[str, Json] = {
        "id": "ask",
        "prompt": "In a {{ inputs.tone }} tone: {{ page }}",
        "foreach": {"items": "inputs.pages", "as": "page", "concurrency": 1},
        "inputs": {
            "pages": {"type": "array", "items": {"type": "string"}, "from": "inputs.pages"},
            "tone": {"type": "string", "from": "inputs.tone"},
            "page": "string",
        },
        "outputs": {"text": "string"},
    }
    workflow = stage.workflow(block, inputs={"pages": {"type": "array", "items": {"type": "string"}}, "tone": "string"})
    refused = errors.AttemptFailed("no credit", code="PROVIDER_REFUSED", retryable=False)

    async def story() -> None:
        provider = scripted.Scripted([{"text": "A"}, {"text": "B"}, refused, {"text": "C"}, {"text": "D"}])
        async with test_models.engine(tmp_path, provider) as opened:
            run_id = await opened.start(workflow, {"pages": ["a", "b", "x", "d"], "tone": "dry"})
            assert (await opened.wait(run_id))["ending"] == "failed"
            forked = await opened.fork(run_id, node="ask", inputs={"pages": ["c", "b", "a", "d"]})
            done = await opened.wait(forked)
            assert done["outputs"] == {"text": ["C", "B", "A", "D"]}
            asked = [one.messages[-1].text.rstrip().removesuffix("</data>")[-1] for one in provider.asked[3:]]
            assert asked == ["c", "d"]

    stage.play(story)

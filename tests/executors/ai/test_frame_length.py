"""The estimate of a prompt knows what the executor adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.executors.ai import prompt
from openskelo.executors.attempt import port_contract
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from openskelo.workflows.estimate import attempt_cost
from openskelo.workflows.project import project_file
from tests.executors import workshop

SCHEMA: JsonObject = {"type": "object"}
TOPIC: JsonObject = {"type": "string", "maxLength": 4}
BLOCKS: dict[str, dict[str, Json]] = {
    "a prompt": {"prompt": "hi", "outputs": {"text": "string"}},
    "an input in a sentence": {"prompt": "About {{ inputs.topic }}.", "inputs": {"topic": TOPIC}},
    "inputs after the prompt": {"prompt": "hi", "inputs": {"topic": TOPIC, "style": TOPIC}},
    "a description and a gate": {
        "name": "Draft",
        "description": "Write a text.",
        "outputs": {"text": {"type": "string", "minLength": 3}},
        "post_gates": [{"type": "not_empty", "port": "text", "error": "Must say something."}],
    },
}


def _length(mode: str) -> int:
    written = prompt.assemble(role="", mode=mode, task="", feedback=None)
    return sum(len(message.text) for message in written.messages)


def test_the_frame_of_a_prompt_is_what_the_executor_adds_to_it() -> None:
    bare = _length("")
    with_schema = _length(prompt.contract(SCHEMA)) - bare - len(prompt.summarize(SCHEMA))
    assert 0 <= attempt_cost.FRAME_LENGTH - bare < 10
    assert 0 <= attempt_cost.SCHEMA_FRAME_LENGTH - with_schema < 10


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_the_prompt_of_a_block_is_about_as_long_as_was_estimated(tmp_path: Path, block: dict[str, Json]) -> None:
    (tmp_path / "skelo.yaml").write_text("experts: {x: {provider: p}}\nproviders: {p: {kind: local}}\n")
    models = project_file.check(tmp_path)[0].models
    workflow = load.from_document({"name": "w", "blocks": [{"id": "a", "expert": "x", **block}]})
    node = workflow.nodes["a"]
    (question,) = attempt_cost.questions(node, workflow, models)
    template = prompt.PromptTemplate(node, port_contract.PortContract(node.outputs, "output", None).schema)
    inputs: JsonObject = {port.name: "bees" for port in node.inputs}
    written = template.write(workshop.job_of(node, inputs))
    length = sum(len(message.text) for message in written.messages)
    data = sum(len(str(value)) for value in inputs.values())
    assert 0 <= question.length + data - length < 120
    assert question.data >= data

"""`skelo test`: scripted models and people, everything else for real."""

from __future__ import annotations

from tests.cli.conftest import Skelo

FLOW = """\
name: article
inputs: {topic: string}
blocks:
  - id: draft
    inputs: {topic: {type: string, from: inputs.topic}}
    outputs: {text: {type: string, minLength: 5}}
    prompt: Write.
    contract_repair_attempts: 0
    retry: {max_attempts: 2}
  - id: keep
    mode: deterministic
    inputs: {text: {type: string, from: draft.text}}
    outputs: {file_path: string, bytes_written: integer}
    deterministic:
      handler: builtin:write-file
      config: {content_from: text, default_path_template: "out/article.md"}
"""
SCRIPT = """\
tests:
  - name: goes well
    inputs: {topic: bees}
    answers: {draft: [{text: All about bees}]}
    expect: {ending: ok, nodes: {keep: {outputs: {bytes_written: 14}}}}
  - name: tries again
    inputs: {topic: bees}
    answers: {draft: [{error: {code: DOWN, message: no model}}, {text: Better late}]}
    expect: {ending: ok, nodes: {draft: {attempts: 2}}}
  - name: is wrong about the size
    inputs: {topic: bees}
    answers: {draft: [{text: All about bees}]}
    expect: {ending: ok, nodes: {keep: {outputs: {bytes_written: 15}}}}
"""


def test_each_case_is_held_in_a_copy_of_the_project(skelo: Skelo) -> None:
    skelo.write("article.yaml", FLOW)
    skelo.write("article.test.yaml", SCRIPT)
    result = skelo("test", "article.yaml")
    assert (result.code, result.err) == (1, "")
    assert result.out.splitlines() == [
        "passed  goes well",
        "passed  tries again",
        "failed  is wrong about the size",
        "        keep.outputs.bytes_written is 14, not 15",
        "2 passed, 1 failed",
    ]
    assert sorted(path.name for path in skelo.folder.iterdir()) == ["article.test.yaml", "article.yaml", "skelo.yaml"]


def test_the_result_is_one_document_with_json(skelo: Skelo) -> None:
    skelo.write("article.yaml", FLOW)
    skelo.write("other.yaml", SCRIPT)
    result = skelo("test", "article.yaml", "--script", "other.yaml", "--only", "well", "--json")
    assert (result.code, result.document) == (
        0,
        {"passed": 1, "failed": 0, "tests": [{"name": "goes well", "passed": True, "differences": []}]},
    )


def test_mistakes_in_the_script_are_problems_with_their_place(skelo: Skelo) -> None:
    skelo.write("article.yaml", FLOW)
    skelo.write("article.test.yaml", "tests:\n  - name: x\n    answers: {darft: []}\n    expect: {endng: ok}\n")
    result = skelo("test", "article.yaml")
    assert (result.code, result.out) == (2, "")
    assert [line.split(" ")[:2] for line in result.err.splitlines()[:2]] == [
        ["article.test.yaml:3:15:", "UNKNOWN_BLOCK"],
        ["article.test.yaml:4:14:", "UNKNOWN_KEY"],
    ]


def test_a_missing_script_is_said_to_be_missing(skelo: Skelo) -> None:
    skelo.write("article.yaml", FLOW)
    result = skelo("test", "article.yaml", "--json")
    assert (result.code, result.document["error"]["code"]) == (2, "FILE_NOT_FOUND")

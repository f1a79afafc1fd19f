"""`skelo test`: scripted models and people, everything else for real."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from openskelo import testing
from openskelo.cli import scripted_tests
from openskelo.kernel.json import Json
from openskelo.workflows import load
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


PLAN = """\
plan_id: mend
steps:
  - {id: ask, op: route_expert, args: {expert_id: coder, prompt_ref: "ctx:bug"}, save_as: patch}
  - {id: check, op: verify, args: {checker_id: regex, input_ref: "var:patch", pattern: "^fix"}, save_as: v}
  - {id: good, op: branch, args: {cond: {ok: "var:v.ok"}, then: keep, else: who}}
  - {id: keep, op: tool_call, args: {tool_id: note, args: {path: out/note.txt, content: "var:patch"}}, save_as: kept}
  - {id: done, op: emit, args: {result_ref: "var:kept"}}
  - {id: who, op: ask_human, args: {request: {message: Mend it yourself.}, answer: {patch: string}}, save_as: said}
  - {id: end, op: emit, args: {result_ref: "var:said.patch", status: escalated}}
"""
PLAN_PROJECT = """\
write_roots: [out]
providers: {tape: {kind: recorded}}
experts: {coder: {provider: tape}}
contexts: {bug: {text: it is broken}}
tools: {note: {builtin: write-file, config: {mkdir: true}}}
"""
PLAN_SCRIPT = """\
tests:
  - name: tools and checkers are real unless they are played
    answers: {ask: [fix it]}
    results: {keep: [{written: 6}]}
    expect: {outputs: {result: {written: 6}}, nodes: {check: {outputs: {v: {ok: true}}}}}
  - name: a verdict is played
    contexts: {"ctx:bug": another}
    answers: {ask: [fix it]}
    results: {check: [{ok: false}]}
    approvals: {who: {set: {patch: mine}}}
    expect: {ending: escalated, outputs: {result: mine}}
  - name: a tool fails
    answers: {ask: [fix it]}
    results: {keep: [{error: {code: DISK_FULL, message: no room}}]}
    expect: {ending: failed}
  - name: nobody answers
    answers: {ask: [nothing]}
    expect: {ending: paused}
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


def test_pipes_sockets_and_broken_links_in_the_project_are_no_hindrance(
    skelo: Skelo, monkeypatch: pytest.MonkeyPatch
) -> None:
    skelo.write("article.yaml", FLOW)
    skelo.write("article.test.yaml", SCRIPT)
    monkeypatch.chdir(skelo.folder)  # the path of a socket is short
    os.mkfifo("pipe")
    Path("sub").mkdir()
    Path("sub/link").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sub/agent.sock")
        result = skelo("test", "article.yaml")
    assert (result.code, result.err, result.out.splitlines()[-1]) == (1, "", "2 passed, 1 failed")


def test_a_project_that_cannot_be_copied_is_said_so(skelo: Skelo) -> None:
    skelo.write("article.yaml", FLOW)
    skelo.write("article.test.yaml", SCRIPT)
    room = os.pathconf(skelo.folder, "PC_PATH_MAX") - len(str(skelo.folder)) - 200
    deep = skelo.folder / "/".join(["a" * 200] * (room // 201))
    deep.parent.mkdir(parents=True)
    deep.write_text("deeper in the copy than a path may be")
    temporary = skelo.folder.parent / "temporary" / "/".join(["t" * 200] * 3)
    temporary.mkdir(parents=True)
    result = skelo("test", "article.yaml", env={"TMPDIR": str(temporary)})
    assert result.code == 2
    assert result.err.startswith(f"error: FILE_UNREADABLE {skelo.folder} cannot be copied for a test: ")
    assert "File name too long" in result.err


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


def test_a_person_in_a_script_says_yes_or_no_with_values_or_a_reason(tmp_path: Path) -> None:
    ask: dict[str, Json] = {"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?", "form": {"n": "integer"}}}
    replies = "[{status: approved}, {set: {n: 1}}, {status: denied, reason: too early}]"
    path = tmp_path / "w.test.yaml"
    path.write_text(f"tests:\n  - name: asked\n    approvals: {{ask: {replies}}}\n    expect: {{ending: ok}}\n")
    (case,) = scripted_tests.read(path, load.from_document({"name": "w", "blocks": [ask]}))
    assert case.replies == {
        "ask": (
            testing.Reply(status="approved"),
            testing.Reply(status="modified", modified_args={"n": 1}),
            testing.Reply(status="denied", reason="too early"),
        )
    }


REVIEWED = """\
name: reviewed
blocks:
  - id: draft
    outputs: {text: string}
    prompt: Write.
    post_gates: [{name: nice, type: llm_review, port: text, criteria: [It is nice.]}]
"""
REVIEWS = """\
tests:
  - name: passes
    answers: {draft: [{text: Bees}], "draft:nice": [{verdicts: [{criterion: 1, passed: true, reason: it is}]}]}
  - name: does not
    answers: {draft: [{text: Bees}], "draft:nice": [{verdicts: [{criterion: 1, passed: false, reason: dull}]}]}
    expect: {ending: failed}
"""


def test_answers_to_a_review_stand_under_block_and_gate_and_a_case_without_expect_has_to_go_well(skelo: Skelo) -> None:
    skelo.write("reviewed.yaml", REVIEWED)
    skelo.write("reviewed.test.yaml", REVIEWS)
    result = skelo("test", "reviewed.yaml")
    assert (result.code, result.out) == (0, "passed  passes\npassed  does not\n2 passed, 0 failed\n")


def test_an_answer_to_a_review_that_is_not_there_is_a_problem(skelo: Skelo) -> None:
    skelo.write("reviewed.yaml", REVIEWED)
    skelo.write("reviewed.test.yaml", 'tests:\n  - answers: {"draft:nicer": []}\n')
    result = skelo("test", "reviewed.yaml")
    assert (result.code, result.err.splitlines()[0]) == (
        2,
        "reviewed.test.yaml:2:15: UNKNOWN_BLOCK the workflow has no block 'draft:nicer' (did you mean 'draft:nice'?)",
    )


ASKING = """\
name: asking
inputs: {n: integer}
blocks:
  - id: ask
    mode: approval
    inputs: {n: {type: integer, from: inputs.n}}
    approval: {prompt: "{{ inputs.n }}?", form: {n: integer}}
"""
REFUSED = """\
tests:
  - {name: one, inputs: {n: 1}, approvals: {ask: {status: approved}}, expect: {ending: ok}}
  - {name: two, inputs: {n: 1}, approvals: {ask: {set: {zz: 1}}}, expect: {ending: ok}}
  - {name: three, inputs: {n: many}, expect: {ending: paused}}
  - {name: four, inputs: {n: 1}, expect: {ending: paused}}
"""


def test_what_a_case_gives_and_the_workflow_refuses_fails_that_case_and_no_other(skelo: Skelo) -> None:
    skelo.write("asking.yaml", ASKING)
    skelo.write("asking.test.yaml", REFUSED)
    result = skelo("test", "asking.yaml")
    assert (result.code, result.err) == (1, "")
    assert result.out.splitlines() == [
        "passed  one",
        "failed  two",
        "        APPROVAL_INVALID answer 1 to ask is refused: the form has no field zz",
        "failed  three",
        '        INPUT_INVALID n: the value is not of type "integer"',
        "passed  four",
        "2 passed, 2 failed",
    ]
    listed = skelo("test", "asking.yaml", "--json").document["tests"]
    assert [(one["name"], one["passed"]) for one in listed] == [
        ("one", True),
        ("two", False),
        ("three", False),
        ("four", True),
    ]


def test_a_case_that_runs_out_of_answers_says_whose(skelo: Skelo) -> None:
    skelo.write("asking.yaml", "name: asking\nblocks: [{id: ask, mode: approval, prompt: 'Well?'}]\n")
    skelo.write("asking.test.yaml", "tests: [{name: nobody}]\n")
    (test,) = skelo("test", "asking.yaml", "--json").document["tests"]
    assert test["differences"] == ["ending is paused, not ok (no answer is left for ask)"]


def test_a_missing_script_is_said_to_be_missing(skelo: Skelo) -> None:
    skelo.write("article.yaml", FLOW)
    result = skelo("test", "article.yaml", "--json")
    assert (result.code, result.document["error"]["code"]) == (2, "FILE_NOT_FOUND")


def test_a_script_in_the_place_of_its_workflow_stands_for_it(skelo: Skelo) -> None:
    skelo.write("article.yaml", FLOW)
    skelo.write("article.test.yaml", SCRIPT)
    named = skelo("test", "article.yaml", "--only", "goes")
    assert (named.code, named.out) == (0, "passed  goes well\n1 passed, 0 failed\n")
    assert skelo("test", "article.test.yaml", "--only", "goes") == named
    odd = skelo("test", "article.test.yaml", "--script", "article.test.yaml")
    assert (odd.code, odd.out, odd.err.splitlines()[0]) == (
        2,
        "",
        "article.test.yaml:1:1: KIND_UNKNOWN this is a test script, not a workflow "
        "(name the workflow that it tests, as in `skelo test NAME.yaml`)",
    )


def test_a_plan_is_tested_with_its_tools_checkers_people_and_contexts_played(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", PLAN_PROJECT)
    skelo.write("mend.yaml", PLAN)
    skelo.write("mend.test.yaml", PLAN_SCRIPT)
    result = skelo("test", "mend.yaml")
    assert (result.code, result.out.splitlines()[-1]) == (0, "4 passed, 0 failed"), result.out + result.err
    assert not (skelo.folder / "out").exists()
    skelo.write("mend.test.yaml", PLAN_SCRIPT.replace("[{written: 6}]", "[]").replace("{ok: false}", "{ok: perhaps}"))
    result = skelo("test", "mend.yaml")
    assert result.code == 1
    assert "SCRIPT_EXHAUSTED the script has no result left for 'keep'" in result.out
    assert "CHECKER_RETURN" in result.out


def test_only_what_can_be_played_has_results_and_only_what_is_used_is_a_context(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", PLAN_PROJECT)
    skelo.write("mend.yaml", PLAN)
    text = 'tests:\n  - results: {ask: [1]}\n    contexts: {"ctx:bag": 1}\n    expect: {ending: ok}\n'
    skelo.write("mend.test.yaml", text)
    result = skelo("test", "mend.yaml")
    assert [line.split(" ")[:2] for line in result.err.splitlines()[:2]] == [
        ["mend.test.yaml:2:15:", "SCRIPT_INVALID"],
        ["mend.test.yaml:3:16:", "CONTEXT_UNKNOWN"],
    ]


def test_a_repository_inside_of_the_project_is_copied_with_its_history(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", "contexts: {last: {git_diff: HEAD~1..HEAD, repo: code}}\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    subprocess.run([*git, "init", "-q", "code"], cwd=skelo.folder, check=True)
    for text in ("old", "new"):
        skelo.write("code/file", f"{text}\n")
        subprocess.run([*git, "add", "file"], cwd=skelo.folder / "code", check=True)
        subprocess.run([*git, "commit", "-q", "-m", text], cwd=skelo.folder / "code", check=True)
    skelo.write("last.yaml", "plan_id: last\nsteps: [{id: a, op: emit, args: {result_ref: 'ctx:last'}}]\n")
    skelo.write("last.test.yaml", "tests: [{name: whole, expect: {outputs: {result: x}}}]\n")
    (test,) = skelo("test", "last.yaml", "--json").document["tests"]
    assert "diff --git a/file b/file" in test["differences"][0]


ANN_ANSWERS = """\
name: asking
blocks:
  - id: ask
    mode: approval
    outputs: {by: string}
    approval: {prompt: "Go on?", approvers: [ann]}
outputs: {by: ask.by}
"""


@pytest.mark.parametrize(("reply", "code"), [("{by: ann}", 0), ("{status: approved}", 1), ("{by: bob}", 1)])
def test_an_answer_is_given_by_the_person_that_the_script_names(skelo: Skelo, reply: str, code: int) -> None:
    skelo.write("asking.yaml", ANN_ANSWERS)
    skelo.write(
        "asking.test.yaml",
        f"tests:\n- name: asks ann\n  approvals: {{ask: {reply}}}\n  expect: {{ending: ok, outputs: {{by: ann}}}}\n",
    )
    found = skelo("test", "asking.yaml")
    assert (found.code, "APPROVER_NOT_ALLOWED" in found.out + found.err) == (code, code != 0), found

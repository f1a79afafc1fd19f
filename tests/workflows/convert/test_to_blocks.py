"""A plan as blocks: endings, questions, modes and names come out the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import openskelo
from openskelo import errors, testing
from openskelo.kernel.json import JsonObject
from tests.workflows.convert import converting
from tests.workflows.plan import seed

#: Endings that are not ok, names that CEL cannot write, an emit that reads into a list, and details around a ref.
ENDINGS = """\
plan_id: endings
inputs: {n: 4, its-list: [1, {a-b: two}]}
steps:
  - {id: b, op: branch, args: {cond: {expr: "input.n > 3"}, then: is-bad, else: c}}
  - {id: c, op: branch, args: {cond: {expr: "input.n > 2"}, then: no, else: ask-it}}
  - {id: is-bad, op: emit,
     args: {result_ref: "input:its-list[1].a-b", audit_refs: ["input:its-list[7]"], status: failed}}
  - {id: no, op: emit, args: {audit_refs: ["input:n"], status: denied}}
  - {id: ask-it, op: ask_human, save_as: the-answer, args: {request: {message: Which?, kind: choice,
     details: {seen: ["input:its-list[1].a-b"], text: {$literal: "input:n"}, more: "\\U0001F41D"}}}}
  - {id: done, op: emit, args: {result_ref: "var:the-answer"}}
"""


@pytest.mark.parametrize(
    ("number", "ending", "outputs"),
    [
        (4, "failed", {"result": "two", "audit": [None]}),
        (3, "denied", {"result": None, "audit": [3]}),
        (2, "ok", {"result": {"answer": "this"}, "audit": []}),
    ],
)
def test_every_ending_of_a_plan_is_that_of_its_blocks(
    number: int, ending: str, outputs: JsonObject, tmp_path: Path
) -> None:
    pair = converting.converted(tmp_path, ENDINGS)
    said = [testing.Reply(status="modified", values={"answer": "this"})]
    plan = pair.ends(converting.Played(inputs={"n": number}, people={"ask-it": said}))
    blocks = pair.ends(converting.Played(inputs={"n": number}, people={"ask-it_asked": said}), other=True)
    found = [(one["status"], one["ending"], one["outputs"], one.get("error", {}).get("code")) for one in (plan, blocks)]
    status, code = ("completed", None) if ending == "ok" else ("failed", "EMITTED")
    assert found == [(status, ending, outputs, code)] * 2


def test_a_question_that_is_denied_ends_both(tmp_path: Path) -> None:
    pair = converting.converted(tmp_path, ENDINGS)
    no = [testing.Reply(status="denied", reason="no")]
    plan = pair.ends(converting.Played(inputs={"n": 1}, people={"ask-it": no}))
    blocks = pair.ends(converting.Played(inputs={"n": 1}, people={"ask-it_asked": no}), other=True)
    assert [(one["ending"], one["error"]["code"]) for one in (plan, blocks)] == [("denied", "APPROVAL_DENIED")] * 2


def test_a_person_is_shown_what_the_plan_shows(tmp_path: Path) -> None:
    pair = converting.converted(tmp_path, ENDINGS)
    (plan,) = pair.ends(converting.Played(inputs={"n": 1}))["approvals"]
    (blocks,) = pair.ends(converting.Played(inputs={"n": 1}), other=True)["approvals"]
    shown = {"kind": "choice", "details": {"seen": ["two"], "text": "input:n", "more": "\U0001f41d"}}
    assert plan["args"] == {"message": "Which?", **shown}
    assert (blocks["prompt"], blocks["args"]) == ("Which?", shown)


def test_two_names_that_would_be_one_port_are_a_problem(tmp_path: Path) -> None:
    text = """\
plan_id: p
variables: {a-b: 1, a_b: 2}
steps:
  - {id: end, op: emit, args: {result_ref: "var:a-b", audit_refs: ["var:a_b"]}}
"""
    assert converting.refused(tmp_path, text) == ["end: var:a_b and var:a-b would be one port, 'a_b'"]


def test_a_port_of_its_own_is_no_variable(tmp_path: Path) -> None:
    text = """\
plan_id: p
variables: {input: {ok: true}, said: ""}
steps:
  - {id: b, op: branch, args: {cond: {ok: "var:input.ok"}, then: say, else: end}}
  - {id: say, op: route_expert, args: {expert_id: one, input: {n: 1}}, save_as: said}
  - {id: end, op: emit, args: {result_ref: "var:said"}}
"""
    assert converting.refused(tmp_path, text) == ["say: var:input and its own would be one port, 'input'"]


def test_what_a_branch_found_stays_though_what_it_looked_at_changes(tmp_path: Path) -> None:
    text = """\
plan_id: p
variables: {v: {ok: true}}
steps:
  - {id: first, op: branch, args: {cond: {ok: "var:v.ok"}, then: change, else: wrong}}
  - {id: change, op: transform, args: {expr: "{'ok': false}"}, save_as: v}
  - {id: second, op: branch, args: {cond: {expr: "!var.v.ok"}, then: right, else: wrong}}
  - {id: right, op: emit, args: {result_ref: "var:v"}}
  - {id: wrong, op: emit, args: {status: failed}}
"""
    pair = converting.converted(tmp_path, text)
    found = [pair.ends(converting.Played(), other=other) for other in (False, True)]
    assert [(one["ending"], one["outputs"]) for one in found] == [("ok", {"result": {"ok": False}, "audit": []})] * 2
    assert found[1]["nodes"]["first"]["outputs"] == {"value": True}


def test_what_no_step_before_an_emit_sets_is_null(tmp_path: Path) -> None:
    text = """\
plan_id: p
inputs: {ok: true}
steps:
  - {id: b, op: branch, args: {cond: {ok: "input:ok"}, then: early, else: set}}
  - {id: early, op: emit, args: {result_ref: "input:ok", audit_refs: ["input:ok", "var:x.y"]}}
  - {id: set, op: transform, args: {expr: "{'y': 1}"}, save_as: x}
  - {id: late, op: emit, args: {result_ref: "var:x", audit_refs: ["input:ok", "var:x.y"]}}
"""
    pair = converting.converted(tmp_path, text)
    for ok, outputs in (
        (True, {"result": True, "audit": [True, None]}),
        (False, {"result": {"y": 1}, "audit": [False, 1]}),
    ):
        assert pair.ends(converting.Played(inputs={"ok": ok}))["outputs"] == outputs
        assert pair.ends(converting.Played(inputs={"ok": ok}), other=True)["outputs"] == outputs


def test_ids_that_a_step_has_already_are_left_to_it(tmp_path: Path) -> None:
    text = """\
plan_id: p
inputs: {ok: true}
steps:
  - {id: the_start, op: branch, args: {cond: {ok: "input:ok"}, then: the_end, else: the_end_ends}}
  - {id: the_end, op: emit, args: {status: failed}}
  - {id: the_end_ends, op: emit, args: {status: ok}}
"""
    pair = converting.converted(tmp_path, text)
    assert [block["id"] for block in pair.document["blocks"]] == [
        "the_start_",
        "the_end",
        "the_end_ends",
        "the_end_",
        "the_end_ends_",
    ]
    for ok, ending in ((True, "failed"), (False, "ok")):
        assert pair.ends(converting.Played(inputs={"ok": ok}))["ending"] == ending
        assert pair.ends(converting.Played(inputs={"ok": ok}), other=True)["ending"] == ending


#: Experts under a retry, asked with structured input and with words, and a tool that serves in one mode only.
MODES = """\
plan_id: modes
mode: degraded
inputs: {what: bees}
steps:
  - {id: look, op: tool_call, args: {tool_id: near, args: {path: note.txt}}, save_as: note}
  - {id: again, op: retry, args: {step_id: say, max_retries: 2}}
  - {id: words, op: route_expert, args: {expert_id: two, prompt: "Plain {{ words }}."}, save_as: plain}
  - {id: end, op: emit, args: {result_ref: "var:note.content", audit_refs: ["var:said", "var:plain"]}}
  - {id: say, op: route_expert, save_as: said, args: {expert_id: one,
     input: {of: ["input:what"], style: "short \\U0001F41D", as: {$literal: "var:x"}}}}
"""
NEAR = "tools: {near: {builtin: read-file, modes: [degraded]}}\n"


def test_a_tool_stays_in_the_mode_of_its_plan(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("a note")
    pair = converting.converted(tmp_path, MODES, converting.PROJECT + NEAR)
    down = errors.AttemptFailed("no", code="MODEL_DOWN")
    outputs = {"result": "a note", "audit": ["Bees.", "So."]}
    plan = pair.ends(converting.Played(answers={"say": [down, "Bees."], "words": ["So."]}))
    answers: dict[str, list[Any]] = {"again": [down, {"value": "Bees."}], "words": [{"value": "So."}]}
    played = converting.Played(inputs={"what": "bees"}, answers=answers)
    blocks = pair.ends(played, other=True)
    assert [(one["ending"], one["outputs"]) for one in (plan, blocks)] == [("ok", outputs)] * 2
    assert blocks["nodes"]["say_input"]["outputs"] == {
        "value": {"of": ["bees"], "style": "short \U0001f41d", "as": "var:x"}
    }
    look = next(block for block in pair.document["blocks"] if block["id"] == "look")
    assert look["deterministic"]["config"].pop("mode") == "degraded"
    elsewhere = openskelo.from_document(pair.document, root=tmp_path)
    denied = converting.Pair(project=pair.project, written=elsewhere, other=elsewhere, document={}).ends(played)
    assert (denied["ending"], denied["error"]["code"]) == ("denied", "MODE_DENIED")


def test_a_question_that_ends_the_plan_gives_what_the_plan_names(tmp_path: Path) -> None:
    """Other names than those of an emit, the answer among them; the run of the other way gives those of the emit."""
    text = """\
plan_id: p
inputs: {ok: false}
variables: {seen: [1]}
steps:
  - {id: b, op: branch, args: {cond: {ok: "input:ok"}, then: end, else: ask}}
  - {id: end, op: emit, args: {result_ref: "input:ok", status: escalated}}
  - {id: ask, op: ask_human, args: {request: {message: Why?}}, save_as: seen}
outputs: {why_ref: "var:seen.answer", all_refs: ["var:seen", "input:ok", "var:seen[3]"], audit_refs: []}
"""
    pair = converting.converted(tmp_path, text)
    said = [testing.Reply(status="modified", values={"answer": "so"})]
    named: JsonObject = {"why": "so", "all": [{"answer": "so"}, False, None], "audit": []}
    emitted: JsonObject = {"result": True, "audit": []}
    for ok, outputs in ((True, emitted), (False, named)):
        plan = pair.ends(converting.Played(inputs={"ok": ok}, people={"ask": said}))
        blocks = pair.ends(converting.Played(inputs={"ok": ok}, people={"ask_asked": said}), other=True)
        assert [(one["ending"], one["outputs"]) for one in (plan, blocks)] == [("escalated", outputs)] * 2


#: The plan of the specification with an emit after its last question, and as printed.
SEED = seed.PLAN.replace(
    """\
    }
  ],
""",
    """\
    },
    {"id": "s13", "op": "emit",
     "args": {"result_ref": "var:patch", "audit_refs": ["var:v1", "var:v2"], "status": "failed"}}
  ],
""",
)


@pytest.mark.parametrize(
    ("verdicts", "outputs"),
    [
        ([True], {"result": "a patch", "audit": [{"ok": True}]}),
        ([False, True], {"result": "another", "audit": [{"ok": True}]}),
        ([False, False], {"result": "a patch", "audit": [{"ok": False}, {"ok": False}]}),
    ],
)
@pytest.mark.parametrize(("text", "handed_over"), [(SEED, "failed"), (seed.PLAN, "escalated")])
def test_the_plan_of_the_specification_comes_to_the_same_on_every_way(
    verdicts: list[bool], outputs: JsonObject, text: str, handed_over: str, tmp_path: Path
) -> None:
    pair = converting.converted(seed.project(tmp_path), text, seed.PROJECT)
    ending = "ok" if any(verdicts) else handed_over
    said = [testing.Reply(status="modified", values={"answer": "futures.py"})]
    texts = {"s2": ["a patch"], "s5": ["another"]}
    results = {key: [{"ok": ok}] for key, ok in zip(("s3", "s6"), verdicts, strict=False)}
    plan = converting.Played(
        contexts={"ctx:repo_diff": "- a", "snap:t381": "TypeError"},
        answers=texts,
        results=results,
        people={"s12": said},
    )
    blocks = converting.Played(
        inputs={"ctx_repo_diff": "- a", "snap_t381": "TypeError"},
        answers={key: [{"value": text} for text in told] for key, told in texts.items()},
        results=results,
        people={"s12_asked": said},
    )
    found = [pair.ends(plan), pair.ends(blocks, other=True)]
    assert [(one["status"], one["ending"], one["outputs"]) for one in found] == [
        ("completed" if ending == "ok" else "failed", ending, outputs)
    ] * 2
    asked = [one["nodes"]["s12" if index == 0 else "s12_asked"]["outcome"] for index, one in enumerate(found)]
    assert asked == (["succeeded"] * 2 if ending != "ok" else [None, "skipped"])

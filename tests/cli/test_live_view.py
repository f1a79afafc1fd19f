"""The live view: what a model says stands in the line of its block while it says it, and only there."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from rich import console

from openskelo.cli import run_view
from openskelo.history.run_document import NodeDocument
from openskelo.kernel.json import Json

WAITING: NodeDocument = {
    "status": "idle",
    "outcome": None,
    "mode": "ai",
    "visits": 0,
    "attempts": 0,
    "outputs": None,
}


@pytest.fixture
def shown() -> Iterator[run_view.Live]:
    view = run_view.Live({"draft": WAITING, "edit": WAITING})
    try:
        yield view
    finally:
        view.close()


def _event(kind: str, **data: Json) -> dict[str, Json]:
    return {"type": kind, "data": data}


def _drawn(view: run_view.Live) -> str:
    paper = console.Console(file=io.StringIO(), width=120)
    with paper.capture() as captured:
        paper.print(view.__rich__())
    return captured.get()


def test_what_a_model_says_is_shown_until_it_is_done(shown: run_view.Live) -> None:
    shown.show(_event("attempt.started", node="draft", attempt=1))
    shown.model_text("draft", '{"text": "Once')
    shown.model_text("draft", " upon\na time")
    shown.model_text("nobody", "unheard")
    assert '{"text": "Once upon a time' in _drawn(shown)
    shown.show(_event("attempt.succeeded", node="draft", attempt=1))
    assert "Once upon" not in _drawn(shown)


def test_a_long_answer_shows_its_end(shown: run_view.Live) -> None:
    shown.show(_event("attempt.started", node="draft", attempt=1))
    shown.model_text("draft", "beginning " + "word " * 200 + "end")
    drawn = _drawn(shown)
    assert "word end" in drawn
    assert "beginning" not in drawn


def test_items_that_a_person_has_taken_out_are_not_waited_for(shown: run_view.Live) -> None:
    shown.show(_event("node.resolved", node="draft", visit=1, count=3))
    shown.show(_event("approval.resolved", node="draft", resolution={"status": "modified"}, by="ada", count=1))
    shown.show(_event("attempt.started", node="draft", attempt=1, item=0))
    assert "0/1" in _drawn(shown)


def test_an_answer_is_shown_with_its_reason(shown: run_view.Live) -> None:
    shown.show(_event("approval.requested", node="edit", prompt="Publish?"))
    shown.show(_event("approval.resolved", node="edit", resolution={"status": "approved"}, by="ada", reason="not\nnow"))
    assert "approved by ada: not now" in _drawn(shown)


def test_failed_items_that_are_kept_count_as_done(shown: run_view.Live) -> None:
    error: Json = {"code": "BAD", "message": "no"}
    shown.show(_event("node.resolved", node="draft", visit=1, count=3))
    shown.show(_event("attempt.started", node="draft", attempt=1, item=0))
    shown.show(_event("attempt.failed", node="draft", attempt=1, item=0, next="keep", error=error))
    shown.show(_event("item.failed", node="draft", item=1, error=error))
    drawn = _drawn(shown)
    assert "2/3" in drawn
    assert "BAD no" in drawn
    assert "0 of 2 done" in drawn


@pytest.mark.parametrize("columns", [20, 40, 51, 60, 80, 120])
def test_a_narrow_terminal_still_shows_sign_badge_and_name(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run_view.Live({"draft": WAITING, "publish": {**WAITING, "mode": "deterministic"}})
    shown.show(_event("attempt.succeeded", node="publish", attempt=1))
    paper = console.Console(file=io.StringIO(), width=columns)
    with paper.capture() as captured:
        paper.print(shown.__rich__())
    shown.close()
    draft, publish, foot = (line.rstrip() for line in captured.get().splitlines())
    assert [draft.split(), publish.split()] == [["·", "AI", "draft"], ["✓", "DET", "publish"]]
    assert foot.startswith("1 of 2 done")


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (20, ["rev…or_b", "rev…or_c"]),
        (80, ["review_of…hapter_by_editor_b", "review_of…hapter_by_editor_c"]),
        (120, ["review_of_the_first_chapter_by_editor_b", "review_of_the_first_chapter_by_editor_c"]),
    ],
)
def test_long_names_are_told_apart(columns: int, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run_view.Live({f"review_of_the_first_chapter_by_editor_{who}": WAITING for who in "bc"})
    paper = console.Console(file=io.StringIO(), width=columns)
    with paper.capture() as captured:
        paper.print(shown.__rich__())
    shown.close()
    assert [line.split()[2] for line in captured.get().splitlines()[:2]] == names


def test_the_time_of_a_node_is_the_work_of_its_attempts(shown: run_view.Live) -> None:
    for attempt in (1, 2):
        shown.show(_event("attempt.started", node="draft", attempt=attempt))
        receipt: Json = {"metrics": {"wall_ms": 60_000 * attempt}}
        shown.show(_event("attempt.failed", node="draft", attempt=attempt, next="fail", receipt=receipt))
    assert " 3 min " in _drawn(shown)


def _call(number: str, command: str, **gate: Json) -> dict[str, Json]:
    call: Json = {"id": number, "tool": "Bash", "kind": "execute", "gate": gate}
    return _event("call.started", node="draft", call=call, args={"value": {"command": command}})


def _call_over(number: str, status: str, output: str = "") -> dict[str, Json]:
    return _event(
        "call.completed", node="draft", callId=number, status=status, durationMs=1500, result={"value": output}
    )


def test_the_call_that_an_agent_makes_now_stands_in_the_line_of_its_block(shown: run_view.Live) -> None:
    shown.show(_event("attempt.started", node="draft", attempt=1))
    shown.show(_call("1", "make test", decision="allow"))
    assert "Bash make test" in _drawn(shown)
    shown.show(_call_over("1", "completed"))
    assert "Bash make test" not in _drawn(shown)
    shown.show(_call("2", "curl x", decision="deny"))
    assert "curl" not in _drawn(shown)  # it is not made


def test_a_block_goes_on_when_a_question_about_a_call_is_answered(shown: run_view.Live) -> None:
    shown.show(_event("attempt.started", node="draft", attempt=1))
    tool: Json = {"id": "1", "name": "call", "args": {}}
    shown.show(_event("approval.requested", node="draft", tool=tool, prompt="helper wants to run: ls", approvalId="a"))
    assert _drawn(shown).startswith("?")
    shown.show(_event("approval.resolved", node="draft", approvalId="a", by="ada", resolution={"status": "approved"}))
    drawn = _drawn(shown)
    assert not drawn.startswith(("?", "·"))
    assert "wants to run" not in drawn
    shown.show(_event("attempt.succeeded", node="draft", attempt=1))
    shown.show(_event("approval.withdrawn", node="draft", approvalId="a"))
    assert _drawn(shown).startswith("✓")


def test_a_call_of_an_agent_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    view = run_view.Plain()
    for event in (
        _call("1", "make  test\nnow", decision="allow"),
        _call_over("1", "completed"),
        _call("2", "false", decision="allow"),
        _call_over("2", "failed", "1"),
        _call("3", "curl x", decision="deny"),
        _call_over("3", "failed", "the project denies it"),
        _call("4", "git push"),
        _event("call.ruled", node="draft", callId="4", gate={"decision": "deny"}, args={"value": {}}),
        _call_over("4", "failed", "ada has denied it"),
        _event("call.ruled", node="draft", callId="unknown", gate={"decision": "deny"}, args={"value": {}}),
        _call_over("unknown", "completed"),
    ):
        view.show(event)
    assert [line.split("draft", 1)[1].strip() for line in capsys.readouterr().err.splitlines()] == [
        "Bash make test now: ok, 1.5 s",
        "Bash false: failed, 1.5 s",
        "Bash curl x: denied, the project denies it",
        "Bash git push: denied, ada has denied it",
    ]


def test_the_time_in_the_last_line_begins_with_the_first_shown_event(shown: run_view.Live) -> None:
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    shown.show({"type": "approval.resolved", "ts": an_hour_ago.isoformat(), "data": {"node": "edit"}})
    shown.show({"type": "attempt.started", "ts": datetime.now(UTC).isoformat(), "data": {"node": "draft"}})
    assert "0 of 2 done, 1 h" in _drawn(shown)

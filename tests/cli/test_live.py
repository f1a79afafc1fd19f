"""The live view: what a model says stands in the line of its block while it says it, and only there."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich import console

from openskelo.cli import live
from openskelo.kernel.json import Json


@pytest.fixture
def shown() -> Iterator[live.Live]:
    view = live.Live({"draft": {"mode": "ai", "status": "idle"}, "edit": {"mode": "ai", "status": "idle"}})
    try:
        yield view
    finally:
        view.close()


def _event(kind: str, **data: Json) -> dict[str, Json]:
    return {"type": kind, "data": data}


def _drawn(view: live.Live) -> str:
    paper = console.Console(file=io.StringIO(), width=120)
    with paper.capture() as captured:
        paper.print(view.__rich__())
    return captured.get()


def test_what_a_model_says_is_shown_until_it_is_done(shown: live.Live) -> None:
    shown.show(_event("attempt.started", node="draft", attempt=1))
    shown.hear("draft", '{"text": "Once')
    shown.hear("draft", " upon\na time")
    shown.hear("nobody", "unheard")
    assert '{"text": "Once upon a time' in _drawn(shown)
    shown.show(_event("attempt.succeeded", node="draft", attempt=1))
    assert "Once upon" not in _drawn(shown)


def test_a_long_answer_shows_its_end(shown: live.Live) -> None:
    shown.show(_event("attempt.started", node="draft", attempt=1))
    shown.hear("draft", "beginning " + "word " * 200 + "end")
    drawn = _drawn(shown)
    assert "word end" in drawn
    assert "beginning" not in drawn


def test_items_that_a_person_has_taken_out_are_not_waited_for(shown: live.Live) -> None:
    shown.show(_event("node.resolved", node="draft", visit=1, count=3))
    shown.show(_event("approval.resolved", node="draft", resolution={"status": "modified"}, by="ada", count=1))
    shown.show(_event("attempt.started", node="draft", attempt=1, item=0))
    assert "0/1" in _drawn(shown)


@pytest.mark.parametrize("columns", [20, 40, 51, 60, 80, 120])
def test_a_narrow_terminal_still_shows_sign_badge_and_name(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = live.Live({"draft": {"mode": "ai", "status": "idle"}, "publish": {"mode": "deterministic"}})
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
    shown = live.Live({f"review_of_the_first_chapter_by_editor_{who}": {"mode": "ai"} for who in "bc"})
    paper = console.Console(file=io.StringIO(), width=columns)
    with paper.capture() as captured:
        paper.print(shown.__rich__())
    shown.close()
    assert [line.split()[2] for line in captured.get().splitlines()[:2]] == names

"""Text for people: width, cleaning, times, the drawn graph, the sentences of events."""

from __future__ import annotations

import io

import pytest

from openskelo.cli import explanation, output, run_view
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load, outline


@pytest.mark.parametrize(
    ("text", "clean"),
    [("plain", "plain"), ("a\tb\nc", "a\tb\nc"), ("\x1b[31mred", "\\u001b[31mred"), ("\u202eevil", "\\u202eevil")],
)
def test_control_characters_become_visible(text: str, clean: str) -> None:
    assert output.clean(text) == clean


def test_a_line_is_cut_by_columns_not_by_characters() -> None:
    assert output.one_line("日本語テキスト", 7) == "日本語…"
    assert output.width("日本語…") == 7
    assert output.one_line("two\n  lines") == "two lines"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.0301, "30 ms"),
        (1.0, "1 s"),
        (59.94, "59.9 s"),
        (60, "1 min"),
        (61, "1 min 01 s"),
        (7200, "2 h"),
        (86_460, "24 h 01 min"),
    ],
)
def test_lengths_of_time_read_as_people_say_them(seconds: float, words: str) -> None:
    assert output.duration(seconds) == words


@pytest.mark.parametrize(
    ("usd", "digits", "words"),
    [
        (0.0, 15, "0"),
        (0.00006, 15, "0.00006"),
        (0.000000001, 4, "0.000000001"),
        (0.0123456, 4, "0.01235"),
        (0.3, 15, "0.3"),
        (12.0, 15, "12"),
        (1_000_000.0, 4, "1000000"),
    ],
)
def test_money_is_never_told_in_powers_of_ten(usd: float, digits: int, words: str) -> None:
    assert output.dollars(usd, digits) == words


@pytest.mark.parametrize(
    ("feedback", "words"),
    [
        (True, "draft when nice fails, at most 2 times, with the reason"),
        (False, "draft when nice fails, at most 2 times"),
    ],
)
def test_a_way_back_is_said_in_words(feedback: bool, words: str) -> None:
    rule = definition.Bounce(when_gate="nice", route_to="draft", max_bounces=2, feedback=feedback, reset=("draft",))
    assert explanation.bounce_text(rule) == words


def test_the_graph_braces_what_may_run_side_by_side_and_shows_the_ways_back() -> None:
    def block(key: str, source: str, **more: Json) -> JsonObject:
        return {
            "id": key,
            "mode": "deterministic",
            "inputs": {"n": {"type": "integer", "from": source}},
            "outputs": {"n": "integer"},
            "deterministic": {"handler": "builtin:pass"},
            **more,
        }

    gate = {"name": "small", "type": "expr", "expression": "outputs.n < 3"}
    back = {"when_gate": "small", "route_to": "one", "max_bounces": 2}
    workflow = load.from_document(
        {
            "name": "w",
            "inputs": {"n": "integer"},
            "blocks": [
                block("one", "inputs.n"),
                block("left", "one.n"),
                block("right", "one.n", post_gates=[gate], on_gate_fail=[back]),
                block("end", "left.n", after=["right"], when="inputs.n > 0"),
            ],
        }
    )
    assert outline.layers(workflow) == [["one"], ["left", "right"], ["end"]]
    assert explanation.draw_graph(workflow, output.Painter(io.StringIO()), 100) == [
        "  ● DET   one    ← inputs.n",
        "  │",
        "  ┌ DET   left   ← one.n",
        "  └ DET   right  ← one.n · ↺ one (at most 2)",
        "  │",
        "  ● DET   end    ← left.n, after right · when inputs.n > 0",
    ]


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("run.created", {}, ""),
        ("node.skipped", {"reason": "when"}, "skipped: its condition is false"),
        ("attempt.started", {"attempt": 2, "item": 3}, "started item 3 (attempt 2)"),
        (
            "attempt.failed",
            {"attempt": 1, "error": {"code": "MODE_DENIED", "message": "not now"}, "next": "go", "goto": "done"},
            "failed: MODE_DENIED not now; goes to done",
        ),
        (
            "attempt.failed",
            {"attempt": 1, "error": {"code": "TIMEOUT", "message": "too\nslow"}, "next": "retry"},
            "failed: TIMEOUT too slow; will try again",
        ),
        (
            "approval.resolved",
            {"resolution": {"status": "denied"}, "by": "ada", "reason": "no"},
            "denied by ada: no",
        ),
        (
            "approval.resolved",
            {"resolution": {"status": "modified"}, "by": "ada", "count": 1},
            "modified by ada, 1 item",
        ),
        ("node.bounced", {"routeTo": "draft", "bounce": 1}, "sent back to draft (bounce 1)"),
        ("something.new", {}, ""),
    ],
)
def test_an_event_is_a_sentence(kind: str, data: JsonObject, words: str) -> None:
    assert run_view.sentence({"type": kind, "data": data}) == words


def test_an_event_whose_data_was_pruned_is_still_a_sentence() -> None:
    assert run_view.sentence({"type": "attempt.cancelled", "dataHash": "…"}) == "stopped"

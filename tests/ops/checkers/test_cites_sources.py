"""cites_sources: markers, quotes, and what has to carry a marker."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel.json import Json
from tests.executors import workshop
from tests.executors.ops import bench

SOURCES: Json = {"bees": "Bees dance to show\n the way. They are “social insects” too.", "ants": {"legs": 6}}


def check(root: Path, text: Json, **more: Json) -> Json:
    args: dict[str, Json] = {"checker_id": "cites_sources", "input_ref": text, "sources": SOURCES, **more}
    done = bench.perform(workshop.project(root), "verify", args)
    assert done.failure is None
    return done.value


def test_known_markers_and_true_quotes_hold(tmp_path: Path) -> None:
    text = 'Bees talk: "dance to show the way" [bees]. Both are small [bees, ants]. See [a link](https://example.test).'
    assert check(tmp_path, text) == {"ok": True, "citations": 3, "quotes": 1}


def test_shapes_of_marks_and_white_space_do_not_count(tmp_path: Path) -> None:
    assert check(tmp_path, "“Bees dance to\nshow the way.” [bees]") == {"ok": True, "citations": 1, "quotes": 1}


def test_an_unknown_source_does_not_hold(tmp_path: Path) -> None:
    assert check(tmp_path, "Wasps sting [wasps] and [bees, flies].") == {
        "ok": False,
        "reason": "it cites what is not among the sources",
        "citations": 3,
        "quotes": 0,
        "unknown": ["wasps", "flies"],
        "not_found": [],
        "uncited": [],
    }


def test_a_quote_has_to_be_in_the_source_that_it_is_given_for(tmp_path: Path) -> None:
    verdict = check(tmp_path, 'It says "dance to show the way" [ants].')
    assert isinstance(verdict, dict)
    assert (verdict["ok"], verdict["not_found"]) == (False, ["dance to show the way"])
    # Without a marker after it in its paragraph, all sources are looked through.
    assert check(tmp_path, 'See [bees].\n\nIt says "dance to show the way".') == {
        "ok": True,
        "citations": 1,
        "quotes": 1,
    }


def test_short_quotes_are_words_and_no_quotes(tmp_path: Path) -> None:
    assert check(tmp_path, 'The "waggle dance" [bees].') == {"ok": True, "citations": 1, "quotes": 0}
    verdict = check(tmp_path, 'The "waggle dance" [bees].', min_quote_words=2)
    assert isinstance(verdict, dict)
    assert verdict["not_found"] == ["waggle dance"]


@pytest.mark.parametrize(
    ("each", "uncited"),
    [
        ("text", []),
        ("paragraph", ["Ants too. Really."]),
        ("sentence", ["They dance.", "Ants too.", "Really."]),
    ],
)
def test_each_part_has_to_carry_a_marker(tmp_path: Path, each: str, uncited: list[str]) -> None:
    verdict = check(tmp_path, "# Bees\n\nBees fly [bees]. They dance.\n\nAnts too. Really.", each=each)
    assert isinstance(verdict, dict)
    assert (verdict["ok"], verdict.get("uncited", [])) == (not uncited, uncited)


def test_a_text_without_any_citation_does_not_hold(tmp_path: Path) -> None:
    verdict = check(tmp_path, "Bees fly.")
    assert isinstance(verdict, dict)
    assert (verdict["ok"], verdict["reason"]) == (False, "it makes claims without a citation")
    assert check(tmp_path, 7) == {"ok": False, "reason": "it is not a text"}


def test_sources_in_a_list_are_numbered(tmp_path: Path) -> None:
    where = workshop.project(tmp_path)
    args: dict[str, Json] = {"checker_id": "cites_sources", "source_refs": ["one is here", "two is there"]}
    good = bench.perform(where, "verify", {**args, "input_ref": '"two is there" [2]'})
    assert good.value == {"ok": True, "citations": 1, "quotes": 1}
    assert bench.perform(where, "verify", {**args, "input_ref": "[3]"}).holds is False

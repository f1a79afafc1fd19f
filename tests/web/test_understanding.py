"""Understanding a run: its timeline, its costs, its events, each of which has an address."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest
from playwright.sync_api import Page, expect

from openskelo.kernel.json import Json
from tests.web import axe, studio
from tests.web import site as sites

#: Two facts for each of them.
ITEMS = 5_000
MANY: dict[str, Json] = {
    "name": "many",
    "inputs": {"words": {"type": "array", "items": {"type": "string"}}},
    "blocks": [
        {
            "id": "each",
            "mode": "deterministic",
            "foreach": {"items": "inputs.words", "as": "word", "concurrency": 64},
            "inputs": {"words": {"type": "array", "from": "inputs.words"}, "word": {"type": "string"}},
            "outputs": {"word": "string"},
            "deterministic": {"handler": "builtin:pass"},
        }
    ],
}


def _estimated() -> dict[str, Json]:
    """The article, with what each question to a model is expected to take."""
    expected: Json = {"tokens": 30, "cost_usd": 0.008, "duration_sec": 1}
    blocks = cast("list[dict[str, Json]]", studio.ARTICLE["blocks"])
    return {**studio.ARTICLE, "blocks": [one | {"estimate": expected} if "prompt" in one else one for one in blocks]}


@pytest.fixture(scope="module")
def newsroom(tmp_path_factory: pytest.TempPathFactory) -> Generator[sites.Site]:
    with studio.model() as speaker:
        made = studio.make(tmp_path_factory.mktemp("newsroom"), speaker)
        made.write("many.yaml", MANY)
        made.write("article.yaml", _estimated())
        made.start()
        yield made
        made.stop()


@pytest.fixture(scope="module")
def article(newsroom: sites.Site) -> str:
    """A run with models, code, a sub-workflow and a person in it, which has ended."""
    run_id = newsroom.begin("article.yaml")
    newsroom.answer(run_id)
    assert newsroom.ended(run_id)["ending"] == "ok"
    return run_id


def test_the_timeline_has_models_code_people_and_waiting_apart(
    page: Page, newsroom: sites.Site, article: str, images: Path
) -> None:
    page.goto(f"{newsroom.url}/runs/{article}?tab=timeline")
    rows = page.locator(".timeline-row")
    expect(rows.filter(has_text="Outline").locator(".timeline-bar.timeline-model")).to_have_count(2)
    expect(rows.filter(has_text="Outline").locator(".timeline-end-failed")).to_have_count(1)
    expect(rows.filter(has_text="Editor reads it").locator(".timeline-bar.timeline-human")).to_have_count(1)
    expect(rows.filter(has_text="Gather notes").locator(".timeline-bar.timeline-tool")).to_have_count(1)
    page.screenshot(path=images / "timeline.png")
    axe.check(page)
    page.get_by_role("button", name="Zoom in").click()
    expect(page.get_by_text("2×")).to_be_visible()
    rows.filter(has_text="Outline").get_by_role("link").click()
    expect(page.get_by_role("complementary", name="Node outline")).to_be_visible()


def test_costs_are_shown_by_mode_model_and_node(page: Page, newsroom: sites.Site, article: str, images: Path) -> None:
    page.goto(f"{newsroom.url}/runs/{article}?tab=costs")
    models = page.get_by_role("group", name="By model")
    expect(models.get_by_role("row", name="gpt-4o-mini")).to_contain_text("5")
    expect(page.get_by_role("group", name="By mode").get_by_role("row", name="AI")).to_be_visible()
    expect(page.get_by_role("group", name="By node").get_by_role("row", name="Outline")).to_be_visible()
    total = newsroom.run(article)["usage"]
    expect(page.locator(".tile", has_text="Tokens")).to_contain_text(str(total["totalTokens"]))
    page.screenshot(path=images / "costs.png")
    expect(page.locator(".tile", has_text="Cost")).to_contain_text("expected $0.0240")
    axe.check(page)


def test_events_are_searched_and_each_has_an_address(
    page: Page, newsroom: sites.Site, article: str, images: Path
) -> None:
    page.goto(f"{newsroom.url}/runs/{article}?tab=events")
    rows = page.locator(".event-row")
    expect(rows.first).to_contain_text("run.created")
    page.get_by_label("Search in all events").fill("outline attempt.failed")
    expect(rows).to_have_count(1)
    rows.click()
    detail = page.get_by_role("region", name="Event")
    expect(detail.get_by_role("heading", name="attempt.failed")).to_be_visible()
    axe.check(page)
    address = page.url
    page.goto(f"{newsroom.url}/")
    page.goto(address)
    expect(detail.get_by_role("heading", name="attempt.failed")).to_be_visible()
    page.screenshot(path=images / "events.png")
    page.get_by_role("listbox", name="Events").press("ArrowDown")
    expect(detail.get_by_role("heading", name="attempt.failed")).to_have_count(0)
    page.get_by_label("Type of event").select_option("approval.resolved")
    expect(rows).to_have_count(1)
    page.get_by_label("Search in all events").fill("nothing has this")
    expect(page.get_by_role("heading", name="No event matches")).to_be_visible()


def test_a_run_of_ten_thousand_events_opens_like_a_short_one_and_stays_responsive(
    page: Page, newsroom: sites.Site
) -> None:
    short, long = (_many(newsroom, items) for items in (20, ITEMS))
    for address in (short, long):
        page.goto(address)  # the parts of the page are loaded
        expect(page.locator(".event-row").first).to_be_visible()
    # By turns, and the best of each: others may be using the machine too.
    took = [(_opening(page, short), _opening(page, long)) for _ in range(5)]
    base = min(one for one, _ in took)
    assert min(one for _, one in took) < 2 * base, took
    expect(page.locator(".events-tools")).to_contain_text("10,0")
    assert page.locator(".event-row").count() < 100
    sought = [_searching(page, ITEMS - number) for number in range(1, 6)]
    assert min(sought) < base, (sought, base)
    page.get_by_role("tab", name="Timeline").click()
    expect(page.locator(".timeline-bar.timeline-tool").first).to_be_visible()
    assert page.locator(".timeline-bar").count() < 2_000


def _many(newsroom: sites.Site, items: int) -> str:
    """The address of the events of a run that has so many items, and has ended."""
    run_id = newsroom.begin("many.yaml", words=[f"word {number}" for number in range(items)])
    newsroom.until(run_id, lambda run: run["ending"])
    return f"{newsroom.url}/runs/{run_id}?tab=events"


def _opening(page: Page, address: str) -> float:
    page.goto("about:blank")
    begun = time.monotonic()
    page.goto(address)
    page.locator(".event-row").first.wait_for()
    return time.monotonic() - begun


def _searching(page: Page, item: int) -> float:
    box = page.get_by_label("Search in all events")
    box.fill("")
    expect(page.locator(".event-row").nth(2)).to_be_visible()
    begun = time.monotonic()
    box.fill(f'"item":{item}')
    page.locator(".event-row").nth(2).wait_for(state="detached")
    took = time.monotonic() - begun
    expect(page.locator(".event-row")).to_have_count(2)
    return took

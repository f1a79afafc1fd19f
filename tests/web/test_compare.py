"""Two runs side by side in the dashboard: what the server's comparison says, and the values behind it."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from openskelo.kernel.json import Json
from tests.web import axe
from tests.web import site as sites


def _printing(handler: str) -> dict[str, Json]:
    """A workflow whose second block is the work of this handler."""
    return {
        "name": "printing",
        "inputs": {"topic": "string"},
        "blocks": [
            {
                "id": "write",
                "mode": "deterministic",
                "inputs": {"topic": {"type": "string", "from": "inputs.topic"}},
                "outputs": {"text": "string"},
                "deterministic": {"handler": "handlers.py:write"},
            },
            {
                "id": "print",
                "mode": "deterministic",
                "inputs": {"text": {"type": "string", "from": "write.text"}},
                "outputs": {"text": "string"},
                "deterministic": {"handler": handler},
            },
        ],
        "outputs": {"text": "print.text"},
    }


def test_a_run_that_failed_is_compared_with_one_that_did_not(page: Page, site: sites.Site) -> None:
    site.write("printing.yaml", _printing("builtin:pass"))
    good = site.begin("printing.yaml", topic="bees")
    assert site.ended(good)["ending"] == "ok"
    site.write("printing.yaml", _printing("handlers.py:fail"))
    bad = site.begin("printing.yaml", topic="bees")
    assert site.ended(bad)["ending"] == "failed"
    page.goto(f"{site.url}/compare/{good}/{bad}")
    expect(page.get_by_role("heading", name="1 of 2 nodes differ")).to_be_visible()
    expect(page.get_by_text("The two runs have different workflows")).to_be_visible()
    row = page.locator(".compare-pair")
    expect(row).to_have_count(1)
    expect(row.locator(".compare-verdict")).to_have_text("Different outcome, definition")
    # What one of them does not have is no empty line.
    output = row.locator("section", has_text="Outputs").locator(".text-diff-line")
    expect(output).to_have_count(1)
    expect(output).to_contain_text("removed: All about bees")
    error = row.locator("section", has_text="Error").locator(".text-diff-line")
    expect(error).to_have_text([re.compile("added: HANDLER_RAISED"), re.compile("the press is out of ink")])
    axe.check(page)

    # Each side says which it is, to those who hear the row, and in a window without room for columns to all.
    button = row.get_by_role("button")
    expect(button).to_have_accessible_name(re.compile(r"print .*First: Done.* Second: Failed"))
    page.set_viewport_size({"width": 390, "height": 800})
    expect(row.get_by_text("Second: Failed")).to_be_in_viewport(ratio=0.5)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    axe.check(page)


def test_what_is_not_finished_is_compared_again(page: Page, site: sites.Site) -> None:
    runs = [site.begin("review.yaml", topic="moths") for _ in range(2)]
    for run_id in runs:
        site.asked(run_id)
    page.goto(f"{site.url}/compare/{runs[0]}/{runs[1]}")
    expect(page.get_by_role("heading", name="No node differs so far, 3 not finished")).to_be_visible()
    expect(page.get_by_label("First run")).to_contain_text("Waiting")
    site.answer(runs[0])
    site.answer(runs[1], "modified", modifiedArgs={"text": "All about hornets"})
    for run_id in runs:
        site.ended(run_id)
    page.get_by_role("button", name="Compare again").click()
    expect(page.get_by_role("heading", name="3 of 4 nodes differ")).to_be_visible()
    expect(page.get_by_role("button", name="Compare again")).to_have_count(0)


def test_of_many_nodes_that_differ_a_few_are_open_and_some_are_listed(page: Page, site: sites.Site) -> None:
    handler: Json = {"handler": "builtin:pass"}
    source: Json = {"text": {"type": "string", "from": "inputs.topic"}}
    blocks: list[Json] = [
        {
            "id": f"n{at}",
            "mode": "deterministic",
            "inputs": source,
            "outputs": {"text": "string"},
            "deterministic": handler,
        }
        for at in range(230)
    ]
    site.write("many.yaml", {"name": "many", "inputs": {"topic": "string"}, "blocks": blocks})
    runs = [site.begin("many.yaml", topic=topic) for topic in ("bees", "wasps")]
    for run_id in runs:
        site.ended(run_id)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site.url}/compare/{runs[0]}/{runs[1]}")
    expect(page.get_by_role("heading", name="230 of 230 nodes differ")).to_be_visible()
    rows = page.locator(".compare-pair")
    expect(rows).to_have_count(200)
    expect(page.locator(".compare-pair .text-diff")).to_have_count(10)
    assert len([url for url in asked if "/nodes/" in url]) == 10
    page.get_by_role("button", name="Show more of 30 other nodes").click()
    expect(rows).to_have_count(230)
    rows.nth(229).get_by_role("button").click()
    expect(rows.nth(229).locator(".text-diff")).to_have_count(2)


def test_runs_that_cannot_be_compared_say_why(page: Page, site: sites.Site, noise: list[str]) -> None:
    noise.append("Failed to load resource")
    run_id = site.begin("each.yaml")
    page.goto(f"{site.url}/compare/{run_id}/{run_id}")
    expect(page.get_by_role("alert")).to_contain_text("RUN_SAME")
    page.goto(f"{site.url}/compare/{run_id}/00000000-0000-4000-8000-000000000000")
    expect(page.get_by_role("alert")).to_contain_text("RUN_NOT_FOUND")

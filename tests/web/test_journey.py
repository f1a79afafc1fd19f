"""A person's way through the dashboard: start a run, watch it, approve it with an edit, fork it, compare the two."""

from __future__ import annotations

import re
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web import axe
from tests.web import site as sites

#: What a browser says by itself when the server is away.
AWAY = (r"WebSocket connection", r"net::ERR_", r"Failed to load resource")


@pytest.fixture
def hold(site: sites.Site) -> Generator[Path]:
    """While this file is there, runs of `review` wait after they were approved."""
    path = site.root / "hold"
    path.touch()
    yield path
    path.unlink(missing_ok=True)


def _run_id(page: Page) -> str:
    page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}"))
    return page.url.partition("/runs/")[2][:36]


def test_a_run_is_started_watched_approved_with_an_edit_and_compared_with_its_fork(
    page: Page, site: sites.Site, hold: Path, images: Path
) -> None:
    page.goto(f"{site.url}/start/review.yaml")
    page.get_by_label("topic").fill("city bees")
    page.get_by_role("button", name="Start run").click()
    first = _run_id(page)

    # It waits for a person, whose answer changes what is published.
    page.get_by_role("link", name="Answer").click()
    expect(page.get_by_role("heading", name="Publish this?")).to_be_visible()
    page.get_by_role("button", name="Modify").click()
    form = page.get_by_label("text")
    expect(form).to_have_value("All about city bees")
    form.fill("x")
    page.get_by_role("button", name="Modify").click()
    expect(page.get_by_text("At least 2 characters, please.")).to_be_visible()
    form.fill("All about city wasps")
    page.get_by_label("Reason").fill("There are no bees this year.")
    page.get_by_role("button", name="Modify").click()
    expect(page.get_by_text("Modified.")).to_be_visible()

    # It is watched while it goes on, without loading anything anew.
    page.goto(f"{site.url}/runs/{first}?tab=graph")
    expect(page.locator(".run-head .status")).to_have_text("Running")
    hold.unlink()
    expect(page.locator(".run-head .status")).to_have_text("Completed")
    page.reload()
    expect(page.locator(".run-head .status")).to_have_text("Completed")
    assert (site.root / site.run(first)["outputs"]["file"]).read_text() == "All about city wasps"

    # A fork does it again from the question on, with another text.
    page.get_by_role("button", name="Fork", exact=True).click()
    page.get_by_label("From node").select_option("check")
    page.get_by_role("dialog").get_by_label("text").fill("All about hornets")
    expect(page.get_by_text("Changed: text")).to_be_visible()
    axe.check(page)
    page.get_by_role("button", name="Fork from check").click()
    page.wait_for_url(lambda url: first not in url)
    second = _run_id(page)
    site.answer(second, "approved")
    expect(page.locator(".run-head .status")).to_have_text("Completed")

    page.get_by_role("link", name="Forked at check").click()
    page.wait_for_url(re.compile(f"/compare/{first}/{second}"))
    expect(page.get_by_role("heading", name="3 of 4 nodes differ")).to_be_visible()
    check = page.locator(".compare-pair", has_text="check")
    expect(check.locator(".text-diff-gone").last).to_contain_text("All about city wasps")
    expect(check.locator(".text-diff-new").last).to_contain_text("All about hornets")
    page.get_by_label("Show all nodes").check()
    kept = page.locator(".compare-pair", has_text="write")
    expect(kept).to_contain_text("Kept from the first")
    kept.get_by_role("button").click()
    expect(kept.get_by_text("The same in both.")).to_be_visible()
    expect(kept.locator(".text-diff")).to_have_count(0)  # what it was given only the first one knows
    page.screenshot(path=images / "compare.png")
    axe.check(page)
    page.get_by_role("button", name="Swap").click()
    expect(page.locator(".compare-pair", has_text="write")).to_contain_text("Kept from the second")


def test_a_server_that_is_killed_and_comes_back_goes_on_with_the_run_and_the_page(
    page: Page, site: sites.Site, hold: Path, noise: list[str]
) -> None:
    noise.extend(AWAY)
    run_id = site.begin("review.yaml", topic="moths")
    site.answer(run_id)
    page.goto(f"{site.url}/runs/{run_id}?tab=events")
    started = page.locator(".event-row", has_text="attempt.started").filter(has_text="hold")
    expect(started).to_have_count(1)
    site.stop(signal.SIGKILL)
    expect(page.get_by_text("Connection lost")).to_be_visible()
    hold.unlink()
    site.start()
    expect(page.get_by_text("Connection lost")).to_be_hidden()
    expect(page.locator(".run-head .status")).to_have_text("Completed")
    expect(page.locator(".event-row", has_text="run.ended")).to_be_visible()
    expect(page.locator(".event-row", has_text="attempt.interrupted").filter(has_text="hold")).to_have_count(1)


def test_a_run_is_paused_resumed_and_cancelled_from_its_page(page: Page, site: sites.Site, hold: Path) -> None:
    run_id = site.begin("review.yaml", topic="ants")
    site.answer(run_id)
    page.goto(f"{site.url}/runs/{run_id}?tab=graph")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".run-head .status")).to_have_text("Pausing")
    expect(page.locator(".run-head")).to_contain_text("Paused by a person")
    page.get_by_role("button", name="Resume").click()  # it is offered at once, also while work under way ends
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Keep it going").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_label("Reason").fill("not needed any more")
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.locator(".run-head .status")).to_have_text("Cancelled")
    assert site.ended(run_id)["ending"] == "cancelled"
    assert hold.exists()


def test_a_failed_node_is_done_again_in_a_fork(page: Page, site: sites.Site) -> None:
    run_id = site.begin("failing.yaml")
    site.ended(run_id)
    page.goto(f"{site.url}/runs/{run_id}?tab=graph")
    page.get_by_role("button", name="Retry print").click()
    page.wait_for_url(lambda url: run_id not in url)
    fork = site.ended(_run_id(page))
    assert (fork["parent"]["runId"], fork["parent"]["node"], fork["ending"]) == (run_id, "print", "failed")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("link", name=re.compile(f"{run_id[:8]}.*parent")).click()
    expect(page.get_by_role("heading", name="Compare two runs")).to_be_visible()

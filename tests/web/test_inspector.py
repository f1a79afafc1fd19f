"""The inspector in a real browser: everything that is known of a node, panel by panel, live, and by its address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web import axe, studio
from tests.web.site import Site


@pytest.fixture(scope="module")
def site(newsroom: Site) -> Site:
    return newsroom


@pytest.fixture(scope="module")
def article(site: Site) -> str:
    """A run that has come to its approval: its outline was repaired, its draft tried twice."""
    run_id = site.begin("article.yaml")
    site.asked(run_id)
    return run_id


def opened(page: Page, site: Site, run_id: str, key: str, panel: str = "") -> Locator:
    page.goto(f"{site.url}/runs/{run_id}/nodes/{key}" + (f"?panel={panel}" if panel else ""))
    found = page.get_by_role("complementary", name=f"Node {key}")
    expect(found).to_be_visible()
    return found


def choose(inspector: Locator, name: str) -> Locator:
    inspector.get_by_role("tab", name=re.compile(f"^{name}")).click()
    return inspector.get_by_role("tabpanel")


def test_a_card_opens_the_node_and_the_address_leads_back(site: Site, page: Page, article: str) -> None:
    page.goto(f"{site.url}/runs/{article}?tab=graph")
    page.locator('[data-key="draft"]').get_by_role("link", name="Draft").click()
    expect(page).to_have_url(f"{site.url}/runs/{article}/nodes/draft")
    inspector = page.get_by_role("complementary", name="Node draft")
    expect(inspector.get_by_role("heading", name="Draft", exact=True)).to_be_visible()
    expect(page.locator('[data-key="draft"]')).to_have_class(re.compile("is-selected"))
    choose(inspector, "Attempts")
    expect(page).to_have_url(f"{site.url}/runs/{article}/nodes/draft?panel=attempts")
    page.reload()
    expect(inspector.get_by_role("heading", name="Attempt 2")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{site.url}/runs/{article}?tab=graph")
    expect(inspector).to_have_count(0)
    page.go_back()
    expect(inspector).to_be_visible()


def test_a_node_that_is_none_is_said_to_be_none(site: Site, page: Page, article: str) -> None:
    inspector = opened(page, site, article, "nobody")
    expect(inspector.get_by_text("There is no such node")).to_be_visible()


def test_attempts_say_what_was_wrong_and_what_was_repaired(site: Site, page: Page, article: str, images: Path) -> None:
    inspector = opened(page, site, article, "outline", "attempts")
    first = inspector.locator(".attempt").filter(has_text="Attempt 1")
    expect(first).to_contain_text("ANSWER_INVALID")
    expect(first).to_contain_text("Then: asked to correct its answer.")
    first.get_by_text("What the next attempt was told").click()
    expect(first.get_by_role("group", name="What the next attempt was told")).to_contain_text(
        "Sure! Here is the outline"
    )
    inspector = opened(page, site, article, "draft", "attempts")
    failed = inspector.locator(".attempt").filter(has_text="Attempt 1")
    expect(failed).to_contain_text("POST_GATE_FAILED")
    expect(failed.locator(".verdict-no")).to_have_count(2)
    expect(inspector.locator(".attempt").filter(has_text="Attempt 2").locator(".verdict-yes")).to_have_count(2)
    expect(page.locator('[data-key="draft"]')).to_be_visible()
    page.screenshot(path=images / "inspector.png")
    axe.check(page)


def test_summary_data_and_checks(site: Site, page: Page, article: str) -> None:
    inspector = opened(page, site, article, "draft")
    expect(inspector).to_contain_text("22 in, 10 out")
    expect(inspector).to_contain_text("Attempt 2 succeeded")
    expect(inspector.get_by_role("link", name="outline", exact=True)).to_be_visible()
    axe.check(page)
    data = choose(inspector, "Data")
    expect(data.get_by_role("group", name="Inputs")).to_contain_text("Why bees moved to the roofs")
    expect(data.get_by_role("group", name="Outputs")).to_contain_text("City bees have moved up.")
    data.get_by_role("group", name="Inputs").get_by_role("button", name=re.compile("^points")).click()
    expect(data.get_by_role("group", name="Inputs")).to_contain_text("3 items")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    data.get_by_role("button", name="Copy outputs").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert '"text": "City bees' in page.evaluate("navigator.clipboard.readText()")
    checks = choose(inspector, "Checks")
    expect(checks.locator(".verdict-yes")).to_have_count(2)
    expect(checks).to_contain_text("3 at most")
    expect(checks).to_contain_text("Output ports")
    axe.check(page)


def test_prompts_are_shown_whole_and_by_blocks_for_each_attempt(site: Site, page: Page, article: str) -> None:
    inspector = opened(page, site, article, "outline", "prompt")
    panel = inspector.get_by_role("tabpanel")
    expect(panel.get_by_role("heading", name="System")).to_be_visible()
    expect(panel.get_by_role("heading", name="Correction")).to_be_visible()
    expect(panel).to_contain_text("That answer was refused")
    panel.get_by_label("Attempt").select_option(label="Attempt 1")
    expect(panel.get_by_role("heading", name="Correction")).to_have_count(0)
    panel.get_by_role("button", name="Full").click()
    expect(panel).to_contain_text("=== system ===")
    axe.check(page)


def test_an_answer_is_read_while_it_is_written(site: Site, page: Page, model: studio.Model) -> None:
    model.held.clear()
    try:
        run_id = site.begin("article.yaml")
        inspector = opened(page, site, run_id, "outline", "messages")
        live = inspector.locator(".message-live")
        expect(live).to_contain_text("Sure! Here")
        expect(live).not_to_contain_text("roofs")
    finally:
        model.held.set()
    expect(live).to_have_count(0)
    expect(inspector.locator(".message")).to_have_count(2)
    expect(inspector.locator(".message").last).to_contain_text("What lavender has to do with it")
    expect(inspector.locator(".message").last).to_contain_text("Answered")
    axe.check(page)


def test_tools_changes_files_and_receipts(site: Site, page: Page, article: str, images: Path) -> None:
    inspector = opened(page, site, article, "gather", "tools")
    expect(inspector.get_by_role("heading", name="handlers.py:gather")).to_be_visible()
    files = choose(inspector, "Files")
    files.get_by_role("button", name=re.compile("log")).click()
    expect(files).to_contain_text("three notes were found")
    with page.expect_download() as download:
        files.get_by_role("link", name=re.compile("^Download")).first.click()
    assert "three notes were found" in download.value.path().read_text()
    receipts = choose(inspector, "Receipts")
    expect(receipts).to_contain_text("The record verifies")
    expect(receipts.locator(".attempt")).to_have_count(1)
    axe.check(page)
    inspector = opened(page, site, article, "layout", "changes")
    expect(inspector.get_by_role("region", name="Changes of press/page.py")).to_be_visible()
    expect(inspector.locator(".diff-new .code-number").first).to_have_text("2")
    expect(inspector.get_by_role("button", name=re.compile("^Comment on line"))).to_have_count(
        0
    )  # nobody would read it
    inspector.get_by_role("button", name="Make it wide").click()
    expect(page.locator('[data-key="draft"]')).to_be_visible()
    page.screenshot(path=images / "changes.png")
    axe.check(page)


def test_items_of_a_foreach_are_paged(site: Site, page: Page) -> None:
    run_id = site.begin("article.yaml", count=130)
    site.until(run_id, lambda run: any(node["outcome"] for node in run["nodes"].values() if node["key"] == "clean"))
    inspector = opened(page, site, run_id, "clean", "items")
    expect(inspector.locator(".item")).to_have_count(100)
    expect(inspector.locator(".item").last).to_contain_text("City bees: note 99")
    inspector.get_by_role("button", name="More items").click()
    expect(inspector.locator(".item")).to_have_count(30)
    inspector.get_by_role("button", name="Back").click()
    expect(inspector.locator(".item")).to_have_count(100)


def test_panels_are_reached_by_keys_and_on_a_phone(site: Site, page: Page, article: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    inspector = opened(page, site, article, "draft")
    inspector.get_by_role("tab", name="Summary").focus()
    page.keyboard.press("End")
    expect(inspector.get_by_role("tab", name="Receipts")).to_be_focused()
    expect(inspector).to_contain_text("The record verifies")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360
    page.keyboard.press("Escape")
    expect(inspector).to_have_count(0)


def test_a_comment_on_a_line_reaches_the_node_of_a_live_graph(site: Site, page: Page) -> None:
    with site.client() as client:
        run_id = client.post("/api/runs", json={"name": "newsroom"}).json()["id"]
        page.goto(f"{site.url}/runs/{run_id}?tab=graph")
        expect(page.get_by_text("This run has no nodes yet")).to_be_visible()
        node = {"label": "Layout", "kind": "handler", "config": {"handler": "handlers.py:patch"}}
        added = client.post(f"/api/runs/{run_id}/nodes", json=node).json()
        page.get_by_role("link", name="Layout").click()
        inspector = page.get_by_role("complementary")
        assert client.post(f"/api/runs/{run_id}/chat", json={"nodeId": added["id"], "content": "Go"}).is_success
    panel = choose(inspector, "Changes")
    panel.get_by_role("button", name="Comment on line 6").click()
    panel.get_by_role("textbox", name="Comment on line 6").fill("Three columns, please.")
    panel.get_by_role("button", name="Add comment").click()
    panel.get_by_role("button", name="Send 1 comment to the node").click()
    expect(page.get_by_text("The node will read it.")).to_be_visible()
    expect(panel.get_by_role("region", name="Comments on the changes")).to_contain_text("Sent to the node")
    messages = choose(inspector, "Messages")
    expect(messages.locator(".message-user")).to_have_count(2)
    expect(messages.locator(".message-user").last).to_contain_text("press/page.py:6")
    expect(messages.locator(".message-user").last).to_contain_text("Three columns, please.")
    site.until(run_id, lambda run: all(node["visits"] == 2 for node in run["nodes"].values()))

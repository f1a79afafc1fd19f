"""The list of runs in a real browser: live, searched, filtered, paged, by keyboard."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.web import axe
from tests.web.site import Site


def test_a_run_that_begins_elsewhere_appears_moves_and_ends_by_itself(site: Site, page: Page) -> None:
    (site.root / "hold").touch()
    page.goto(site.url)
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    run_id = site.begin("review.yaml", topic="bees")
    row = page.get_by_role("row").filter(has_text=run_id[:8])
    expect(row).to_contain_text("Waiting")
    expect(row).to_contain_text("1 of 4")
    expect(row.get_by_role("link", name="1 approval")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("open")).to_be_attached()
    site.answer(run_id)
    expect(row).to_contain_text("Running")
    expect(row).to_contain_text("2 of 4")
    expect(row.get_by_role("link", name="1 approval")).to_have_count(0)
    (site.root / "hold").unlink()
    expect(row).to_contain_text("Completed")
    row.get_by_role("link", name="review").click()
    expect(page).to_have_url(f"{site.url}/runs/{run_id}")


def test_search_and_filters_narrow_the_list_and_are_in_the_address(site: Site, page: Page) -> None:
    failed, done = site.begin("failing.yaml"), site.begin("each.yaml")
    site.ended(failed)
    site.ended(done)
    page.goto(site.url)
    shown = page.locator("tbody tr")
    failing, each = shown.filter(has_text=failed[:8]), shown.filter(has_text=done[:8])
    expect(failing).to_be_visible()
    page.get_by_role("button", name="Failed").click()
    expect(page).to_have_url(re.compile(r"\?status=failed$"))
    expect(each).to_have_count(0)
    page.get_by_label("Ending").select_option("cancelled")
    expect(page.get_by_text("No run matches")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(each).to_be_visible()
    page.get_by_label("Workflow", exact=True).select_option("each")
    expect(failing).to_have_count(0)
    expect(each).to_be_visible()
    page.reload()
    expect(each).to_be_visible()
    expect(failing).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("no such thing")
    expect(page.get_by_text("No run matches")).to_be_visible()
    page.goto(f"{site.url}/?q={failed[:8]}")
    expect(failing).to_be_visible()
    expect(shown).to_have_count(1)


def test_rows_are_gone_through_and_opened_by_keyboard(site: Site, page: Page) -> None:
    site.ended(site.begin("each.yaml"))
    second = site.begin("each.yaml")
    site.ended(second)
    page.goto(f"{site.url}/?workflow=each")
    expect(page.locator("tbody tr").nth(1)).to_be_visible()
    current = page.locator("tr[aria-current]")
    page.keyboard.press("j")
    expect(current).to_contain_text(second[:8])
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("o")
    expect(page).to_have_url(f"{site.url}/runs/{second}")


#: Presses a key in the moment in which rows are there, before anything is painted.
AT_ONCE = """new MutationObserver((_, watching) => {
  if (document.querySelectorAll('tbody tr').length < 2) return;
  watching.disconnect();
  document.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', bubbles: true}));
}).observe(document, {childList: true, subtree: true})"""


def test_a_key_is_listened_to_as_soon_as_there_is_something_to_see(site: Site, page: Page) -> None:
    site.ended(site.begin("each.yaml"))
    newest = site.begin("each.yaml")
    site.ended(newest)
    page.add_init_script(AT_ONCE)
    page.goto(f"{site.url}/?workflow=each")
    expect(page.locator("tr[aria-current]")).to_contain_text(newest[:8])


def test_older_runs_come_page_by_page(site: Site, page: Page) -> None:
    for _ in range(60):
        site.begin("each.yaml", words=[])
    page.goto(site.url)
    shown = page.locator("tbody tr")
    expect(shown).not_to_have_count(0)
    before = shown.count()
    page.get_by_role("button", name="Show older runs").click()
    expect(page.get_by_role("button", name="Show older runs")).to_have_count(0)
    assert shown.count() > before
    names = page.locator(".runs-id").all_inner_texts()
    assert len(set(names)) == len(names)


def test_everybody_can_use_it(site: Site, page: Page, images: Path) -> None:
    (site.root / "hold").touch()
    for topic in ("bees", "ants"):
        site.asked(site.begin("review.yaml", topic=topic))
    held = site.begin("review.yaml", topic="cows")
    site.answer(held)
    site.ended(site.begin("failing.yaml"))
    page.goto(site.url)
    expect(page.locator("tbody tr").nth(3)).to_be_visible()
    expect(page.get_by_role("row").filter(has_text=held[:8])).to_contain_text("Running")
    page.screenshot(path=images / "runs.png")
    axe.check(page)
    page.set_viewport_size({"width": 360, "height": 740})
    axe.check(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    (site.root / "hold").unlink()

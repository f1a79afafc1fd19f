"""Starting a run in a real browser: what it will do is shown, what is filled in is checked, then it runs."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from openskelo.kernel.json import Json
from tests.web import axe, studio
from tests.web.site import Site


def test_a_run_is_started_with_what_the_form_says(site: Site, page: Page) -> None:
    page.goto(site.url)
    page.get_by_role("link", name="New run").click()
    page.get_by_role("link", name="review").click()
    expect(page).to_have_url(f"{site.url}/start/review.yaml")
    page.get_by_role("button", name="Start run").click()
    expect(page.get_by_text("Please fill this in.")).to_be_visible()
    page.get_by_label("topic").fill("b")
    expect(page.get_by_text("At least 2 characters, please.")).to_be_visible()
    page.get_by_label("topic").fill("bees")
    page.get_by_label("copies").fill("12")
    expect(page.get_by_text("At most 9.")).to_be_visible()
    page.get_by_label("copies").fill("3")
    page.get_by_label("tone").select_option(label="lively")
    page.get_by_label("urgent").check()
    page.get_by_role("button", name="Add").click()
    page.get_by_role("textbox", name="tags 1").fill("garden")
    page.get_by_label("Ask before each effect").check()
    page.get_by_role("button", name="Start run").click()
    expect(page).to_have_url(re.compile("/runs/[0-9a-f-]{36}$"))
    run = site.run(page.url.rpartition("/")[2])
    assert run["inputs"] == {"topic": "bees", "copies": 3, "tone": "lively", "urgent": True, "tags": ["garden"]}
    assert (run["mode"], run["globalMode"]) == ("INTERACTIVE", "IMPLEMENTATION")


def test_it_looks_as_in_the_documents(page: Page, tmp_path: Path, images: Path) -> None:
    with studio.model() as model:
        newsroom = studio.make(tmp_path, model)
        newsroom.start()
        try:
            page.goto(f"{newsroom.url}/start/article.yaml")
            expect(page.locator(".outline-box").first).to_be_visible()
            expect(page.locator(".who")).to_be_visible()
            page.screenshot(path=images / "start.png")
            axe.check(page)
            page.goto("about:blank")
        finally:
            newsroom.stop()


def test_what_it_will_do_and_take_is_shown_before(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/start/review.yaml")
    outline = page.get_by_role("group", name="The blocks in the order they can run")
    expect(outline.locator(".outline-name")).to_have_text(["write", "check", "hold", "publish"])
    expect(outline.locator(".mode")).to_have_text(["DET", "HUMAN", "DET", "DET"])
    total = page.get_by_role("row", name="All")
    expect(total).to_contain_text("4")
    expect(page.get_by_role("row", name="HUMAN")).to_contain_text("up to 1 d")
    publish = page.locator("details").filter(has_text="publish")
    publish.locator("summary").click()
    expect(publish.get_by_text("doing it twice is like doing it once")).to_be_visible()
    axe.check(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_lists_are_counted_with_as_many_items_as_one_says(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/start/each.yaml")
    expect(page.get_by_role("row", name="All").get_by_role("cell").first).to_contain_text("10")
    page.get_by_label("items in each list").fill("250")
    expect(page.get_by_role("row", name="All").get_by_role("cell").first).to_contain_text("250")


def test_a_workflow_that_is_wrong_says_what_is(site: Site, page: Page, noise: list[str]) -> None:
    noise.append("422")  # the browser's own line about the answer
    page.goto(f"{site.url}/start/broken.yaml")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("unknown key 'color'")
    expect(alert).to_contain_text("handlers.py has no function 'missing'")
    axe.check(page)


def test_one_that_is_not_there_says_so(site: Site, page: Page, noise: list[str]) -> None:
    noise.append("404")
    page.goto(f"{site.url}/start/nothing/here.yaml")
    expect(page.get_by_role("alert")).to_be_visible()


def test_the_list_of_workflows_is_for_everybody(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/start")
    expect(page.get_by_role("link", name="each")).to_be_visible()
    axe.check(page)


def test_what_a_workflow_begins_with_is_in_sight_whatever_comes_after(page: Page, site: Site) -> None:
    text: Json = {"text": "string"}
    blocks: list[Json] = [
        {
            "id": f"n{at}",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "n0.text" if at else "inputs.text"}},
            "outputs": text,
            "deterministic": {"handler": "builtin:pass"},
        }
        for at in range(200)
    ]
    site.write("fan.yaml", {"name": "fan", "inputs": text, "blocks": blocks})
    page.goto(f"{site.url}/start/fan.yaml")
    expect(page.locator(".outline-box", has_text=re.compile("n0$"))).to_be_in_viewport(ratio=0.9)

"""The graph of a run in a real browser: live, filtered, folded, the failed path, and smooth with 500 nodes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from openskelo.kernel.json import Json
from tests.web import axe, studio
from tests.web.site import Site


@pytest.fixture(scope="module")
def site(newsroom: Site) -> Site:
    return newsroom


def card(page: Page, key: str) -> Locator:
    return page.locator(f'[data-key="{key}"]')


def test_a_run_is_drawn_and_followed_to_its_end(site: Site, page: Page, model: studio.Model, images: Path) -> None:
    model.held.clear()
    try:
        run_id = site.begin("article.yaml")
        page.goto(f"{site.url}/runs/{run_id}?tab=graph")
        expect(card(page, "outline")).to_have_attribute("data-status", "Running")
        expect(card(page, "review")).to_have_attribute("data-status", "Not started")
        expect(page.locator(".line-flowing")).not_to_have_count(0)
        page.evaluate(_COUNT_PULSES)
    finally:
        model.held.set()
    expect(card(page, "review")).to_have_attribute("data-status", "Waiting for a person")
    expect(card(page, "draft")).to_contain_text("$0.0093")
    expect(card(page, "draft").get_by_title("2 attempts")).to_be_visible()
    expect(card(page, "clean")).to_contain_text("3 / 3 items")
    expect(card(page, "gather").get_by_title("Deterministic")).to_have_text("DET")
    expect(card(page, "draft").get_by_title("AI", exact=True)).to_have_text("AI")
    expect(card(page, "review").get_by_title("Approval")).to_have_text("HUMAN")
    expect(card(page, "check").get_by_title("Sub-workflow")).to_have_text("DAG")
    assert page.evaluate("window.pulses") >= 3  # to draft, headline, check, review
    page.screenshot(path=images / "graph.png")
    axe.check(page)
    site.answer(run_id)
    expect(card(page, "publish")).to_have_attribute("data-status", "Done")


def test_only_one_mode_is_bright_and_the_address_says_which(site: Site, page: Page) -> None:
    run_id = site.begin("out-of-ink.yaml")
    site.ended(run_id)
    page.goto(f"{site.url}/runs/{run_id}?tab=graph")
    modes = page.get_by_role("group", name="Show nodes of a mode")
    expect(modes.get_by_role("button", name="AI 0")).to_be_disabled()
    modes.get_by_role("button", name="Deterministic 5").click()
    expect(page).to_have_url(re.compile(r"[?&]show=deterministic$"))
    expect(page.locator(".node-card.is-dim")).to_have_count(0)
    page.goto(f"{site.url}/runs/{run_id}?show=approval")
    expect(page.locator(".node-card.is-dim")).to_have_count(5)


def test_the_failed_path_leads_to_its_cause(site: Site, page: Page, images: Path) -> None:
    run_id = site.begin("out-of-ink.yaml")
    site.ended(run_id)
    page.goto(f"{site.url}/runs/{run_id}?tab=graph")
    page.get_by_role("button", name="Failed path").click()
    expect(card(page, "print")).to_have_class(re.compile("is-cause"))
    dim = page.locator(".node-card.is-dim")
    expect(dim).to_have_count(2)
    assert {one.get_attribute("data-key") for one in dim.all()} == {"layout", "fold"}
    expect(page.locator(".line-failed")).to_have_count(1)
    page.get_by_role("link", name="Show the cause").click()
    inspector = page.get_by_role("complementary", name="Node print")
    expect(inspector.get_by_text("the press is out of ink").first).to_be_visible()
    page.screenshot(path=images / "failed-path.png")
    axe.check(page)


def test_sub_workflows_and_items_open_and_close(site: Site, page: Page) -> None:
    run_id = site.begin("article.yaml", count=30)
    site.asked(run_id)
    page.goto(f"{site.url}/runs/{run_id}?tab=graph")
    expect(card(page, "check/trim")).to_be_visible()
    card(page, "check").get_by_role("button", name="Close the steps of Check").click()
    expect(card(page, "check/trim")).to_have_count(0)
    expect(card(page, "check")).to_contain_text("3 / 3 steps")
    page.get_by_role("button", name="Open sub-workflows").click()
    expect(card(page, "check/trim")).to_be_visible()
    card(page, "clean").get_by_role("button", name="Open the items of Clean each note").click()
    expect(card(page, "clean").locator(".cell-done")).to_have_count(30)


def test_plans_are_drawn_with_their_jumps(site: Site, page: Page) -> None:
    with site.client() as client:
        answer = client.post("/api/runs", json={"document": studio.PLAN})
    assert answer.status_code == 201, answer.text
    page.goto(f"{site.url}/runs/{answer.json()['id']}")
    expect(card(page, "good")).to_be_visible()
    labels = page.locator(".line-label")
    expect(labels.filter(has_text="then")).to_have_count(2)
    expect(labels.filter(has_text="else")).to_have_count(2)
    expect(card(page, "ask")).to_have_attribute("data-status", "Waiting for a person")
    last, first = card(page, "back").bounding_box(), card(page, "look").bounding_box()
    assert last is not None
    assert first is not None
    assert last["y"] > first["y"]  # the jump goes back up


def test_zoom_fit_and_minimap(site: Site, page: Page) -> None:
    run_id = site.begin("out-of-ink.yaml")
    site.ended(run_id)
    page.goto(f"{site.url}/runs/{run_id}?tab=graph")
    expect(card(page, "print")).to_be_visible()
    scale = "() => new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).a"
    before = page.evaluate(scale)
    page.get_by_role("button", name="Zoom out").click()
    page.wait_for_function(f"before => ({scale})() < before", arg=before)
    page.keyboard.press("f")
    page.wait_for_function(f"before => Math.abs(({scale})() - before) < 0.01", arg=before)
    expect(page.locator(".map-node")).to_have_count(5)
    ended = {name: page.locator(f".map-{name}").count() for name in ("deterministic", "bad", "still")}
    run = site.run(run_id)
    outcomes = [node["outcome"] for node in run["nodes"].values()]
    assert ended == {
        "deterministic": outcomes.count("succeeded"),
        "bad": outcomes.count("failed"),
        "still": outcomes.count(None),
    }
    assert ended["still"] > 0


def test_a_graph_of_two_thousand_nodes_is_drawn(site: Site, page: Page) -> None:
    text: Json = {"text": "string"}
    blocks: list[Json] = [
        {
            "id": f"n{at}",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": f"n{(at - 1) // 12}.text" if at else "inputs.text"}},
            "outputs": text,
            "deterministic": {"handler": "builtin:pass"},
        }
        for at in range(2000)
    ]
    site.write("thousands.yaml", {"name": "thousands", "inputs": text, "blocks": blocks})
    run_id = site.begin("thousands.yaml", text="x")
    site.ended(run_id)
    page.goto(f"{site.url}/runs/{run_id}/nodes/n1999")
    expect(card(page, "n1999")).to_be_in_viewport()
    expect(page.locator(".node-card")).to_have_count(2000)


def test_500_nodes_pan_without_drawing_any_again(site: Site, page: Page) -> None:
    run_id = site.begin("wide.yaml")
    site.asked(run_id)
    page.add_init_script("window.skeloRenders = new Map()")
    page.goto(f"{site.url}/runs/{run_id}?tab=graph")
    expect(page.locator(".node-card")).to_have_count(500)
    page.wait_for_timeout(300)
    page.evaluate("skeloRenders.clear()")
    start = page.locator(".react-flow__viewport").get_attribute("style")
    took = _pan(page)
    assert page.locator(".react-flow__viewport").get_attribute("style") != start
    assert page.evaluate("skeloRenders.size") == 0
    assert took["frames"] >= 30
    assert took["work"] <= 8, took
    site.answer(run_id)
    expect(card(page, "b499")).to_have_attribute("data-status", "Done")
    assert page.evaluate("[...skeloRenders.keys()]") == ["b499"]


_COUNT_PULSES = """() => {
  window.pulses = 0;
  new MutationObserver(changes => {
    for (const change of changes) for (const added of change.addedNodes)
      if (added.classList?.contains('pulse')) window.pulses += 1;
  }).observe(document.querySelector('.graph-lines'), {childList: true, subtree: true});
}"""

_FRAMES = """() => {
  window.drawn = 0;
  const frame = () => { window.drawn += 1; window.drawing = requestAnimationFrame(frame); };
  frame();
}"""


def _pan(page: Page) -> dict[str, float]:
    """Drag the graph about: how many frames were drawn, and for how many milliseconds each kept the main thread busy.

    It is the thread's own time for everything: events, scripts, style, layout, paint. Other processes do not count.
    """
    box = page.locator(".graph-canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 80
    cdp: Any = page.context.new_cdp_session(page)  # typed only in part
    cdp.send("Performance.enable")
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(_FRAMES)
    before = _worked(cdp)
    for step in range(90):
        page.mouse.move(x + (step % 30) * 8, y + (step % 20) * 6)
    after = _worked(cdp)
    frames: int = page.evaluate("() => { cancelAnimationFrame(window.drawing); return window.drawn }")
    page.mouse.up()
    return {"frames": frames, "work": (after - before) / frames}


def _worked(cdp: Any) -> float:
    metrics: list[dict[str, Any]] = cdp.send("Performance.getMetrics")["metrics"]
    return 1000 * next(float(one["value"]) for one in metrics if one["name"] == "ThreadTime")

"""Talking to the nodes of a live graph from its page: messages that wait for the next turn, and ones that interrupt."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web import axe
from tests.web import site as sites

TALK = '''"""A node that says what it read, as soon as no file named `hold` is there."""

import time
from pathlib import Path


def answer(ctx):
    while Path("hold").exists():
        time.sleep(0.02)
    return {"message": " | ".join(one["content"] for one in ctx.inputs["messages"])}
'''


@pytest.fixture
def hold(site: sites.Site) -> Generator[Path]:
    path = site.root / "hold"
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def desk(site: sites.Site) -> tuple[str, str]:
    """A live graph with one node, and that node's id."""
    (site.root / "talk.py").write_text(TALK)
    with site.client() as client:
        run = client.post("/api/runs", json={"name": "newsdesk"})
        assert run.status_code == 201, run.text
        run_id = str(run.json()["id"])
        body = {"label": "Desk", "kind": "handler", "config": {"handler": "talk.py:answer"}}
        node = client.post(f"/api/runs/{run_id}/nodes", json=body)
        assert node.status_code == 201, node.text
    return run_id, str(node.json()["id"])


def test_a_node_reads_what_is_said_and_can_be_interrupted(
    page: Page, site: sites.Site, desk: tuple[str, str], hold: Path
) -> None:
    run_id, node_id = desk
    page.goto(f"{site.url}/runs/{run_id}/nodes/{node_id}")
    say = page.get_by_label("Say something to Desk")
    say.fill("Bees dance")
    page.get_by_role("button", name="Send").click()
    site.until(run_id, lambda run: run["nodes"][node_id]["summary"] == "Bees dance")
    axe.check(page)

    hold.touch()
    say.fill("Wasps do not")
    say.press("Control+Enter")
    interrupt = page.get_by_role("button", name="Interrupt")
    expect(interrupt).to_be_visible()
    say.fill("Ants neither")
    page.get_by_role("button", name="Queue").click()
    expect(page.get_by_text("1 waiting to be read")).to_be_visible()
    say.fill("Stop: back to bees")
    interrupt.click()
    expect(page.get_by_text("Its turn is stopped; it reads this now.")).to_be_visible()
    hold.unlink()
    said = "Wasps do not | Ants neither | Stop: back to bees"
    site.until(run_id, lambda run: run["nodes"][node_id]["summary"] == said)
    page.goto(f"{site.url}/runs/{run_id}?tab=events")
    expect(page.locator(".event-row", has_text="attempt.cancelled")).to_have_count(1)
    expect(page.locator(".event-row", has_text="message.received")).to_have_count(4)


def test_a_live_graph_is_completed_from_its_page(page: Page, site: sites.Site, desk: tuple[str, str]) -> None:
    run_id, _ = desk
    page.goto(f"{site.url}/runs/{run_id}?tab=costs")
    expect(page.get_by_role("button", name="Fork", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    page.get_by_role("button", name="Complete").click()
    expect(page.locator(".run-head .status")).to_have_text("Completed")
    assert site.ended(run_id)["ending"] == "ok"

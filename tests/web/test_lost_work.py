"""Nothing that a person has typed is lost, and what stands still does not look as if it went on."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from openskelo.kernel.json import Json
from tests.web import axe
from tests.web import site as sites

#: More required fields than a window of 800 pixels has room for.
LONG_FORM: dict[str, Json] = {
    "name": "long-form",
    "inputs": {f"field{number:02d}": {"type": "string", "minLength": 2} for number in range(14)},
    "blocks": [
        {
            "id": "take",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "inputs.field00"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "builtin:pass"},
        }
    ],
}
STALLING: dict[str, Json] = {
    "name": "stalling",
    "blocks": [
        {
            "id": "print",
            "mode": "deterministic",
            "inputs": {"topic": {"type": "string", "default": "ink"}},
            "outputs": {"text": "string"},
            "retry": {"max_attempts": 9},
            "post_gates": [{"name": "long_enough", "type": "word_count", "port": "text", "min": 200}],
            "deterministic": {"handler": "handlers.py:write"},
        }
    ],
}


@pytest.fixture(autouse=True)
def nothing_open(site: sites.Site) -> Generator[None]:
    """Each test has an inbox of its own."""
    yield
    with site.client() as client:
        for approval in client.get("/api/approvals").json()["approvals"]:
            client.post(f"/api/runs/{approval['runId']}/cancel")
            site.ended(approval["runId"])


def _edit(page: Page, site: sites.Site, text: str) -> str:
    """Open the inbox, whose first approval has `text` typed into its form; return its id."""
    approval = str(site.asked(site.begin("review.yaml", topic="edits"))["id"])
    page.goto(f"{site.url}/approvals")
    page.get_by_role("button", name="Modify").click()
    page.get_by_label("text").fill(text)
    return approval


def test_an_edit_is_there_after_a_click_elsewhere_and_after_a_reload(page: Page, site: sites.Site) -> None:
    other = site.asked(site.begin("review.yaml", topic="others"))["id"]
    approval = str(site.asked(site.begin("review.yaml", topic="edits"))["id"])
    page.goto(f"{site.url}/approvals/{approval}")
    page.get_by_role("button", name="Modify").click()
    page.get_by_label("text").fill("A text that took an hour")
    page.get_by_label("Reason").fill("clearer")
    page.locator(f"[data-approval='{other}']").click()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    row = page.locator(f"[data-approval='{approval}']")
    expect(row).to_contain_text("Answer not sent")
    row.click()
    expect(page.get_by_label("text")).to_have_value("A text that took an hour")
    page.reload()
    expect(page.get_by_label("text")).to_have_value("A text that took an hour")
    expect(page.get_by_label("Reason")).to_have_value("clearer")
    page.get_by_role("button", name="Modify").click()
    expect(page.locator(".inbox-row")).to_have_count(1)
    with site.client() as client:
        answered = client.get(f"/api/approvals/{approval}/answer").json()["resolution"]
    assert answered == {
        "status": "modified",
        "modifiedArgs": {"text": "A text that took an hour"},
        "reason": "clearer",
    }
    page.goto(f"{site.url}/approvals/{approval}")
    expect(page.get_by_text("What was changed")).to_be_visible()
    expect(page.get_by_role("region", name="Your answer was not sent")).to_have_count(0)


def test_an_edit_is_kept_when_another_person_answers_first(page: Page, site: sites.Site) -> None:
    approval = _edit(page, site, "A text that took an hour")
    expect(page).to_have_url(f"{site.url}/approvals/{approval}")
    with site.client() as client:
        body: Json = {"resolution": {"status": "approved"}}
        assert client.post(f"/api/approvals/{approval}/resolve", json=body).is_success
    notice = page.get_by_role("region", name="Your answer was not sent")
    expect(notice).to_contain_text("this was approved by")
    expect(notice).to_contain_text("A text that took an hour")
    axe.check(page)
    notice.get_by_role("button", name="Discard it").click()
    expect(notice).to_have_count(0)


def test_the_inbox_names_the_workflow_of_an_old_run(page: Page, site: sites.Site) -> None:
    site.asked(site.begin("review.yaml", topic="old"))
    for _ in range(101):  # more than the stream of all runs begins with
        site.begin("failing.yaml")
    page.goto(f"{site.url}/approvals")
    expect(page.locator(".inbox-meta")).to_contain_text("review · check")
    expect(page.locator(".question-facts")).to_contain_text("Asked by")


def test_the_first_wrong_field_of_a_long_form_is_in_sight(page: Page, site: sites.Site) -> None:
    site.write("long-form.yaml", LONG_FORM)
    for width, height in ((1280, 800), (390, 800)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{site.url}/start/long-form.yaml")
        page.get_by_label("field13").fill("the last one")
        page.get_by_role("button", name="Start run").click()
        first = page.get_by_label("field00")
        expect(first).to_be_focused()
        bar, label = page.locator(".bar").bounding_box(), page.locator("label", has_text="field00").bounding_box()
        assert bar is not None
        assert label is not None
        assert bar["y"] + bar["height"] <= label["y"]
        assert label["y"] + label["height"] < height


def test_all_of_a_stall_can_be_reached_on_a_phone(page: Page, site: sites.Site) -> None:
    site.write("stalling.yaml", STALLING)
    run_id = site.begin("stalling.yaml")
    site.asked(run_id)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{site.url}/runs/{run_id}")
    stall = page.get_by_role("region", name="print has stalled")
    expect(stall).to_contain_text("the same output")
    for name in ("Go on", "Stop here"):
        button = stall.get_by_role("button", name=name)
        button.scroll_into_view_if_needed()
        box, around = button.bounding_box(), page.get_by_role("region", name="Waiting for a person").bounding_box()
        assert box is not None
        assert around is not None
        assert around["y"] <= box["y"]
        assert box["y"] + box["height"] <= around["y"] + around["height"]
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_only_planning_says_before_the_start_where_it_stops(page: Page, site: sites.Site) -> None:
    page.goto(f"{site.url}/start/review.yaml")
    page.get_by_label("topic").fill("plans")
    page.get_by_label("Only plan").check()
    expect(page.get_by_role("status").filter(has_text="Nothing can run")).to_contain_text("write")
    expect(page.get_by_role("button", name="Start run")).to_be_disabled()
    axe.check(page)


def test_a_run_that_only_planned_is_not_shown_as_denied(page: Page, site: sites.Site) -> None:
    blocks: list[Json] = [
        {
            "id": "look",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "default": "seen"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "builtin:pass"},
        },
        {
            "id": "print",
            "mode": "deterministic",
            "inputs": {"topic": {"type": "string", "from": "look.text"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "handlers.py:write"},
        },
        {
            "id": "fold",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "print.text"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "builtin:pass"},
        },
    ]
    site.write("planned.yaml", {"name": "planned", "blocks": blocks})
    page.goto(f"{site.url}/start/planned.yaml")
    page.get_by_label("Only plan").check()
    expect(page.get_by_text("It stops before the first of the blocks")).to_contain_text("print")
    page.get_by_role("button", name="Start run").click()
    expect(page.locator(".run-title")).to_contain_text("Only planned")
    expect(page.locator(".run-fault")).to_contain_text("stopped before the first block")
    page.goto(f"{page.url.partition('?')[0]}?tab=graph")
    card = page.locator(".node-card[data-key='fold']")
    expect(card).to_have_attribute("data-status", "Not reached")
    expect(card).not_to_contain_text("waiting")

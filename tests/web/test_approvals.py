"""The approvals inbox: everything by keyboard, on a phone, in both themes, and kept as it was answered."""

from __future__ import annotations

import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from openskelo.kernel.json import Json
from tests.web import axe
from tests.web import site as sites

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


QUESTIONS: dict[str, Json] = {
    "name": "questions",
    "blocks": [
        {
            "id": "ask",
            "mode": "approval",
            "approval": {
                "prompt": "Who, and when?",
                "form": {
                    "type": "object",
                    "required": ["who", "count"],
                    "properties": {
                        "who": {"type": "string", "minLength": 2},
                        "count": {"type": "integer"},
                        "day": {"type": "string", "format": "date"},
                        "note": {"type": ["string", "null"]},
                        "more": {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}},
                        "any": {},
                    },
                },
            },
        }
    ],
}


@pytest.fixture(autouse=True)
def nothing_open(site: sites.Site) -> Generator[None]:
    """Each test has an inbox of its own."""
    yield
    with site.client() as client:
        for one in client.get("/api/approvals").json()["approvals"]:
            client.post(f"/api/runs/{one['runId']}/cancel")
            site.ended(one["runId"])


def test_a_question_that_wants_values_is_answered_with_exactly_what_is_seen(page: Page, site: sites.Site) -> None:
    site.write("questions.yaml", QUESTIONS)
    run_id = site.begin("questions.yaml")
    approval = site.asked(run_id)["id"]
    page.goto(f"{site.url}/approvals/{approval}")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)  # a plain yes would be refused
    page.get_by_role("button", name="Answer").wait_for()
    page.keyboard.press("a")
    send = page.get_by_role("button", name="Answer")
    names = page.locator(".answer-form > .fields > .field > .field-label")
    expect(names).to_have_text(
        ["who", "count", "day optional", "note optional", "more optional", "any optional, as JSON"]
    )
    anything = page.get_by_label("any optional, as JSON")
    anything.fill("hello")
    send.click()
    expect(anything).to_be_focused()  # nothing was sent: it is not JSON
    expect(page.locator(".field-wrong")).to_have_text("This is not JSON; texts are in quotes.")
    anything.fill('"hello"')
    page.get_by_label("b", exact=True).fill("x")
    page.get_by_label("b", exact=True).fill("")
    page.get_by_label("day optional").fill("2026-02-03")
    send.click()
    expect(page.get_by_label("who")).to_be_focused()
    expect(page.locator(".field-wrong")).to_have_text(["Please fill this in."] * 2)  # `more` may be left out again
    page.get_by_label("b", exact=True).fill("y")
    page.get_by_label("who").fill("Ann")
    page.get_by_label("count").fill("3")
    page.get_by_label("note optional").fill("soon")
    expect(page.locator(".field-wrong")).to_have_count(0)
    send.click()
    site.ended(run_id)
    with site.client() as client:
        answered = client.get(f"/api/approvals/{approval}/answer").json()["resolution"]
    values = {"who": "Ann", "count": 3, "day": "2026-02-03", "note": "soon", "more": {"b": "y"}, "any": "hello"}
    assert answered == {"status": "modified", "modifiedArgs": values}


def test_a_denial_is_not_sent_without_a_reason(page: Page, site: sites.Site) -> None:
    approval = site.asked(site.begin("review.yaml", topic="denials"))["id"]
    page.goto(f"{site.url}/approvals/{approval}")
    page.get_by_role("button", name="Deny").wait_for()
    page.keyboard.press("d")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("no room")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    with site.client() as client:
        answered = client.get(f"/api/approvals/{approval}/answer").json()["resolution"]
    assert answered == {"status": "denied", "reason": "no room"}


def test_approvals_are_answered_by_keyboard_alone(page: Page, site: sites.Site) -> None:
    runs = [site.begin("review.yaml", topic=topic) for topic in ("ants", "bees", "cows")]
    for run_id in runs:
        site.asked(run_id)
    page.goto(f"{site.url}/approvals")
    rows = page.locator(".inbox-row")
    expect(rows).to_have_count(3)
    chosen = page.locator(".inbox-row[aria-current=true]")
    order = [row.get_attribute("data-approval") for row in rows.all()]

    def stands_at(index: int) -> None:
        expect(chosen).to_have_attribute("data-approval", str(order[index]))

    stands_at(0)
    page.keyboard.press("j")
    stands_at(1)
    page.keyboard.press("j")
    page.keyboard.press("j")
    stands_at(2)
    page.keyboard.press("k")
    stands_at(1)
    page.keyboard.press("d")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(2)
    stands_at(2)  # the next one is looked at
    page.keyboard.press("d")
    page.keyboard.type("not this one")
    page.keyboard.press("Control+Enter")
    expect(rows).to_have_count(1)
    stands_at(0)
    page.keyboard.press("m")
    page.keyboard.press("Control+a")
    page.keyboard.type("Changed by hand")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    with site.client() as client:
        answers = client.get("/api/approvals/answered").json()["answered"]
    given = {one["approval"]["id"]: one["resolution"] for one in answers}
    assert [given[str(one)] for one in order] == [
        {"status": "modified", "modifiedArgs": {"text": "Changed by hand"}},
        {"status": "approved"},
        {"status": "denied", "reason": "not this one"},
    ]

    page.get_by_role("tab", name="History").click()
    rows = page.locator(".history-row")
    expect(rows.filter(has_text="Denied").filter(has_text="not this one")).to_have_count(1)
    axe.check(page)
    rows.filter(has_text="Publish this?").filter(has_text="Modified").first.click()
    expect(page.locator(".text-diff-new")).to_contain_text("Changed by hand")
    expect(page.get_by_role("heading", name="What was asked")).to_be_visible()
    axe.check(page)


def test_the_inbox_can_be_used_by_everybody_and_looks_as_in_the_documents(
    page: Page, site: sites.Site, images: Path
) -> None:
    for topic in ("city bees", "late summer", "lavender"):
        site.asked(site.begin("review.yaml", topic=topic))
    page.goto(f"{site.url}/approvals")
    expect(page.locator(".inbox-row")).to_have_count(3)
    page.screenshot(path=images / "approvals.png")
    axe.check(page)
    page.keyboard.press("m")
    expect(page.get_by_label("text")).to_be_focused()
    axe.check(page)


def test_approvals_are_answered_on_a_phone(page: Page, site: sites.Site, images: Path) -> None:
    page.set_viewport_size({"width": 360, "height": 720})
    run_id = site.begin("review.yaml", topic="a very long topic " * 10)
    site.asked(run_id)
    page.goto(f"{site.url}/approvals")
    expect(page.locator(".inbox-detail")).to_be_hidden()
    page.locator(".inbox-row").click()
    expect(page.locator(".inbox-list")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.screenshot(path=images / "approval-phone.png")
    axe.check(page)
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="Approve").click()
    assert site.ended(run_id)["ending"] == "ok"


def test_what_was_answered_elsewhere_is_seen_here(page: Page, site: sites.Site) -> None:
    run_id = site.begin("review.yaml", topic="elsewhere")
    approval = site.asked(run_id)
    page.goto(f"{site.url}/approvals/{approval['id']}")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    site.answer(run_id, "denied", reason="too late")
    expect(page.locator(".inbox-detail .status")).to_have_text("Denied")
    expect(page.get_by_text("too late")).to_be_visible()
    expect(page.get_by_text("root", exact=True).last).to_be_visible()


def test_a_stalled_loop_shows_its_evidence_and_its_choices(page: Page, site: sites.Site, images: Path) -> None:
    site.write("stalling.yaml", STALLING)
    run_id = site.begin("stalling.yaml")
    site.asked(run_id)
    page.goto(f"{site.url}/runs/{run_id}")
    card = page.get_by_role("region", name="print has stalled")
    expect(card).to_contain_text("GATE_FAILED")
    expect(card.get_by_text("How often")).to_be_visible()
    expect(page.locator(".node-card[data-key='print']")).to_be_visible()
    page.screenshot(path=images / "stalled.png")
    axe.check(page)
    card.get_by_role("button", name="Stop here").click()
    card.get_by_label("Reason").fill("no ink")
    card.get_by_role("button", name="Stop here").click()
    expect(page.locator(".run-head .status")).to_have_text("Failed")


def test_notifications_are_off_until_they_are_asked_for(page: Page, site: sites.Site) -> None:
    page.context.grant_permissions(["notifications"], origin=site.url)
    page.add_init_script(
        """window.told = [];
        const Real = window.Notification;
        window.Notification = class { constructor(title) { window.told.push(title); } close() {}
          static get permission() { return Real.permission; }
          static requestPermission() { return Promise.resolve(Real.permission); } };"""
    )
    page.goto(f"{site.url}/approvals")
    button = page.get_by_role("button", name="Notify me")
    expect(button).to_have_attribute("aria-pressed", "false")
    site.asked(site.begin("review.yaml", topic="one"))
    expect(page.locator(".inbox-row")).to_have_count(1)
    assert page.evaluate("window.told") == []
    button.click()
    expect(page.get_by_role("button", name="Notifications on")).to_be_visible()
    site.asked(site.begin("review.yaml", topic="two"))
    expect(page.locator(".inbox-row")).to_have_count(2)
    assert page.evaluate("window.told") == ["Publish this?"]


def test_an_effect_that_may_have_happened_is_answered_with_its_outputs(page: Page, site: sites.Site) -> None:
    posting: Json = {
        "id": "post",
        "mode": "deterministic",
        "effect": "once",
        "inputs": {"text": {"type": "string", "default": "hello"}},
        "outputs": {"text": {"type": "string", "minLength": 2}},
        "deterministic": {"handler": "handlers.py:wait"},
    }
    site.write("posting.yaml", {"name": "posting", "blocks": [posting], "outputs": {"text": "post.text"}})
    hold = site.root / "hold"
    hold.touch()
    run_id = site.begin("posting.yaml")
    site.until(run_id, lambda run: [node for node in run["nodes"].values() if node["status"] == "running"])
    site.stop(signal.SIGKILL)
    hold.unlink()
    site.start()
    approval = site.asked(run_id)
    page.goto(f"{site.url}/approvals/{approval['id']}")
    expect(page.locator(".inbox-detail .status")).to_have_text("Uncertain effect")
    page.get_by_role("button", name="It happened").click()
    page.get_by_label("text").fill("x")
    page.get_by_role("button", name="It happened").click()
    expect(page.get_by_text("At least 2 characters, please.")).to_be_visible()
    page.get_by_label("text").fill("posted")
    page.get_by_role("button", name="It happened").click()
    assert site.ended(run_id)["outputs"] == {"text": "posted"}


def test_an_approval_that_cannot_be_had_now_is_not_called_missing(
    page: Page, site: sites.Site, noise: list[str]
) -> None:
    noise.append("Failed to load resource")
    page.goto(f"{site.url}/approvals/nowhere")
    expect(page.get_by_role("heading", name="There is no such approval")).to_be_visible()
    expect(page.get_by_text("the address may be wrong")).to_be_visible()
    page.route("**/api/approvals/*/answer", lambda route: route.fulfill(status=503, body="{}"))
    page.goto(f"{site.url}/approvals/00000000-0000-4000-8000-000000000000")
    expect(page.get_by_role("alert")).to_contain_text("The server answered with 503.")
    page.unroute("**/api/approvals/*/answer")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="There is no such approval")).to_be_visible()

"""What is around every page: theme, keys, lost connections, addresses that lead nowhere, who is here."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from openskelo.server.auth import tokens
from tests.web import axe
from tests.web import site as sites
from tests.web.site import Site


def test_the_theme_goes_round_and_is_kept(site: Site, page: Page) -> None:
    page.goto(site.url)
    shown = page.locator("html")
    expect(shown).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    expect(shown).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(shown).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Theme: dark").click()
    expect(shown).to_have_attribute("data-theme", "light")
    page.emulate_media(color_scheme="dark")
    expect(shown).to_have_attribute("data-theme", "dark")


def test_keys_lead_everywhere_and_a_sheet_says_which(site: Site, page: Page) -> None:
    page.goto(site.url)
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet.get_by_text("Go to approvals")).to_be_visible()
    expect(sheet.get_by_text("Next run")).to_be_visible()
    axe.check(page)
    page.keyboard.press("n")
    expect(page).to_have_url(f"{site.url}/")
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    page.keyboard.press("n")
    expect(page).to_have_url(f"{site.url}/start")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page).to_have_url(f"{site.url}/approvals")
    page.go_back()
    expect(page).to_have_url(f"{site.url}/start")


def test_the_tab_key_begins_at_the_top_of_every_page(site: Site, page: Page) -> None:
    run_id = site.begin("review.yaml", topic="owls")
    approval = site.asked(run_id)
    seen: dict[str, str] = {}
    for path, ready in (
        ("/", ".runs-row"),
        (f"/runs/{run_id}", ".node-card"),
        (f"/runs/{run_id}/nodes/check?panel=checks", ".inspector [role=tabpanel]"),
        ("/approvals", ".inbox-row"),
        (f"/approvals/{approval['id']}", ".inbox-row"),
        ("/start", ".start-link"),
    ):
        page.goto(f"{site.url}{path}")
        expect(page.locator(ready).first).to_be_visible()
        page.wait_for_timeout(200)
        page.keyboard.press("Tab")
        seen[path] = page.evaluate("document.activeElement.textContent")
    assert seen == dict.fromkeys(seen, "Skip to the page")
    site.answer(run_id)


def test_an_address_that_leads_nowhere_says_so(site: Site, page: Page) -> None:
    page.goto(f"{site.url}/runs/a/b/c")
    expect(page.get_by_role("heading", name="There is nothing at this address")).to_be_visible()
    axe.check(page)
    page.get_by_role("link", name="All runs", exact=True).click()
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()


def test_a_restart_of_the_server_is_seen_and_got_over(tmp_path: Path, page: Page, noise: list[str]) -> None:
    noise += ["WebSocket connection", "net::ERR_"]
    own = sites.make(tmp_path)
    own.start()
    try:
        run_id = own.begin("review.yaml", topic="bees")
        own.asked(run_id)
        page.goto(own.url)
        row = page.get_by_role("row").filter(has_text=run_id[:8])
        expect(row).to_contain_text("Waiting")
        own.stop(signal.SIGKILL)
        expect(page.get_by_text("Connection lost")).to_be_visible()
        axe.check(page)
        own.start()
        expect(page.get_by_text("Connection lost")).to_have_count(0)
        own.answer(run_id)
        expect(row).to_contain_text("Completed")
    finally:
        own.stop()


def test_who_has_a_token_logs_in_comes_back_and_may_do_things(tmp_path: Path, page: Page, noise: list[str]) -> None:
    own = sites.make(tmp_path)
    own.needs_token = True
    own.env = {"SKELO_TOKEN": "a-token-for-this-test-only-0123456789"}
    own.start()
    try:
        page.goto(f"{own.url}/start/each.yaml")
        expect(page).to_have_url(re.compile("/login"))
        axe.check(page)
        page.get_by_label("Token").fill(own.env["SKELO_TOKEN"])
        page.get_by_role("button", name="Log in").click()
        expect(page).to_have_url(f"{own.url}/start/each.yaml")  # where they wanted to be
        page.get_by_role("button", name="Start run").click()
        page.wait_for_url("**/runs/*")
        expect(page.get_by_text("Completed").first).to_be_visible()
        page.wait_for_load_state("networkidle")  # the page asks for nothing more: what it asked for needs the cookie
        noise.append("401|WebSocket")
        # When its stream closes, the page asks for its session, and may find out by itself that the session is over.
        unanswered: list[Route] = []
        page.route("**/api/session", lambda route: unanswered.append(route))  # noqa: PLW0108 -- it reads the signature
        page.context.clear_cookies()
        page.get_by_role("link", name="New run").click()
        page.unroute("**/api/session")
        expect(page).to_have_url(re.compile("/login"))
        page.get_by_label("Token").fill(own.env["SKELO_TOKEN"])
        page.get_by_role("button", name="Log in").click()
        expect(page).to_have_url(f"{own.url}/start")
        page.set_viewport_size({"width": 360, "height": 740})
        expect(page.get_by_role("button", name="Log out")).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("link", name="New run")).to_be_in_viewport(ratio=1)
        axe.check(page)
        page.get_by_role("button", name="Log out").click()
        expect(page).to_have_url(re.compile("/login"))
    finally:
        own.stop()


def test_the_link_that_the_server_prints_logs_a_browser_in(tmp_path: Path, page: Page) -> None:
    own = sites.make(tmp_path)
    own.needs_token = True
    own.arguments = ("--access-log",)
    own.start()
    try:
        (link,) = re.findall("log in with this link: (.*)", own.log())
        page.goto(link)
        expect(page).to_have_url(f"{own.url}/")
        expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        page.go_back()
        assert "token" not in page.evaluate("location.href")  # nor does the history have it
        token = link.rpartition("=")[2]
        assert own.log().count(token) == 1
    finally:
        own.stop()


def test_who_is_logged_in_may_follow_a_link_on_another_site(tmp_path: Path, page: Page, noise: list[str]) -> None:
    noise.append("WebSocket|net::ERR_")  # once the server has ended
    own = sites.make(tmp_path)
    own.needs_token = True
    own.env = {"SKELO_TOKEN": "a-token-for-this-test-only-0123456789"}
    own.start()
    try:
        page.goto(own.url)
        page.get_by_label("Token").fill(own.env["SKELO_TOKEN"])
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        page.goto(f"data:text/html,<a href='{own.url}/start/each.yaml'>a message elsewhere</a>")
        page.get_by_role("link").click()
        expect(page.get_by_role("button", name="Start run")).to_be_enabled()
        expect(page).to_have_url(f"{own.url}/start/each.yaml")
    finally:
        own.stop()


def test_who_may_only_look_is_told_so_and_a_session_that_is_over_leads_to_the_login(
    tmp_path: Path, page: Page, noise: list[str]
) -> None:
    noise.append("WebSocket|401|net::ERR_")
    own = sites.make(tmp_path)
    known = tokens.Tokens(tmp_path / ".skelo" / "tokens.json")
    token = known.add("vera", "viewer")
    own.needs_token = True
    own.start()
    try:
        page.goto(own.url)
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("vera")).to_be_visible()
        page.goto(f"{own.url}/start/each.yaml")
        expect(page.get_by_text("You may look at runs, not start them")).to_be_visible()
        expect(page.get_by_role("button", name="Start run")).to_be_disabled()
        page.context.clear_cookies()
        own.stop()
        own.start()
        expect(page).to_have_url(re.compile("/login"))
    finally:
        own.stop()

"""Agents on the page: their calls in the inbox and on the run's page, their conversation, and the review of a diff."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from openskelo.kernel.json import Json
from tests.agents import repository
from tests.web import axe
from tests.web import site as sites

PHONE: ViewportSize = {"width": 390, "height": 780}
MAKE_TEST = '@hook Bash {"command": "make test", "timeout": 5}'
WRITE = '@hook Write {"file_path": "hello.txt", "content": "hello\\nyou\\n"}'


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Generator[sites.Site]:
    """A server over a repository whose agent `helper` is the scripted one in the place of Claude Code."""
    command: Json = [sys.executable, str(repository.AGENT)]
    policy: Json = {"allow": [{"kind": "execute", "commands": ["pytest *"]}], "deny": [{"commands": ["*curl*"]}]}
    root = repository.make(
        tmp_path_factory.mktemp("agents"),
        provider="claude",
        command=command,
        permissions="gated",
        policy=policy,
        sandbox="none",
        workspace={"kind": "worktree", "ports": 1},
    )
    made = sites.Site(root=root)
    made.start()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def nothing_open(house: sites.Site) -> Generator[None]:
    """Each test has an inbox of its own."""
    yield
    with house.client() as client:
        for approval in client.get("/api/approvals").json()["approvals"]:
            client.post(f"/api/runs/{approval['runId']}/cancel")
            house.ended(approval["runId"])


def begin(house: sites.Site, *lines: str, **fields: Json) -> str:
    """Return the id of a run in which the agent plays these lines."""
    house.write("agent.yaml", repository.block(*lines, **fields))
    return house.begin("agent.yaml")


def asked(page: Page, house: sites.Site, *lines: str) -> str:
    """Return the id of a run whose agent asks about its first call; the page shows the question."""
    run_id = begin(house, *lines)
    page.goto(f"{house.url}/approvals/{house.asked(run_id)['id']}")
    return run_id


def said(house: sites.Site, run_id: str) -> str:
    """Return what the agent has said in a run that has ended well."""
    assert house.ended(run_id)["ending"] == "ok"
    with house.client() as client:
        (node,) = client.get(f"/api/runs/{run_id}/nodes").json()["nodes"]
        return str(client.get(f"/api/runs/{run_id}/nodes/{node['id']}").json()["outputs"]["summary"])


def inspector(page: Page, house: sites.Site, run_id: str, panel: str) -> Locator:
    page.goto(f"{house.url}/runs/{run_id}/nodes/work?panel={panel}")
    return page.get_by_role("complementary")


# -- the inbox --------------------------------------------------------------------------------------------------------


def test_a_call_is_shown_exactly_and_allowed_for_the_turn_by_keyboard(
    page: Page, house: sites.Site, images: Path
) -> None:
    run_id = asked(page, house, MAKE_TEST, MAKE_TEST)
    approval = house.asked(run_id)["id"]
    question = page.locator(".inbox-detail")
    expect(question.get_by_role("heading", name="helper wants to run: make test")).to_be_visible()
    expect(question.locator(".call-facts div")).to_have_text(
        [
            "Agenthelper",
            "ToolBash",
            "Kindruns a command",
            "Why you are askedno rule allows it",
            "Allowed for longerthe same command again: make test",
        ]
    )
    expect(question.locator(".arguments pre")).to_have_text(["make test", "5"])
    names = ["Allow oncea", "Allow for this turnt", "Allow for this runr", "Modify and allowm", "Denyd"]
    expect(question.locator(".answer-choices button")).to_have_text(names)
    page.screenshot(path=images / "agent-call.png")
    axe.check(page)
    page.keyboard.press("t")
    means = "Until the agent's turn ends, this is allowed without asking: the same command again: make test."
    expect(question.get_by_text(means)).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Allowed for this turn.")).to_be_visible()
    first, second = said(house, run_id).removesuffix("]").split("][")
    assert first.endswith("has allowed it")
    assert second == "allow: a person has allowed calls like this one"
    page.goto(f"{house.url}/approvals/{approval}?view=history")
    expect(page.locator(".inbox-detail")).to_contain_text("Approved for the turn")
    expect(page.locator(".question-facts").first).to_contain_text("Rulethe same command again: make test")


def test_the_arguments_of_a_call_can_be_edited_and_a_draft_survives(page: Page, house: sites.Site) -> None:
    run_id = asked(page, house, MAKE_TEST)
    page.get_by_role("button", name="Modify and allow").wait_for()
    page.keyboard.press("m")
    page.get_by_label("command").fill("make check")
    page.reload()
    expect(page.get_by_label("command")).to_have_value("make check")
    page.get_by_label("command").press("Control+Enter")
    assert said(house, run_id).startswith('[allow {"command": "make check", "timeout": 5}:')


def test_a_denial_needs_a_reason_which_the_agent_is_told(page: Page, house: sites.Site) -> None:
    run_id = asked(page, house, MAKE_TEST)
    page.get_by_role("button", name="Deny").wait_for()
    page.keyboard.press("d")
    reason = page.get_by_label("Reason")
    expect(reason).to_be_focused()
    reason.fill("  ")
    reason.press("Control+Enter")
    assert reason.evaluate("field => field.validationMessage") == "Say why, in a few words."
    reason.fill("use pytest")
    page.reload()
    expect(page.get_by_label("Reason")).to_have_value("use pytest")
    page.get_by_label("Reason").press("Control+Enter")
    assert "has denied it: use pytest" in said(house, run_id)


def test_an_edit_is_shown_as_a_diff_and_allowed_on_a_phone(page: Page, house: sites.Site, tmp_path: Path) -> None:
    page.set_viewport_size(PHONE)
    run_id = asked(page, house, WRITE)
    changes = page.get_by_role("region", name="Changes of hello.txt")
    expect(changes.locator(".diff-new .diff-text, .diff-text.diff-new")).to_have_text(["you"])
    page.get_by_text("Exact arguments").click()
    expect(page.locator(".call-exact pre")).to_have_text(["hello.txt", "hello\nyou\n"])
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.screenshot(path=tmp_path / "call-phone.png")
    axe.check(page)
    page.get_by_role("button", name="Allow once").click()
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_text("Approved.")).to_be_visible()
    assert said(house, run_id).startswith("[allow:")


def test_arguments_that_cannot_be_read_are_said_to_be_unreadable(page: Page, house: sites.Site) -> None:
    asked(page, house, '@hook Bash "rm -rf *build*"')
    expect(page.get_by_role("note")).to_contain_text("The arguments of this call could not be read")
    expect(page.locator(".call-facts")).to_contain_text("only once: there is no rule for calls like it")
    expect(page.locator(".answer-choices button")).to_have_text(["Allow oncea", "Denyd"])


def test_large_arguments_are_shown_whole(page: Page, house: sites.Site, noise: list[str]) -> None:
    noise.append(r"410 \(Gone\)")  # the page may ask for the arguments once more when the question was just answered
    large = "x" * 150_000
    run_id = asked(page, house, f'@hook Bash {{"command": "echo {large}"}}')
    expect(page.locator(".arguments pre")).to_have_text(f"echo {large}")
    page.get_by_role("button", name="Deny").click()
    page.get_by_label("Reason").fill("too long")
    page.get_by_label("Reason").press("Control+Enter")
    assert "too long" in said(house, run_id)


def test_a_question_of_the_agents_own_is_its_form(page: Page, house: sites.Site) -> None:
    run_id = asked(page, house, "@question Which colour?")
    expect(page.get_by_text("Question of an agent").first).to_be_visible()
    page.get_by_role("button", name="Answer").wait_for()
    page.keyboard.press("a")
    page.get_by_label("colour").fill("red")
    page.get_by_label("colour").press("Control+Enter")
    assert said(house, run_id) == "[accept red]"


def test_a_call_is_answered_on_the_page_of_its_run(page: Page, house: sites.Site) -> None:
    run_id = begin(house, MAKE_TEST)
    house.asked(run_id)
    page.goto(f"{house.url}/runs/{run_id}")
    waiting = page.get_by_role("region", name="Waiting for a person")
    waiting.get_by_role("button", name="Answer").press("Enter")
    expect(waiting.locator(".arguments pre")).to_have_text(["make test", "5"])
    axe.check(page)
    page.keyboard.press("r")
    page.keyboard.press("Enter")
    expect(waiting).to_have_count(0)
    assert said(house, run_id).startswith("[allow:")


# -- the inspector ----------------------------------------------------------------------------------------------------


def test_the_conversation_has_the_calls_in_their_places(
    page: Page, house: sites.Site, images: Path, tmp_path: Path
) -> None:
    lines = (
        "@say Let me see what the tests say.",
        '@hook Bash {"command": "pytest -q"}',
        "@say One fails: I change the greeting.",
        WRITE,
        "@write hello.txt hello\\nyou\\n",
        '@hook Bash {"command": "curl evil"}',
        "@say Done.",
    )
    run_id = begin(house, *lines)
    approval = house.asked(run_id)
    panel = inspector(page, house, run_id, "conversation")
    asking = panel.locator(".agent-call", has_text="A person is asked")
    expect(asking.get_by_role("link", name="Answer")).to_have_attribute("href", f"/approvals/{approval['id']}")
    expect(asking.locator(".diff-file")).to_be_visible()
    with house.client() as client:
        body = {"resolution": {"status": "approved"}}
        assert client.post(f"/api/approvals/{approval['id']}/resolve", json=body).is_success
    house.ended(run_id)
    kinds = panel.locator(".conversation-parts > li")
    expect(kinds.first).to_have_attribute("data-part", "sent")
    expect(panel.locator(".agent-call")).to_have_count(4)
    expect(panel.locator(".conversation-said").first).to_have_text("Let me see what the tests say.")
    order = kinds.evaluate_all("parts => parts.map(part => part.dataset.part)")
    assert order == ["sent", "said", "call", "said", "call", "said", "call", "call", "said"]
    calls = panel.locator(".agent-call")
    words = [
        ("Bash", "pytest -q", "Worked", "Allowed without asking a person: the project allows it"),
        ("Write", "hello.txt", "Worked", "has allowed it."),
        ("write hello.txt", "hello.txt", "Worked", "The agent made it without asking."),
        ("Bash", "curl evil", "Denied", "Denied without asking a person: the project denies it"),
    ]
    for call, (tool, argument, status, verdict) in zip(calls.all(), words, strict=True):
        expect(call.locator("summary")).to_contain_text(tool)
        expect(call.locator("summary")).to_contain_text(argument)
        expect(call.locator("summary")).to_contain_text(status)
        call.locator("summary").press("Enter")
        expect(call).to_contain_text(verdict)
    axe.check(page)
    for call in (calls.nth(0), calls.nth(2)):
        call.locator("summary").press("Enter")
    page.get_by_role("button", name="Make it wide").click()
    calls.first.scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # the colours of the theme come to rest
    page.screenshot(path=images / "agent-conversation.png")
    panel.get_by_role("tab", name="Tools").click()
    expect(panel).to_contain_text("4 calls, 1 denied")
    expect(panel.locator(".agent-call").first).to_contain_text("curl evil")
    panel.get_by_role("tab", name="Summary").click()
    for words_of_summary in (
        "helper (claude)",
        "asks a person about what no rule allows; every call passes the agent's hook",
        "none; it can read and write every file of this user",
        "idle, last active",
        "4, asked about 1, denied 1",
        "worktree",
        f"skelo/{run_id}",
        "/".join((run_id, "work", "tree")),
        "not known: the agent reports none",
    ):
        expect(panel).to_contain_text(words_of_summary)
    axe.check(page)
    page.set_viewport_size(PHONE)
    panel.get_by_role("tab", name="Conversation").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.screenshot(path=tmp_path / "conversation-phone.png")


def test_the_text_of_a_turn_under_way_comes_after_the_call_before_it(page: Page, house: sites.Site) -> None:
    run_id = begin(house, WRITE, "@say After it.", MAKE_TEST)
    approval = house.asked(run_id)
    panel = inspector(page, house, run_id, "conversation")
    expect(panel.locator(".agent-call")).to_have_count(1)
    with house.client() as client:
        body = {"resolution": {"status": "approved"}}
        assert client.post(f"/api/approvals/{approval['id']}/resolve", json=body).is_success
    expect(panel.locator(".agent-call", has_text="make test")).to_be_visible()
    expect(panel.locator(".conversation-said")).to_contain_text("After it.")
    parts = panel.locator(".conversation-parts > li").evaluate_all("parts => parts.map(part => part.dataset.part)")
    assert (parts[0], sorted(parts[1:])) == ("call", ["call", "said"])


# -- the review -------------------------------------------------------------------------------------------------------


def test_comments_on_lines_become_one_denial_and_are_outdated_when_the_lines_change(
    page: Page, house: sites.Site, images: Path
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    lines = (
        "@write hello.txt hello\\nyou\\nthere\\nand\\nhere\\n",
        "@json {}",
        "@next",
        "@write new.txt one\\ntwo\\n",
        MAKE_TEST,
        "@write hello.txt hello\\nyou\\nTHERE\\nand\\nhere\\n",
        '@json {"cause": "x"}',
    )
    outputs: Json = {"cause": {"type": "string"}}
    run_id = begin(house, *lines, outputs=outputs, retry={"max_attempts": 3})
    house.asked(run_id)
    panel = inspector(page, house, run_id, "changes")
    page.get_by_role("button", name="Make it wide").click()
    panel.get_by_role("button", name="Since it began").click()
    expect(panel.locator(".diff-file")).to_have_count(2)
    hello = panel.get_by_role("region", name="Changes of hello.txt")
    hello.get_by_role("button", name="Comment on line 2").focus()
    page.keyboard.press("Enter")
    box = hello.get_by_role("textbox", name="Comment on line 2")
    expect(box).to_be_focused()
    hello.get_by_label("Up to line").fill("3")
    box = hello.get_by_role("textbox", name="Comment on lines 2 to 3")
    box.fill("Say it politely.")
    box.press("Control+Enter")
    new = panel.get_by_role("region", name="Changes of new.txt")
    new.get_by_role("button", name="Comment on line 1").click()
    new.get_by_role("textbox", name="Comment on line 1").fill("Why this file?")
    new.get_by_role("button", name="Add comment").click()
    page.reload()
    drafts = panel.get_by_role("region", name="Comments on the changes")
    expect(drafts.locator("li")).to_have_count(2)
    page.get_by_role("button", name="Make it wide").click()
    panel.get_by_role("button", name="Since it began").click()
    expect(panel.get_by_role("note", name="Draft on hello.txt:2-3")).to_be_visible()
    expect(drafts.get_by_text("Outdated")).to_have_count(0)
    page.screenshot(path=images / "agent-review.png")
    axe.check(page)
    message = (
        "Comments on your changes:\n\nhello.txt:2-3\n> you\n> there\nSay it politely.\n\n"
        "new.txt:1\n> one\nWhy this file?"
    )
    drafts.get_by_role("button", name="Deny the open call with 2 comments…").click()
    expect(page.get_by_label("Reason")).to_have_value(message)
    page.get_by_label("Reason").press("Control+Enter")
    house.ended(run_id)
    with house.client() as client:
        transcript = "".join(
            client.get(f"/api/runs/{run_id}/artifacts/{artifact['id']}/content").text
            for artifact in house.run(run_id)["artifacts"].values()
            if artifact["kind"] == "transcript"
        )
    assert "Say it politely." in transcript
    panel = inspector(page, house, run_id, "changes")
    expect(drafts.locator("li")).to_have_count(2)
    first, second = drafts.locator("li").all()
    expect(first).to_contain_text("In the reason of a denial")
    expect(first).to_contain_text("Outdated: the lines have changed")
    expect(second).not_to_contain_text("Outdated")
    drafts.get_by_role("button", name="Remove the sent comments").click()
    expect(drafts).to_have_count(0)


def test_comments_on_a_block_without_a_question_are_copied(page: Page, house: sites.Site) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    run_id = begin(house, "@write new.txt one\\ntwo\\n", "@say Done.")
    house.ended(run_id)
    page.set_viewport_size(PHONE)
    panel = inspector(page, house, run_id, "changes")
    panel.get_by_role("button", name="Comment on line 2").click()
    panel.get_by_role("textbox", name="Comment on line 2").fill("Three?")
    panel.get_by_role("button", name="Add comment").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    panel.get_by_role("button", name="Copy 1 comment as one message").click()
    expect(panel.get_by_role("region", name="Comments on the changes").locator("li")).to_contain_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "Comments on your changes:\n\nnew.txt:2\n> two\nThree?"

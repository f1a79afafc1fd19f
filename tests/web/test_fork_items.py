"""Forking a foreach in the dashboard: which items are done again, and what shows that the others are not."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from openskelo.kernel.json import Json
from tests.web import axe
from tests.web import site as sites


def test_items_are_chosen_for_a_fork_and_the_others_are_shown_as_kept(page: Page, site: sites.Site) -> None:
    first = site.begin("each.yaml", words=["ant", "bee", "cow"])
    assert site.ended(first)["ending"] == "ok"
    page.goto(f"{site.url}/runs/{first}/nodes/shout")
    page.get_by_role("button", name="Fork from here").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Items to do again").select_option("some")
    fork = dialog.get_by_role("button", name="Fork from shout")
    expect(fork).to_be_disabled()
    dialog.get_by_label("Numbers, counted from 0").fill("x")
    expect(fork).to_be_disabled()
    dialog.get_by_label("Numbers, counted from 0").fill("1")
    axe.check(page)
    fork.click()
    page.wait_for_url(lambda url: first not in url)
    second = page.url.partition("/runs/")[2][:36]
    done = site.ended(second)
    assert (done["outputs"], done["budget"]["steps"]["used"]) == (site.run(first)["outputs"], 1)

    page.goto(f"{site.url}/runs/{second}/nodes/shout")
    inspector = page.get_by_role("complementary", name="Node shout")
    expect(inspector).to_contain_text("3 of 3, 2 of them done in the run it was forked from")
    expect(inspector).to_contain_text("Items done in the run it was forked from: 2")
    page.goto(f"{site.url}/runs/{second}/nodes/shout?panel=items")
    expect(inspector.locator(".item", has_text="in the run it was forked from")).to_have_count(2)
    expect(inspector.locator(".item").nth(1)).not_to_contain_text("forked")
    page.goto(f"{site.url}/compare/{first}/{second}")
    page.get_by_label("Show all nodes").check()
    expect(page.locator(".compare-verdict")).to_have_text("Items kept from the first")


SHY: dict[str, Json] = {
    "name": "shy",
    "blocks": [
        {
            "id": "shy",
            "mode": "deterministic",
            "foreach": {"items": "run.inputs.words", "as": "word", "concurrency": 1},
            "inputs": {"word": "string"},
            "outputs": {"word": "string"},
            "deterministic": {"handler": "shy.py"},
        }
    ],
    "inputs": {"words": {"type": "array", "items": {"type": "string"}}},
}
CODE = """\
def handler(ctx):
    if ctx.inputs["word"] == "bee":
        raise ValueError("it stings")
    return {"word": ctx.inputs["word"]}
"""


def test_retrying_a_foreach_lets_one_keep_what_other_code_has_done(page: Page, site: sites.Site) -> None:
    site.write("shy.yaml", SHY)
    (site.root / "shy.py").write_text(CODE)
    first = site.begin("shy.yaml", words=["ant", "bee", "cow"])
    assert site.ended(first)["ending"] == "failed"
    (site.root / "shy.py").write_text(CODE.replace('"bee"', '"wasp"'))
    page.goto(f"{site.url}/runs/{first}/nodes/shy")
    inspector = page.get_by_role("complementary", name="Node shy")
    inspector.get_by_role("button", name="Retry…").click()
    page.get_by_role("button", name="Close").last.click()
    page.get_by_role("button", name="Retry shy…").click()
    dialog = page.get_by_role("dialog")
    items = dialog.get_by_label("Items to do again")
    expect(items).to_have_accessible_description(
        "If the block or the code of its handler has changed, all are done again (unless their effect happens once)."
    )
    axe.check(page)
    items.select_option("unfinished")
    expect(dialog).to_contain_text("Finished items are kept, even if the block or the code of its handler has changed.")
    dialog.get_by_role("button", name="Fork from shy").click()
    page.wait_for_url(lambda url: first not in url)
    done = site.ended(page.url.partition("/runs/")[2][:36])
    assert (done["ending"], done["budget"]["steps"]["used"]) == ("ok", 2)

"""The page of a run opens on its result: outputs as they are read, files, who approved, the proof, and how to go on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from openskelo.kernel.json import Json
from tests.web import axe, studio
from tests.web import site as sites

ARTICLE = """# The bees upstairs

City bees have **moved up**. What you can do:

- plant lavender
- leave walls be

<script>document.title = "taken over"</script><img src="https://example.org/spy.png" alt="a bee">
"""
REPORT: dict[str, Json] = {
    "name": "report",
    "inputs": {"topic": {"type": "string", "default": "it's bees"}, "count": {"type": "integer", "default": 2}},
    "blocks": [
        {
            "id": "write",
            "mode": "deterministic",
            "inputs": {"topic": {"type": "string", "from": "inputs.topic"}},
            "outputs": {"article": "string", "table": "string", "found": "object"},
            "deterministic": {"handler": "report.py:write"},
        },
        {
            "id": "check",
            "mode": "approval",
            "inputs": {"article": {"type": "string", "from": "write.article"}},
            "outputs": {"approved": "boolean", "article": "string"},
            "approval": {"prompt": "Print **it**?\n\nIt has **two** parts:\n\n- a title\n- a list"},
        },
        {
            "id": "save",
            "mode": "deterministic",
            "after": ["check"],
            "inputs": {"article": {"type": "string", "from": "write.article"}},
            "outputs": {"file_path": "string", "bytes_written": "integer"},
            "deterministic": {
                "handler": "builtin:write-file",
                "config": {"content_from": "article", "default_path_template": "out/{run_id}.md"},
            },
        },
    ],
    "outputs": {
        "article": "write.article",
        "table": "write.table",
        "found": "write.found",
        "file": "save.file_path",
    },
}
HANDLER = f"""
def write(ctx):
    ctx.log("looked up", topic=ctx.inputs["topic"])
    print("two plants were found")
    return {{
        "article": {ARTICLE!r},
        "table": "plant,month\\nlavender,July\\nivy,October\\n",
        "found": {{"plants": ["lavender", "ivy"]}},
    }}
"""


#: Writes a PNG of two by two pixels.
DRAW = """
import struct, zlib
from pathlib import Path

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def draw(ctx):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes([0, 0, 255, 0, 255, 0])))
    Path("out").mkdir(exist_ok=True)
    signature = bytes([137]) + b"PNG" + bytes([13, 10, 26, 10])
    Path("out/square.png").write_bytes(signature + header + pixels + chunk(b"IEND", b""))
    return {"picture": "out/square.png"}
"""
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


@pytest.fixture(scope="module")
def report(site: sites.Site) -> str:
    """A run with outputs of every kind, a file and an approval, which has ended."""
    (site.root / "report.py").write_text(HANDLER)
    site.write("report.yaml", REPORT)
    run_id = site.begin("report.yaml")
    site.answer(run_id, reason="reads well")
    assert site.ended(run_id)["ending"] == "ok"
    return run_id


def test_a_run_that_has_ended_opens_on_its_result(page: Page, site: sites.Site, report: str) -> None:
    page.goto(f"{site.url}/runs/{report}")
    outputs = page.get_by_role("region", name="Outputs")
    expect(outputs.get_by_role("heading", name="The bees upstairs")).to_be_visible()
    expect(page.get_by_role("region", name="Who approved")).to_be_visible()
    expect(outputs.get_by_role("listitem").filter(has_text="plant lavender")).to_have_count(1)
    expect(outputs.locator(".csv td")).to_have_text(["lavender", "July", "ivy", "October"])
    expect(outputs.get_by_role("group", name="found")).to_contain_text("plants")
    file = page.get_by_role("region", name="File", exact=True)
    expect(file.get_by_role("heading", name="The bees upstairs")).to_be_visible()
    with page.expect_download() as download:
        file.get_by_role("link", name=f"Download {report}.md").click()
    assert Path(download.value.path()).read_text() == ARTICLE
    expect(page.get_by_role("region", name="Inputs")).to_contain_text("it's bees")
    expect(page.get_by_role("region", name="What it took")).to_contain_text("Work of its attempts")
    expect(page.get_by_role("region", name="Who approved")).to_contain_text("reads well")
    axe.check(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_result_fits_a_screen_and_a_phone_in_both_themes(
    page: Page, site: sites.Site, report: str, images: Path, theme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=theme)
    page.goto(f"{site.url}/runs/{report}")
    expect(page.get_by_role("region", name="Who approved")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    page.screenshot(path=images / f"result-{theme}.png")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=images / f"result-phone-{theme}.png")
    axe.check(page)


def test_a_picture_among_the_files_is_shown(page: Page, site: sites.Site) -> None:
    (site.root / "draw.py").write_text(DRAW)
    drawing: dict[str, Json] = {
        "id": "draw",
        "mode": "deterministic",
        "outputs": {"picture": "string"},
        "deterministic": {"handler": "draw.py:draw"},
    }
    site.write("drawing.yaml", {"name": "drawing", "blocks": [drawing], "outputs": {"picture": "draw.picture"}})
    run_id = site.begin("drawing.yaml")
    assert site.ended(run_id)["ending"] == "ok"
    page.goto(f"{site.url}/runs/{run_id}")
    picture = page.get_by_role("region", name="File", exact=True).get_by_role("img", name="square.png")
    expect(picture).to_be_visible()
    assert picture.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") == 2
    axe.check(page)


def test_the_answer_to_a_stall_is_among_the_approvals(page: Page, site: sites.Site) -> None:
    site.write("stalling.yaml", STALLING)
    run_id = site.begin("stalling.yaml")
    site.answer(run_id, "denied", reason="no ink")
    assert site.ended(run_id)["ending"] == "failed"
    page.goto(f"{site.url}/runs/{run_id}")
    answers = page.get_by_role("region", name="Who approved")
    expect(answers.get_by_role("listitem")).to_have_count(1)
    expect(answers).to_contain_text("print has failed the same way")
    expect(answers).to_contain_text("no ink")


def test_of_two_files_with_one_name_the_one_that_ran_runs_again(page: Page, site: sites.Site) -> None:
    for file, word in (("twin-a.yaml", "a"), ("twin-b.yaml", "b")):
        block: dict[str, Json] = {
            "id": "say",
            "mode": "deterministic",
            "inputs": {"topic": {"type": "string", "default": word}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "handlers.py:write"},
        }
        site.write(file, {"name": "twin", "blocks": [block]})
    for file in ("twin-a.yaml", "twin-b.yaml"):
        run_id = site.begin(file)
        site.ended(run_id)
        page.goto(f"{site.url}/runs/{run_id}")
        again = page.get_by_role("link", name="With changed inputs")
        expect(again).to_have_attribute("href", re.compile(rf"{file}.*from={run_id}"))


def test_markdown_runs_nothing_and_loads_nothing_from_elsewhere(page: Page, site: sites.Site, report: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site.url}/runs/{report}")
    link = page.get_by_role("region", name="Outputs").get_by_role("link", name="a bee")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    assert page.title() != "taken over"
    assert page.locator(".markdown script, .markdown img").count() == 0
    assert [url for url in asked if not url.startswith(site.url)] == []


def test_the_record_is_verified_and_exported_from_the_result(page: Page, site: sites.Site, report: str) -> None:
    page.goto(f"{site.url}/runs/{report}")
    proof = page.get_by_role("region", name="Proof")
    proof.get_by_role("button", name="Verify now").click()
    expect(proof).to_contain_text("The record is complete and unaltered.")
    with site.client() as client:
        head = client.get(f"/api/runs/{report}/verify").json()["head"]
        digest = client.get(f"/api/runs/{report}/receipts").json()["digest"]
    expect(proof.locator("code").first).to_have_attribute("title", head)
    expect(proof.locator("dt", has_text="Digest of the work").locator("+ dd code")).to_have_attribute("title", digest)
    axe.check(page)
    with page.expect_download() as download:
        proof.get_by_role("link", name="Export").click()
    header = json.loads(Path(download.value.path()).read_text().splitlines()[0])
    assert header["runId"] == report


def test_a_run_is_run_again_with_changed_inputs(page: Page, site: sites.Site, report: str) -> None:
    page.goto(f"{site.url}/runs/{report}")
    page.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve() }")
    page.get_by_role("button", name="Copy as command").click()
    page.wait_for_function("window.copied")
    command = page.evaluate("window.copied")
    assert command == "skelo run report.yaml --input count=2 --input 'topic=it'\\''s bees'"
    page.get_by_role("link", name="With changed inputs").click()
    expect(page.get_by_label("topic")).to_have_value("it's bees")
    page.get_by_label("topic").fill("ants")
    page.get_by_role("button", name="Start run").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    assert site.run(page.url.rpartition("/runs/")[2])["inputs"] == {"topic": "ants", "count": 2}


def test_a_run_that_goes_on_opens_on_its_graph_and_stays_there(page: Page, site: sites.Site, report: str) -> None:
    run_id = site.begin("report.yaml")
    site.asked(run_id)
    page.goto(f"{site.url}/runs/{run_id}")
    expect(page.get_by_role("tab", name="Graph")).to_have_attribute("aria-selected", "true")
    site.answer(run_id)
    expect(page.locator(".run-title")).to_contain_text("Completed")
    expect(page.get_by_role("tab", name="Graph")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Result").click()
    expect(page.get_by_role("region", name="Outputs")).to_be_visible()


def test_questions_are_rendered(page: Page, site: sites.Site, report: str) -> None:
    approval = site.asked(site.begin("report.yaml"))["id"]
    page.goto(f"{site.url}/approvals/{approval}")
    expect(page.get_by_role("heading", name="Print it?")).to_be_visible()
    expect(page.locator(".question-text strong")).to_have_text("two")
    expect(page.locator(".question-text li")).to_have_text(["a title", "a list"])
    axe.check(page)


def test_the_log_of_a_node_has_a_tab(page: Page, site: sites.Site, report: str) -> None:
    page.goto(f"{site.url}/runs/{report}/nodes/write?panel=logs")
    log = page.get_by_role("group", name="the log of Attempt 1")
    expect(log).to_contain_text("looked up")
    expect(log).to_contain_text("two plants were found")


def test_the_log_of_a_running_attempt_grows_on_its_tab(page: Page, site: sites.Site) -> None:
    (site.root / "slow.py").write_text(
        "import pathlib, time\n"
        "def work(ctx):\n"
        "    ctx.log('began')\n"
        "    print('said, too')\n"
        "    while not pathlib.Path('go').exists(): time.sleep(0.05)\n"
        "    ctx.log('went on')\n"
        "    while not pathlib.Path('end').exists(): time.sleep(0.05)\n"
        "    return {'n': 1}\n"
    )
    slow: dict[str, Json] = {
        "id": "slow",
        "mode": "deterministic",
        "outputs": {"n": "integer"},
        "deterministic": {"handler": "slow.py:work"},
    }
    site.write("slow.yaml", {"name": "slow", "blocks": [slow]})
    run_id = site.begin("slow.yaml")
    page.goto(f"{site.url}/runs/{run_id}/nodes/slow?panel=logs")
    live = page.get_by_role("group", name="the log so far of Attempt 1")
    expect(live).to_have_text("began\nsaid, too\n")
    (site.root / "go").touch()
    expect(live).to_have_text("began\nsaid, too\nwent on\n")
    axe.check(page)
    (site.root / "end").touch()
    expect(page.get_by_role("group", name="the log of Attempt 1")).to_have_text("began\nsaid, too\nwent on\n")


def test_an_answer_is_text_while_it_is_written(page: Page, newsroom: sites.Site, model: studio.Model) -> None:
    draft: dict[str, Json] = {
        "id": "draft",
        "prompt": "Draft an article.",
        "expert": "writer",
        "outputs": {"text": {"type": "string"}},
    }
    newsroom.write("draft.yaml", {"name": "draft", "blocks": [draft]})
    model.held.clear()  # it says half of its answer, and waits
    page.goto(f"{newsroom.url}/runs/{newsroom.begin('draft.yaml')}/nodes/draft?panel=messages")
    live = page.locator(".message-live")
    expect(live.locator("dt")).to_have_text("text")
    expect(live.locator(".message-text")).to_contain_text("Bees")
    expect(live.locator(".message-text")).not_to_contain_text("{")
    model.held.set()
    expect(page.locator(".message:not(.message-live) .message-text")).to_have_text("Bees like roofs.")


def test_only_files_that_the_outputs_name_are_sent(site: sites.Site, report: str) -> None:
    (site.root / "out" / "secret.md").write_text("nobody's business")
    with site.client() as client:
        listed = client.get(f"/api/runs/{report}/files").json()["files"]
        answers = {
            path: client.get(f"/api/runs/{report}/files/content", params={"path": path}).status_code
            for path in (listed[0]["path"], "out/secret.md", "skelo.yaml", "../x", "lavender")
        }
    assert [(file["name"], file["mediaType"], file["size"]) for file in listed] == [
        (f"{report}.md", "text/markdown", len(ARTICLE))
    ]
    assert answers == {listed[0]["path"]: 200, "out/secret.md": 404, "skelo.yaml": 404, "../x": 404, "lavender": 404}

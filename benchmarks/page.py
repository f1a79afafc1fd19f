"""The dashboard in a real browser: how long it takes to open the list of runs, and the events of a run with 10,000."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Iterator

import httpx
from playwright import sync_api

from benchmarks import measure, report, server

EVENTS = 10_000
_MANY = """name: many
inputs: { words: { type: array, items: { type: string } } }
blocks:
  - id: each
    mode: deterministic
    foreach: { items: inputs.words, as: word, concurrency: 64 }
    inputs: { words: { type: array, from: inputs.words }, word: string }
    outputs: { word: string }
    deterministic: { handler: "builtin:pass" }
"""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Seconds from an empty page to the first run, or event, that is shown; the server has shown it before."""
    with plan.fresh() as folder:
        (folder / "skelo.yaml").write_text("name: many\n")
        (folder / "many.yaml").write_text(_MANY)
        with server.served(folder) as (client, _), sync_api.sync_playwright() as playwright:
            address = f"{client.base_url}/runs/{_run(client, plan.count(EVENTS // 2))}?tab=events"
            flags = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=chromium(), args=flags)
            page = browser.new_page()
            page.goto(f"{client.base_url}/login#token={client.headers['authorization'].removeprefix('Bearer ')}")
            page.wait_for_url(str(client.base_url))
            _, *listed = [_opened(page, str(client.base_url), "tbody tr") for _ in range(plan.rounds + 1)]
            first, *took = [_opened(page, address, ".event-row") for _ in range(plan.rounds + 1)]
            browser.close()
    yield report.Figure(
        name="page",
        what="the list of runs opens in a browser",
        value=statistics.median(listed),
        unit="s",
        bar=1.5,
        rounds=tuple(listed),
    )
    yield report.Figure(
        name="page",
        what=f"a run of {plan.count(EVENTS // 2) * 2} events opens in a browser",
        value=statistics.median(took),
        unit="s",
        bar=1,
        rounds=tuple(took),
        note=f"the very first time {first:.2f} s",
    )


def _run(client: httpx.Client, items: int) -> str:
    """The id of a run that has ended."""
    started = client.post("/api/runs", json={"workflow": "many.yaml", "inputs": {"words": ["word"] * items}})
    started.raise_for_status()
    run_id = str(started.json()["id"])
    while client.get(f"/api/runs/{run_id}").raise_for_status().json()["ending"] is None:
        time.sleep(0.1)
    return run_id


def chromium() -> str:
    """Where the browser is; $CHROMIUM counts more than the path."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        raise RuntimeError("this needs Chromium: sh scripts/chromium.sh installs it")
    return found


def _opened(page: sync_api.Page, address: str, shown: str) -> float:
    page.goto("about:blank")
    begun = time.perf_counter()
    page.goto(address)
    page.locator(shown).first.wait_for(timeout=60_000)
    return time.perf_counter() - begun

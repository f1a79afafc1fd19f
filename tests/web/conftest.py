"""A site for each module, and a browser: Debian's Chromium, driven by Playwright, which downloads nothing.

Playwright keeps an event loop in its thread, so it is stopped after each module: other tests have loops of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright import sync_api

from benchmarks import page as pages
from tests.web import site as sites
from tests.web import studio

_WAIT_MS = 60_000


def pytest_itemcollected(item: pytest.Function) -> None:
    """What needs the browser is slow."""
    if "browser" in item.fixturenames:
        item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def browser() -> Generator[sync_api.Browser]:
    if os.environ.get("SKELO_NO_BROWSER"):  # `make test` without Chromium runs everything else, and fails at its end
        pytest.skip("there is no Chromium")
    with sync_api.sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=pages.chromium(), args=flags)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[sites.Site]:
    """A server over a project of its own, for all tests of a module."""
    made = sites.make(tmp_path_factory.mktemp("site"))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def model() -> Generator[studio.Model]:
    """The model that the newsroom asks: a server that says what a test tells it to."""
    with studio.model() as made:
        yield made


@pytest.fixture(scope="module")
def newsroom(model: studio.Model, tmp_path_factory: pytest.TempPathFactory) -> Generator[sites.Site]:
    """A server over the project with every kind of node, for all tests of a module."""
    made = studio.make(tmp_path_factory.mktemp("newsroom"), model)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def noise() -> list[str]:
    """What the console may say in this test: patterns that it adds."""
    return []


@pytest.fixture
def page(browser: sync_api.Browser, noise: list[str]) -> Generator[sync_api.Page]:
    """A page of a fresh browser profile. The test fails if its console has errors or warnings that are no `noise`."""
    said: list[str] = []

    def hear(message: sync_api.ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            said.append(f"{message.text} {message.location['url']}")

    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light", locale="en-GB")
    context.set_default_timeout(_WAIT_MS)
    opened = context.new_page()
    opened.on("console", hear)
    opened.on("pageerror", lambda error: said.append(str(error)))
    sync_api.expect.set_options(timeout=_WAIT_MS)
    yield opened
    context.close()
    assert [text for text in said if not any(re.search(pattern, text) for pattern in noise)] == []


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Where pictures go, each named for what it shows: with SKELO_IMAGES=1 into the documents (`make images`)."""
    if not os.environ.get("SKELO_IMAGES"):
        return tmp_path
    folder = Path(__file__).resolve().parents[2] / "docs" / "images"
    folder.mkdir(exist_ok=True)
    return folder

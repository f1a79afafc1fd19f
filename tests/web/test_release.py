"""A release that is installed into a new environment works: it runs a workflow, serves, and its page opens."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from playwright import sync_api

from tests.repo import release

TOKEN = "a-token-of-this-test-only-4711"


@pytest.mark.slow
def test_an_installed_release_runs_serves_and_opens_its_page(page: sync_api.Page, tmp_path: Path) -> None:
    skelo = release.install(release.build(tmp_path / "dist").wheel, tmp_path / "env") / "skelo"
    subprocess.run([skelo, "init", "demo"], cwd=tmp_path, check=True, capture_output=True)
    project = tmp_path / "demo"
    ran = subprocess.run(
        [skelo, "run", "hello.yaml", "--input", "name=Ada", "--json"], cwd=project, check=True, capture_output=True
    )
    assert json.loads(ran.stdout)["outputs"]["greeting"] == "Hello, Ada!"
    serve = subprocess.Popen(
        [skelo, "serve", "--port", "0", "--json"],
        cwd=project,
        env={**os.environ, "SKELO_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        text=True,
    )
    with serve as server:
        try:
            assert server.stdout is not None
            started = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")
            page.goto(started["url"])
            page.get_by_label("Token").fill(TOKEN)
            page.get_by_role("button", name="Log in").click()
            sync_api.expect(page.get_by_role("link", name="hello")).to_be_visible()
            licences = page.request.get(f"{started['url']}/assets/third-party-licenses.txt")
            assert (licences.status, "react " in licences.text()) == (200, True)
            page.goto("about:blank")  # so that the page does not see the server stop
        finally:
            server.terminate()
            server.wait(timeout=30)

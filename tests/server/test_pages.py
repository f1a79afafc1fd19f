"""The dashboard's files: kept by browsers as long as they are the same, compressed, and nothing else is given out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from openskelo.server import pages

SCRIPT = b"console.log('bees');" * 50


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    assets = tmp_path / "web" / "assets"
    assets.mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("not for anybody")
    (tmp_path / "web" / "index.html").write_text("<!doctype html><title>first</title>")
    (assets / "index-Ab3_d-9Z.js").write_bytes(SCRIPT)
    (assets / "index-Ab3_d-9Z.js.gz").write_bytes(gzip.compress(SCRIPT))
    (assets / "theme.js").write_bytes(b"1")
    app = FastAPI()
    pages.mount_dashboard(app, tmp_path / "web")
    return TestClient(app)


def test_a_browser_that_takes_it_gets_the_compressed_file_as_what_it_is(client: TestClient) -> None:
    found = client.get("/assets/index-Ab3_d-9Z.js", headers={"accept-encoding": "gzip"})
    assert found.content == SCRIPT
    assert found.headers["content-encoding"] == "gzip"
    assert found.headers["content-type"].startswith("text/javascript")
    assert int(found.headers["content-length"]) < len(SCRIPT)


def test_one_that_does_not_gets_it_as_it_is(client: TestClient) -> None:
    found = client.get("/assets/index-Ab3_d-9Z.js", headers={"accept-encoding": "identity"})
    assert (found.content, found.headers.get("content-encoding")) == (SCRIPT, None)
    assert found.headers["vary"] == "accept-encoding"


def test_files_named_for_what_is_in_them_are_kept_for_ever_and_others_asked_for(client: TestClient) -> None:
    assert "immutable" in client.get("/assets/index-Ab3_d-9Z.js").headers["cache-control"]
    assert client.get("/assets/theme.js").headers["cache-control"] == "no-cache"
    assert client.get("/").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/x/nodes/a/b", "/approvals/1", "/start/a/b.yaml", "/compare/a/b"])
def test_every_page_of_its_own_is_the_first_page(client: TestClient, path: str) -> None:
    assert "first" in client.get(path).text


@pytest.mark.parametrize(
    "path", ["/assets/../../secret.txt", "/assets/%2e%2e/%2e%2e/secret.txt", "/assets/nothing.js", "/x"]
)
def test_nothing_outside_of_the_build_is_given_out(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_person_who_mistypes_an_address_gets_a_page_and_a_program_a_problem(client: TestClient) -> None:
    page = client.get("/run/typo", headers={"accept": "text/html,*/*"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert page.text == client.get("/").text  # the dashboard says that there is nothing here
    told = client.get("/run/typo")
    assert (told.status_code, told.json()["code"]) == (404, "PATH_UNKNOWN")
    for path in ("/api/nothing", "/assets/nothing.js"):
        asked = client.get(path, headers={"accept": "text/html,*/*"})
        assert (asked.status_code, asked.headers["content-type"]) == (404, "application/problem+json")

"""HEAD: as GET, without a body."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

from tests.server import house

#: Of no two answers the same.
_OWN = ("date",)


def _told(answer: httpx.Response) -> tuple[int, dict[str, str]]:
    return answer.status_code, {name: value for name, value in answer.headers.items() if name not in _OWN}


@pytest.mark.parametrize(
    "path", ["/", "/login", "/login.css", "/api/health", "/api/runs", "/api/approvals", "/api/openapi.json", "/runs/x"]
)
def test_head_says_what_get_would_and_sends_no_body(client: httpx.Client, path: str) -> None:
    whole, head = client.get(path), client.head(path)
    assert (_told(head), head.content, whole.status_code) == (_told(whole), b"", 200)


def test_head_of_what_is_not_there_is_404_and_of_an_order_405(client: httpx.Client) -> None:
    unknown = client.head("/api/runs/00000000-0000-4000-8000-000000000000")
    order = client.head("/api/runs/00000000-0000-4000-8000-000000000000/pause")
    assert (unknown.status_code, unknown.content, order.status_code, order.content) == (404, b"", 405, b"")


def test_head_of_an_artifact_is_about_the_whole(client: httpx.Client) -> None:
    run_id = house.start(client)["id"]
    house.asked(client, run_id)
    artifact = next(iter(client.get(f"/api/runs/{run_id}/artifacts").json()["artifacts"]))
    path = f"/api/runs/{run_id}/artifacts/{artifact['id']}/content"
    whole = client.get(path)
    head = client.head(path, headers={"range": "bytes=0-1"})
    assert (head.status_code, head.headers["content-length"], head.content) == (200, str(len(whole.content)), b"")
    assert len(whole.content) > 2


def test_head_of_the_stream_leaves_no_stream_open(client: httpx.Client) -> None:
    head = client.head("/api/stream")
    assert (head.status_code, head.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    until = time.monotonic() + 5
    while "openskelo_streams 0" not in (told := client.get("/metrics").text) and time.monotonic() < until:
        time.sleep(0.02)
    assert "openskelo_streams 0" in told
    assert client.get("/api/health").status_code == 200


def test_head_is_let_in_where_get_is(tmp_path: Path) -> None:
    made: dict[str, str] = {}
    with (
        house.open_house(tmp_path / "own", house.demanding, {"vera": "viewer"}, made) as home,
        home.client() as stranger,
        home.client(made["vera"]) as vera,
    ):
        page = stranger.head("/", headers={"accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (303, "/login")
        assert (stranger.head("/api/runs").status_code, vera.head("/api/runs").status_code) == (401, 200)

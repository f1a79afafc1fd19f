"""Workflows over REST: listed, checked, explained; and the server itself."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import fastapi
import httpx
import pytest

import openskelo
from openskelo.kernel.json import Json
from openskelo.server import pages, sent_documents
from openskelo.workflows import load
from openskelo.workflows.blocks import blocks_loader
from tests.handlers import web
from tests.server import house


def test_the_workflow_files_of_the_project_are_listed(client: httpx.Client) -> None:
    found = client.get("/api/workflows").json()["workflows"]
    assert [(one["path"], one["name"], one["kind"]) for one in found] == [
        ("each.yaml", "each", "blocks"),
        ("review.yaml", "review", "blocks"),
        ("waiting.yaml", "waiting", "blocks"),
    ]


def test_a_workflow_is_checked(client: httpx.Client) -> None:
    right = client.post("/api/workflows/validate", json={"workflow": "review.yaml"}).json()
    assert (right["valid"], right["name"], right["problems"]) == (True, "review", [])
    assert right["hash"].startswith("sha256:")
    document = {"name": "x", "blocks": [{"id": "a", "mode": "wrong"}]}
    wrong = client.post("/api/workflows/validate", json={"document": document}).json()
    assert (wrong["valid"], wrong["hash"], [one["code"] for one in wrong["problems"]]) == (False, None, ["CHOICE"])
    bodies: tuple[house.Answer, ...] = ({}, {"workflow": "review.yaml", "document": {}})
    for body in bodies:
        assert house.problem(client.post("/api/workflows/validate", json=body)) == (422, "REQUEST_INVALID")


@pytest.mark.parametrize("path", ["/api/workflows/validate", "/api/workflows/explain", "/api/runs"])
@pytest.mark.parametrize("keyword", ["$schema", "$ref", "$dynamicRef"])
def test_a_document_whose_schema_names_an_address_makes_the_server_send_no_request(
    path: str, keyword: str, client: httpx.Client
) -> None:
    with web.serving() as site:
        block = {"id": "a", "prompt": "Say it.", "outputs": {"x": {"type": "object", keyword: site.url}}}
        answer = client.post(path, json={"document": {"name": "x", "blocks": [block]}})
        assert "SCHEMA_INVALID" in answer.text
        assert site.seen == []


def test_a_workflow_is_explained(client: httpx.Client) -> None:
    found = client.post("/api/workflows/explain", json={"workflow": "review.yaml", "items": 3}).json()
    assert (found["name"], found["layers"]) == ("review", [["write"], ["check"], ["publish"]])
    assert [block["id"] for block in found["blocks"]] == ["write", "check", "publish"]
    assert found["totals"]["all"]["minimum"]["steps"] == 3
    wrong = client.post("/api/workflows/explain", json={"document": {"blocks": []}})
    assert house.problem(wrong) == (422, "INVALID_WORKFLOW")


def test_what_models_and_past_runs_take_is_counted_as_on_the_command_line(
    home: house.House, client: httpx.Client
) -> None:
    run_id = house.start(client, "each.yaml", words=["a", "b"])["id"]
    house.until(client, run_id, lambda found: found["status"] == "completed")
    asking: house.Answer = {
        "name": "asking",
        "blocks": [{"id": "say", "mode": "ai", "outputs": {"text": "string"}, "prompt": "Say something."}],
    }
    for body, name in (({"document": asking}, "asking"), ({"workflow": "each.yaml"}, "each")):
        found = client.post("/api/workflows/explain", json=body).json()
        workflow = openskelo.load(home.root / "each.yaml") if name == "each" else openskelo.from_document(asking)
        assert found["totals"] == home.run(home.engine.explain(workflow))["totals"]
    asked = client.post("/api/workflows/explain", json={"document": asking}).json()
    assert asked["totals"]["all"]["worst"]["tokens"] > asked["totals"]["all"]["expected"]["tokens"] > 0
    assert asked["totals"]["notes"] == ["no estimate, counted as a full prompt and the longest answer: say"]


def test_a_run_explains_the_workflow_that_it_has_pinned(client: httpx.Client) -> None:
    asked = client.post("/api/workflows/explain", json={"workflow": "review.yaml", "items": 3}).json()
    run_id = house.start(client)["id"]
    assert client.get(f"/api/runs/{run_id}/workflow", params={"items": 3}).json() == asked


def test_the_server_says_what_it_is(client: httpx.Client) -> None:
    assert client.get("/api/version").json()["contractVersion"] == "1"
    assert client.get("/api/session").json() == {"name": "ann", "role": "operator", "csrfToken": None}
    assert client.get("/").headers["content-type"].startswith("text/html")


def test_a_server_without_a_build_of_the_dashboard_says_so(tmp_path: Path) -> None:
    assert "no dashboard" in _first_page(tmp_path, "/").text
    assert _first_page(tmp_path, "/elsewhere").status_code == 404


def test_a_build_of_the_dashboard_is_served_from_its_folder_only(tmp_path: Path) -> None:
    (tmp_path / "web" / "assets").mkdir(parents=True)
    (tmp_path / "web" / "index.html").write_text("<p>board</p>")
    (tmp_path / "web" / "assets" / "a.js").write_text("1")
    (tmp_path / "web" / "secret").write_text("no")
    for path in ("/", "/runs/1", "/approvals"):
        assert _first_page(tmp_path / "web", path).text == "<p>board</p>"
    assert _first_page(tmp_path / "web", "/assets/a.js").text == "1"
    assert _first_page(tmp_path / "web", "/assets/..%2fsecret").status_code == 404


def _first_page(folder: Path, path: str) -> httpx.Response:
    app = fastapi.FastAPI()
    pages.mount_dashboard(app, folder)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return await client.get(path)

    return asyncio.run(ask())


def test_a_server_whose_data_dir_is_gone_is_not_well(tmp_path: Path) -> None:
    found: list[object] = []

    def ask_and_move() -> None:
        with house.open_house(tmp_path / "own") as home, home.client() as client:
            found.append(client.get("/api/health").json())
            (home.root / ".skelo").rename(tmp_path / "elsewhere")
            time.sleep(1)  # the driver looks every 50 ms
            found.append(house.problem(client.get("/api/health")))

    with pytest.raises(openskelo.StoreError):  # its runs cannot be suspended either
        ask_and_move()
    assert found == [{"status": "ok"}, (503, "STORE_GONE")]


# -- documents --------------------------------------------------------------------------------------------------------


def _writing(template: str, **config: Json) -> dict[str, Json]:
    return {
        "name": "sent",
        "blocks": [
            {
                "id": "save",
                "mode": "deterministic",
                "inputs": {"text": {"type": "string", "default": "hi"}},
                "outputs": {"file_path": "string"},
                "deterministic": {
                    "handler": "builtin:write-file",
                    "config": {"content_from": "text", "default_path_template": template, **config},
                },
            }
        ],
    }


def _ended(client: httpx.Client, document: dict[str, Json]) -> house.Answer:
    started = client.post("/api/runs", json={"document": document})
    assert started.status_code == 201, started.text
    return house.until(client, started.json()["id"], lambda found: found["ending"] is not None)


@pytest.mark.parametrize("config", [{}, {"confined": False}])
def test_a_document_that_is_sent_writes_inside_the_roots_only(
    home: house.House, client: httpx.Client, tmp_path: Path, config: dict[str, Json]
) -> None:
    for template in (str(tmp_path / "x.txt"), "../x.txt", "x.txt", "handlers/x.py", "out/../../x.txt"):
        ended = _ended(client, _writing(template, **config))
        assert (ended["ending"], ended["error"]["code"]) == ("failed", "DET_PATH_INVALID")
    assert _ended(client, _writing("out/{run_id}.txt", **config))["ending"] == "ok"
    assert not (tmp_path / "x.txt").exists()
    assert not (home.root / "x.txt").exists()


def test_a_document_that_is_sent_reads_inside_the_roots_only(client: httpx.Client, tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("private")
    work: dict[str, Json] = {"handler": "builtin:read-file", "config": {"path": str(tmp_path / "private.txt")}}
    block: dict[str, Json] = {
        "id": "read",
        "mode": "deterministic",
        "outputs": {"content": "string"},
        "deterministic": work,
    }
    ended = _ended(client, {"name": "sent", "blocks": [block]})
    assert (ended["ending"], ended["error"]["code"]) == ("failed", "DET_PATH_INVALID")


_WRITTEN_BY_DATA = """\
name: planted
blocks:
  - id: save
    mode: deterministic
    deterministic: {handler: "builtin:write-file", config: {content: x, default_path_template: PATH}}
"""


@pytest.mark.parametrize(
    "place", [".skelo/blobs/fe/fe2c", ".skelo/workspaces/r/n/tree/flow.yaml", ".env", ".git/x.yaml"]
)
def test_a_document_that_is_sent_uses_no_file_that_is_hidden_or_in_the_data_dir(
    home: house.House, client: httpx.Client, tmp_path: Path, place: str
) -> None:
    planted = home.root / place
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(_WRITTEN_BY_DATA.replace("PATH", str(tmp_path / "x.txt")))
    document: dict[str, Json] = {"name": "sent", "blocks": [{"id": "a", "uses": place}]}
    for path in ("/api/workflows/validate", "/api/workflows/explain", "/api/runs"):
        answer = client.post(path, json={"document": document})
        assert (answer.status_code == 201, "USES_OUTSIDE" in answer.text) == (False, True)
        assert "planted" not in answer.text
    planted.unlink()


def test_a_node_that_is_sent_to_a_live_graph_writes_inside_the_roots_only(client: httpx.Client, tmp_path: Path) -> None:
    run_id = client.post("/api/runs", json={"name": "live"}).json()["id"]
    config: dict[str, Json] = {"content_from": "messages", "default_path_template": str(tmp_path / "x.txt")}
    body: dict[str, Json] = {
        "label": "Save",
        "kind": "handler",
        "config": {"handler": "builtin:write-file", "config": config, "outputs": {"file_path": "string"}},
    }
    node = client.post(f"/api/runs/{run_id}/nodes", json=body).json()["id"]

    def take_turn() -> None:
        client.post(f"/api/runs/{run_id}/chat", json={"nodeId": node, "content": "go"})
        house.until(client, run_id, lambda found: found["nodes"][node]["status"] == "failed")

    take_turn()
    change = client.patch(f"/api/runs/{run_id}/nodes/{node}", json={"config": body["config"]})
    assert change.status_code == 200
    take_turn()
    assert not (tmp_path / "x.txt").exists()
    client.post(f"/api/runs/{run_id}/cancel")


def test_a_document_with_too_many_blocks_is_refused_before_they_are_looked_at() -> None:
    document: dict[str, Json] = {"blocks": [{}] * (blocks_loader.MAX_BLOCKS + 1)}
    assert sent_documents.confine_document(document) is document
    problems = load.check_document(document)[1]
    assert "TOO_MANY_BLOCKS" in [problem.code for problem in problems]

"""Workflows over REST: listed, checked, explained; and the server itself."""

from __future__ import annotations

import httpx

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


def test_a_workflow_is_explained(client: httpx.Client) -> None:
    found = client.post("/api/workflows/explain", json={"workflow": "review.yaml", "items": 3}).json()
    assert (found["name"], found["layers"]) == ("review", [["write"], ["check"], ["publish"]])
    assert [block["id"] for block in found["blocks"]] == ["write", "check", "publish"]
    assert found["totals"]["all"]["minimum"]["steps"] == 3
    wrong = client.post("/api/workflows/explain", json={"document": {"blocks": []}})
    assert house.problem(wrong) == (422, "INVALID_WORKFLOW")


def test_the_server_says_what_it_is(client: httpx.Client) -> None:
    assert client.get("/api/version").json()["contractVersion"] == "1"
    assert client.get("/api/session").json() == {"name": "ann", "role": "operator", "csrfToken": None}
    home = client.get("/")
    assert (home.status_code, "no dashboard" in home.text) == (200, True)

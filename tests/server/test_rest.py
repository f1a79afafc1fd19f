"""Query parameters: those that a route declares, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server import house

_DOCUMENT: dict[str, Any] = json.loads(Path(__file__).with_name("openapi.json").read_text("utf-8"))
_OPERATIONS = [
    (method, path, [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"])
    for path, found in _DOCUMENT["paths"].items()
    for method, operation in found.items()
    if path.startswith("/api/")
]
_ID = "00000000-0000-4000-8000-000000000000"


def test_an_undeclared_parameter_is_refused_everywhere_with_those_that_are_declared(client: httpx.Client) -> None:
    assert len(_OPERATIONS) > 25
    for method, path, declared in _OPERATIONS:
        where = "/".join(_ID if part.startswith("{") else part for part in path.split("/"))
        answer = client.request(method, where, params={"zzzzzzzz": "1"})
        found = answer.json()
        assert house.problem(answer) == (400, "PARAMETER_UNKNOWN"), (method, path)
        assert found["detail"] == "this request has no parameter 'zzzzzzzz'"
        assert found["hint"] == (f"it has {', '.join(declared)}" if declared else "it has none"), (method, path)
        assert "400" in _DOCUMENT["paths"][path][method]["responses"]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/api/runs?limit=5&limt=5", "did you mean 'limit'? it has limit, cursor, status, q"),
        ("/api/stream?run_id=x", "did you mean 'runId'? it has runId, since"),
    ],
)
def test_a_misspelled_parameter_is_answered_with_the_one_that_was_meant(
    client: httpx.Client, path: str, hint: str
) -> None:
    answer = client.get(path)
    assert (house.problem(answer), answer.json()["hint"]) == ((400, "PARAMETER_UNKNOWN"), hint)


@pytest.mark.parametrize("path", ["/api/health", "/api/runs"])
def test_head_is_not_a_method_of_the_api(client: httpx.Client, path: str) -> None:
    answer = client.head(path)
    assert (answer.status_code, answer.headers["allow"], answer.content) == (405, "GET", b"")


def test_the_pages_of_the_dashboard_take_whatever_a_link_carries(client: httpx.Client) -> None:
    pages = ("/", "/runs/x", "/login", "/login.css", "/metrics")
    assert [client.get(f"{page}?utm_source=mail").status_code for page in pages] == [200] * len(pages)

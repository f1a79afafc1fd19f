"""The OpenAPI document: a golden file, and schemathesis holds the server to it."""

from __future__ import annotations

import functools
import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import errors
from hypothesis import strategies as st

from tests.server import house

#: Renewed by `python -m tests.server.test_openapi`.
GOLDEN = Path(__file__).with_name("openapi.json")
METHODS = ("get", "post", "patch", "delete", "put")
#: It never ends.
ENDLESS = {"/api/stream"}
#: What is held: no 5xx, nothing undocumented, nothing else than its schema says, nothing invalid let in.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "negative_data_rejection",
    "unsupported_method",
)


def _document() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text("utf-8"))


OPERATIONS = [
    (method, path)
    for path, found in (_document()["paths"].items() if GOLDEN.exists() else ())
    for method in METHODS
    if method in found and path not in ENDLESS
]


def _seen(home: house.House) -> dict[str, Any]:
    with home.client() as client:
        return client.get("/api/openapi.json").json()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A server with runs in it, and the ids that are known there, by the name of the parameter."""

    home: house.House
    ids: dict[str, list[str]]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    with house.open_house(tmp_path_factory.mktemp("fuzzed")) as home, home.client() as client:
        waiting = [house.start(client)["id"] for _ in range(3)]
        each = house.start(client, "each.yaml", words=["a", "b"])["id"]
        run = house.until(client, each, lambda found: found["ending"] is not None)
        approvals = [house.asked(client, run_id)["id"] for run_id in waiting]
        first = client.get(f"/api/runs/{waiting[0]}").json()
        graph, node, edge = house.live_graph(client)
        ids = {
            "run_id": [*waiting, each, graph],
            "node_id": [*run["nodes"], *first["nodes"], node],
            "edge_id": [edge],
            "artifact_id": list(first["artifacts"]),
            "approval_id": approvals,
        }
        yield Stage(home=home, ids=ids)


def test_the_document_is_the_golden_one(home: house.House) -> None:
    assert _seen(home) == _document()


def test_every_operation_documents_its_errors_as_problems() -> None:
    document = _document()
    operations = [
        (method, path, operation)
        for path, found in document["paths"].items()
        for method, operation in found.items()
        if method in METHODS
    ]
    assert len(operations) > 25
    for method, path, operation in operations:
        for status in ("401", "403", "429", "500", "503"):
            content = operation["responses"][status]["content"]
            assert list(content) == ["application/problem+json"], (method, path, status)
        if method in ("post", "patch"):
            assert {"413", "415", "422"} <= set(operation["responses"]), (method, path)
        names = [parameter["name"] for parameter in operation.get("parameters", ())]
        assert ("Idempotency-Key" in names) == (method == "post"), (method, path)


@functools.cache
def _schema() -> Any:
    """Return the document as schemathesis knows it. That takes seconds to import, so no other test pays for it."""
    import schemathesis

    return schemathesis.openapi.from_dict(_document())


def _checks() -> list[Any]:
    from schemathesis import checks

    return [getattr(checks, name) for name in CHECKS]


@pytest.mark.parametrize("is_valid", [True, False], ids=["positive", "negative"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_server_keeps_to_the_document(stage: Stage, method: str, path: str, is_valid: bool) -> None:
    operation = _schema()[path][method]
    from schemathesis import GenerationMode

    mode = GenerationMode.POSITIVE if is_valid else GenerationMode.NEGATIVE
    checks = _checks()
    asked = 0

    @hypothesis.settings(
        max_examples=12,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[
            hypothesis.HealthCheck.too_slow,
            hypothesis.HealthCheck.filter_too_much,
            hypothesis.HealthCheck.data_too_large,
        ],
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def ask(case: Any, data: st.DataObject) -> None:
        nonlocal asked
        for name in case.path_parameters if is_valid else ():
            if data.draw(st.booleans(), label="known"):
                case.path_parameters[name] = data.draw(st.sampled_from(stage.ids[name]), label=name)
        case.headers.pop("Idempotency-Key", None)
        case.call_and_validate(base_url=stage.home.url, checks=checks)
        asked += 1

    try:
        ask()
    except errors.Unsatisfiable:
        assert not is_valid  # there is nothing that could be wrong with it
    else:
        assert asked > 0


if __name__ == "__main__":
    import os
    import tempfile

    os.environ["W2_PLANTED_KEY"] = "any"
    with tempfile.TemporaryDirectory() as folder, house.open_house(Path(folder) / "own") as opened:
        GOLDEN.write_text(json.dumps(_seen(opened), indent=1, sort_keys=True) + "\n", "utf-8")

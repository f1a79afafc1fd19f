"""The work of checking a document grows with its size and no faster: counted in operations, not in time."""

from __future__ import annotations

import pytest

from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from tests.kernel import test_cost as kernel_cost

#: Twice the ports may take this many times the operations; quadratic work would take nearly four times as many.
MOST = 2.3
PASS: JsonObject = {"mode": "deterministic", "deterministic": {"handler": "builtin:pass"}}


def names(number: int, letter: str = "p") -> list[str]:
    return [f"{letter}{index}" for index in range(number)]


def document(kind: str, number: int) -> JsonObject:
    """Return a workflow with about `number` ports, joined in one way."""
    texts: dict[str, Json] = dict.fromkeys(names(number), "string")
    source: JsonObject = {"id": "a", "prompt": "Say it.", "outputs": texts}
    from_block: dict[str, Json] = {name: {"type": "string", "from": f"a.{name}"} for name in texts}
    from_inputs: dict[str, Json] = {name: {"type": "string", "from": f"inputs.{name}"} for name in texts}
    missing: dict[str, Json] = {name: {"type": "string", "from": f"a.no{name}"} for name in texts}
    edges: list[Json] = [{"from": f"a.{name}", "to": f"b.{name}"} for name in texts]
    documents: dict[str, JsonObject] = {
        "ports": {"blocks": [source]},
        "from a block": {"blocks": [source, {"id": "b", **PASS, "inputs": from_block}]},
        "from inputs": {"inputs": texts, "blocks": [{"id": "b", **PASS, "inputs": from_inputs}]},
        "edges": {"blocks": [source, {"id": "b", **PASS, "inputs": texts}], "edges": edges},
        "unknown names": {"blocks": [source, {"id": "b", **PASS, "inputs": missing}]},
        "outputs": {"blocks": [source], "outputs": {f"o{name}": f"a.{name}" for name in texts}},
        "a template": {
            "blocks": [{"id": "b", "prompt": "{{ inputs.p1 }}", "inputs": texts, "outputs": {"x": "string"}}]
        },
    }
    return {"name": "flow", **documents[kind]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["ports", "from a block", "from inputs", "edges", "unknown names", "outputs", "a template"]
)
def test_twice_the_ports_take_about_twice_the_work(kind: str) -> None:
    load.check_document(document(kind, 300))  # fills caches that any document fills
    costs = [kernel_cost.operations(lambda: load.check_document(document(kind, ports))) for ports in (400, 800)]  # noqa: B023
    assert costs[1] / costs[0] < MOST

"""A workflow taken apart: where each node stands, and where it leads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from openskelo.kernel import definition
from openskelo.workflows import load, outline

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _blocks(path: str) -> dict[str, Any]:
    workflow = load.load(EXAMPLES / path)
    found = cast("list[dict[str, Any]]", outline.document(workflow)["blocks"])
    return {block["id"]: block for block in found}


def test_steps_of_a_plan_lead_to_later_layers_and_ways_back_are_not_counted() -> None:
    blocks = _blocks("patch-plan/fix_bug_v1.json")
    order = list(load.load(EXAMPLES / "patch-plan/fix_bug_v1.json").nodes)
    ways = [(key, jump["to"]) for key, block in blocks.items() for jump in block["jumps"]]
    forward = [(key, to) for key, to in ways if order.index(to) > order.index(key)]
    assert forward
    assert [(key, to) for key, to in forward if blocks[to]["layer"] <= blocks[key]["layer"]] == []
    assert blocks[order[0]]["layer"] == 0
    assert {block["op"] for block in blocks.values()} >= {"ask_human", "verify", "branch"}


def test_blocks_lead_nowhere_by_jumps_and_have_no_op() -> None:
    blocks = _blocks("quickstart/digest.yaml")
    assert {key: (block["layer"], block["op"], block["jumps"]) for key, block in blocks.items()} == {
        key: (layer, None, []) for layer, key in enumerate(("tidy", "assemble", "review", "publish"))
    }


class Looked(dict[str, definition.Node]):
    """Nodes that count how often somebody has gone through all of them."""

    looks = 0

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        return super().__iter__()


def _looks(length: int) -> int:
    """How often `layers` goes through the nodes of a chain."""
    nodes = Looked()
    for number in range(length):
        bindings = {"value": definition.Binding(node=f"n{number - 1}", port="value")} if number else {}
        nodes[f"n{number}"] = definition.Node(key=f"n{number}", mode="deterministic", bindings=bindings)
    found = outline.layers(definition.Workflow(name="chain", hash="", nodes=nodes))
    assert found == [[f"n{number}"] for number in range(length)]
    return nodes.looks


def test_the_nodes_are_gone_through_as_often_however_many_layers_there_are() -> None:
    assert _looks(40) == _looks(4) > 0

"""The edges of a workflow as the wire shows them, found once for a run."""

from __future__ import annotations

from openskelo.contract import naming
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject


@frozen
class DataEdge:
    """An edge along which the output `port` of its source becomes the input `name` of its target."""

    id: str
    source: str
    target: str
    port: str
    name: str


@frozen
class Edges:
    """All edges as documents, and the data edges by the node they leave and by the node they reach."""

    documents: tuple[JsonObject, ...]
    leaving: dict[str, list[DataEdge]]
    reaching: dict[str, list[DataEdge]]


def of(run_id: str, workflow: definition.Workflow) -> Edges:
    """The edges of a run of `workflow`: one for each binding to another node, each mere order, each jump of a plan."""
    documents: list[JsonObject] = []
    leaving: dict[str, list[DataEdge]] = {key: [] for key in workflow.nodes}
    reaching: dict[str, list[DataEdge]] = {key: [] for key in workflow.nodes}
    for key, node in workflow.nodes.items():
        bound = {name: binding for name, binding in node.bindings.items() if binding.node}
        for name, binding in bound.items():
            document = _document(run_id, binding.node, key, f"{binding.port}>{name}", "data")
            documents.append(document)
            edge = DataEdge(id=str(document["id"]), source=binding.node, target=key, port=binding.port, name=name)
            leaving[binding.node].append(edge)
            reaching[key].append(edge)
        handed = {binding.node for binding in bound.values()}
        documents += [
            _document(run_id, source, key, "after", "order")
            for source in dict.fromkeys(node.after)
            if source not in handed
        ]
        if node.step is not None:
            documents += [_document(run_id, key, to, label, "jump") for label, to in jumps(node.step).items()]
    return Edges(documents=tuple(documents), leaving=leaving, reaching=reaching)


def jumps(step: definition.Step) -> dict[str, str]:
    """Where a step of a plan may lead, by what the way is called: a retry to what it tries, and from there on."""
    ways = {
        "next": step.next,
        "then": step.then,
        "else": step.otherwise,
        "tries": step.target,
        "on_denied": step.on_denied,
    }
    return {label: to for label, to in ways.items() if to is not None}


def _document(run_id: str, source: str, target: str, label: str, kind: str) -> JsonObject:
    return {
        "id": naming.edge(run_id, source, target, label),
        "from": naming.node(run_id, source),
        "to": naming.node(run_id, target),
        "bidirectional": False,
        "type": "handoff",
        "label": label,
        "kind": kind,
    }

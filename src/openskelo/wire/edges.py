"""The documents of edges: of a workflow, computed once for a run, and of a live graph, one by one."""

from __future__ import annotations

from openskelo.kernel import definition, events
from openskelo.kernel.json import JsonObject
from openskelo.structs import frozen
from openskelo.wire import wire_ids


@frozen
class DataEdge:
    """An edge along which an output of its source becomes an input of its target."""

    id: str
    source: str
    target: str
    #: The output.
    port: str
    #: The input.
    name: str


@frozen
class WorkflowEdges:
    """All edges as documents; the data edges also by the key of their source and by the key of their target."""

    documents: tuple[JsonObject, ...]
    outgoing: dict[str, list[DataEdge]]
    incoming: dict[str, list[DataEdge]]


def workflow_edges(run_id: str, workflow: definition.Workflow) -> WorkflowEdges:
    """Return the edges of a run of `workflow`.

    There is one for each binding to another node, one for each `after` without a binding, and one for each jump of a
    plan's step.
    """
    documents: list[JsonObject] = []
    outgoing: dict[str, list[DataEdge]] = {key: [] for key in workflow.nodes}
    incoming: dict[str, list[DataEdge]] = {key: [] for key in workflow.nodes}
    for key, node in workflow.nodes.items():
        bindings = {name: binding for name, binding in node.bindings.items() if binding.node}
        for name, binding in bindings.items():
            document = _document(run_id, binding.node, key, f"{binding.port}>{name}", "data")
            documents.append(document)
            edge = DataEdge(id=str(document["id"]), source=binding.node, target=key, port=binding.port, name=name)
            outgoing[binding.node].append(edge)
            incoming[key].append(edge)
        data_sources = {binding.node for binding in bindings.values()}
        order_sources = [source for source in dict.fromkeys(node.after) if source not in data_sources]
        documents += [_document(run_id, source, key, "after", "order") for source in order_sources]
        jumps = {} if node.step is None else step_targets(node.step)
        documents += [_document(run_id, key, target, label, "jump") for label, target in jumps.items()]
    return WorkflowEdges(documents=tuple(documents), outgoing=outgoing, incoming=incoming)


def step_targets(step: definition.Step) -> dict[str, str]:
    """Return the steps that a plan's step may lead to, by the label of the jump; a retry leads to what it tries."""
    targets = {
        "next": step.next,
        "then": step.then,
        "else": step.otherwise,
        "tries": step.target,
        "on_denied": step.on_denied,
    }
    return {label: target for label, target in targets.items() if target is not None}


def live_edge(run_id: str, event: events.EdgeAdded) -> JsonObject:
    """Return the document of an edge of a live graph."""
    return {
        "id": event.edge,
        "from": wire_ids.node(run_id, event.source),
        "to": wire_ids.node(run_id, event.target),
        "bidirectional": event.bidirectional,
        "type": event.type,
        "label": event.label,
        "kind": "channel",
    }


def _document(run_id: str, source: str, target: str, label: str, kind: str) -> JsonObject:
    return {
        "id": wire_ids.edge(run_id, source, target, label),
        "from": wire_ids.node(run_id, source),
        "to": wire_ids.node(run_id, target),
        "bidirectional": False,
        "type": "handoff",
        "label": label,
        "kind": kind,
    }

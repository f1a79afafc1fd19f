"""Pinned workflows: what a run keeps of its workflow, and whether the program has what the workflow needs.

A run pins its workflow: it stores the definition under its hash, so that a changed file never changes a running run. A
file that is read again for every run gives another `Workflow` object each time; `Pins` gives all of them the pin, and
with it the workflow object, of the first. So what is compiled for a node is compiled once for all runs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import orjson

from openskelo import errors, gates
from openskelo.engine.commands import input_checks
from openskelo.executors import stored_values
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.history import loading
from openskelo.kernel import definition, workflow_codec
from openskelo.kernel import run as runs
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values import canonical

_K = TypeVar("_K")
_V = TypeVar("_V")
#: How many workflows one engine remembers; the oldest is pinned again when it comes again.
MAX_PINS = 64


@frozen
class Needs:
    """One node for each distinct need."""

    #: The nodes for the needs of their work.
    nodes: tuple[definition.Node, ...]
    #: The nodes for the needs of their gates.
    reviewed: tuple[definition.Node, ...]


class Pin:
    """A workflow as its runs keep it: the bytes of its definition, their name, and which node depends on which."""

    def __init__(self, workflow: definition.Workflow, name: str, data: bytes) -> None:
        self.workflow = workflow
        self.name = name
        self.data = data
        #: The definition, if it is small enough to be committed beside the first event of a run; else empty.
        self.blobs: Mapping[str, bytes] = {name: data} if len(data) <= stored_values.INLINE_BYTES else {}
        self.dependencies = definition.build_dependencies(workflow)

    @functools.cached_property
    def needs(self) -> Needs:
        """Return what all of its nodes need."""
        return needs_of(self.workflow.nodes.values())

    @functools.cached_property
    def file_readers(self) -> tuple[definition.Node, ...]:
        """Return its nodes that show files to a model."""
        nodes = self.workflow.nodes.values()
        return tuple(
            node for node in nodes if node.work.calls_model and any(port.kind == "file" for port in node.inputs)
        )

    @functools.cached_property
    def inputs(self) -> input_checks.Inputs:
        """Return what checks the inputs of its runs."""
        return input_checks.Inputs(self.workflow)


class Pins:
    """The pins of the workflows whose runs an engine has started or read from their log."""

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[definition.Workflow, Pin]] = {}
        self._by_name: dict[str, Pin] = {}

    def of(self, workflow: definition.Workflow) -> Pin:
        """Return the workflow's pin (InvalidInput). Workflows are frozen: one object is always the same workflow."""
        entry = self._by_identity.get(id(workflow))
        if entry is not None:
            return entry[1]
        loading.check_workflow(workflow)
        data = canonical.dumps(workflow_codec.encode(workflow))
        name = canonical.digest_bytes(data)
        pin = self._by_name.pop(name, None) or Pin(workflow, name, data)
        _keep(self._by_name, name, pin)
        _keep(self._by_identity, id(workflow), (workflow, pin))  # holds the workflow, so that its id stays its own
        return pin

    def restore(self, name: str, data: bytes) -> tuple[definition.Workflow, definition.Dependencies]:
        """Return the workflow and its dependencies, for a run that is read from its log (Corrupt)."""
        pin = self._by_name.pop(name, None) or Pin(loading.restore(data), name, data)
        _keep(self._by_name, name, pin)
        return pin.workflow, pin.dependencies


def _keep(kept: dict[_K, _V], key: _K, value: _V) -> None:
    if len(kept) >= MAX_PINS:
        del kept[next(iter(kept))]
    kept[key] = value


# -- what nodes need --------------------------------------------------------------------------------------------------


def needs_of(nodes: Iterable[definition.Node]) -> Needs:
    """Return what these nodes need of the program they run in."""
    model_nodes: dict[bytes, definition.Node] = {}
    handler_nodes: dict[str, definition.Node] = {}
    agent_nodes: dict[bytes, definition.Node] = {}
    review_nodes: list[definition.Node] = []
    for node in nodes:
        handler = node.handler or ""
        if node.work.calls_model:
            from openskelo.executors.ai import model_call  # noqa: PLC0415 -- most workflows call no model

            model_nodes.setdefault(orjson.dumps(["denied" in node.config, model_call.parameters(node)]), node)
        elif handler.startswith("local:"):
            handler_nodes.setdefault(handler, node)
        elif node.work.works_in_workspace:
            agent_nodes.setdefault(orjson.dumps(node.config.get("pinned")), node)
        if any(gates.asks_model(gate.type) for gate in (*node.pre_gates, *node.post_gates)):
            review_nodes.append(node)
    return Needs(
        nodes=(*model_nodes.values(), *handler_nodes.values(), *agent_nodes.values()), reviewed=tuple(review_nodes)
    )


def check_needs(needs: Needs, performer: attempt_performer.Performer) -> None:
    """Raise InvalidInput if a model, an expert, an agent or a `local:` handler that nodes need is missing."""
    checked_needs: set[bytes] = set()
    for key, parameters in _review_parameters(needs.reviewed):
        from openskelo.executors.ai import model_call  # noqa: PLC0415 -- most workflows call no model

        fingerprint = orjson.dumps(parameters)
        if fingerprint not in checked_needs:
            checked_needs.add(fingerprint)
            model_call.check_model(performer.provider(), key, parameters)
    for node in needs.nodes:
        performer.check_available(node)


def check_present(nodes: Iterable[definition.Node], performer: attempt_performer.Performer) -> None:
    """Raise InvalidInput if a handler's file or a secret that the nodes name is missing in this process.

    A run that goes on here without it would fail for good.
    """
    for node in nodes:
        try:
            performer.check_present(node)
        except errors.AttemptFailed as error:
            raise errors.InvalidInput(
                f"{node.key} cannot be done here: {error.message}",
                code=error.code,
                hint=error.hint or "the run is as it was; put it back, then try again",
            ) from error


def check_remaining(state: runs.Run, performer: attempt_performer.Performer) -> None:
    """Raise InvalidInput if a model, a handler or a secret that the run's remaining nodes need is missing here."""
    remaining = [state.workflow.nodes[key] for key, node in state.nodes.items() if node.status != "done"]
    check_nodes(remaining, performer)


def check_nodes(nodes: Sequence[definition.Node], performer: attempt_performer.Performer) -> None:
    """Raise InvalidInput if a model, a handler or a secret that these nodes need is missing here."""
    check_needs(needs_of(nodes), performer)
    check_present(nodes, performer)


async def check_files(
    nodes: Iterable[definition.Node], values: JsonObject, performer: attempt_performer.Performer
) -> None:
    """Raise InvalidInput if the inputs of a run, or the defaults of ports, name files that a model cannot be shown."""
    for node in nodes:
        values_by_port: dict[str, Json] = {}
        for port in node.inputs:
            binding = node.bindings.get(port.name)
            if binding is None:
                values_by_port[port.name] = port.default
            elif not binding.node and binding.transform is None:
                values_by_port[port.name] = values.get(binding.port)
        await performer.check_inputs(node, values_by_port)


def _review_parameters(nodes: Iterable[definition.Node]) -> Iterator[tuple[str, JsonObject]]:
    """Yield the node key and the model parameters of each gate that has a model review something."""
    for node in nodes:
        for gate in (*node.pre_gates, *node.post_gates):
            if gates.asks_model(gate.type):
                yield node.key, {name: gate.params[name] for name in ("expert", "pinned") if name in gate.params}

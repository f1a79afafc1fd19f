"""Pinning: what a run keeps of its workflow, made once for all runs of the same workflow."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TypeVar

from openskelo import errors
from openskelo.engine import door, loading, means
from openskelo.executors import keeping
from openskelo.kernel import codec, definition
from openskelo.kernel.flows import dag
from openskelo.values import canonical

_K = TypeVar("_K")
_V = TypeVar("_V")
#: How many workflows one engine remembers; the oldest is made anew when it comes again.
MOST = 64


class Pin:
    """A workflow as runs keep it: the bytes of its definition, their name, its shape, and whether it was prepared."""

    def __init__(self, workflow: definition.Workflow, name: str, data: bytes) -> None:
        self.workflow = workflow
        self.name = name
        self.data = data
        #: The definition, where it is small enough to be committed beside the first event of a run.
        self.blobs: Mapping[str, bytes] = {name: data} if len(data) <= keeping.INLINE_BYTES else {}
        self.shape = dag.graph(workflow)
        self.prepared = False

    @functools.cached_property
    def needs(self) -> means.Needs:
        """What all of its nodes need, which only a run that begins wants to know."""
        return means.of(self.workflow.nodes.values())

    @functools.cached_property
    def inputs(self) -> door.Inputs:
        """What is asked of the inputs of its runs."""
        return door.Inputs(self.workflow)


def check(workflow: object) -> None:
    """InvalidInput for what is no workflow: not every caller has a type checker."""
    if not isinstance(workflow, definition.Workflow):
        raise errors.InvalidInput(
            f"a {type(workflow).__name__} is no workflow",
            code="USAGE",
            hint="openskelo.load(FILE) gives one, and openskelo.from_document(DICT)",
        )


class Pins:
    """The pins of the workflows whose runs an engine has begun or brought back.

    A file that is read anew for every run gives another object each time: all of them get the pin, and with it the
    workflow, of the first. So whatever is kept by node (what was compiled for it) is there once.
    """

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[definition.Workflow, Pin]] = {}
        self._by_name: dict[str, Pin] = {}

    def of(self, workflow: definition.Workflow) -> Pin:
        """The workflow's pin (InvalidInput). Workflows are frozen: the same object is always the same workflow."""
        found = self._by_identity.get(id(workflow))
        if found is not None:
            return found[1]
        check(workflow)
        data = canonical.dumps(codec.encode(workflow))
        name = canonical.digest_bytes(data)
        pin = self._by_name.pop(name, None) or Pin(workflow, name, data)
        _keep(self._by_name, name, pin)
        _keep(self._by_identity, id(workflow), (workflow, pin))  # holds the workflow, so that its id stays its own
        return pin

    def named(self, name: str, data: bytes) -> Pin:
        """The pin of a definition of that name, whose bytes are `data` (Corrupt)."""
        pin = self._by_name.pop(name, None) or Pin(loading.restore(data), name, data)
        _keep(self._by_name, name, pin)
        return pin

    def recalled(self, name: str, data: bytes) -> tuple[definition.Workflow, dag.Graph]:
        """The workflow of a run that is brought back from its log, and its shape (Corrupt)."""
        pin = self.named(name, data)
        return pin.workflow, pin.shape


def _keep(kept: dict[_K, _V], key: _K, value: _V) -> None:
    if len(kept) >= MOST:
        del kept[next(iter(kept))]
    kept[key] = value

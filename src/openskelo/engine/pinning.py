"""Pinning: what a run keeps of its workflow, made once for all runs of the same workflow."""

from __future__ import annotations

from openskelo import errors
from openskelo.engine import means
from openskelo.frozen import frozen
from openskelo.kernel import codec, definition
from openskelo.kernel.flows import dag
from openskelo.values import canonical

#: How many workflows one engine remembers; the oldest is made anew when it comes again.
MOST = 64


@frozen
class Pin:
    """A workflow as runs keep it: the bytes of its definition, their name, its shape, and what it needs."""

    workflow: definition.Workflow
    name: str
    data: bytes
    shape: dag.Graph
    needs: means.Needs


def check(workflow: object) -> None:
    """InvalidInput for what is no workflow: not every caller has a type checker."""
    if not isinstance(workflow, definition.Workflow):
        raise errors.InvalidInput(
            f"a {type(workflow).__name__} is no workflow",
            code="USAGE",
            hint="openskelo.load(FILE) gives one, and openskelo.from_document(DICT)",
        )


class Pins:
    """The pins of the workflows that an engine has started."""

    def __init__(self) -> None:
        self._by_identity: dict[int, Pin] = {}

    def of(self, workflow: definition.Workflow) -> Pin:
        """The workflow's pin (InvalidInput). Workflows are frozen: the same object is always the same workflow."""
        pin = self._by_identity.get(id(workflow))
        if pin is None:
            check(workflow)
            data = canonical.dumps(codec.encode(workflow))
            pin = Pin(
                workflow=workflow,
                name=canonical.digest_bytes(data),
                data=data,
                shape=dag.graph(workflow),
                needs=means.of(workflow.nodes.values()),
            )
            if len(self._by_identity) >= MOST:
                del self._by_identity[next(iter(self._by_identity))]
            self._by_identity[id(workflow)] = pin  # holds the workflow, so that its id stays its own
        return pin

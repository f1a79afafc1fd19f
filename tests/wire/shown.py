"""A run driven by hand whose facts are shown as they become true."""

from __future__ import annotations

from typing import Any

from openskelo.kernel import definition
from openskelo.wire import wire_ids
from openskelo.wire.projection import Projection
from tests.kernel.stage import RUN, Stage, flow


class Shown:
    """A stage and what the wire tells of it."""

    def __init__(self, *nodes: definition.Node, **more: Any) -> None:
        self.stage = Stage(flow(*nodes))
        self.projection = Projection(RUN, self.stage.workflow, **more.pop("projection", {}))
        self.stage.create(**more)

    def told(self, *kinds: str) -> list[Any]:
        """The events since the last look, of these types, without what all events have."""
        stage = self.stage
        found: list[Any] = []
        for fact in stage.log[self.projection.seq :]:
            found += self.projection.apply(self.projection.seq + 1, fact)
        common = {"id", "runId", "ts", "seq", "index", "nodeId"}
        return [
            {name: value for name, value in event.items() if name not in common}
            for event in found
            if not kinds or event["type"] in kinds
        ]

    def run(self) -> Any:
        """The run's document as it is now."""
        self.told()
        return self.projection.snapshot()

    def node(self, key: str) -> Any:
        """One node's document as it is now."""
        return self.run()["nodes"][wire_ids.node(RUN, key)]

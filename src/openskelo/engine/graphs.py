"""A live graph, from outside: nodes and edges added, changed and removed, people's messages, and its end."""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeAlias, cast, get_args

from openskelo import errors
from openskelo.contract import naming
from openskelo.engine import means, words
from openskelo.executors import attempt, keeping, task
from openskelo.frozen import frozen, replace
from openskelo.kernel import codec, commands, definition, inbox
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Run
from openskelo.stores import log
from openskelo.values import canonical
from openskelo.workflows import live

#: So many bytes a node's definition may take: it stands in the log.
MOST_BYTES = 64 * 1024
_OTHER = re.compile(r"[^a-z0-9]+")

EdgeType: TypeAlias = Literal["handoff", "report"]
#: Makes the order for a run as it is now, at this time.
Make: TypeAlias = Callable[[Run, int], Awaitable[commands.GraphCommand]]


class Engine(Protocol):
    """What a graph needs of `engine.local.Engine`."""

    project: task.Project
    store: log.Log

    performer: attempt.Performer

    async def order(self, run_id: str, make: Make) -> None: ...


@frozen
class Change:
    """What is to be changed of a node; None leaves it as it is."""

    label: str | None = None
    role: str | None = None
    provider: str | None = None
    config: JsonObject | None = None
    capabilities: JsonObject | None = None
    gated: bool | None = None


class Graph:
    """One run that is a live graph. Everything is durable when a call returns.

    Refused (RUN_NOT_LIVE, NODE_BUSY, RUN_ENDED, …) and NotFound leave the graph as it was; so does InvalidWorkflow,
    which lists what is wrong with a node's `config`.
    """

    def __init__(self, engine: Engine, run_id: str) -> None:
        self._engine = engine
        self.run_id = run_id

    async def add_node(
        self,
        label: str,
        *,
        kind: live.Kind = "model",
        config: JsonObject | None = None,
        key: str | None = None,
        more: Change | None = None,
        by: str = "python",
    ) -> str:
        """Add a node and give its key: the one given, else one made of the label."""
        words.check(kind, get_args(live.Kind), "a kind of node")
        given = more or Change()
        chosen = ""

        async def make(run: Run, at: int) -> commands.AddNode:
            nonlocal chosen
            chosen = key or _free_key(run, label)
            said = live.Said(
                key=chosen,
                label=label,
                kind=kind,
                config=config or {},
                role=given.role or "worker",
                provider=given.provider or "custom",
                capabilities=given.capabilities or {},
                gated=given.gated or False,
            )
            return commands.AddNode(at=at, by=by, node=self._node(run, said))

        await self._engine.order(self.run_id, make)
        return chosen

    def _node(self, run: Run, said: live.Said) -> definition.Node:
        _check_live(run)
        checked = cast("JsonObject", canonical.admit({"label": said.label, "config": said.config}))
        node = live.node(
            replace(said, config=cast("JsonObject", checked["config"])), run.workflow.limits, self._engine.project.root
        )
        size = len(canonical.dumps(codec.encode_node(node)))
        if size > MOST_BYTES:
            raise errors.InvalidInput(
                f"the node takes {size} bytes, more than {MOST_BYTES}", code="NODE_TOO_LARGE", hint="shorten its config"
            )
        means.check(means.of((node,)), self._engine.performer)
        return node

    async def change_node(self, key: str, change: Change, *, by: str = "python") -> None:
        """Define a node anew; `config` takes the place of the one it has."""

        async def make(run: Run, at: int) -> commands.ChangeNode:
            said = live.said(_node(run, key))
            merged = replace(
                said,
                label=said.label if change.label is None else change.label,
                config=said.config if change.config is None else change.config,
                role=said.role if change.role is None else change.role,
                provider=said.provider if change.provider is None else change.provider,
                capabilities={**said.capabilities, **(change.capabilities or {})},
                gated=said.gated if change.gated is None else change.gated,
            )
            return commands.ChangeNode(at=at, by=by, node=self._node(run, merged))

        await self._engine.order(self.run_id, make)

    async def remove_node(self, key: str, *, by: str = "python") -> None:
        """Take a node out, with its edges and what it is doing."""

        async def make(run: Run, at: int) -> commands.RemoveNode:
            _node(run, key)
            return commands.RemoveNode(at=at, by=by, node=key)

        await self._engine.order(self.run_id, make)

    async def add_edge(
        self,
        source: str,
        target: str,
        *,
        bidirectional: bool = True,
        type: EdgeType = "handoff",  # noqa: A002  the contract's word
        label: str | None = None,
        by: str = "python",
    ) -> str:
        """Tie two nodes, named by their keys, and give the edge's id."""
        words.check(type, get_args(EdgeType), "a type of edge")
        called = label or ("task" if type == "handoff" else "report")
        edge = naming.edge(self.run_id, source, target, str(canonical.admit(called)))

        async def make(run: Run, at: int) -> commands.AddEdge:
            for key in (source, target):
                _node(run, key)
            return commands.AddEdge(
                at=at,
                by=by,
                id=edge,
                source=source,
                target=target,
                bidirectional=bidirectional,
                type=type,
                label=called,
            )

        await self._engine.order(self.run_id, make)
        return edge

    async def remove_edge(self, edge: str, *, by: str = "python") -> None:
        """Take an edge out."""

        async def make(run: Run, at: int) -> commands.RemoveEdge:
            if edge not in _check_live(run).channels:
                raise errors.NotFound(f"run {run.id} has no edge {edge}", code="EDGE_NOT_FOUND")
            return commands.RemoveEdge(at=at, by=by, id=edge)

        await self._engine.order(self.run_id, make)

    async def say(self, key: str, content: str, *, interrupt: bool = False, by: str = "python") -> str:
        """Say something to a node and give the message's id; it waits for the next turn, or stops the one under way."""
        message = str(uuid.uuid4())
        stored = await keeping.store(self._engine.store, canonical.admit(content))

        async def make(run: Run, at: int) -> commands.SendMessage:
            _node(run, key)
            return commands.SendMessage(at=at, by=by, node=key, message_id=message, content=stored, interrupt=interrupt)

        await self._engine.order(self.run_id, make)
        return message

    async def complete(self, *, by: str = "python") -> None:
        """End the run well (Refused RUN_BUSY while it has turns to take)."""

        async def make(run: Run, at: int) -> commands.CompleteRun:
            _check_live(run)
            return commands.CompleteRun(at=at, by=by)

        await self._engine.order(self.run_id, make)


def _check_live(run: Run) -> inbox.Live:
    if run.live is None:
        raise errors.Refused(
            "the run is not a live graph", code="RUN_NOT_LIVE", hint="its workflow says what it consists of"
        )
    return run.live


def _node(run: Run, key: str) -> definition.Node:
    _check_live(run)
    node = run.workflow.nodes.get(key)
    if node is None:
        raise errors.NotFound(f"run {run.id} has no node {key}", code="NODE_NOT_FOUND")
    return node


def _free_key(run: Run, label: str) -> str:
    """The label as a key, with a number where there is such a one already."""
    graph = _check_live(run)
    plain = _OTHER.sub("-", label.lower()).strip("-")[:48].rstrip("-")
    base = plain if plain[:1].isalpha() and plain != "inputs" else f"node-{plain}".rstrip("-")
    number, key = 1, base
    while key in run.nodes or key in graph.gone:
        number += 1
        key = f"{base}-{number}"
    return key

"""Commands for a live graph: add, change and remove nodes and edges, send messages, complete the run.

A command depends on the graph as it is when the command is carried out (is the node there, is the key free?). So each
method passes a function `make` that checks the run and returns the command; the `CommandRouter` calls it, and the
driver decides the command.
"""

from __future__ import annotations

import re
import uuid
from typing import Literal, Protocol, TypeAlias, cast, get_args

from openskelo import errors
from openskelo.engine import pinning
from openskelo.engine.commands import command_router, input_checks
from openskelo.executors import stored_values
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.kernel import commands, definition, workflow_codec
from openskelo.kernel.flows import graph
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import GraphState, Run
from openskelo.project import Project
from openskelo.stores import api
from openskelo.structs import frozen, replace
from openskelo.values import canonical
from openskelo.wire import wire_ids
from openskelo.workflows import live_graph

#: The size limit of a node's definition, which is part of an event in the log.
MAX_NODE_BYTES = 64 * 1024
#: The role of the node that hands out work: other nodes report to it, and messages without an addressee go to it.
ORCHESTRATOR = "orchestrator"
_NOT_KEY_CHARACTERS = re.compile(r"[^a-z0-9]+")

EdgeType: TypeAlias = Literal["handoff", "report"]


class Engine(Protocol):
    """The methods of `engine.local.Engine` that live graphs use."""

    project: Project
    store: api.Store
    performer: attempt_performer.Performer

    async def send_graph_command(self, run_id: str, make: command_router.MakeGraphCommand) -> None: ...


@frozen
class Change:
    """Changes of a node; None leaves a field as it is."""

    label: str | None = None
    role: str | None = None
    provider: str | None = None
    config: JsonObject | None = None
    capabilities: JsonObject | None = None
    gated: bool | None = None
    agent: str | None = None
    model: str | None = None
    session_mode: live_graph.SessionMode | None = None
    reset_commands: tuple[str, ...] | None = None


@frozen
class Sent:
    """The result of sending a message."""

    id: str
    #: It begins a new conversation.
    reset: bool = False
    #: The turn under way reads it.
    steers: bool = False


class Graph:
    """A run that is a live graph. What a call changes is durable when it returns.

    A call that raises leaves the graph as it was: Refused (RUN_NOT_LIVE, NODE_BUSY, RUN_ENDED, …), NotFound, or
    InvalidWorkflow, which lists what is wrong with a node's `config`.
    """

    def __init__(self, engine: Engine, run_id: str) -> None:
        self._engine = engine
        self.run_id = run_id

    async def add_node(
        self,
        label: str,
        *,
        kind: live_graph.Kind = "model",
        config: JsonObject | None = None,
        key: str | None = None,
        more: Change | None = None,
        by: str = "python",
    ) -> str:
        """Add a node and return its key: `key`, else one made of the label."""
        input_checks.check_word(kind, get_args(live_graph.Kind), "a kind of node")
        fields = more or Change()
        node_key = ""

        async def make(run: Run, at: int) -> commands.AddNode:
            nonlocal node_key
            node_key = key or _free_key(run, label)
            spec = live_graph.NodeSpec(
                key=node_key,
                label=label,
                kind=kind,
                config=_with_agent(config or {}, fields),
                role=fields.role or "worker",
                provider=fields.provider or "custom",
                capabilities=fields.capabilities or {},
                gated=fields.gated,
                model=fields.model,
                session_mode=fields.session_mode or "default",
                reset_commands=definition.Turn().reset_commands
                if fields.reset_commands is None
                else fields.reset_commands,
            )
            return commands.AddNode(at=at, by=by, node=self._build(run, spec))

        await self._engine.send_graph_command(self.run_id, make)
        return node_key

    def _build(self, run: Run, spec: live_graph.NodeSpec) -> definition.Node:
        """Return the node of a spec (InvalidWorkflow, InvalidInput)."""
        _check_live(run)
        checked_spec = cast("JsonObject", canonical.admit({"label": spec.label, "config": spec.config}))
        spec = replace(spec, config=cast("JsonObject", checked_spec["config"]))
        project = self._engine.project
        node = live_graph.build_node(spec, run.workflow.limits, project.root, project.agents)
        size = len(canonical.dumps(workflow_codec.encode_node(node)))
        if size > MAX_NODE_BYTES:
            raise errors.InvalidInput(
                f"the node takes {size} bytes, more than {MAX_NODE_BYTES}",
                code="NODE_TOO_LARGE",
                hint="shorten its config",
            )
        pinning.check_needs(pinning.needs_of((node,)), self._engine.performer)
        return node

    async def change_node(self, key: str, change: Change, *, by: str = "python") -> None:
        """Change a node; its work starts with the new definition. A new `config` replaces the old one completely."""

        async def make(run: Run, at: int) -> commands.ChangeNode:
            spec = live_graph.spec_of(_get_node(run, key))
            return commands.ChangeNode(at=at, by=by, node=self._build(run, _merge(spec, change)))

        await self._engine.send_graph_command(self.run_id, make)

    async def remove_node(self, key: str, *, by: str = "python") -> None:
        """Remove a node with its edges, and stop its work."""

        async def make(run: Run, at: int) -> commands.RemoveNode:
            _get_node(run, key)
            return commands.RemoveNode(at=at, by=by, node=key)

        await self._engine.send_graph_command(self.run_id, make)

    async def add_edge(
        self,
        source: str,
        target: str,
        *,
        bidirectional: bool = True,
        type: EdgeType | None = None,  # noqa: A002  the contract's word
        label: str | None = None,
        by: str = "python",
    ) -> str:
        """Connect two nodes by their keys, and return the id of the edge.

        By default an edge from another node to an orchestrator is a report, and any other a handoff.
        """
        if type is not None:
            input_checks.check_word(type, get_args(EdgeType), "a type of edge")
        edge = ""

        async def make(run: Run, at: int) -> commands.AddEdge:
            nonlocal edge
            roles = [_role(_get_node(run, key)) for key in (source, target)]
            reports_back = roles[0] != ORCHESTRATOR and roles[1] == ORCHESTRATOR
            edge_type = type or ("report" if reports_back else "handoff")
            edge_label = label or ("task" if edge_type == "handoff" else "report")
            edge = wire_ids.edge(self.run_id, source, target, str(canonical.admit(edge_label)))
            return commands.AddEdge(
                at=at,
                by=by,
                id=edge,
                source=source,
                target=target,
                bidirectional=bidirectional,
                type=edge_type,
                label=edge_label,
            )

        await self._engine.send_graph_command(self.run_id, make)
        return edge

    async def remove_edge(self, edge: str, *, by: str = "python") -> None:
        """Remove an edge."""

        async def make(run: Run, at: int) -> commands.RemoveEdge:
            if edge not in _check_live(run).edges:
                raise errors.NotFound(f"run {run.id} has no edge {edge}", code="EDGE_NOT_FOUND")
            return commands.RemoveEdge(at=at, by=by, id=edge)

        await self._engine.send_graph_command(self.run_id, make)

    async def say(self, key: str, content: str, *, interrupt: bool = False, by: str = "python") -> str:
        """Send a message to a node and return its id.

        The node reads it in its next turn; with `interrupt` the turn under way is stopped for it.
        """
        return (await self.send(key, content, interrupt=interrupt, by=by)).id

    async def send(
        self, key: str, content: str, *, interrupt: bool = False, steer: bool = False, by: str = "python"
    ) -> Sent:
        """Send a message to a node, and return what became of it.

        The node reads it in its next turn; with `interrupt` the turn under way is stopped for it; with `steer` that
        turn reads it, if its agent can. A reset command of the node begins a new conversation, and is not read.
        """
        message = str(uuid.uuid4())
        stored_content = await stored_values.store(self._engine.store, canonical.admit(content))
        result = Sent(id=message)

        async def make(run: Run, at: int) -> commands.GraphCommand:
            nonlocal result
            node = _get_node(run, key)
            turn = cast("definition.Turn", node.turn)
            if node.work.has_prompt and content.strip() in turn.reset_commands:
                result = Sent(id=message, reset=True)
                return commands.ResetSession(at=at, by=by, node=key)
            in_turn = (key, run.nodes[key].visit, 0) in run.in_flight
            result = Sent(id=message, steers=steer and not interrupt and in_turn and graph.can_steer(run.nodes[key]))
            return commands.SendMessage(
                at=at, by=by, node=key, message_id=message, content=stored_content, interrupt=interrupt, steer=steer
            )

        await self._engine.send_graph_command(self.run_id, make)
        return result

    async def reset(self, key: str, *, by: str = "python") -> None:
        """Let a node begin a new conversation with its next turn."""

        async def make(run: Run, at: int) -> commands.ResetSession:
            _get_node(run, key)
            return commands.ResetSession(at=at, by=by, node=key)

        await self._engine.send_graph_command(self.run_id, make)

    async def retry(self, key: str, *, by: str = "python") -> None:
        """Let a node take its turn again: the one under way, or the last one if it failed (Refused NODE_IDLE).

        The program of an agent is started anew.
        """

        async def make(run: Run, at: int) -> commands.RetryTurn:
            _get_node(run, key)
            return commands.RetryTurn(at=at, by=by, node=key)

        await self._engine.send_graph_command(self.run_id, make)

    async def complete(self, *, by: str = "python") -> None:
        """End the run as succeeded (Refused RUN_BUSY while a node has a turn to take)."""

        async def make(run: Run, at: int) -> commands.CompleteRun:
            _check_live(run)
            return commands.CompleteRun(at=at, by=by)

        await self._engine.send_graph_command(self.run_id, make)


def _with_agent(config: JsonObject, change: Change) -> JsonObject:
    return config if change.agent is None else {**config, "agent": change.agent}


def _merge(spec: live_graph.NodeSpec, change: Change) -> live_graph.NodeSpec:
    """Return a spec with these changes. Another provider means another agent of the project."""
    config = spec.config if change.config is None else change.config
    if spec.has_agent and change.config is None and change.provider not in (None, spec.provider):
        config = {name: value for name, value in config.items() if name != "agent"}
    return replace(
        spec,
        label=spec.label if change.label is None else change.label,
        config=_with_agent(config, change),
        role=spec.role if change.role is None else change.role,
        provider=spec.provider if change.provider is None else change.provider,
        capabilities={**spec.capabilities, **(change.capabilities or {})},
        gated=spec.gated if change.gated is None else change.gated,
        model=spec.model if change.model is None else change.model,
        session_mode=spec.session_mode if change.session_mode is None else change.session_mode,
        reset_commands=spec.reset_commands if change.reset_commands is None else change.reset_commands,
    )


def _check_live(run: Run) -> GraphState:
    """Return the graph of a run; raise Refused (RUN_NOT_LIVE) if it is not a live graph."""
    if run.graph_state is None:
        raise errors.Refused(
            "the run is not a live graph",
            code="RUN_NOT_LIVE",
            hint="its nodes and edges come from its workflow: fork it with a changed file",
        )
    return run.graph_state


def _get_node(run: Run, key: str) -> definition.Node:
    """Return a node of the graph (NotFound NODE_NOT_FOUND, Refused)."""
    _check_live(run)
    node = run.workflow.nodes.get(key)
    if node is None:
        raise errors.NotFound(f"run {run.id} has no node {key}", code="NODE_NOT_FOUND")
    return node


def _role(node: definition.Node) -> str:
    return "" if node.turn is None else node.turn.role


def _free_key(run: Run, label: str) -> str:
    """Return the label as a key, with a number if the key is taken."""
    graph = _check_live(run)
    plain = _NOT_KEY_CHARACTERS.sub("-", label.lower()).strip("-")[:48].rstrip("-")
    base = plain if plain[:1].isalpha() and plain != "inputs" else f"node-{plain}".rstrip("-")
    number, key = 1, base
    while key in run.nodes or key in graph.removed:
        number += 1
        key = f"{base}-{number}"
    return key

"""Live graphs: workflows whose nodes and edges are added while the run goes on.

A run of a live graph pins an empty workflow (`empty`). A node that a client adds is described by a `NodeSpec`;
`build_node` writes it as a blocks file with one block, whose inputs are the node's inbox, and loads that. So a node
of a live graph obeys the same rules as a block, and its Problems come from the same loader.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from openskelo import agent_settings, errors
from openskelo.handlers import builtin
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen, replace
from openskelo.workflows import load
from openskelo.workflows.blocks import block, blocks_loader, limits
from openskelo.workflows.text import cursor, problems, source

#: How many turns all nodes of a live graph together may take, unless its budget says otherwise.
DEFAULT_MAX_STEPS = 1000
#: Keys of a node's config that limit its turns and are not part of the block.
_TURN_SETTINGS = frozenset({"max_turns", "stall_after"})
_FILE = "<node>"
_ENTRY: JsonObject = {"type": "array", "items": {"type": "object"}}
_INBOX: JsonObject = {"messages": _ENTRY, "handoffs": _ENTRY}
#: The answer of a model: a message, and where it is sent.
_ANSWER: JsonObject = {
    "message": {"type": "string", "description": "what you say"},
    "structured": {"type": "object", "required": False, "description": "the same for programs, if it helps"},
    "reply": {
        "type": "boolean",
        "required": False,
        "description": "true: also send it back to the node that handed this over",
    },
    "handoff": {"type": "boolean", "required": False, "description": "false: do not hand it on"},
}
#: The capabilities that a node of an agent may withhold from it.
_WITHHELD: Mapping[str, agent_settings.Withheld] = {
    "writeCode": "code",
    "writeDocs": "docs",
    "runCommands": "commands",
}
#: Keys of a block that the author of a node may not set, because the live graph sets them.
_RESERVED_SETTINGS = frozenset(
    {"id", "name", "mode", "inputs", "deterministic", "metadata", "when", "foreach", "uses", "after", "cache"}
    | {"on_gate_fail", "repeatable"}
)

Kind = Literal["model", "handler", "agent"]
SessionMode = Literal["default", "plan"]


@frozen
class NodeSpec:
    """The description of a node of a live graph."""

    key: str
    label: str
    kind: Kind
    config: JsonObject
    role: str = "worker"
    provider: str = "custom"
    capabilities: JsonObject
    #: A person approves each of its turns, or, of an agent, the calls that its policy does not allow; None is what the
    #: project says.
    gated: bool | None = None
    #: Of an agent, in place of the project's.
    model: str | None = None
    #: Of an agent.
    session_mode: SessionMode = "default"
    #: A message that is one of these begins a new conversation.
    reset_commands: tuple[str, ...] = definition.Turn().reset_commands

    @property
    def has_agent(self) -> bool:
        """True if a coding agent works for the node."""
        return self.kind == "agent"


def empty(name: str, budgets: JsonObject | None = None) -> definition.Workflow:
    """Return a workflow without nodes, to which a run may add some. Raise InvalidWorkflow if `budgets` are wrong.

    `budgets` are those of a blocks file.
    """
    document = source.from_document({"name": name, "budgets": budgets or {}}, file="<graph>")
    report = document.report()
    top = cursor.Cursor(document.value, (), report)
    bounds = limits.budgets(top.at("budgets", budgets or {}))
    if report.failed:
        raise errors.InvalidWorkflow(report.problems())
    if bounds.max_steps is None:
        bounds = replace(bounds, max_steps=DEFAULT_MAX_STEPS)
    return blocks_loader.sealed(definition.Workflow(name=name, hash="", nodes={}, limits=bounds, live=True))


def spec_of(node: definition.Node) -> NodeSpec:
    """Return the spec from which `build_node` has built a node."""
    turn = cast("definition.Turn", node.turn)
    agent_fields = cast("JsonObject", node.metadata.get("agent") or {})
    return NodeSpec(
        key=node.key,
        label=node.label,
        kind=kind_of(node),
        config=cast("JsonObject", node.metadata["config"]),
        role=turn.role,
        provider=turn.provider,
        capabilities=turn.capabilities,
        gated=cast("bool | None", agent_fields.get("gated"))
        if node.work.works_in_workspace
        else node.approval is not None,
        model=cast("str | None", agent_fields.get("model")),
        session_mode=cast("SessionMode", agent_fields.get("session_mode", "default")),
        reset_commands=turn.reset_commands,
    )


def kind_of(node: definition.Node) -> Kind:
    """Return what works for a node of a live graph."""
    return cast("Kind", node.work.performer)


def build_node(
    spec: NodeSpec, bounds: definition.Limits, root: Path | None, agents: agent_settings.AgentsConfig | None = None
) -> definition.Node:
    """Return the node of a spec. Raise InvalidInput for its key, InvalidWorkflow with every mistake in its config.

    `bounds` is the budget of the run, `root` the project root, `agents` are those of the project.
    """
    if not block.ID.match(spec.key) or spec.key == "inputs":
        hint = "a letter, then at most 63 letters, digits, - or _"
        raise errors.InvalidInput(f"{spec.key[:80]!r} cannot be a node's key", code="ID_INVALID", hint=hint)
    wrong = [
        _problem(key, "belongs to blocks, not to nodes of a live graph")
        for key in spec.config
        if key in _RESERVED_SETTINGS
    ]
    turn = _turn(spec, wrong)
    if spec.has_agent and "agent" not in spec.config:
        spec = replace(spec, config={**spec.config, "agent": _choose_agent(spec.provider, agents, wrong)})
    if wrong:
        raise errors.InvalidWorkflow(wrong)
    document: JsonObject = {"name": "live", "budgets": _budgets(bounds), "blocks": [_block(spec)]}
    try:
        (node,) = load.from_document(document, root=root, file=_FILE).nodes.values()
    except errors.InvalidWorkflow as error:
        raise errors.InvalidWorkflow([_at_config(problem) for problem in error.problems]) from error
    if spec.has_agent:
        return _narrow_agent(replace(node, turn=turn, bindings={}), spec)
    is_project_handler = spec.kind == "handler" and not cast("str", node.handler).startswith("builtin:")
    any_outputs = is_project_handler and "outputs" not in spec.config
    return replace(
        node, turn=turn, bindings={}, outputs=() if any_outputs else node.outputs, metadata={"config": spec.config}
    )


def _choose_agent(provider: str, agents: agent_settings.AgentsConfig | None, wrong: list[problems.Problem]) -> str:
    """Return the name of the project's agent of this provider: the one that is called like it, else the first."""
    known_agents: Mapping[str, agent_settings.AgentSettings] = {} if agents is None else agents.by_name
    names = [name for name, agent in known_agents.items() if agent.provider == provider]
    if names:
        return provider if provider in names else names[0]
    agent_list = ", ".join(f"{name} ({agent.provider})" for name, agent in known_agents.items())
    hint = f"known: {agent_list}" if agent_list else "declare it under `agents` in skelo.yaml"
    wrong.append(
        replace(
            _problem("agent", f"is needed: the project has no agent of the provider {provider}"),
            code="AGENT_UNKNOWN",
            hint=hint,
        )
    )
    return ""


def _narrow_agent(node: definition.Node, spec: NodeSpec) -> definition.Node:
    """Return the node with the agent as it may use it; InvalidWorkflow if that is more than the project allows."""
    pins = cast("JsonObject", node.config["pinned"])
    agent = agent_settings.decode(pins["agent"])
    if spec.gated is False and agent.permissions == "gated":
        problem = _problem("agent", f"{agent.name} is `gated` in this project, so no node may be `skip`")
        raise errors.InvalidWorkflow([replace(problem, path="/permissions/cliPermissionsMode")])
    agent = replace(
        agent,
        permissions="gated" if spec.gated else agent.permissions,
        model=spec.model or agent.model,
        withheld=_withheld(spec),
        plans_only=spec.session_mode == "plan",
    )
    agent_fields: JsonObject = {"gated": spec.gated, "model": spec.model, "session_mode": spec.session_mode}
    return replace(
        node,
        turn=replace(cast("definition.Turn", node.turn), provider=agent.provider),
        config={**node.config, "pinned": {**pins, "agent": agent_settings.encode(agent)}},
        metadata={"config": spec.config, "agent": agent_fields},
    )


def _withheld(spec: NodeSpec) -> tuple[agent_settings.Withheld, ...]:
    """Return what the agent of a node may not do: one that only plans changes no file."""
    changes = ("code", "docs") if spec.session_mode == "plan" else ()
    return tuple(word for name, word in _WITHHELD.items() if word in changes or spec.capabilities.get(name) is False)


def _turn(spec: NodeSpec, wrong: list[problems.Problem]) -> definition.Turn:
    default = definition.Turn()
    turn_limits: dict[str, int] = {"max_turns": default.max_turns, "stall_after": default.stall_after}
    for key, least in (("max_turns", 1), ("stall_after", 0)):
        value = spec.config.get(key, turn_limits[key])
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= 100_000:
            turn_limits[key] = value
        else:
            wrong.append(_problem(key, f"is not a whole number from {least} to 100000"))
    return definition.Turn(
        role=spec.role,
        provider=spec.provider,
        capabilities=spec.capabilities,
        max_turns=turn_limits["max_turns"],
        stall_after=turn_limits["stall_after"],
        reset_commands=spec.reset_commands,
    )


def _problem(key: str, why: str) -> problems.Problem:
    return problems.Problem(
        file=_FILE, line=1, column=1, code="NODE_CONFIG", message=f"`{key[:60]}` {why}", path=f"/config/{key[:60]}"
    )


def _at_config(problem: errors.ProblemLike) -> errors.ProblemLike:
    """Return a Problem of the generated block with the path in the node's config that caused it."""
    if not isinstance(problem, problems.Problem):
        return problem
    path = problem.path.removeprefix("/blocks/0").removeprefix("/deterministic")
    return replace(problem, path=f"/config{path}")


def _block(spec: NodeSpec) -> JsonObject:
    """Return the block of a node, as an author would write it."""
    config = {key: value for key, value in spec.config.items() if key not in _TURN_SETTINGS}
    block_: dict[str, Json] = {"id": spec.key, "name": spec.label}
    if spec.has_agent:
        inputs: JsonObject = {**_INBOX, "earlier": _ENTRY}
        output_declarations = config.pop("outputs", {})
        if isinstance(output_declarations, Mapping):
            outputs = {**_ANSWER, **output_declarations}
        else:
            outputs = output_declarations
        return {**block_, "mode": "ai", "inputs": inputs, "outputs": outputs, **config}
    if spec.gated and "approval" not in config:
        block_["approval"] = {"prompt": f"Let {spec.key} take this turn?", "timeout_ms": None}
    if spec.kind == "model":
        return {**block_, "mode": "ai", "inputs": {**_INBOX, "earlier": _ENTRY}, "outputs": _ANSWER, **config}
    handler: dict[str, Json] = {"handler": config.pop("handler", None)}
    if "config" in config:
        handler["config"] = config.pop("config")
    outputs = _handler_outputs(handler)
    return {**block_, "mode": "deterministic", "inputs": _INBOX, "deterministic": handler, "outputs": outputs, **config}


def _handler_outputs(handler: Mapping[str, Json]) -> JsonObject:
    """Return the outputs of a handler whose author does not name them; a function of the project may have any."""
    name, config = handler["handler"], handler.get("config")
    builtin_handler = builtin.HANDLERS.get(name) if isinstance(name, str) else None
    if builtin_handler is None:
        return {}
    if builtin_handler.config_outputs is not None:
        return builtin_handler.config_outputs(config if isinstance(config, Mapping) else {}, _INBOX)
    return dict(builtin_handler.outputs or {})


def _budgets(bounds: definition.Limits) -> JsonObject:
    """Return the budgets that limit the reservation of one turn."""
    budgets: dict[str, Json] = {}
    if bounds.max_tokens is not None:
        budgets["max_tokens"] = bounds.max_tokens
    if bounds.max_cost_nanousd is not None:
        budgets["max_cost_usd"] = bounds.max_cost_nanousd / 1e9
    return budgets

"""Live graphs: the empty workflow that a run of one pins, and its nodes, read as blocks that take their inbox."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from openskelo import errors
from openskelo.frozen import frozen, replace
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import block, blocks, builtin, cursor, limits, load, problems, source

#: How many turns all nodes of a live graph together may take, unless its budget says otherwise.
MOST_STEPS = 1000
#: What is set on a node that is not for its block.
_OF_TURNS = frozenset({"max_turns", "stall_after"})
_FILE = "<node>"
_ENTRY: JsonObject = {"type": "array", "items": {"type": "object"}}
_INBOX: JsonObject = {"messages": _ENTRY, "handoffs": _ENTRY}
#: What a model answers: what it says, and where it goes.
_ANSWER: JsonObject = {
    "message": {"type": "string", "description": "what you say"},
    "structured": {"type": "object", "required": False, "description": "the same for programs, if it helps"},
    "reply": {"type": "boolean", "required": False, "description": "true: also send it back to who handed this over"},
    "handoff": {"type": "boolean", "required": False, "description": "false: hand it on to nobody"},
}
#: What the author of a node may not set, because the live graph does.
_OURS = frozenset(
    {"id", "name", "mode", "inputs", "deterministic", "metadata", "when", "foreach", "uses", "after", "cache"}
    | {"on_gate_fail", "repeatable"}
)

Kind = Literal["model", "handler"]


@frozen
class Said:
    """What somebody says a node of a live graph is. `gated`: a person is asked before each of its turns."""

    key: str
    label: str
    kind: Kind
    config: JsonObject
    role: str = "worker"
    provider: str = "custom"
    capabilities: JsonObject
    gated: bool = False


def empty(name: str, budgets: JsonObject | None = None) -> definition.Workflow:
    """A workflow without nodes, to which a run may add some; `budgets` are as in a blocks file (InvalidWorkflow)."""
    read = source.given({"name": name, "budgets": budgets or {}}, file="<graph>")
    report = read.report()
    top = cursor.Cursor(read.value, (), report)
    bounds = limits.budgets(top.at("budgets", budgets or {}))
    if report.failed:
        raise errors.InvalidWorkflow(report.problems())
    if bounds.max_steps is None:
        bounds = replace(bounds, max_steps=MOST_STEPS)
    return blocks.sealed(definition.Workflow(name=name, hash="", nodes={}, limits=bounds, live=True))


def said(node: definition.Node) -> Said:
    """What was said about a node that `node` has made."""
    turn = cast("definition.Turn", node.turn)
    return Said(
        key=node.key,
        label=node.label,
        kind="model" if node.mode == "ai" else "handler",
        config=cast("JsonObject", node.metadata["config"]),
        role=turn.role,
        provider=turn.provider,
        capabilities=turn.capabilities,
        gated=node.approval is not None,
    )


def node(of: Said, bounds: definition.Limits, root: Path | None) -> definition.Node:
    """The node that was described (InvalidWorkflow lists what is wrong with its `config`)."""
    if not block.ID.match(of.key) or of.key == "inputs":
        hint = "a letter, then at most 63 letters, digits, - or _"
        raise errors.InvalidInput(f"{of.key[:80]!r} cannot be a node's key", code="ID_INVALID", hint=hint)
    wrong = [_problem(key, "belongs to blocks, not to nodes of a live graph") for key in of.config if key in _OURS]
    turn = _turn(of, wrong)
    if wrong:
        raise errors.InvalidWorkflow(wrong)
    document: JsonObject = {"name": "live", "budgets": _budgets(bounds), "blocks": [_block(of)]}
    try:
        (made,) = load.from_document(document, root=root, file=_FILE).nodes.values()
    except errors.InvalidWorkflow as error:
        raise errors.InvalidWorkflow([_told(one) for one in error.problems]) from error
    free = of.kind == "handler" and "outputs" not in of.config and not cast("str", made.handler).startswith("builtin:")
    return replace(made, turn=turn, bindings={}, outputs=() if free else made.outputs, metadata={"config": of.config})


def _turn(of: Said, wrong: list[problems.Problem]) -> definition.Turn:
    usual = definition.Turn()
    found: dict[str, int] = {"max_turns": usual.max_turns, "stall_after": usual.stall_after}
    for key, least in (("max_turns", 1), ("stall_after", 0)):
        given = of.config.get(key, found[key])
        if isinstance(given, int) and not isinstance(given, bool) and least <= given <= 100_000:
            found[key] = given
        else:
            wrong.append(_problem(key, f"is not a whole number from {least} to 100000"))
    return definition.Turn(
        role=of.role,
        provider=of.provider,
        capabilities=of.capabilities,
        max_turns=found["max_turns"],
        stall_after=found["stall_after"],
    )


def _problem(key: str, why: str) -> problems.Problem:
    return problems.Problem(
        file=_FILE, line=1, column=1, code="NODE_CONFIG", message=f"`{key[:60]}` {why}", path=f"/config/{key[:60]}"
    )


def _told(one: errors.ProblemLike) -> errors.ProblemLike:
    """A Problem where its reader will look for it: in the node, not in the block that we made of it."""
    if not isinstance(one, problems.Problem):
        return one
    path = one.path.removeprefix("/blocks/0").removeprefix("/deterministic")
    return replace(one, path=f"/config{path}")


def _block(of: Said) -> JsonObject:
    plain = {key: value for key, value in of.config.items() if key not in _OF_TURNS}
    made: dict[str, Json] = {"id": of.key, "name": of.label}
    if of.gated and "approval" not in plain:
        made["approval"] = {"prompt": f"Let {of.key} take this turn?", "timeout_ms": None}
    if of.kind == "model":
        inputs: JsonObject = {**_INBOX, "earlier": _ENTRY}
        return {**made, "mode": "ai", "inputs": inputs, "outputs": _ANSWER, **plain}
    handler: dict[str, Json] = {"handler": plain.pop("handler", None)}
    if "config" in plain:
        handler["config"] = plain.pop("config")
    outputs = _gives(handler)
    return {**made, "mode": "deterministic", "inputs": _INBOX, "deterministic": handler, "outputs": outputs, **plain}


def _gives(handler: Mapping[str, Json]) -> JsonObject:
    """The outputs of a handler whose author does not name them; those of a function of the project may be any."""
    name, config = handler["handler"], handler.get("config")
    if name == "builtin:transform" and isinstance(config, Mapping):
        sections = [config.get("map"), config.get("template")]
        return {key: "json" for section in sections if isinstance(section, Mapping) for key in section}
    if name == "builtin:pass":
        return _INBOX
    return dict(builtin.GIVES.get(name, {})) if isinstance(name, str) else {}


def _budgets(bounds: definition.Limits) -> JsonObject:
    """The budgets that a reservation has to fit into."""
    found: dict[str, Json] = {}
    if bounds.max_tokens is not None:
        found["max_tokens"] = bounds.max_tokens
    if bounds.max_cost_nanousd is not None:
        found["max_cost_usd"] = bounds.max_cost_nanousd / 1e9
    return found

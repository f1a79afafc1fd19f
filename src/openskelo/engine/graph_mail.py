"""Orders to a live graph as JSON, for the process that drives it."""

from __future__ import annotations

from typing import Any, cast

from openskelo.frozen import as_dict
from openskelo.kernel import codec, commands
from openskelo.kernel.decide import decide
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Run

_ORDERS: tuple[type[commands.GraphCommand], ...] = (
    commands.AddNode,
    commands.ChangeNode,
    commands.RemoveNode,
    commands.AddEdge,
    commands.RemoveEdge,
    commands.SendMessage,
    commands.CompleteRun,
)
_NAMED = {order.__name__: order for order in _ORDERS}


def body(run: Run, command: commands.GraphCommand) -> JsonObject:
    """The order as it is posted (Refused when the run as it is would refuse it); whoever takes it says when."""
    decide(run, command)
    said: dict[str, Json] = as_dict(command)
    del said["at"]
    if isinstance(command, commands.AddNode | commands.ChangeNode):
        said["node"] = codec.encode_node(command.node)
    return {"type": "graph", "order": type(command).__name__, "said": said}


def command(posted: JsonObject, now: int) -> commands.GraphCommand:
    """The order in what was posted (InvalidInput, KeyError)."""
    order = _NAMED[cast("str", posted["order"])]
    said: dict[str, Any] = dict(cast("JsonObject", posted["said"]))
    if order in (commands.AddNode, commands.ChangeNode):
        said["node"] = codec.decode_node(said["node"])
    return order(at=now, **said)

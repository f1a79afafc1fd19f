"""The built-in tools: each module of this package is one.

A tool is called by a plan's `tool_call`, with arguments that a schema checks. A module holds the constant `TOOL`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from openskelo.extensions import Catalog
from openskelo.handlers import context, project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.structs import frozen


@frozen
class ToolContext:
    """The arguments of a tool."""

    #: The plan's arguments, overridden by the arguments that the project fixed, secrets expanded.
    args: JsonObject
    #: Only the plan's arguments.
    plan_args: JsonObject
    #: The tool as the project registers it.
    registered: project_registry.Tool
    project: Project
    #: Makes the context of a built-in handler from its inputs and its config.
    handler_context: Callable[[JsonObject, JsonObject], context.Context]

    def some(self, *names: str) -> dict[str, Json]:
        """Return those of the arguments that are there."""
        return {name: self.args[name] for name in names if name in self.args}


@frozen
class Tool:
    """A built-in tool."""

    name: str
    #: What it returns.
    summary: str
    #: The JSON Schema of its arguments.
    args: JsonObject
    call: Callable[[ToolContext], Awaitable[Json]]
    #: The effect of a call on the world.
    effect: definition.Effect = "once"
    #: It reaches the network.
    network: bool = False
    #: Markdown for its row in the reference.
    doc: str = ""

    @property
    def entry(self) -> project_registry.Tool:
        """The tool as a project registers its own."""
        return project_registry.Tool(
            name=self.name,
            kind="builtin",
            target=self.name,
            args=self.args,
            effect=self.effect,
            network=self.network,
        )


TOOLS: Mapping[str, Tool] = Catalog(__name__, "TOOL", Tool, separator="-")

# JSON Schemas that arguments are made of.
TEXT: JsonObject = {"type": "string", "minLength": 1}
ANY_TEXT: JsonObject = {"type": "string"}
FLAG: JsonObject = {"type": "boolean"}
COUNT: JsonObject = {"type": "integer", "minimum": 1}
REVISIONS: JsonObject = {"type": "string", "maxLength": 200}
PATHS: JsonObject = {"type": "array", "items": TEXT, "maxItems": 100}


def args_schema(properties: JsonObject, **more: Json) -> JsonObject:
    """Return the JSON Schema of arguments with these keys and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def literal_paths(paths: Json) -> list[str]:
    """Return `--` and the paths as git takes them, without wildcards."""
    path_list = paths if isinstance(paths, Sequence) and not isinstance(paths, str) else ()
    return ["--", *(f":(literal){path}" for path in path_list)]

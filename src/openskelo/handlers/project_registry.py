"""The registry of a project: tools, checkers, transforms, contexts, MCP servers and modes that its plans may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen

ToolKind: TypeAlias = Literal["builtin", "python", "mcp"]
FunctionKind: TypeAlias = Literal["builtin", "python"]
ContextKind: TypeAlias = Literal["file", "git_diff", "artifact", "text"]

TOOL_TIMEOUT_MS = 60_000
CHECK_TIMEOUT_MS = 60_000
CONTEXT_MAX_BYTES = 1024 * 1024


@frozen
class Tool:
    """A callable under capability limits."""

    name: str
    kind: ToolKind
    #: The built-in's name, a file of the project with a function (`tools/x.py:search`), or the MCP server.
    target: str
    #: The name that the MCP server gives it.
    tool: str = ""
    #: The JSON Schema of its arguments, None when only the MCP server knows it.
    args: JsonObject | None = None
    returns: JsonObject | None = None
    #: Arguments that the project has fixed: they replace those of a plan.
    config: JsonObject = field(default_factory=dict[str, Json])
    effect: definition.Effect = "once"
    network: bool = False
    #: The most that one call may cost.
    cost_nanousd: int = 0
    timeout_ms: int = TOOL_TIMEOUT_MS
    #: None means every mode that the project's `modes` allow it in.
    modes: tuple[definition.PlanMode, ...] = ()
    description: str = ""


@frozen
class Function:
    """A checker or a transform: a built-in by its name, or a function in a file of the project."""

    name: str
    kind: FunctionKind
    target: str
    #: The JSON Schema of its arguments, beside the ones that every op of its kind has.
    args: JsonObject | None = None
    #: Arguments that the project has fixed.
    config: JsonObject = field(default_factory=dict[str, Json])
    timeout_ms: int = CHECK_TIMEOUT_MS
    #: A checker that needs none may be asked without `input_ref`.
    needs_input: bool = True
    description: str = ""


@frozen
class Context:
    """The source of the value of a `ctx:` or `snap:` name."""

    name: str
    kind: ContextKind
    #: The path of a file, the text itself, the reference of an artifact (`artifact://…`), or the revisions of a git
    #: diff (`HEAD~1..HEAD`; empty: what is not committed).
    source: str
    #: The folder of a git diff.
    repo: str = "."
    #: The only paths that a git diff is of.
    paths: tuple[str, ...] = ()
    max_bytes: int = CONTEXT_MAX_BYTES


@frozen
class McpServer:
    """A server of tools: a program over stdio, or an address.

    Values of its environment and headers may be references (`${env:NAME}`, `${secret:NAME}`), which are resolved when
    the server is started.
    """

    name: str
    #: The program and its arguments; empty for an address.
    command: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: str = "."
    timeout_ms: int = TOOL_TIMEOUT_MS


@frozen
class ModeRule:
    """The tools and experts that a mode allows: None is the mode's default, a tuple is the whole list."""

    experts: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    max_tool_nanousd: int | None = None


@frozen
class Registry:
    """Everything that a project registers; what is built in is in `openskelo.ops`."""

    modes: Mapping[str, ModeRule] = field(default_factory=dict[str, ModeRule])
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    checkers: Mapping[str, Function] = field(default_factory=dict[str, Function])
    transforms: Mapping[str, Function] = field(default_factory=dict[str, Function])
    contexts: Mapping[str, Context] = field(default_factory=dict[str, Context])
    mcp: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer])

    def context(self, ref: str) -> Context | None:
        """Return the source of `ctx:NAME` or `snap:NAME`: registered under the whole name, or under NAME for both."""
        return self.contexts.get(ref) or self.contexts.get(ref.partition(":")[2])


def capability_denial(registry: Registry, tool: Tool) -> str | None:
    """Return why no plan of this project may call `tool`: a built-in with effects or network must be declared first."""
    if tool.name in registry.tools or (tool.effect == "pure" and not tool.network):
        return None
    return f"the project does not declare {tool.name!r} under `tools`, and it has effects or uses the network"


def tool_denial(registry: Registry, mode: definition.PlanMode, tool: Tool) -> str | None:
    """Return why a plan in `mode` may not call `tool`; None if it may."""
    if (denial := capability_denial(registry, tool)) is not None:
        return denial
    if tool.modes and mode not in tool.modes:
        return f"the tool {tool.name!r} does not serve in the mode {mode!r}"
    mode_tools = registry.modes.get(mode, ModeRule()).tools
    if mode_tools is not None:
        if tool.name in mode_tools:
            return None
        return f"the mode {mode!r} does not allow the tool {tool.name!r}"
    if mode != "normal" and tool.network and mode not in tool.modes:
        return f"the mode {mode!r} allows no tool that uses the network, as {tool.name!r} does"
    return None


@frozen
class ExpertModes:
    """The facts about an expert that a mode checks: its name, its own modes, whether it answers on this machine."""

    name: str
    modes: tuple[definition.PlanMode, ...] = ()
    local: bool = False


def expert_denial(registry: Registry, mode: definition.PlanMode, expert: ExpertModes) -> str | None:
    """Return why a plan in `mode` may not use an expert; None if it may."""
    if expert.modes and mode not in expert.modes:
        return f"the expert {expert.name!r} does not serve in the mode {mode!r}"
    mode_experts = registry.modes.get(mode, ModeRule()).experts
    if mode_experts is not None:
        if expert.name in mode_experts:
            return None
        return f"the mode {mode!r} does not allow the expert {expert.name!r}"
    if mode == "offline" and not expert.local and mode not in expert.modes:
        return f"the mode {mode!r} allows only experts on this machine, and {expert.name!r} is not"
    return None


def tool_spend(registry: Registry, mode: definition.PlanMode) -> int | None:
    """Return the project's limit on what tools may cost a run in `mode`, in nano-dollars; None without a limit."""
    return registry.modes.get(mode, ModeRule()).max_tool_nanousd

"""The kinds of agent that a project may name as `provider`: one file each, with a `PROFILE`.

A profile says how the program is started, what it needs in its home folder, how its session is opened, and what it
offers. Everything else is the same for all agents, because all speak the Agent Client Protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from openskelo import agent_settings
from openskelo.agents.acp import acp_client
from openskelo.agents.gateway import model_protocols
from openskelo.agents.server import toolbox
from openskelo.extensions import Catalog
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen


@frozen
class Launch:
    """The settings that a program is started with: those of the agent, its home folder, and how it reaches its
    model.
    """

    settings: agent_settings.AgentSettings
    home: Path
    #: The address of the gateway; None for an agent that logs in by itself.
    model_url: str | None = None
    #: The gateway's token, worth nothing elsewhere; None for an agent that logs in by itself.
    key: str | None = None
    #: The address where a hook of the agent asks before each call.
    hook_url: str = ""
    #: The token for this address.
    hook_token: str = ""
    #: Asks there for an agent whose hook is a command, with the token in SKELO_HOOK_TOKEN.
    hook_command: tuple[str, ...] = ()


def _nothing(_launch: Launch) -> dict[str, str]:
    return {}


def _no_files(_launch: Launch) -> dict[str, str]:
    return {}


def _name(call: acp_client.ToolCall) -> str:
    return call.tool_name or call.title or call.kind


def _is_tool_server(call: acp_client.ToolCall) -> bool:
    return call.tool_name.startswith("mcp__")


def _is_own_tool(call: acp_client.ToolCall) -> bool:
    return call.tool_name.startswith(f"mcp__{toolbox.SERVER_NAME}__")


def _arguments(call: acp_client.ToolCall) -> Json:
    return call.arguments


@frozen
class Profile:
    """One kind of agent: how it is started, which permissions it asks for and in which way, and whose prices hold for
    it.

    A program with a hook asks it before every call, which can also change arguments. Any other program asks over the
    protocol, and functions of the profile read that call.
    """

    name: str
    doc: str
    #: Its command.
    program: str = ""
    #: The arguments of the command.
    arguments: tuple[str, ...] = ()
    #: Made for each start.
    environment: Callable[[Launch], Mapping[str, str]] = _nothing
    #: Texts by path below the home folder, made for each start.
    home_files: Callable[[Launch], Mapping[str, str]] = _no_files
    #: The `_meta` of a new session.
    session: JsonObject = field(default_factory=dict[str, Json])
    #: The mode that lets us decide.
    mode: str | None = None
    #: The mode that changes nothing.
    plan_mode: str = "plan"
    #: The method of the log-in.
    auth: str | None = None
    #: The model is chosen for each session.
    sets_model: bool = False
    #: It reports a failed model call as a normal end, without usage.
    fails_without_usage: bool = False
    #: The repository's own settings for this agent, which no setting keeps it from obeying: the sandbox hides them.
    masked: tuple[str, ...] = ()
    #: The hosts of its model and its log-in for `login: own`.
    hosts: tuple[str, ...] = ()
    #: Its description in `skelo agents`.
    offers: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Its program asks our hook before every call.
    has_hook: bool = False
    #: The method, without its last word, by which hooks are listed (`list`) and trusted (`trust`) in a session.
    trusts_hooks_by: str | None = None
    #: Trusting hooks writes into its settings, which can therefore not be read-only. They are written anew at each
    #: start.
    changes_settings: bool = False
    #: It asks before each call that may change something.
    asks_before_changes: bool = False
    #: The kinds of its tools by the name that the hook reports.
    tool_kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Returns the tool of a call over the protocol.
    tool_name: Callable[[acp_client.ToolCall], str] = _name
    #: Returns the arguments of a call over the protocol.
    call_arguments: Callable[[acp_client.ToolCall], Json] = _arguments
    #: True for a tool of an MCP server.
    is_tool_server: Callable[[acp_client.ToolCall], bool] = _is_tool_server
    #: True for one of our tools.
    is_own_tool: Callable[[acp_client.ToolCall], bool] = _is_own_tool
    #: Its prices hold for the calls.
    vendor: model_protocols.Vendor | None = None
    #: The model whose prices hold if none is chosen.
    default_model: str = ""


PROFILES = Catalog(__name__, "PROFILE", Profile)

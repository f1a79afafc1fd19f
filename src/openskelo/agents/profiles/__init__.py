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
    """What a program is started with: the settings of the agent, its home folder, and how it reaches its model.

    `model_url` and `key` are those of the gateway: its address, and a token that is worth nothing elsewhere. Both are
    None for an agent that logs in by itself. `hook_url` and `hook_token` are where a hook of the agent asks before each
    call; `hook_command` asks there for an agent whose hook is a command, with the token in SKELO_HOOK_TOKEN.
    """

    settings: agent_settings.AgentSettings
    home: Path
    model_url: str | None = None
    key: str | None = None
    hook_url: str = ""
    hook_token: str = ""
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
    """One kind of agent.

    `package` and `program` name the npm package and the command in it, `arguments` what follows the command.
    `environment` and `home_files` (texts by path below the home folder) are made for each start. `session` is the
    `_meta` of a new session, `mode` the mode that lets us decide, `plan_mode` the one that changes nothing, `auth` how
    it logs in. `sets_model`: the model is chosen for each session. `fails_without_usage`: it reports a failed model
    call as a normal end, without usage. `masked` are the repository's own settings for this agent, which no setting
    keeps it from obeying: the sandbox hides them. `hosts` is where its model and its log-in are for `login: own`.
    `offers` is what `skelo agents` says of it. `vendor` and `default_model` say whose prices hold for its calls.

    Permissions: with `has_hook` the program asks our hook before every call, which can also change arguments;
    `tool_kinds` are the kinds of its tools by the name that the hook says. Otherwise it asks over the
    protocol: `tool_name`, `call_arguments`, `is_tool_server` (a tool of an MCP server) and `is_own_tool` (one of ours)
    read that call.
    `asks_before_changes`: no call that may change something happens unasked. `trusts_hooks_by` is the method, without
    its last word, by which hooks are listed (`list`) and trusted (`trust`) in a session; `changes_settings`: that
    writes into its settings, which can therefore not be read-only. They are written anew at each start.
    """

    name: str
    doc: str
    package: str = ""
    program: str = ""
    arguments: tuple[str, ...] = ()
    environment: Callable[[Launch], Mapping[str, str]] = _nothing
    home_files: Callable[[Launch], Mapping[str, str]] = _no_files
    session: JsonObject = field(default_factory=dict[str, Json])
    mode: str | None = None
    plan_mode: str = "plan"
    auth: str | None = None
    sets_model: bool = False
    fails_without_usage: bool = False
    masked: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    offers: Mapping[str, str] = field(default_factory=dict[str, str])
    has_hook: bool = False
    trusts_hooks_by: str | None = None
    changes_settings: bool = False
    asks_before_changes: bool = False
    tool_kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    tool_name: Callable[[acp_client.ToolCall], str] = _name
    call_arguments: Callable[[acp_client.ToolCall], Json] = _arguments
    is_tool_server: Callable[[acp_client.ToolCall], bool] = _is_tool_server
    is_own_tool: Callable[[acp_client.ToolCall], bool] = _is_own_tool
    vendor: model_protocols.Vendor | None = None
    default_model: str = ""


PROFILES = Catalog(__name__, "PROFILE", Profile)

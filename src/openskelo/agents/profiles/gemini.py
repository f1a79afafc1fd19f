"""Gemini CLI of Google, which speaks the protocol itself."""

from __future__ import annotations

import json

from openskelo.agents import profiles
from openskelo.agents.acp import acp_client
from openskelo.agents.server import toolbox
from openskelo.kernel.json import Json

_DEFAULT_MODEL = "gemini-2.5-pro"
#: Its log-in with a key; the gateway has the real one.
_LOGIN = "gemini-api-key"


def _environment(launch: profiles.Launch) -> dict[str, str]:
    environment: dict[str, str] = {}
    if launch.key:
        environment["GEMINI_API_KEY"] = launch.key
    if launch.model_url:
        environment["GOOGLE_GEMINI_BASE_URL"] = launch.model_url
    return environment


def _home_files(launch: profiles.Launch) -> dict[str, str]:
    login = "oauth-personal" if launch.settings.login == "own" else _LOGIN
    settings = {
        # A folder that is not trusted keeps the repository's own settings and MCP servers from running.
        "security": {"auth": {"selectedType": login}, "folderTrust": {"enabled": True}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    return {".gemini/settings.json": json.dumps(settings)}


def _tool_name(call: acp_client.ToolCall) -> str:
    """Return the name of the tool, with which the id of a call begins."""
    return call.id.partition("__")[0] or call.title


def _arguments(call: acp_client.ToolCall) -> Json:
    """Return what the program shows of a call: it does not tell the arguments themselves."""
    if call.arguments is not None:
        return call.arguments
    if call.diffs:
        return {"path": call.diffs[0]["path"], "content": call.diffs[0]["newText"]}
    is_whole = bool(call.title) and not call.title.endswith(("…", "..."))
    return {"command": call.title} if call.kind == "execute" and is_whole else None


PROFILE = profiles.Profile(
    name="gemini",
    doc="Gemini CLI of Google",
    program="gemini",
    arguments=("--acp", "-m", _DEFAULT_MODEL),
    environment=_environment,
    home_files=_home_files,
    asks_before_changes=True,  # in its default mode; reading happens unasked
    tool_name=_tool_name,
    call_arguments=_arguments,
    is_tool_server=lambda call: call.id.startswith("mcp_"),
    is_own_tool=lambda call: call.id.startswith(f"mcp_{toolbox.SERVER_NAME}_"),
    auth=_LOGIN,
    vendor="google",
    default_model=_DEFAULT_MODEL,
    sets_model=True,
    hosts=("generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"),
    offers={"resume": "no", "models": "yes", "modes": "yes", "elicitation": "no", "steering": "no", "cost": "no"},
)

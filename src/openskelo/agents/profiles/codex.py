"""Codex of OpenAI, by the adapter `codex-acp`, which brings the program with it."""

from __future__ import annotations

import json
import shlex

from openskelo.agents import profiles

_DEFAULT_MODEL = "gpt-5.5"


#: What its tools do, by the name that its hook says.
_TOOL_KINDS = {"Bash": "execute", "apply_patch": "edit", "update_plan": "think", "view_image": "read"}
#: How long the program waits for an answer of the hook, in seconds: a person may be asked.
_HOOK_SECONDS = 7 * 24 * 3600


def _environment(launch: profiles.Launch) -> dict[str, str]:
    hook = {"type": "command", "command": shlex.join(launch.hook_command), "timeout": _HOOK_SECONDS}
    config = {
        "features": {"multi_agent": False, "goals": False},
        "tools": {"web_search": False},
        "hooks": {"PreToolUse": [{"matcher": ".*", "hooks": [hook]}]},
    }
    environment = {"CODEX_CONFIG": json.dumps(config), "SKELO_HOOK_TOKEN": launch.hook_token}
    return {**environment, **({"OPENAI_API_KEY": launch.key} if launch.key else {})}


def _home_files(launch: profiles.Launch) -> dict[str, str]:
    lines = [f"model = {json.dumps(launch.settings.model or _DEFAULT_MODEL)}"]
    if launch.settings.effort:
        lines.append(f"model_reasoning_effort = {json.dumps(launch.settings.effort)}")
    if launch.model_url:
        lines += [
            'model_provider = "project"',
            "[model_providers.project]",
            'name = "project"',
            f"base_url = {json.dumps(launch.model_url + '/v1')}",
            'env_key = "OPENAI_API_KEY"',
            'wire_api = "responses"',
            "request_max_retries = 0",
            "stream_max_retries = 0",
        ]
    return {".codex/config.toml": "\n".join(lines) + "\n"}


PROFILE = profiles.Profile(
    name="codex",
    doc="Codex of OpenAI",
    vendor="openai",
    default_model=_DEFAULT_MODEL,
    program="codex-acp",
    environment=_environment,
    home_files=_home_files,
    # In its default mode another model reviews what it would ask; here our policy decides.
    mode="agent-full-access",
    plan_mode="read-only",
    fails_without_usage=True,
    has_hook=True,
    asks_before_changes=True,
    trusts_hooks_by="_codex/hooks",
    changes_settings=True,
    tool_kinds=_TOOL_KINDS,
    # The adapter trusts every folder, and then obeys the MCP servers of the repository.
    masked=(".codex",),
    hosts=("api.openai.com", "auth.openai.com", "chatgpt.com"),
    offers={"resume": "yes", "models": "yes", "modes": "yes", "elicitation": "no", "steering": "yes", "cost": "no"},
)

"""Claude Code, by the adapter `claude-agent-acp`, which brings the program with it."""

from __future__ import annotations

import json

from openskelo.agents import profiles

#: Tools that would start agents of its own, act later, or leave the machine.
_DISALLOWED = ("Agent", "Task", "WebFetch", "WebSearch", "Workflow", "ScheduleWakeup")


#: What its tools do, by the name that its hook says.
_TOOL_KINDS = {
    "AskUserQuestion": "think",  # a person is asked the question itself
    "Bash": "execute",
    "BashOutput": "read",
    "Edit": "edit",
    "ExitPlanMode": "think",
    "Glob": "search",
    "Grep": "search",
    "LS": "read",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Read": "read",
    "TodoWrite": "think",
    "ToolSearch": "think",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "Write": "edit",
}
#: How long the program waits for an answer of the hook, in seconds: a person may be asked.
_HOOK_SECONDS = 7 * 24 * 3600


def _home_files(launch: profiles.Launch) -> dict[str, str]:
    """Return the settings of its home: before every call it asks our hook."""
    hook = {
        "type": "http",
        "url": launch.hook_url,
        "headers": {"Authorization": f"Bearer {launch.hook_token}"},
        "timeout": _HOOK_SECONDS,
    }
    settings = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}}
    return {".claude/settings.json": json.dumps(settings)}


def _environment(launch: profiles.Launch) -> dict[str, str]:
    environment = {
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",  # our few tools are offered at once, and need not be searched for
    }
    if launch.model_url:
        environment["ANTHROPIC_BASE_URL"] = launch.model_url
    if launch.settings.model:  # the adapter's own list of models has only short names
        environment["ANTHROPIC_MODEL"] = launch.settings.model
    if launch.key:
        environment["ANTHROPIC_API_KEY"] = launch.key
    return environment


PROFILE = profiles.Profile(
    name="claude",
    doc="Claude Code of Anthropic",
    vendor="anthropic",
    program="claude-agent-acp",
    environment=_environment,
    home_files=_home_files,
    has_hook=True,
    asks_before_changes=True,
    tool_kinds=_TOOL_KINDS,
    # Settings and MCP servers of the repository are not obeyed: they would run code.
    session={
        "claudeCode": {
            "options": {"settingSources": ["user"], "strictMcpConfig": True, "disallowedTools": list(_DISALLOWED)}
        }
    },
    hosts=("api.anthropic.com", "claude.ai", "console.anthropic.com", "platform.claude.com"),
    offers={"resume": "yes", "models": "yes", "modes": "yes", "elicitation": "yes", "steering": "yes", "cost": "yes"},
)

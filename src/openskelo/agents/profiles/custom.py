"""Any other program that speaks the Agent Client Protocol on its standard input and output."""

from __future__ import annotations

from openskelo.agents import profiles


def _environment(launch: profiles.Launch) -> dict[str, str]:
    """Return the variables that programs of the OpenAI and Anthropic protocols read; others take theirs from `env`."""
    environment: dict[str, str] = {}
    if launch.model_url:
        environment["OPENAI_BASE_URL"] = f"{launch.model_url}/v1"
        environment["ANTHROPIC_BASE_URL"] = launch.model_url
    if launch.key:
        environment["OPENAI_API_KEY"] = environment["ANTHROPIC_API_KEY"] = launch.key
    if launch.settings.model:
        environment["OPENAI_MODEL"] = environment["ANTHROPIC_MODEL"] = launch.settings.model
    return environment


def _home_files(launch: profiles.Launch) -> dict[str, str]:
    """Return the files of the project; `${model:url}` and `${model:key}` in them stand for the gateway's."""
    texts: dict[str, str] = {}
    for name, text in launch.settings.home_files.items():
        with_url = text.replace("${model:url}", launch.model_url or "")
        texts[name] = with_url.replace("${model:key}", launch.key or "")
    return texts


PROFILE = profiles.Profile(
    name="custom",
    doc="any program that speaks ACP; it needs a `command`",
    environment=_environment,
    home_files=_home_files,
    # It may be any of them, and its settings are the project's to write: what the repository says does not count.
    masked=(".claude", ".codex", ".gemini", ".mcp.json", ".opencode", ".qwen", "opencode.json", "opencode.jsonc"),
)

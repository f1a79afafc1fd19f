"""The agents of our own tests, as the conformance suite wants them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from openskelo.agent_settings import AgentSettings, Provider
from openskelo.testing import AgentUnderTest
from tests.agents import repository

#: The data dir below which `make test-agents` has the programs of the vendors installed.
INSTALLED = Path(os.environ.get("SKELO_TEST_AGENTS", ""))
MODELS: dict[Provider, str] = {"claude": "claude-sonnet-4-5", "codex": "gpt-5.5", "gemini": "gemini-2.5-flash"}
#: Without the mode another model of its own would decide about some of its calls.
_QWEN_SETTINGS = {"security": {"auth": {"selectedType": "openai"}}, "tools": {"approvalMode": "default"}}


def scripted() -> AgentUnderTest:
    """Return our own small agent."""
    command = (sys.executable, str(repository.AGENT), "--tools", "--asks")
    return AgentUnderTest(
        settings=lambda _url: AgentSettings(name="scripted", provider="custom", command=command),
        asks_about_edits=False,
    )


def qwen(program: Path) -> AgentUnderTest:
    """Return Qwen Code."""
    return AgentUnderTest(
        settings=lambda url: AgentSettings(
            name="qwen",
            provider="custom",
            command=(str(program), "--acp"),
            base_url=url,
            api_key="worthless",
            model="scripted",
            home_files={".qwen/settings.json": json.dumps(_QWEN_SETTINGS)},
        )
    )


def opencode(program: Path) -> AgentUnderTest:
    """Return OpenCode: it asks only if its settings say so."""

    def settings(url: str) -> AgentSettings:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": "{env:OPENAI_BASE_URL}", "apiKey": "{env:OPENAI_API_KEY}"},
            "models": {"scripted": {"name": "scripted"}},
        }
        config = {
            "provider": {"project": provider},
            "model": "project/scripted",
            "small_model": "project/scripted",
            "permission": {"bash": "ask", "edit": "ask"},
            "autoupdate": False,
            "share": "disabled",
        }
        return AgentSettings(
            name="opencode",
            provider="custom",
            command=(str(program), "acp"),
            base_url=url,
            api_key="worthless",
            env={
                "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
            },
            home_files={".config/opencode/opencode.json": json.dumps(config)},
        )

    return AgentUnderTest(settings=settings)


def vendor(provider: Provider) -> AgentUnderTest:
    """Return Claude Code, Codex or Gemini CLI."""
    return AgentUnderTest(
        settings=lambda url: AgentSettings(
            name=provider,
            provider=provider,
            base_url=url,
            api_key="worthless",
            model=MODELS[provider],
            start_ms=300_000,  # on a busy machine
        ),
        data_dir=INSTALLED,
        has_tools=provider != "gemini",  # it offers none in a folder that is not trusted
        resumes=None if provider == "gemini" else True,  # a session that it loads within the same minute is lost
    )


NAMES = (*MODELS, "opencode", "qwen")


def by_name(name: str, program: Path | None = None) -> AgentUnderTest:
    """Return one of the real agents; `program` is the path of a custom one."""
    match name:
        case "claude" | "codex" | "gemini":
            return vendor(name)
        case "opencode":
            return opencode(program or Path())
        case _:
            return qwen(program or Path())

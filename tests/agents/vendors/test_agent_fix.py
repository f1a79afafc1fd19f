"""The example `agent-fix` with Claude Code, Codex and Gemini CLI, against a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openskelo.agent_settings import Provider
from openskelo.testing import scripted_model_server
from tests.agents import agent_fix, agents_under_test


@pytest.mark.parametrize("provider", agents_under_test.MODELS)
def test_the_agent_fixes_the_code_and_its_change_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: Provider
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "worthless")
    with scripted_model_server.serve() as model:
        settings = {"provider": provider, "base_url": model.url, "model": agents_under_test.MODELS[provider]}
        root = agent_fix.make(tmp_path, **settings)
        (root / ".skelo").mkdir()
        (root / ".skelo" / "agents").symlink_to(agents_under_test.INSTALLED / "agents")
        cause = json.dumps({"cause": agent_fix.CAUSE})
        # Gemini has no MCP tools in a folder that is not trusted: it hands in JSON.
        hand_in = (f"@say {cause}",) if provider == "gemini" else (f"@tool complete {cause}", "@say Done.")
        # Claude Code writes over a file only after it has read it.
        read = ('@tool Read {"file_path": "TREE/shop/basket.py"}',) if provider == "claude" else ()
        fix = f"@write TREE/shop/basket.py {agent_fix.fixed()}"
        document = agent_fix.drive(root, "@run python3 -m unittest", *read, fix, *hand_in)
        agent_fix.check(root, document, visits=1)

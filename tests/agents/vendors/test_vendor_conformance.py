"""The programs of the vendors, and two custom agents, do what every agent must do."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.testing import AgentConformance, AgentUnderTest
from tests.agents import agents_under_test


class TestClaude(AgentConformance):
    @pytest.fixture
    def agent(self) -> AgentUnderTest:
        return agents_under_test.vendor("claude")


class TestCodex(AgentConformance):
    @pytest.fixture
    def agent(self) -> AgentUnderTest:
        return agents_under_test.vendor("codex")


class TestGemini(AgentConformance):
    @pytest.fixture
    def agent(self) -> AgentUnderTest:
        return agents_under_test.vendor("gemini")


class TestOpenCode(AgentConformance):
    @pytest.fixture
    def agent(self, opencode: Path) -> AgentUnderTest:
        return agents_under_test.opencode(opencode)


class TestQwen(AgentConformance):
    @pytest.fixture
    def agent(self, qwen: Path) -> AgentUnderTest:
        return agents_under_test.qwen(qwen)

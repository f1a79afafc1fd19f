"""The agents that `make test` has do what every agent must do. `make test-agents` checks those of the vendors."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.testing import AgentConformance, AgentUnderTest
from tests.agents import agents_under_test


class TestScriptedAgent(AgentConformance):
    @pytest.fixture
    def agent(self) -> AgentUnderTest:
        return agents_under_test.scripted()


@pytest.mark.slow
class TestQwen(AgentConformance):
    @pytest.fixture
    def agent(self, qwen: Path) -> AgentUnderTest:
        return agents_under_test.qwen(qwen)

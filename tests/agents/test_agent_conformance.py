"""Our scripted agent does what every agent must do. `make test-agents` checks the real ones."""

from __future__ import annotations

import pytest

from openskelo.testing import AgentConformance, AgentUnderTest
from tests.agents import agents_under_test


class TestScriptedAgent(AgentConformance):
    @pytest.fixture
    def agent(self) -> AgentUnderTest:
        return agents_under_test.scripted()

"""The example `agent-fix` with the scripted agent."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.agents import agent_fix, repository

_COMMAND = [sys.executable, str(repository.AGENT), "--tools", "--asks"]
_HAND_IN = f"@tool complete {json.dumps({'cause': agent_fix.CAUSE})}"


def _make(folder: Path) -> Path:
    return agent_fix.make(folder, provider="custom", command=[*_COMMAND], api_key=None)


def test_the_agent_runs_the_tests_fixes_the_code_and_its_change_is_committed(tmp_path: Path) -> None:
    root = _make(tmp_path)
    fix = f"@write TREE/shop/basket.py {agent_fix.fixed()}"
    document = agent_fix.drive(root, "@run python3 -m unittest", fix, _HAND_IN)
    agent_fix.check(root, document, visits=1)


def test_an_agent_that_leaves_the_test_failing_is_sent_back_until_it_passes(tmp_path: Path) -> None:
    root = _make(tmp_path)
    poor = "@write TREE/shop/basket.py def total(prices, discount_percent=0):\\n    return 900\\n"
    fix = f"@write TREE/shop/basket.py {agent_fix.fixed()}"
    document = agent_fix.drive(root, poor, _HAND_IN, "@next", fix, _HAND_IN)
    agent_fix.check(root, document, visits=2)

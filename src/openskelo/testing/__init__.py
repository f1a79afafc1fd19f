"""For tests of your own workflows: scripted models and people, a store in memory, checks of your own store or agent.

    document = await testing.run(
        workflow,
        {"topic": "bees"},
        project=project,
        model={"draft": [{"text": "Bees buzz."}]},
        people={"review": [testing.Reply(status="approved")]},
    )
    assert document["ending"] == "ok"

The tools and checkers of a plan can be scripted, too: `handlers=testing.stand_ins({"s3": [{"ok": True}]})`.
Everything else is real: handlers, gates, contracts, the engine. So a test fails if the workflow would fail.
`STORE_CHECKS` is the conformance suite that every store must pass, `AgentConformance` that of coding agents.
"""

from openskelo.providers.scripted import Scripted
from openskelo.stores.conformance import CHECKS as STORE_CHECKS
from openskelo.stores.memory import MemoryStore
from openskelo.testing.agent_conformance import AgentConformance, AgentUnderTest
from openskelo.testing.scripted_run import Reply, drive, run, stand_ins

__all__ = [
    "STORE_CHECKS",
    "AgentConformance",
    "AgentUnderTest",
    "MemoryStore",
    "Reply",
    "Scripted",
    "drive",
    "run",
    "stand_ins",
]

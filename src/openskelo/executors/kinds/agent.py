"""Coding agents: a program works in a workspace of its own for one or more turns, and hands in its result.

How it goes is in `executors/agent_turns`; here is what an agent's node needs to be prepared and checked.
"""

from __future__ import annotations

from openskelo import agent_settings, errors
from openskelo.agents import programs, sessions
from openskelo.agents.sandbox import sandbox
from openskelo.executors import api
from openskelo.executors.agent_turns import agent_task, talk
from openskelo.executors.attempt import port_contract, running_attempt
from openskelo.executors.kinds import ai, deterministic
from openskelo.kernel import definition
from openskelo.providers import scripted


class AgentExecutor(api.Executor):
    """Puts a coding agent of the project to work."""

    def prepare(self, node: definition.Node, services: api.Services, outputs: port_contract.PortContract) -> api.Work:
        if isinstance(services.provider(), scripted.Scripted):
            return ai.EXECUTOR.prepare(node, services, outputs)  # a test: the script has the outputs of each turn
        agent = settings_of(node)
        block_talk = talk.BlockTalk(node, agent, talk.result_schema(outputs.schema))

        async def work(attempt: running_attempt.RunningAttempt) -> object:
            task = agent_task.AgentTask(node=node, agent=agent, talk=block_talk, services=services, attempt=attempt)
            return await task.perform()

        return work

    def check_available(self, node: definition.Node, services: api.Services) -> None:
        if isinstance(services.provider(), scripted.Scripted):
            return
        try:
            agent = settings_of(node)
            programs.check_extra()
            programs.find(services.project.data_dir, agent)
            sessions.check_permissions(agent, sandbox.choose_now(agent.sandbox))
        except errors.AttemptFailed as error:
            raise errors.InvalidInput(f"{node.key}: {error.message}", code=error.code, hint=error.hint) from error

    def check_present(self, node: definition.Node, services: api.Services) -> None:
        if not isinstance(services.provider(), scripted.Scripted):
            agent = settings_of(node)
            deterministic.check_secrets([*agent.env.values(), agent.api_key], services)


EXECUTOR = AgentExecutor()


def settings_of(node: definition.Node) -> agent_settings.AgentSettings:
    """Return the agent that a node has pinned (AttemptFailed AGENT_UNKNOWN)."""
    agent = agent_settings.pinned_in(node.config)
    if agent is None:
        raise errors.AttemptFailed(
            f"{node.key} names an agent that the project does not have",
            code="AGENT_UNKNOWN",
            hint="declare it under `agents` in skelo.yaml",
            retryable=False,
        )
    return agent

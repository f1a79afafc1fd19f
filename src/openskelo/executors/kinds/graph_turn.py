"""Turns of a live graph: a handler works on the node's inbox, or a model or an agent continues a conversation.

The inputs of a turn are its inbox: `messages` of people, `handoffs` of other nodes, and for a model or an agent the
`earlier` turns. The outputs also say where they go: `handoff: false` keeps them from the next nodes, `reply: true`
sends them back to the sender. Every turn that succeeds leaves a diff, which is empty unless an agent has changed files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo.executors import api, kinds
from openskelo.executors.ai import model_call, prompt, turn_prompt
from openskelo.executors.attempt import port_contract, running_attempt
from openskelo.executors.kinds import deterministic
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import JsonObject
from openskelo.programs import time_limit
from openskelo.providers import failure_codes, scripted
from openskelo.structs import replace

#: The diff of a turn whose node changes no files.
_NO_CHANGES = running_attempt.File(
    kind="diff",
    name="diff.patch",
    text="",
    media_type="text/x-diff",
    metadata={"filesChanged": [], "summary": "no changes", "insertions": 0, "deletions": 0},
)


class GraphTurnExecutor(api.Executor):
    """Performs one turn of a node, by its model, its handler or its agent."""

    def prepare(self, node: definition.Node, services: api.Services, outputs: port_contract.PortContract) -> api.Work:
        if _has_agent(node, services):
            from openskelo.executors.agent_turns import graph_talk  # noqa: PLC0415 -- few live graphs have agents

            turn = graph_talk.prepare(node, services, outputs.schema)
        elif node.work.has_prompt:
            turn = _conversation(node, services, outputs.schema)
        else:
            turn = deterministic.EXECUTOR.prepare(node, services, outputs)

        async def work(attempt: running_attempt.RunningAttempt) -> object:
            turn_result = await turn(attempt)
            attempt.files.setdefault(_NO_CHANGES.name, _NO_CHANGES)
            attempt.route = (
                _route(cast("Mapping[str, object]", turn_result)) if isinstance(turn_result, Mapping) else "on"
            )
            return cast("object", turn_result)

        return work

    def check_available(self, node: definition.Node, services: api.Services) -> None:
        if _has_agent(node, services):
            kinds.get("agent").check_available(node, services)
        elif node.work.has_prompt:
            model_call.check_model(services.provider(), node.key, model_call.parameters(node))
        else:
            deterministic.EXECUTOR.check_available(node, services)

    def check_present(self, node: definition.Node, services: api.Services) -> None:
        if _has_agent(node, services):
            kinds.get("agent").check_present(node, services)
        elif not node.work.has_prompt:
            deterministic.EXECUTOR.check_present(node, services)

    def code_digest(self, node: definition.Node, services: api.Services) -> str:
        return deterministic.EXECUTOR.code_digest(node, services)


EXECUTOR = GraphTurnExecutor()


def _has_agent(node: definition.Node, services: api.Services) -> bool:
    """True if an agent works for the node; in a test its turns are scripted."""
    return node.mode == "agent" and not isinstance(services.provider(), scripted.Scripted)


def _route(outputs: Mapping[str, object]) -> outcome.Route:
    """Return where the outputs go: on to the next nodes unless `handoff` is false, back too where `reply` is true."""
    on, back = outputs.get("handoff") is not False, outputs.get("reply") is True
    if on:
        return "both" if back else "on"
    return "back" if back else "none"


# -- models -----------------------------------------------------------------------------------------------------------


def _conversation(node: definition.Node, services: api.Services, schema: JsonObject) -> api.Work:
    """Return the work of a model whose prompt has its role, the earlier turns, and the new messages."""
    provider = services.provider()
    if provider is None:
        raise failure_codes.not_set_up()
    template = prompt.PromptTemplate(node, schema)

    async def ask(attempt: running_attempt.RunningAttempt) -> object:
        earlier = turn_prompt.earlier_turns(attempt)
        role = turn_prompt.read_role(services.project, node)
        task = turn_prompt.inbox_text(attempt.inputs)
        now = prompt.assemble(
            role=turn_prompt.join("" if role is None else role.text, template.write_role(attempt)),
            mode=template.mode,
            task=task,
            feedback=attempt.request.feedback,
            system=turn_prompt.SYSTEM,
        )
        messages = (now.messages[0], *turn_prompt.earlier_messages(earlier), *now.messages[1:])
        conversation = replace(
            now,
            messages=messages,
            news=prompt.text(now.messages[1:] if earlier else messages),
            metadata=None if role is None else role.metadata(),
        )
        request = model_call.make_request(node, conversation, schema)
        answer = await model_call.ask(attempt, provider, services.on_text, request, conversation)
        return model_call.parse(answer, *model_call.given(attempt))

    async def work(attempt: running_attempt.RunningAttempt) -> object:
        return await time_limit.within(node.timeout_ms, ask(attempt), attempt.usage.idle)

    return work

"""The context of an op that performs a step (`ops.StepContext`), built from the attempt and the services.

An expert is asked here, because the call writes into the attempt: the prompt becomes an artifact, the usage counts
against the budget. The plan's mode bounds it twice. The expert that the step names must be allowed, else the step is
denied; experts to fall back on that the mode forbids are left out of the request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from openskelo import errors, ops
from openskelo.executors import api
from openskelo.executors.ai import model_call, prompt
from openskelo.executors.attempt import port_contract, running_attempt
from openskelo.handlers import context, project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.providers import config, experts, failure_codes, kinds, protocol
from openskelo.structs import frozen, replace


@frozen
class AttemptStepContext:
    """The context of a step in one attempt: an `ops.StepContext`."""

    node: definition.Node
    step: definition.Step
    services: api.Services
    attempt: running_attempt.RunningAttempt

    @property
    def args(self) -> JsonObject:
        return self.attempt.inputs

    @property
    def project(self) -> Project:
        return self.services.project

    @property
    def mode(self) -> definition.PlanMode:
        return self.attempt.request.plan_mode

    @property
    def log(self) -> list[str]:
        return self.attempt.lines

    def set_holds(self, holds: bool) -> None:
        self.attempt.holds = holds

    def add_tool_cost(self, nanousd: int) -> None:
        self.attempt.usage.tool_nanousd += nanousd

    def handler_context(self, inputs: JsonObject, config: JsonObject) -> context.Context:
        request = self.attempt.request
        return context.Context(
            inputs=port_contract.copy_json(inputs),
            config=port_contract.copy_json(config),
            block_id=request.node.key,
            run_id=request.run_id,
            attempt=request.attempt,
            feedback=port_contract.copy_json(request.feedback),
            _visit=request.visit,
            _now=request.now,
            _secrets=self.services.project.secrets,
            _lines=self.attempt.lines,
        )

    def stand_in(self) -> Callable[[context.Context], Awaitable[object]] | None:
        local = self.services.local_handlers.get(f"step:{self.attempt.request.node.key}")
        if local is None:
            return None
        return lambda ctx: local.call(local.handler, ctx, self.attempt.lines)

    async def call_project_function(self, target: str, ctx: context.Context, timeout_ms: int) -> object:
        return await self.services.project_handlers().call(target, self.attempt, ctx, timeout_ms)

    async def call_mcp_tool(self, server: str, tool: str, args: JsonObject, timeout_ms: int) -> object:
        return await self.services.mcp_servers().call(server, tool, args, timeout_ms=timeout_ms)

    def check_expert(self, name: str) -> None:
        expert = _expert_for_modes(name, self._provider(), self.project.models)
        denial = project_registry.expert_denial(self.project.registry, self.mode, expert)
        if denial is not None:
            raise errors.Denied(denial, code="MODE_DENIED")

    async def ask_expert(self, request: ops.ExpertRequest) -> Json:
        contract = "" if request.schema is None else prompt.contract(request.schema)
        feedback = self.attempt.request.feedback
        assembled_prompt = prompt.assemble(role="", mode=contract, task=request.task, feedback=feedback)
        # What the loader pinned on the node overrides the step's arguments.
        parameters: dict[str, Json] = {**request.parameters, "expert": request.expert}
        provider_request = protocol.Request(
            node=self.node.key,
            messages=assembled_prompt.messages,
            schema=request.schema,
            parameters={**parameters, **model_call.parameters(self.node)},
            max_tokens=request.max_tokens,
        )
        provider = self._provider()
        allowed_request = self._without_denied_fallbacks(provider_request, provider)
        answer = await model_call.ask(self.attempt, provider, self.services.on_text, allowed_request, assembled_prompt)
        if request.schema is not None:
            return model_call.parse(answer, request.task)
        model_call.check_markers(answer.text, request.task)
        if answer.finish_reason == "length":
            self.log.append("the answer was cut at its token limit")
        return answer.text

    def _provider(self) -> protocol.Provider:
        provider = self.services.provider()
        if provider is None:
            raise failure_codes.not_set_up()
        return provider

    def _without_denied_fallbacks(self, request: protocol.Request, provider: protocol.Provider) -> protocol.Request:
        """Return the request without the experts to fall back on that the mode forbids."""
        # A pin holds an expert's own system text, so the messages of this step must not be in the plan.
        plans = protocol.plan(provider, replace(request, messages=()))
        models, registry = self.project.models, self.project.registry
        if models is None or len(plans) == 1:
            return request
        first, *fallbacks = plans
        allowed_fallbacks = [
            plan
            for plan in fallbacks
            if project_registry.expert_denial(registry, self.mode, _expert_for_modes(plan.expert, provider, models))
            is None
        ]
        if len(allowed_fallbacks) == len(fallbacks):
            return request
        pins = experts.pin([first, *allowed_fallbacks], models)
        return replace(request, parameters={**request.parameters, experts.PINNED_PARAMETER: pins})


def _expert_for_modes(
    name: str, provider: protocol.Provider, models: config.Config | None
) -> project_registry.ExpertModes:
    """Return what modes decide about an expert by. A provider that the caller passed in counts as local."""
    expert = None if models is None else models.experts.get(name)
    if models is None or expert is None or getattr(provider, "plan", None) is None:
        return project_registry.ExpertModes(name=name, modes=() if expert is None else expert.modes, local=True)
    return project_registry.ExpertModes(name=name, modes=expert.modes, local=kinds.is_local(models, expert.provider))

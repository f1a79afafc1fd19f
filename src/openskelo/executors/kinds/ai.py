"""AI nodes: one prompt, one model call, one JSON object as the answer.

The executor calls the model once. An answer that breaks the contract fails the attempt, and the kernel starts a repair
as an attempt of its own, with the errors as feedback.
"""

from __future__ import annotations

import asyncio

from openskelo import errors
from openskelo.executors import api
from openskelo.executors.ai import input_files, model_call, prompt
from openskelo.executors.attempt import port_contract, running_attempt
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.programs import time_limit
from openskelo.providers import failure_codes, protocol


class AiExecutor(api.Executor):
    """Asks a model of the project."""

    def prepare(self, node: definition.Node, services: api.Services, outputs: port_contract.PortContract) -> api.Work:
        provider = services.provider()
        if provider is None:
            raise failure_codes.not_set_up()
        template = prompt.PromptTemplate(node, outputs.schema)

        async def ask(attempt: running_attempt.RunningAttempt) -> object:
            prompt_parts = template.write(attempt, await self._read_files(node, attempt.inputs, services))
            request = model_call.make_request(node, prompt_parts, outputs.schema)
            answer = await model_call.ask(attempt, provider, services.on_text, request, prompt_parts)
            return model_call.parse(answer, *model_call.given(attempt))

        async def work(attempt: running_attempt.RunningAttempt) -> object:
            return await time_limit.within(node.timeout_ms, ask(attempt), attempt.usage.idle)

        return work

    def check_available(self, node: definition.Node, services: api.Services) -> None:
        model_call.check_model(services.provider(), node.key, model_call.parameters(node))

    async def check_inputs(self, node: definition.Node, known: JsonObject, services: api.Services) -> None:
        try:
            await self._read_files(node, known, services)
        except errors.AttemptFailed as error:
            raise errors.InvalidInput(f"{node.key}: {error.message}", code=error.code, hint=error.hint) from error

    async def _read_files(
        self, node: definition.Node, inputs: JsonObject, services: api.Services
    ) -> input_files.InputFiles:
        """Return the files among the inputs (AttemptFailed)."""
        provider = services.provider()
        if provider is None or not input_files.ports(node):
            return input_files.NO_FILES
        media_types = protocol.media_types(provider, model_call.parameters(node))
        return await asyncio.to_thread(input_files.read, node, inputs, services.project, media_types)


EXECUTOR = AiExecutor()

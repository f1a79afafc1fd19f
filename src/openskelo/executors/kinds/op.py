"""Steps of plans: each performs one op (`openskelo.ops`), whose value becomes the outputs of the step."""

from __future__ import annotations

from typing import cast

from openskelo.executors import api
from openskelo.executors.ai import model_call
from openskelo.executors.attempt import port_contract
from openskelo.executors.ops import plan_step
from openskelo.kernel import definition


class OpExecutor(api.Executor):
    """Performs the op of a plan's step."""

    def prepare(self, node: definition.Node, services: api.Services, outputs: port_contract.PortContract) -> api.Work:
        return plan_step.prepare(node, cast("definition.Step", node.step), services)

    def check_available(self, node: definition.Node, services: api.Services) -> None:
        if node.work.calls_model and "denied" not in node.config:  # a step that the plan's mode denies calls no model
            model_call.check_model(services.provider(), node.key, model_call.parameters(node))


EXECUTOR = OpExecutor()

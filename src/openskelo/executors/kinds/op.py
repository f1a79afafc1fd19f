"""Steps of plans: each performs one op (`openskelo.ops`), whose value becomes the outputs of the step."""

from __future__ import annotations

from typing import cast

from openskelo.executors import api
from openskelo.executors.ai import model_call
from openskelo.executors.attempt import port_contract
from openskelo.executors.kinds import deterministic
from openskelo.executors.ops import plan_step
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.ops import functions


class OpExecutor(api.Executor):
    """Performs the op of a plan's step."""

    def prepare(self, node: definition.Node, services: api.Services, outputs: port_contract.PortContract) -> api.Work:
        return plan_step.prepare(node, cast("definition.Step", node.step), services)

    def check_available(self, node: definition.Node, services: api.Services) -> None:
        if node.work.calls_model and "denied" not in node.config:  # a step that the plan's mode denies calls no model
            model_call.check_model(services.provider(), node.key, model_call.parameters(node))

    def check_present(self, node: definition.Node, services: api.Services) -> None:
        step = cast("definition.Step", node.step)
        if "denied" in node.config or f"step:{node.key}" in services.local_handlers:  # it is not called
            return
        registry = services.project.registry
        match step.op:
            case "tool_call":
                function = functions.tool(registry, str(step.args.get("tool_id")))
            case "verify":
                function = functions.checker(registry, str(step.args.get("checker_id")))
            case "transform":
                function = functions.transform(registry, str(step.args.get("fn")))
            case _:
                return
        if function is None:
            return
        if function.kind == "python":
            deterministic.check_code(function.target, services)
        if isinstance(function, project_registry.Tool):  # only the arguments of a tool may name secrets
            deterministic.check_secrets(function.config, services)
            server = registry.mcp.get(function.target) if function.kind == "mcp" else None
            if server is not None:
                deterministic.check_secrets([*server.env.values(), *server.headers.values()], services)


EXECUTOR = OpExecutor()

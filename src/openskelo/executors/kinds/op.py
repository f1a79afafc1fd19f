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
        function = _called_function(node, services)
        if function is None:
            return
        if function.kind == "python":
            deterministic.check_code(function.target, services)
        if isinstance(function, project_registry.Tool):  # only the arguments of a tool may name secrets
            deterministic.check_secrets(function.config, services)
            server = services.project.registry.mcp.get(function.target) if function.kind == "mcp" else None
            if server is not None:
                deterministic.check_secrets([*server.env.values(), *server.headers.values()], services)

    def needs_worker(self, node: definition.Node, services: api.Services) -> bool:
        function = _called_function(node, services)
        if function is None or function.kind != "python":
            return False
        return services.project_handlers().needs_worker(function.target)


EXECUTOR = OpExecutor()


def _called_function(
    node: definition.Node, services: api.Services
) -> project_registry.Function | project_registry.Tool | None:
    """Return the tool, checker or transform that the step calls; None if it calls none."""
    step = cast("definition.Step", node.step)
    if "denied" in node.config or f"step:{node.key}" in services.local_handlers:
        return None
    registry = services.project.registry
    match step.op:
        case "tool_call":
            return functions.tool(registry, str(step.args.get("tool_id")))
        case "verify":
            return functions.checker(registry, str(step.args.get("checker_id")))
        case "transform":
            return functions.transform(registry, str(step.args.get("fn")))
        case _:
            return None

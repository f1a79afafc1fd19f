"""Whether the models that a workflow asks are there: found out before anything is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from openskelo import errors
from openskelo.executors import ai, attempt, task
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.providers import config, seam


def check(workflow: definition.Workflow, performer: attempt.Performer, project: task.Project) -> None:
    """Refuse (InvalidInput) a workflow that asks a model where there is none, or an expert nobody knows."""
    provider: seam.Provider | None = None
    for key, parameters in _questions(workflow):
        provider = provider or performer.provider()
        if provider is None:
            raise errors.InvalidInput(
                f"{key} needs a model, and no provider is configured",
                code="PROVIDER_MISSING",
                hint="`skelo test` runs it with scripted answers",
            )
        request = seam.Request(node=key, messages=(), parameters=parameters)
        try:
            ways = seam.plan(provider, request)
        except errors.AttemptFailed as error:
            raise errors.InvalidInput(f"{key}: {error.message}", code=error.code, hint=error.hint) from error
        if project.models is not None and not any(_is_there(way, project.models, project.root) for way in ways):
            raise errors.InvalidInput(
                f"{key} asks the model of provider {ways[0].provider!r}, and it is not installed",
                code="PROVIDER_MISSING",
                hint="`skelo model install` installs the embedded model; `skelo test` runs with scripted answers",
            )


def _questions(workflow: definition.Workflow) -> Iterator[tuple[str, JsonObject]]:
    """Who asks a model, and with which parameters: ai nodes and gates that have a model review something."""
    for key, node in workflow.nodes.items():
        if node.mode == "ai":
            yield key, ai.parameters(node)
        for gate in (*node.pre_gates, *node.post_gates):
            if gate.type == "llm_review":
                yield key, {"expert": gate.params["expert"]} if "expert" in gate.params else {}


def _is_there(way: seam.Planned, models: config.Config, root: Path) -> bool:
    """Whether a way can be gone at all; only a model in this process can be missing without being asked."""
    settings = models.providers.get(way.provider)
    if settings is None or settings.kind != "local":
        return True
    from openskelo.providers import local  # noqa: PLC0415 -- only projects with a local model need it

    path = local.model_file(settings, root)
    return path is not None and path.is_file()

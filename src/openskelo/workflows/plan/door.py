"""A plan in its project: read, its experts fixed, its reservations made, and its budget held against its paths."""

from __future__ import annotations

from openskelo.frozen import replace
from openskelo.kernel import definition
from openskelo.providers import config
from openskelo.workflows import blocks, cursor, pins, project
from openskelo.workflows.plan import checks, reach
from openskelo.workflows.plan import read as reading


def read(
    place: cursor.Cursor, settings: project.ProjectFile, models: config.Config | None
) -> definition.Workflow | None:
    """The plan at `place`, ready to be run; None when anything was an error. `models` None: a caller brings some."""
    setting = reading.Setting(models=models, registry=settings.registry, commands=settings.allow_commands)
    found = reading.read(place, setting)
    if found is None or found.plan is None:
        return None
    around = reach.Reach(mode=found.plan.mode, models=models, registry=settings.registry)
    fixed = pins.fix(found, _allowed(settings.models if models is None else models, around), place)
    checks.budget(place, fixed)
    return blocks.sealed(fixed)


def _allowed(models: config.Config, around: reach.Reach) -> config.Config:
    """The models without the fallbacks that the plan's mode denies."""
    around = replace(around, models=models)
    experts = {
        name: replace(
            one, fallbacks=tuple(other for other in one.fallbacks if reach.expert_denial(other, around) is None)
        )
        for name, one in models.experts.items()
    }
    return replace(models, experts=experts)

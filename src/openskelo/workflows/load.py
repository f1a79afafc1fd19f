"""The door: a file or a document comes in, a Workflow or a list of Problems goes out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from openskelo import errors
from openskelo.frozen import field, frozen, replace
from openskelo.handlers import registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config
from openskelo.values import nearest
from openskelo.workflows import (
    asking,
    blocks,
    cursor,
    handlers,
    inline,
    limits,
    nearby,
    problems,
    project,
    secrets,
    source,
)

#: How deep files may use each other.
DEEPEST = 8


def load(path: Path | str, *, root: Path | None = None) -> definition.Workflow:
    """The workflow in a file; InvalidWorkflow lists every error. `root` is the project's when not the nearest."""
    return _or_raise(check(path, root=root))


def from_document(document: JsonObject, *, root: Path | None = None, file: str = "<document>") -> definition.Workflow:
    """The workflow in a document in memory; InvalidWorkflow lists every error. Without `root` it has no project."""
    return _or_raise(check_document(document, root=root, file=file))


def check(
    path: Path | str, *, root: Path | None = None
) -> tuple[definition.Workflow | None, tuple[problems.Problem, ...]]:
    """The workflow in a file, if there is one without errors, and all Problems, warnings included."""
    path = Path(path)
    try:
        read = source.read(path)
    except errors.InvalidWorkflow as error:
        return None, _listed(error)
    home = project.find_root(path) if root is None else root
    return _check(read, home, folder=path.parent, name=path.stem)


def check_document(
    document: JsonObject, *, root: Path | None = None, file: str = "<document>"
) -> tuple[definition.Workflow | None, tuple[problems.Problem, ...]]:
    """As `check`, for a document in memory; files it uses are looked for in `root`."""
    try:
        read = source.given(document, file=file)
    except errors.InvalidWorkflow as error:
        return None, _listed(error)
    return _check(read, root, folder=root, name=None)


def is_project(path: Path) -> bool:
    """Whether a file is a project's and no workflow, as far as it can be read."""
    try:
        value = source.read(path).value
    except errors.InvalidWorkflow:
        value = None
    return kind(value) is None and project.is_project(path.name, value)


def kind(value: Json) -> str | None:
    """What sort of workflow a document is, by its content: "blocks", "plan", "pipeline", or None."""
    if not isinstance(value, Mapping):
        return None
    if "blocks" in value:
        return "blocks"
    if "steps" in value:
        return "plan"
    if "skills" in value or "pipeline" in value or "stages" in value:
        return "pipeline"
    return None


def _is_script(value: Json) -> bool:
    """Whether a document is what `skelo test` plays a workflow's models and people from."""
    return isinstance(value, Mapping) and set(value) == {"tests"}


def _is_something_else(value: Json) -> bool:
    """Whether a document has nothing in common with a workflow, not even a mistyped key."""
    if not isinstance(value, Mapping) or not value.keys().isdisjoint(blocks.KEYS):
        return False
    return not any(nearest.name_like(key, ("blocks",)) for key in islice(value, 100))


def _check(
    read: source.Source, root: Path | None, *, folder: Path | None, name: str | None
) -> tuple[definition.Workflow | None, tuple[problems.Problem, ...]]:
    settings, listed = (project.ProjectFile(), ()) if root is None else project.check(root)
    report = read.report()
    report.include(listed)
    # A document without a project leaves its caller free to bring any models.
    own = None if root is None else settings.models
    known = None if root is None else settings.registry
    files = (_identity(folder, read.file),)
    if kind(read.value) == "plan":
        workflow = _plan(read, report, settings, own)
        return None if report.failed else workflow, report.problems()
    trail = _Trail(root=root, commands=settings.allow_commands, files=files, models=own, registry=known)
    found = _read(read, report, trail, folder=folder, name=name)
    workflow = None if found is None else found.workflow
    if workflow is not None and root is not None and any(map(asking.is_asking, workflow.nodes.values())):
        from openskelo.workflows import pins  # noqa: PLC0415 - only workflows with models need it

        fixed = pins.fix(workflow, settings.models, cursor.Cursor(read.value, (), report))
        workflow = blocks.sealed(fixed)
    if workflow is not None and root is not None:
        secrets.warn(workflow, settings.secrets, cursor.Cursor(read.value, (), report))
    if workflow is not None and workflow.limits.max_steps is not None:
        _warn_of_steps(workflow, workflow.limits.max_steps, report)
    return None if report.failed else workflow, report.problems()


def _warn_of_steps(workflow: definition.Workflow, limit: int, report: problems.Report) -> None:
    """A run that cannot end well can be known before it begins."""
    from openskelo.workflows import estimate  # noqa: PLC0415 - few files bound their steps

    least = estimate.estimate(workflow).total.minimum.steps
    if least > limit:
        message = f"max_steps = {limit} is never enough: without a retry it takes {least} steps"
        report.warn(("budgets", "max_steps"), "BUDGET_TOO_SMALL", message, hint=f"allow at least {least}")


def _plan(
    read: source.Source, report: problems.Report, settings: project.ProjectFile, models: config.Config | None
) -> definition.Workflow | None:
    from openskelo.workflows.plan import door  # noqa: PLC0415 - only plans need it

    return door.read(cursor.Cursor(read.value, (), report), settings, models)


@frozen
class _Trail:
    """The files that led here, outermost first. `known` are those read already, by file and depth: a file that is
    used a thousand times is read once."""

    root: Path | None
    commands: bool
    files: tuple[str, ...]
    models: config.Config | None = None
    registry: registry.Registry | None = None
    known: dict[tuple[str, int], inline.Inner | None] = field(
        default_factory=dict[tuple[str, int], "inline.Inner | None"]
    )


def _read(
    read: source.Source, report: problems.Report, trail: _Trail, *, folder: Path | None, name: str | None
) -> inline.Inner | None:
    top = cursor.Cursor(read.value, (), report)
    found = kind(read.value)
    if found not in ("blocks", None):
        used = found == "plan" and len(trail.files) > 1
        why = "a plan cannot be a part of another workflow" if used else f"this is a {found}, which cannot be run yet"
        top.problem("KIND_UNSUPPORTED", why)
        return None
    if found is None and project.is_project(Path(read.file).name, read.value):
        hint = "a workflow is another file, with `blocks`; skelo.yaml says what its project allows"
        top.problem("KIND_PROJECT", "this is a project's file, not a workflow", hint=hint)
        return None
    if found is None and _is_script(read.value):
        hint = "name the workflow that it tests, as in `skelo test NAME.yaml`"
        top.problem("KIND_UNKNOWN", "this is a script of tests, not a workflow", hint=hint)
        return None
    if found is None and _is_something_else(read.value):
        # Its keys are not listed: whatever this file is, its content is nobody's business here.
        top.problem(
            "KIND_UNKNOWN",
            "this is not a workflow: it has no `blocks` and no `steps`",
            hint="a workflow lists its blocks, a plan its steps",
        )
        return None

    def use(place: cursor.Cursor) -> inline.Inner | None:
        return _use(place, trail, folder)

    setting = blocks.Setting(
        root=trail.root, commands=trail.commands, name=name, use=use, models=trail.models, registry=trail.registry
    )
    return blocks.read(top, setting)


def _use(spot: cursor.Cursor, trail: _Trail, folder: Path | None) -> inline.Inner | None:
    """The workflow that `uses` names, relative to the file it stands in."""
    text = spot.text(blank=False)
    if text is None:
        return None
    if folder is None or trail.root is None:
        spot.problem("USES_NO_ROOT", "a document in memory uses other files only in a project", hint="give `root`")
        return None
    path = Path(os.path.normpath(folder / text)) if "\0" not in text else folder
    inside = Path(os.path.relpath(path, trail.root)).as_posix()
    if Path(text).is_absolute() or handlers.outside(inside, trail.root) is not None:
        spot.problem("USES_OUTSIDE", f"{text[:80]!r} is not a file inside the project")
        return None
    identity = _identity(path.parent, path.name)
    if identity in trail.files:
        spot.problem("USES_CYCLE", f"{text[:80]!r} uses, in the end, this file again")
        return None
    if len(trail.files) > DEEPEST:
        spot.problem("USES_TOO_DEEP", f"files use each other deeper than {DEEPEST} levels")
        return None
    key = (identity, len(trail.files))
    if key not in trail.known:
        trail.known[key] = _load_inner(spot, path, replace(trail, files=(*trail.files, identity)))
    return trail.known[key]


def _load_inner(spot: cursor.Cursor, path: Path, trail: _Trail) -> inline.Inner | None:
    try:
        read = source.read(path)
    except errors.InvalidWorkflow as error:
        if not path.exists():
            hint = nearby.meant(path, str(spot.value)) or f"looked for {path}"
            spot.problem("USES_NOT_FOUND", f"there is no file {str(spot.value)[:80]!r}", hint=hint)
        elif path.is_dir():
            spot.problem("FILE_UNREADABLE", f"{str(spot.value)[:80]!r} is a folder", hint="name a file in it")
        else:
            spot.report.include(_listed(error))
        return None
    report = read.report()
    found = _read(read, report, trail, folder=path.parent, name=path.stem)
    if found is not None:
        _warn_of_the_run(found.workflow, report)
    spot.report.include(report.problems())
    return found


def _warn_of_the_run(workflow: definition.Workflow, report: problems.Report) -> None:
    """What a file says about a whole run means nothing where it is only a part of one."""
    if workflow.limits != definition.Limits():
        report.warn(("budgets",), "BUDGET_IGNORED", "as a sub-workflow this has the budget of the run that uses it")
    if workflow.parallel != limits.Defaults().parallel:
        place = ("defaults", "concurrency")
        report.warn(place, "CONCURRENCY_IGNORED", "as a sub-workflow this shares the concurrency of its run")


def _identity(folder: Path | None, file: str) -> str:
    return file if folder is None else os.path.realpath(folder / Path(file).name)


def _listed(error: errors.InvalidWorkflow) -> tuple[problems.Problem, ...]:
    return tuple(one for one in error.problems if isinstance(one, problems.Problem))


def _or_raise(
    checked: tuple[definition.Workflow | None, tuple[problems.Problem, ...]],
) -> definition.Workflow:
    workflow, listed = checked
    if workflow is None:
        raise errors.InvalidWorkflow([one for one in listed if one.severity == "error"])
    return workflow

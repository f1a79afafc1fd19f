"""Loads a workflow: from a file, or a document in memory, to a Workflow or a list of Problems.

The kind of a workflow is found from its content: `blocks` is a blocks file, `steps` a plan. A blocks file may use other
files (`uses`), which are read here and inlined by `blocks.inlining`. Problems carry file, line and column, and every
stage reports as many as it can find before the load fails.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from openskelo import agent_settings, errors
from openskelo.agent_settings import AgentsConfig
from openskelo.handlers import file_access
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config
from openskelo.structs import field, frozen, replace
from openskelo.values import suggestions
from openskelo.workflows.blocks import blocks_loader, handlers, inlining, limits, model_settings
from openskelo.workflows.project import agents as agent_sections
from openskelo.workflows.project import project_file
from openskelo.workflows.text import cursor, problems, source

#: How many levels deep files may use each other.
MAX_DEPTH = 8


def load(path: Path | str, *, root: Path | None = None, data_dir: Path | str | None = None) -> definition.Workflow:
    """Return the workflow in a file. Raise InvalidWorkflow with every error.

    `root` is the project root; without it the nearest one above the file. `data_dir` is as for `check`.
    """
    return _or_raise(check(path, root=root, data_dir=data_dir))


def from_document(
    document: JsonObject, *, root: Path | None = None, data_dir: Path | str | None = None, file: str = "<document>"
) -> definition.Workflow:
    """Return the workflow in a document in memory. Raise InvalidWorkflow with every error.

    Without `root` the document has no project. `data_dir` is as for `check`.
    """
    return _or_raise(check_document(document, root=root, data_dir=data_dir, file=file))


def check(
    path: Path | str, *, root: Path | None = None, data_dir: Path | str | None = None
) -> tuple[definition.Workflow | None, tuple[problems.Problem, ...]]:
    """Return the workflow in a file (None if there are errors), and all Problems including warnings.

    `data_dir` is that of the project, if it is not the one that the environment or `skelo.yaml` names.
    """
    path = Path(path)
    try:
        text = source.read(path)
    except errors.InvalidWorkflow as error:
        return None, _problems_of(error)
    project_root = project_file.find_root(path) if root is None else root
    return _check(text, project_root, data_dir, folder=path.parent, name=path.stem)


def check_document(
    document: JsonObject, *, root: Path | None = None, data_dir: Path | str | None = None, file: str = "<document>"
) -> tuple[definition.Workflow | None, tuple[problems.Problem, ...]]:
    """Return the same as `check`, for a document in memory; files that it uses are relative to `root`."""
    try:
        text = source.from_document(document, file=file)
    except errors.InvalidWorkflow as error:
        return None, _problems_of(error)
    return _check(text, root, data_dir, folder=root, name=None)


def is_project(path: Path) -> bool:
    """True if a file is a project file and not a workflow, as far as it can be read."""
    try:
        value = source.read(path).value
    except errors.InvalidWorkflow:
        value = None
    return kind(value) is None and project_file.is_project(path.name, value)


def kind(value: Json) -> str | None:
    """Return the kind of a workflow document by its content: "blocks", "plan", "pipeline", or None."""
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
    """True if a document is a script of `skelo test`: the scripted answers of models and people."""
    return isinstance(value, Mapping) and set(value) == {"tests"}


def _is_unrelated(value: Json) -> bool:
    """True if a document has nothing in common with a workflow, not even a mistyped key."""
    if not isinstance(value, Mapping) or not value.keys().isdisjoint(blocks_loader.KEYS):
        return False
    return not any(suggestions.name_like(key, ("blocks",)) for key in islice(value, 100))


def _check(
    text: source.Source, root: Path | None, data_dir: Path | str | None, *, folder: Path | None, name: str | None
) -> tuple[definition.Workflow | None, tuple[problems.Problem, ...]]:
    settings, project_problems = (project_file.ProjectFile(), ()) if root is None else project_file.check(root)
    report = text.report()
    report.include(project_problems)
    # A document without a project: its caller may bring any models.
    models = None if root is None else settings.models
    top = cursor.Cursor(text.value, (), report)
    folders = None if root is None else project_file.folders(settings, root, data_dir)
    identity = _identity(folder, text.file)
    if folders is not None and not _check_place(top, identity, folders):
        return None, report.problems()
    if kind(text.value) == "plan":
        from openskelo.workflows.plan import plan_loader  # noqa: PLC0415 - only plans need it

        workflow = plan_loader.read(top, settings, models)
        return None if report.failed else workflow, report.problems()
    trail = _Trail(
        folders=folders,
        commands=settings.allow_commands,
        files=(identity,),
        models=models,
        agents=None if root is None else settings.agents,
        handler_timeout_ms=settings.handler_timeout_ms,
    )
    inner = _read_blocks(text, report, trail, folder=folder, name=name)
    if inner is None:
        return None, report.problems()
    workflow = inner.workflow
    if root is not None and any(map(model_settings.calls_model, workflow.nodes.values())):
        from openskelo.workflows import pinning  # noqa: PLC0415 - only workflows with models need it

        workflow = blocks_loader.sealed(pinning.pin_experts(workflow, settings.models, top))
    if root is not None:
        blocks_loader.warn_undeclared_secrets(workflow, settings.secrets, top)
    if workflow.limits.max_cost_nanousd is not None:
        _check_agent_prices(workflow, top)
    if workflow.limits != definition.Limits():
        _warn_of_limits(workflow, report)
    return None if report.failed else workflow, report.problems()


def _check_place(place: cursor.Cursor, identity: str, folders: handlers.Folders) -> bool:
    """True if the file may be a workflow; a Problem if data could have written it."""
    if not file_access.is_inside(Path(identity), folders.write_roots):
        return True
    write_root = file_access.code_in_write_root(Path(identity).name)
    place.problem(write_root.code, write_root.message, hint=write_root.hint)
    return False


def _check_agent_prices(workflow: definition.Workflow, top: cursor.Cursor) -> None:
    """Report a limit in USD that cannot be held, because the price of an agent's model is unknown."""
    for key, node in workflow.nodes.items():
        agent = agent_settings.pinned_in(node.config)
        if agent is not None and not agent_sections.is_priced(agent):
            top.at("budgets", None).at("max_cost_usd", None).problem(
                "PRICE_UNKNOWN",
                f"the block {key!r} is done by {agent.name}, whose model has no known price",
                hint="give the agent `prices` in skelo.yaml; what an agent with its own log-in costs is never known",
            )


def _warn_of_limits(workflow: definition.Workflow, report: problems.Report) -> None:
    """Warn of each limit that no run can keep, by the minimum that `explain` shows."""
    from openskelo.workflows.estimate import estimator  # noqa: PLC0415 - few files have limits

    least = estimator.estimate(workflow).total.minimum
    limits = workflow.limits
    cost = None if limits.max_cost_nanousd is None else limits.max_cost_nanousd / definition.NANO_PER_USD
    rows = (
        ("max_steps", limits.max_steps, least.steps, "without a retry it takes", "steps"),
        ("max_tokens", limits.max_tokens, least.tokens, "an attempt reserves", "tokens"),
        ("max_cost_usd", cost, least.cost_usd, "an attempt reserves", "USD"),
    )
    for name, limit, demand, takes, unit in rows:
        if limit is not None and demand > limit:
            message = f"{name} = {limit:.12g} is never enough: {takes} {demand:.12g} {unit}"
            report.warn(("budgets", name), "BUDGET_TOO_SMALL", message, hint=f"allow at least {demand:.12g}")


@frozen
class _Trail:
    """The project, and the files that led here through `uses`, outermost first."""

    folders: handlers.Folders | None
    commands: bool
    files: tuple[str, ...]
    models: config.Config | None = None
    agents: AgentsConfig | None = None
    handler_timeout_ms: int = limits.HANDLER_TIMEOUT_MS
    #: The files read so far, by file and depth, so that a file that is used a thousand times is read once.
    loaded: dict[tuple[str, int], inlining.Inner | None] = field(
        default_factory=dict[tuple[str, int], "inlining.Inner | None"]
    )


def _read_blocks(
    text: source.Source, report: problems.Report, trail: _Trail, *, folder: Path | None, name: str | None
) -> inlining.Inner | None:
    """Return the blocks file in `text`; None after a Problem, which says what the document is if it is not one."""
    top = cursor.Cursor(text.value, (), report)
    if not _check_kind(text, top, inner=len(trail.files) > 1):
        return None

    def use(place: cursor.Cursor) -> inlining.Inner | None:
        return _load_used(place, trail, folder)

    setting = blocks_loader.Context(
        folders=trail.folders,
        commands=trail.commands,
        name=name,
        load_used=use,
        models=trail.models,
        agents=trail.agents,
        handler_timeout_ms=trail.handler_timeout_ms,
    )
    return blocks_loader.read(top, setting)


def _check_kind(text: source.Source, top: cursor.Cursor, *, inner: bool) -> bool:
    """True if the document may be a blocks file; otherwise a Problem. `inner`: another file uses it."""
    document_kind = kind(text.value)
    if document_kind == "blocks":
        return True
    if document_kind is not None:
        if document_kind == "plan" and inner:
            message = "a plan cannot be a part of another workflow"
        else:
            message = f"this is a {document_kind}, which cannot be run yet"
        top.problem("KIND_UNSUPPORTED", message)
        return False
    if project_file.is_project(Path(text.file).name, text.value):
        hint = "a workflow is another file, with `blocks`; skelo.yaml says what its project allows"
        top.problem("KIND_PROJECT", "this is the settings file of a project, not a workflow", hint=hint)
        return False
    if _is_script(text.value):
        hint = "name the workflow that it tests, as in `skelo test NAME.yaml`"
        top.problem("KIND_UNKNOWN", "this is a test script, not a workflow", hint=hint)
        return False
    if _is_unrelated(text.value):
        # Its keys are not listed in the message: the file may be private.
        message = "this is not a workflow: it has no `blocks` and no `steps`"
        top.problem("KIND_UNKNOWN", message, hint="a workflow lists its blocks, a plan its steps")
        return False
    return True


def _load_used(place: cursor.Cursor, trail: _Trail, folder: Path | None) -> inlining.Inner | None:
    """Return the workflow that `uses` names, relative to the file that uses it; None after a Problem."""
    text = place.text(blank=False)
    if text is None:
        return None
    if folder is None or trail.folders is None:
        place.problem("USES_NO_ROOT", "a document in memory uses other files only in a project", hint="give `root`")
        return None
    path = Path(os.path.normpath(folder / text)) if "\0" not in text else folder
    inside = Path(os.path.relpath(path, trail.folders.root)).as_posix()
    if Path(text).is_absolute() or handlers.outside(inside, trail.folders.root) is not None:
        place.problem("USES_OUTSIDE", f"{text[:80]!r} is not a file inside the project")
        return None
    identity = _identity(path.parent, path.name)
    if not _check_place(place, identity, trail.folders):
        return None
    if (reason := trail.folders.reason_against_reading(Path(identity))) is not None:
        place.problem("USES_OUTSIDE", f"{text[:80]!r} {reason}", hint="a workflow is a file of the project itself")
        return None
    if identity in trail.files:
        place.problem("USES_CYCLE", f"{text[:80]!r} uses, in the end, this file again")
        return None
    if len(trail.files) > MAX_DEPTH:
        place.problem("USES_TOO_DEEP", f"files use each other deeper than {MAX_DEPTH} levels")
        return None
    key = (identity, len(trail.files))
    if key not in trail.loaded:
        trail.loaded[key] = _load_inner(place, path, replace(trail, files=(*trail.files, identity)))
    return trail.loaded[key]


def _load_inner(place: cursor.Cursor, path: Path, trail: _Trail) -> inlining.Inner | None:
    try:
        text = source.read(path)
    except errors.InvalidWorkflow as error:
        if not path.exists():
            hint = problems.similar_path(path, str(place.value)) or f"looked for {path}"
            place.problem("USES_NOT_FOUND", f"there is no file {str(place.value)[:80]!r}", hint=hint)
        elif path.is_dir():
            place.problem("FILE_UNREADABLE", f"{str(place.value)[:80]!r} is a folder", hint="name a file in it")
        else:
            place.report.include(_problems_of(error))
        return None
    report = text.report()
    inner = _read_blocks(text, report, trail, folder=path.parent, name=path.stem)
    if inner is not None:
        _warn_of_run_settings(inner.workflow, report)
    place.report.include(report.problems())
    return inner


def _warn_of_run_settings(workflow: definition.Workflow, report: problems.Report) -> None:
    """Warn of settings of a whole run in a file that is only a part of one: they have no effect."""
    if workflow.limits != definition.Limits():
        report.warn(("budgets",), "BUDGET_IGNORED", "as a sub-workflow this has the budget of the run that uses it")
    if workflow.parallel != limits.Defaults().parallel:
        path = ("defaults", "concurrency")
        report.warn(path, "CONCURRENCY_IGNORED", "as a sub-workflow this shares the concurrency of its run")


def _identity(folder: Path | None, file: str) -> str:
    """Return the real path of a file, by which a cycle of `uses` is noticed."""
    if folder is None:
        return file
    return os.path.realpath(folder / Path(file).name)


def _problems_of(error: errors.InvalidWorkflow) -> tuple[problems.Problem, ...]:
    return tuple(problem for problem in error.problems if isinstance(problem, problems.Problem))


def _or_raise(
    checked: tuple[definition.Workflow | None, tuple[problems.Problem, ...]],
) -> definition.Workflow:
    workflow, all_problems = checked
    if workflow is None:
        raise errors.InvalidWorkflow([problem for problem in all_problems if problem.severity == "error"])
    return workflow

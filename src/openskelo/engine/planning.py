"""Have a model write a plan for a goal: `skelo plan` and `openskelo.plan`.

    planned = await openskelo.plan("Sort the mail.", openskelo.project_at("."))

This is an ordinary run of a generated workflow:

    draft_1 (model) ──> check_1 (handler) ──> draft_2, if check_1 has found Problems ──> check_2 ──> …

A draft after the first gets the refused draft and its Problems. Every draft and every check leaves its receipt, so the
log shows what the model wrote and why it was refused. The plan is checked, and never run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from openskelo import errors
from openskelo.engine import api
from openskelo.executors.handlers import invocation
from openskelo.handlers import context
from openskelo.history.run_document import RunDocument, RunError
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.providers import config, kinds, protocol
from openskelo.structs import as_dict, frozen
from openskelo.workflows import load
from openskelo.workflows.plan import drafting_guide
from openskelo.workflows.text import problems

#: The name of the workflow.
NAME = "skelo-plan"
#: The handler that checks a draft.
CHECKER = "check-plan"
#: How often a draft with Problems goes back to the model: by default, and at most.
REPAIRS = 2
_MAX_REPAIRS = 10
#: The length limit of a draft by a provider that the caller brings; `kinds.Kind` has those of the others.
_MAX_TOKENS = 8_000
#: How many Problems go back at once; the next check finds the others.
_MAX_PROBLEMS = 12

_TASK = """\
Write a plan that reaches this goal:

{{ inputs.goal }}

A plan is a JSON object. Its steps are done one at a time, from the first on; after a step the run goes to the next one
in the list, unless it is a branch. Values are saved under `save_as` and read as refs: "var:NAME", "input:NAME",
"ctx:NAME". Every path ends with an `emit` or an `ask_human`. A variable may only be read where it has been set on every
path. Check what an expert says with a `verify` and a `branch` before a tool acts on it. Every loop has a bound:
`max_visits` on a step, or budgets.max_steps.

Use only what this project has:

{{ inputs.available }}
"""
_REPAIR = """\

The last draft was refused. Write the whole plan again, without these problems:

{{ inputs.problems }}

The refused draft:

{{ inputs.draft }}
"""


@frozen
class Planned:
    """The result of `plan`: the run that wrote it, the last draft, and its Problems."""

    run_id: str
    #: None if there is no draft: `error` says why.
    plan: JsonObject | None = None
    #: None if the last draft has errors.
    workflow: definition.Workflow | None = None
    #: Those of a valid plan are warnings.
    problems: tuple[problems.Problem, ...] = ()
    #: The error of the run.
    error: RunError | None = None

    def document(self) -> dict[str, object]:
        """Return the result as `skelo plan --json` prints it."""
        document: dict[str, object] = {
            "runId": self.run_id,
            "valid": self.workflow is not None,
            "plan": self.plan,
            "problems": [as_dict(problem) for problem in self.problems],
        }
        if self.error is not None:
            document["error"] = self.error
        return document


async def plan(
    goal: str,
    project: Project,
    *,
    expert: str | None = None,
    repairs: int = REPAIRS,
    provider: protocol.Provider | None = None,
    by: str = "python",
) -> Planned:
    """Have a model write a plan for `goal` with the project's tools and experts, and return it checked.

    The model is the one of `expert`, else of the project's default expert; `provider` replaces the project's providers.
    A draft with Problems goes back up to `repairs` times. Raises InvalidInput, and InvalidWorkflow for an unknown
    expert, before a model is called.
    """
    async with api.open_engine(project, handlers=handlers(project), provider=provider) as engine:
        run_id = await start(engine, goal, expert=expert, repairs=repairs, by=by)
        return outcome(await engine.wait(run_id), project.root)


def handlers(project: Project) -> Mapping[str, invocation.Handler]:
    """Return the handlers that an engine needs to check drafts."""
    return {CHECKER: _DraftChecker(project.root).__call__}


async def start(engine: api.Engine, goal: str, *, expert: str | None, repairs: int, by: str) -> str:
    """Start a run that writes a plan, in an engine with `handlers`; return its id (InvalidInput, InvalidWorkflow)."""
    if not goal.strip():
        raise errors.InvalidInput("the goal is empty", code="USAGE", hint="say in words what the plan is for")
    if not 0 <= repairs <= _MAX_REPAIRS:
        raise errors.InvalidInput(f"repairs must be between 0 and {_MAX_REPAIRS}", code="USAGE")
    project = engine.project
    drafting = load.from_document(workflow(project, expert, repairs), root=project.root, file="<plan>")
    available = drafting_guide.available(project.models, project.registry)
    return await engine.start(drafting, {"goal": goal.strip(), "available": available}, by=by)


def workflow(project: Project, expert: str | None, repairs: int) -> JsonObject:
    """Return the document of the workflow: drafts and checks in turn."""
    blocks: list[Json] = []
    common_fields: dict[str, Json] = {
        "outputs": {"plan": drafting_guide.short_schema(project.registry)},
        "max_tokens": _max_tokens(project.models, expert),
    }
    if expert is not None:
        common_fields["expert"] = expert
    for number in range(1, repairs + 2):
        blocks += [{**_draft_block(number), **common_fields}, _check_block(number)]
    return {
        "name": NAME,
        "description": "A model drafts a plan, the checker checks it, and its Problems go back.",
        "inputs": {"goal": "string", "available": "object"},
        "blocks": blocks,
    }


def _max_tokens(models: config.Config | None, expert: str | None) -> int:
    """Return the length limit of a draft by this expert, else by the default one."""
    if models is None:
        return _MAX_TOKENS
    expert_settings = models.experts.get(expert or models.default_expert or "")
    if expert_settings is None:
        return _MAX_TOKENS
    return kinds.KINDS[models.providers[expert_settings.provider].kind].max_draft_tokens


def _draft_block(number: int) -> JsonObject:
    """Return the block of a draft, counted from 1; each after the first runs only if the draft before was refused."""
    inputs: dict[str, Json] = {
        "goal": {"type": "string", "from": "inputs.goal"},
        "available": {"type": "object", "from": "inputs.available"},
    }
    block: dict[str, Json] = {"id": f"draft_{number}", "mode": "ai", "inputs": inputs, "prompt": _TASK}
    if number > 1:
        inputs["problems"] = {"type": "array", "from": f"check_{number - 1}.problems"}
        inputs["draft"] = {"type": "object", "from": f"draft_{number - 1}.plan"}
        block["prompt"] = _TASK + _REPAIR
        block["when"] = "size(inputs.problems) > 0"
    return block


def _check_block(number: int) -> JsonObject:
    return {
        "id": f"check_{number}",
        "mode": "deterministic",
        "inputs": {"plan": {"type": "object", "from": f"draft_{number}.plan"}},
        "outputs": {"problems": "array"},
        "deterministic": {"handler": f"local:{CHECKER}"},
    }


class _DraftChecker:
    """The handler that checks a draft in its project, and returns its errors as texts for the model."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def __call__(self, ctx: context.Context) -> JsonObject:
        _, plan_problems = _check(cast("JsonObject", ctx.inputs["plan"]), self._root)
        mistakes = [problem for problem in plan_problems if problem.severity == "error"]
        return {"problems": [_describe(problem) for problem in mistakes[:_MAX_PROBLEMS]]}


def _check(document: JsonObject, root: Path) -> tuple[definition.Workflow | None, tuple[problems.Problem, ...]]:
    """Return the workflow of a draft, None if it has errors, and its Problems; a draft without steps has one."""
    if load.kind(document) != "plan":
        missing = problems.Problem(file="plan", line=1, column=1, code="KIND_UNKNOWN", message="it has no `steps`")
        return None, (missing,)
    return load.check_document(document, root=root, file="plan")


def _describe(problem: problems.Problem) -> str:
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{problem.path or '/'}: {problem.code} {problem.message}{hint}"


def outcome(document: RunDocument, root: Path) -> Planned:
    """Return the result, so far, of the run with this document (`Engine.show`)."""
    nodes = document["nodes"]
    outputs = [nodes[key]["outputs"] or {} for key in sorted(nodes) if key.startswith("draft_")]
    drafts = [cast("JsonObject", draft["plan"]) for draft in outputs if draft.get("plan")]
    run_id, error = document["runId"], document.get("error")
    if not drafts:
        return Planned(run_id=run_id, error=error)
    workflow, plan_problems = _check(drafts[-1], root)
    return Planned(run_id=run_id, plan=drafts[-1], workflow=workflow, problems=plan_problems, error=error)

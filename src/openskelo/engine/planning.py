"""How a plan is asked for: an ordinary workflow in which a model drafts, the checker looks, and Problems go back.

    planned = await openskelo.plan("Sort the mail.", openskelo.project_at("."))

Every draft and every look leaves its receipt, so that it can be seen later who wrote what and why it was refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from openskelo import errors
from openskelo.engine import local
from openskelo.executors import calling, task
from openskelo.frozen import as_dict, frozen
from openskelo.handlers import context
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, seam
from openskelo.workflows import load, problems
from openskelo.workflows.plan import terms

#: What the workflow is called.
NAME = "skelo-plan"
#: The handler that looks at a draft.
CHECKER = "check-plan"
#: So often a draft with Problems goes back, unless somebody says otherwise; and at most.
REPAIRS = 2
_MOST_REPAIRS = 10
#: How long a draft may be, and one by a model on this machine, which is slow and has a small window.
_MOST_TOKENS = 8_000
_MOST_TOKENS_HERE = 2_000
#: So many Problems go back at once; the rest shows when these are mended.
_MOST_PROBLEMS = 12

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
_AGAIN = """\

The last draft was refused. Write the whole plan again, without these problems:

{{ inputs.problems }}

The refused draft:

{{ inputs.draft }}
"""


@frozen
class Planned:
    """What came of a goal, and which run tells how: the last draft, and what the checker says about it now.

    `workflow` is None where no draft was without Problems; `plan`, too, where there was none at all (the `error` of the
    run says why). Warnings are among the `problems` of a plan that can be run.
    """

    run_id: str
    plan: JsonObject | None = None
    workflow: definition.Workflow | None = None
    problems: tuple[problems.Problem, ...] = ()
    error: JsonObject | None = None

    def document(self) -> dict[str, Json]:
        """As `skelo plan --json` prints it."""
        found: dict[str, Json] = {
            "runId": self.run_id,
            "valid": self.workflow is not None,
            "plan": self.plan,
            "problems": [as_dict(one) for one in self.problems],
        }
        return found if self.error is None else {**found, "error": self.error}


async def plan(
    goal: str,
    project: task.Project,
    *,
    expert: str | None = None,
    repairs: int = REPAIRS,
    provider: seam.Provider | None = None,
    by: str = "python",
) -> Planned:
    """Have a model write a plan for `goal` with what the project has. The plan is checked, and never run.

    It is written by `expert`, else the project's default one; by `provider`, where that is given. A draft with Problems
    goes back up to `repairs` times. InvalidInput, and InvalidWorkflow for an unknown expert, when nothing was asked.
    """
    async with await local.Engine.open(project, handlers=handlers(project), provider=provider) as engine:
        run_id = await start(engine, goal, expert=expert, repairs=repairs, by=by)
        return outcome(await engine.wait(run_id), project.root)


def handlers(project: task.Project) -> Mapping[str, calling.Handler]:
    """What an engine needs to look at drafts."""
    return {CHECKER: _Looking(project.root).__call__}


async def start(engine: local.Engine, goal: str, *, expert: str | None, repairs: int, by: str) -> str:
    """Begin a run that writes a plan, with an engine that has the `handlers` (InvalidInput, InvalidWorkflow)."""
    if not goal.strip():
        raise errors.InvalidInput("the goal is empty", code="USAGE", hint="say in words what the plan is for")
    if not 0 <= repairs <= _MOST_REPAIRS:
        raise errors.InvalidInput(f"repairs is 0 to {_MOST_REPAIRS}", code="USAGE")
    where = engine.project
    asked = load.from_document(workflow(where, expert, repairs), root=where.root, file="<plan>")
    given: JsonObject = {"goal": goal.strip(), "available": terms.available(where.models, where.registry)}
    return await engine.start(asked, given, by=by)


def workflow(where: task.Project, expert: str | None, repairs: int) -> JsonObject:
    """The document of the workflow: drafts and looks in turn; each but the first draft only where one was refused."""
    blocks: list[Json] = []
    asked: dict[str, Json] = {
        "outputs": {"plan": terms.shape(where.registry)},
        "max_tokens": _most_tokens(where.models, expert),
    }
    if expert is not None:
        asked["expert"] = expert
    for number in range(repairs + 1):
        blocks += [{**_draft(number), **asked}, _look(number)]
    return {
        "name": NAME,
        "description": "A model drafts a plan, the checker looks at it, and its Problems go back.",
        "inputs": {"goal": "string", "available": "object"},
        "blocks": blocks,
    }


def _most_tokens(models: config.Config | None, expert: str | None) -> int:
    name = expert or (None if models is None else models.default_expert)
    found = None if models is None else models.experts.get(name or "")
    if models is None or found is None or models.providers[found.provider].kind != "local":
        return _MOST_TOKENS
    return _MOST_TOKENS_HERE


def _draft(number: int) -> JsonObject:
    inputs: dict[str, Json] = {
        "goal": {"type": "string", "from": "inputs.goal"},
        "available": {"type": "object", "from": "inputs.available"},
    }
    found: dict[str, Json] = {
        "id": f"draft_{number + 1}",
        "mode": "ai",
        "inputs": inputs,
        "prompt": _TASK if not number else _TASK + _AGAIN,
    }
    if number:
        inputs["problems"] = {"type": "array", "from": f"check_{number}.problems"}
        inputs["draft"] = {"type": "object", "from": f"draft_{number}.plan"}
        found["when"] = "size(inputs.problems) > 0"
    return found


def _look(number: int) -> JsonObject:
    return {
        "id": f"check_{number + 1}",
        "mode": "deterministic",
        "inputs": {"plan": {"type": "object", "from": f"draft_{number + 1}.plan"}},
        "outputs": {"problems": "array"},
        "deterministic": {"handler": f"local:{CHECKER}"},
    }


class _Looking:
    """The handler that checks a draft in its project."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def __call__(self, ctx: context.Context) -> JsonObject:
        _, found = _check(cast("JsonObject", ctx.inputs["plan"]), self._root)
        wrong = [one for one in found if one.severity == "error"]
        return {"problems": [_told(one) for one in wrong[:_MOST_PROBLEMS]]}


def _check(document: JsonObject, root: Path) -> tuple[definition.Workflow | None, tuple[problems.Problem, ...]]:
    """A draft as the checker sees it. One that is no plan at all has a Problem, whatever else it may be."""
    if load.kind(document) != "plan":
        missing = problems.Problem(file="plan", line=1, column=1, code="KIND_UNKNOWN", message="it has no `steps`")
        return None, (missing,)
    return load.check_document(document, root=root, file="plan")


def _told(problem: problems.Problem) -> str:
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{problem.path or '/'}: {problem.code} {problem.message}{hint}"


def outcome(document: JsonObject, root: Path) -> Planned:
    """What has come, so far, of the run with this document (`Engine.show`)."""
    nodes = cast("Mapping[str, JsonObject]", document["nodes"])
    outputs = [cast("JsonObject", nodes[key].get("outputs") or {}) for key in sorted(nodes) if key.startswith("draft_")]
    drafts = [cast("JsonObject", made["plan"]) for made in outputs if made.get("plan")]
    run_id, error = cast("str", document["runId"]), cast("JsonObject | None", document.get("error"))
    if not drafts:
        return Planned(run_id=run_id, error=error)
    found, listed = _check(drafts[-1], root)
    return Planned(run_id=run_id, plan=drafts[-1], workflow=found, problems=listed, error=error)

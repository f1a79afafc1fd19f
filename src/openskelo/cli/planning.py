"""How a plan is asked for: an ordinary workflow in which a model drafts, the checker looks, and Problems go back.

Every draft and every look leaves its receipt, so that it can be seen later who wrote what and why it was refused.
"""

from __future__ import annotations

from pathlib import Path

from openskelo.cli import members, plan_terms
from openskelo.executors import task
from openskelo.frozen import frozen
from openskelo.handlers import context
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config
from openskelo.workflows import load, problems

#: What the workflow is called.
NAME = "skelo-plan"
#: The handler that looks at a draft.
CHECKER = "check-plan"
#: So often a draft with Problems goes back, unless somebody says otherwise.
REPAIRS = 2
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
class Drafted:
    """The last draft of a run, and what the checker says about it now."""

    document: JsonObject
    workflow: definition.Workflow | None
    problems: tuple[problems.Problem, ...]


def workflow(where: task.Project, expert: str | None, repairs: int) -> JsonObject:
    """The document of the workflow: drafts and looks in turn; each but the first draft only where one was refused."""
    blocks: list[Json] = []
    asked: dict[str, Json] = {
        "outputs": {"plan": plan_terms.shape(where.registry)},
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


class Looking:
    """The handler that checks a draft in its project."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def __call__(self, ctx: context.Context) -> JsonObject:
        drafted = check(members.object_at(ctx.inputs, "plan"), self._root)
        wrong = [one for one in drafted.problems if one.severity == "error"]
        return {"problems": [_told(one) for one in wrong[:_MOST_PROBLEMS]]}


def check(document: JsonObject, root: Path) -> Drafted:
    """A draft as the checker sees it. One that is no plan at all has a Problem, whatever else it may be."""
    if load.kind(document) != "plan":
        missing = problems.Problem(file="plan", line=1, column=1, code="KIND_UNKNOWN", message="it has no `steps`")
        return Drafted(document=document, workflow=None, problems=(missing,))
    found, listed = load.check_document(document, root=root, file="plan")
    return Drafted(document=document, workflow=found, problems=listed)


def _told(problem: problems.Problem) -> str:
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{problem.path or '/'}: {problem.code} {problem.message}{hint}"


def last(nodes: JsonObject, root: Path) -> Drafted | None:
    """The last draft that a run made, by the nodes of its document; None when it made none."""
    drafts = [
        members.object_at(members.object_at(members.object_at(nodes, key), "outputs"), "plan")
        for key in sorted(nodes)
        if key.startswith("draft_")
    ]
    made = [draft for draft in drafts if draft]
    return check(made[-1], root) if made else None

"""The file of scripted runs that `skelo test` reads: text to cases, or Problems with their place.

tests:
  - name: publishes what was approved
    inputs: {topic: bees}
    answers: {draft: [{text: "…"}, {error: {code: MODEL_DOWN, message: "…"}}]}   # of ai blocks, in order
      # and of `llm_review` gates: {"draft:gate": [{verdicts: [{criterion: 1, passed: true, reason: "…"}]}]}
    approvals: {review: {status: approved | denied | modified, set: {…}, reason: "…"}}   # or a list of them
    results: {s3: [{ok: true}]}                                                    # of tools and checkers, in order
    contexts: {"ctx:diff": "…"}                                                    # of a plan
    expect: {ending: ok, outputs: {…}, nodes: {draft: {outcome: succeeded, outputs: {…}}}}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openskelo import errors, testing
from openskelo.frozen import field, frozen
from openskelo.kernel import commands, definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import cursor, source, suggest

ENDINGS = ("ok", "failed", "cancelled", "budget_exceeded", "denied", "escalated", "paused")
_NODE_FACTS = frozenset({"status", "outcome", "visits", "attempts", "outputs"})
_STATUSES: dict[str, commands.Answer] = {"approved": "approved", "denied": "denied", "modified": "modified"}


@frozen
class Case:
    """One scripted run and what must come of it; only what is named in `outputs` and `nodes` is compared."""

    name: str
    ending: str
    inputs: JsonObject = field(default_factory=dict[str, Json])
    answers: Mapping[str, tuple[Json, ...]] = field(default_factory=dict[str, tuple[Json, ...]])
    results: Mapping[str, tuple[Json, ...]] = field(default_factory=dict[str, tuple[Json, ...]])
    contexts: JsonObject = field(default_factory=dict[str, Json])
    replies: Mapping[str, tuple[testing.Reply, ...]] = field(default_factory=dict[str, tuple[testing.Reply, ...]])
    outputs: JsonObject = field(default_factory=dict[str, Json])
    nodes: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])


def read(path: Path, workflow: definition.Workflow) -> tuple[Case, ...]:
    """The cases in a file; InvalidWorkflow with every Problem found."""
    text = source.read(path)
    report = text.report()
    root = cursor.Cursor(text.value, (), report).fields({"tests"})
    tests = root.need("tests") if root else None
    entries = (tests.items() or []) if tests else []
    if tests and not entries and not report.failed:
        tests.problem("EMPTY", "there is no test here")
    cases = [_case(entry, workflow, number) for number, entry in enumerate(entries, 1)]
    wrong = tuple(problem for problem in report.problems() if problem.severity == "error")
    if wrong:
        raise errors.InvalidWorkflow(wrong)
    return tuple(case for case in cases if case is not None)


def _case(entry: cursor.Cursor, workflow: definition.Workflow, number: int) -> Case | None:
    fields = entry.fields({"name", "inputs", "answers", "approvals", "results", "contexts", "expect"})
    if fields is None:
        return None
    expected = fields.get("expect")
    wanted = None if expected is None else expected.fields({"ending", "outputs", "nodes"})
    if expected is not None and wanted is None:
        return None
    nodes = {} if wanted is None else _by_node(wanted, "nodes", workflow)
    return Case(
        name=fields.text("name", f"test {number}"),
        ending="ok" if wanted is None else wanted.choice("ending", ENDINGS, "ok"),
        inputs=_object(fields, "inputs"),
        answers={key: _list(place) for key, place in _by_node(fields, "answers", workflow, _reviews(workflow)).items()},
        results={
            key: _list(place) for key, place in _by_node(fields, "results", workflow).items() if _plays(place, workflow)
        },
        contexts=_contexts(fields, workflow),
        replies={key: _replies(place) for key, place in _by_node(fields, "approvals", workflow).items()},
        outputs={} if wanted is None else _object(wanted, "outputs"),
        nodes={key: _facts(place) for key, place in nodes.items()},
    )


def _reviews(workflow: definition.Workflow) -> tuple[str, ...]:
    """Who answers beside the blocks themselves: their reviews, as `block:gate`."""
    return tuple(
        f"{node.key}:{gate.name}"
        for node in workflow.nodes.values()
        for gate in (*node.pre_gates, *node.post_gates)
        if gate.type == "llm_review"
    )


def _by_node(
    fields: cursor.Fields, name: str, workflow: definition.Workflow, others: tuple[str, ...] = ()
) -> dict[str, cursor.Cursor]:
    place = fields.get(name)
    inner = place.fields() if place else None
    found: dict[str, cursor.Cursor] = {}
    for entry in inner or ():
        key = str(entry.path[-1])
        if key in workflow.nodes or key in others:
            found[key] = entry
        else:
            hint = suggest.did_you_mean(key, (*workflow.nodes, *others))
            entry.key_problem("UNKNOWN_BLOCK", f"the workflow has no block {key[:60]!r}", hint=hint)
    return found


def _plays(place: cursor.Cursor, workflow: definition.Workflow) -> bool:
    """Whether the script may say what comes of a node: of a tool_call or a verify, in a plan or in a block."""
    node = workflow.nodes[str(place.path[-1])]
    op = node.step.op if node.step is not None else node.config.get("op") if node.handler == "builtin:step" else None
    if op in ("tool_call", "verify"):
        return True
    place.key_problem("SCRIPT_INVALID", f"{node.key} calls no tool and no checker", hint="they alone have results here")
    return False


def _contexts(fields: cursor.Fields, workflow: definition.Workflow) -> JsonObject:
    place = fields.get("contexts")
    used = () if workflow.plan is None else workflow.plan.contexts
    for entry in (place.fields() if place else None) or ():
        if (name := str(entry.path[-1])) not in used:
            hint = suggest.did_you_mean(name, used)
            entry.key_problem("CONTEXT_UNKNOWN", f"the workflow uses no context {name[:60]!r}", hint=hint)
    return _object(fields, "contexts")


def _list(place: cursor.Cursor) -> tuple[Json, ...]:
    return tuple(entry.value for entry in place.items() or ())


def _replies(place: cursor.Cursor) -> tuple[testing.Reply, ...]:
    entries = [place] if isinstance(place.value, Mapping) else place.items() or []
    return tuple(reply for entry in entries if (reply := _reply(entry)) is not None)


def _reply(entry: cursor.Cursor) -> testing.Reply | None:
    fields = entry.fields({"status", "set", "reason"})
    if fields is None:
        return None
    values = _object(fields, "set")
    status = fields.choice("status", tuple(_STATUSES), "modified" if values else "approved")
    return testing.Reply(status=_STATUSES[status], values=values or None, reason=fields.text("reason") or None)


def _facts(place: cursor.Cursor) -> JsonObject:
    fields = place.fields(_NODE_FACTS)
    return fields.value if fields else {}


def _object(fields: cursor.Fields, name: str) -> JsonObject:
    place = fields.get(name)
    inner = place.fields() if place else None
    return inner.value if inner else {}

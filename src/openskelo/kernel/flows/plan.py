"""Which step comes next: the scheduler of plans, a program counter over steps that are entered one at a time.

The first half rules (it may look at anything and changes nothing), the second half applies what was ruled.
"""

from __future__ import annotations

from typing import Any, cast

from openskelo.frozen import replace
from openskelo.kernel import commands, definition, events, outcome, places, receipts
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import Course, NodeOutcome, NodeState, Run

#: The key of the value of a step that saves it nowhere.
UNSAVED = "output"


def outputs(step: definition.Step, value: Json) -> dict[str, Json]:
    """The outputs of a step that has come to `value`; a retry saves what its target gives, and nothing of its own."""
    return {UNSAVED if step.save_as is None or step.op == "retry" else step.save_as: value}


def value(outputs: Json) -> Json:
    """The one value in the outputs of a step."""
    return next(iter(cast("JsonObject", outputs).values()))


def _step(run: Run, key: str) -> definition.Step:
    step: Any = run.workflow.nodes[key].step  # every node of a plan is one
    return step


# -- ruling -----------------------------------------------------------------------------------------------------------


def goto(run: Run, report: commands.ReportAttempt) -> str | None:
    """Where a branch goes that has come to its outcome; None for other steps, which have one way to go."""
    step = _step(run, report.node)
    if step.op != "branch":
        return None
    return step.then if report.outcome.holds else step.otherwise


def retry(run: Run, course: Course, key: str) -> definition.Retry:
    """How often and with which waits the step is tried: as the retry says under which it runs, if it does."""
    return run.workflow.nodes[key if course.trying is None else course.trying].retry


def verdict(run: Run, report: commands.ReportAttempt) -> outcome.Failure | None:
    """The failed try that a check which does not hold is for the retry under which it runs; alone it is a value."""
    if report.outcome.holds is not False or _step(run, report.node).op != "verify":
        return None
    return outcome.Failure(code="VERIFY_FAILED", message=f"the check of {report.node} does not hold")


def told_denial(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> commands.ReportAttempt | None:
    """The report of work that was not allowed, with what the step saves where the plan goes on; None where it ends."""
    step = run.workflow.nodes[report.node].step
    if step is None or step.on_denied is None:
        return None
    denial: JsonObject = {"denied": True, "code": failure.code, "message": failure.message}
    left = outputs(step, denial)
    told = replace(report.outcome, outputs={"value": left}, output_hash=receipts.digest(left))
    return replace(report, outcome=told)


def refusal(run: Run, node: NodeState, at: int) -> events.NodeFailed | None:
    """The failure of a step that has been entered once too often, or None."""
    limit = None if node.visit <= 1 else _step(run, node.key).max_visits
    if limit is None or node.visit <= limit:
        return None
    error: JsonObject = {"code": "LOOP_LIMIT", "message": f"{node.key} may be entered {limit} times, and no more"}
    return events.NodeFailed(at=at, node=node.key, visit=node.visit, error=error)


def blame(run: Run, course: Course, failed: tuple[str, JsonObject, events.Ending]) -> JsonObject:
    """The error of a run in which a step has failed: that no try is left, if it is so, and what the last said."""
    key, error, ending = failed
    tries = retry(run, course, key).max_attempts
    if course.trying is None or ending != "failed" or run.nodes[key].slots[0].failures < tries:
        return {**error, "node": key}
    message = f"{key} was tried {tries} times under {course.trying}: {error['message']}"
    return {"code": "RETRY_EXHAUSTED", "message": message, "node": key, "cause": error}


def close(course: Course, at: int) -> events.RunEnding | None:
    """How a plan that is over ends, where it does not end well; None where it does."""
    key, ending = cast("tuple[str, events.Ending]", course.ended)
    if ending == "ok":
        return None
    what = "hands over to a person" if course.emitted is None else "emits its result"
    error: JsonObject = {
        "code": "ESCALATED" if course.emitted is None else "EMITTED",
        "message": f"{key} {what} and ends the run as {ending}",
        "node": key,
    }
    return events.RunEnding(at=at, ending=ending, error=error)


# -- applying ---------------------------------------------------------------------------------------------------------


def begin(run: Run, course: Course, event: events.RunCreated) -> None:
    """Enter the first step, or the one that a fork starts from with the variables it was given."""
    plan = cast("definition.Plan", run.workflow.plan)
    course.contexts = event.contexts
    if event.variables is None:
        course.variables = {name: {"value": {UNSAVED: value}} for name, value in plan.variables.items()}
    else:
        course.variables = {name: cast("Stored", stored) for name, stored in event.variables.items()}
    enter(run, cast("str", (event.parent or {}).get("node", plan.entry)), event.at)


def enter(run: Run, key: str, at: int) -> None:
    """Begin a visit of the step, for the first time or anew; one too many is owed its refusal."""
    node = run.nodes[key]
    if node.status == "done":
        node.outcome = node.outputs = node.inputs = node.error = None
        node.running = node.done_slots = 0
        node.granted = node.edited = False
    places.enter(run, node, at)
    limit = None if node.visit <= 1 else _step(run, key).max_visits
    if limit is not None and node.visit > limit:
        run.resolving.pop(key, None)
        node.status = "ready"
        run.ready[key] = None


def succeeded(run: Run, course: Course, node: NodeState, event: events.AttemptSucceeded) -> None:
    """The step is done: its value is saved, and the next one is entered or the run is over."""
    step = _step(run, node.key)
    _leave(node, "succeeded")
    node.outputs = event.outputs
    if step.op == "retry":
        course.trying = node.key
        enter(run, cast("str", step.target), event.at)
        return
    _save(course, step, event.outputs)
    if step.op == "emit":
        course.emitted = event.outputs
        _end(run, course, node.key, step.ending or "ok")
        return
    following = event.goto if step.op == "branch" else step.next
    if course.trying is not None:
        around = _step(run, course.trying)
        _save(course, around, event.outputs)
        following, course.trying = around.next, None
    if following is not None:
        enter(run, following, event.at)
    else:
        _end(run, course, node.key, "escalated" if step.op == "ask_human" else "ok")


def denied(run: Run, course: Course, node: NodeState, event: events.AttemptFailed) -> None:
    """The step was not allowed, and the plan goes on elsewhere."""
    _leave(node, "failed")
    node.error = event.error
    _save(course, _step(run, node.key), cast("Stored", event.outputs))
    course.trying = None
    enter(run, cast("str", event.goto), event.at)


def _leave(node: NodeState, how: NodeOutcome) -> None:
    node.status = "done"
    node.outcome = how


def _save(course: Course, step: definition.Step, outputs: Stored) -> None:
    if step.save_as is not None:
        course.variables[step.save_as] = outputs


def _end(run: Run, course: Course, key: str, ending: events.Ending) -> None:
    course.ended = (key, ending)
    run.unfinished = 0

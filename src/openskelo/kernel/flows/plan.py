"""The scheduler of plans: a program counter that enters one step at a time.

A step saves its value in a variable and names the next step; a branch chooses between two. A `retry` step runs its
target under its own retry policy: the target gets `retried_by`, and the plan goes on after the retry step when the
target has succeeded. An `emit` step ends the run. A loop in which a step gives the same failing verdict again and again
holds the plan at that step until a person has answered; so does a loop without verdicts, at the branch that goes back,
if no variable changes any more. This module implements `scheduler.Scheduler`.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events, outcome, receipts, system_approvals
from openskelo.kernel.flows import visits
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import NodeState, PlanState, Run, Streak, stall_kind
from openskelo.structs import replace

#: The name of the value in the outputs of a step that saves it in no variable.
UNSAVED = "output"


def outputs(step: definition.Step, value: Json) -> dict[str, Json]:
    """Return the outputs of a step with this value; a retry step has no value of its own and saves its target's."""
    name = UNSAVED if step.save_as is None or step.op == "retry" else step.save_as
    return {name: value}


def value(outputs: Json) -> Json:
    """Return the one value in the outputs of a step."""
    return next(iter(cast("JsonObject", outputs).values()))


def _step(run: Run, key: str) -> definition.Step:
    return cast("definition.Step", run.workflow.nodes[key].step)  # every node of a plan has one


def _state(run: Run) -> PlanState:
    return cast("PlanState", run.plan_state)  # every run of a plan has one


# -- decide -----------------------------------------------------------------------------------------------------------


def check_start(run: Run, command: commands.CreateRun) -> None:
    """Raise Refused KEPT_INVALID if the first step is unknown or already done, or outputs to judge were given."""
    if command.unjudged is not None:
        raise Refused("a plan does not start with outputs that are to be judged", code="KEPT_INVALID")
    entry = cast("definition.Plan", run.workflow.plan).entry
    first = entry if command.parent is None else command.parent.get("node", entry)
    if first not in run.workflow.nodes or first in command.kept:
        raise Refused(f"the plan cannot start with {first}", code="KEPT_INVALID")


def refuse_visit(run: Run, node: NodeState, at: int) -> events.NodeFailed | None:
    """Return the failure LOOP_LIMIT of a step that has been entered too often; None if it may start."""
    if not _is_over_limit(run, node):
        return None
    limit = _step(run, node.key).max_visits
    error: JsonObject = {"code": "LOOP_LIMIT", "message": f"{node.key} may be entered {limit} times, and no more"}
    return events.NodeFailed(at=at, node=node.key, visit=node.visit, error=error)


def _is_over_limit(run: Run, node: NodeState) -> bool:
    limit = _step(run, node.key).max_visits
    return limit is not None and node.visit > max(limit, 1)


def completion(
    run: Run, succeeded: events.AttemptSucceeded, outcome: outcome.Outcome | None
) -> tuple[events.Event, ...]:
    """Return the success; that of a branch says where the plan goes (`goto`).

    A success without progress that came back `stall_after` times in a row holds the plan until a person lets its loop
    go on.
    """
    step = _step(run, succeeded.node)
    if outcome is None or outcome.holds is None:
        return (succeeded,)
    if step.op == "branch":
        succeeded = replace(succeeded, goto=step.then if outcome.holds else step.otherwise)
    elif not outcome.holds:
        succeeded = replace(succeeded, holds=False)
    if not makes_no_progress(run, succeeded):
        return (succeeded,)
    streak = extend_streak(run, succeeded)
    kind = stall_kind(streak, run.workflow.nodes[succeeded.node].retry.stall_after)
    if kind is None:
        return (succeeded,)
    is_branch = step.op == "branch"
    evidence: JsonObject = {
        "repeats": streak.length,
        "code": "SAME_VALUES" if is_branch else "SAME_VERDICT",
        "message": f"it goes back to {succeeded.goto}" if is_branch else _describe_verdict(succeeded),
        "outputHash": succeeded.receipt["output_hash"],
        "inputsHash": streak.output,
    }
    run_stalled = events.RunStalled(
        at=succeeded.at, node=succeeded.node, visit=succeeded.visit, kind=kind, evidence=evidence
    )
    ask = system_approvals.about_circle if is_branch else system_approvals.about_stall
    return (run_stalled, succeeded, ask(run, run_stalled, None))


def makes_no_progress(run: Run, succeeded: events.AttemptSucceeded) -> bool:
    """True if the success is a failing verdict, or a branch that goes back in a loop in which no step gave one."""
    if succeeded.goto is None:
        return succeeded.holds is False
    return run.nodes[succeeded.goto].visit > 0 and not _state(run).is_judged


def extend_streak(run: Run, succeeded: events.AttemptSucceeded) -> Streak:
    """Return how often the step has succeeded in the same way without progress, `succeeded` included.

    A verify judges the work of other steps, so its verdict counts in any case. A branch that goes back counts
    if all variables are what they were. Any other step stalls only if it also worked on the same inputs. A question to
    a person in between begins a new streak, because the person may have changed something.
    """
    receipt = succeeded.receipt
    inputs_hash = cast("str", receipt["inputs_hash"])
    op = _step(run, succeeded.node).op
    if op == "verify":
        looked_at = ""
    elif op == "branch":
        looked_at = receipts.digest(_state(run).variables)
    else:
        looked_at = inputs_hash
    verdict = (f"{receipt['output_hash']} {looked_at}", str(run.approvals_requested))
    return run.nodes[succeeded.node].loop.extended(verdict, inputs_hash)


def _describe_verdict(failing: events.AttemptSucceeded) -> str:
    """Return the verdict as JSON, if the event holds it; a large one is stored elsewhere."""
    if "value" not in failing.outputs:
        return "its verdict does not hold"
    return msgspec.json.encode(value(failing.outputs["value"])).decode()


def failed_check(run: Run, report: commands.ReportAttempt) -> outcome.Failure | None:
    """Return the failure VERIFY_FAILED of a check that does not hold and runs under a retry step.

    Return None otherwise: without a retry step, the result of a check is an ordinary value.
    """
    if report.outcome.holds is not False or run.nodes[report.node].retried_by is None:
        return None
    if _step(run, report.node).op != "verify":
        return None
    return outcome.Failure(code="VERIFY_FAILED", message=f"the check of {report.node} does not hold")


def denial_report(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> commands.ReportAttempt | None:
    """Return the report of a denied step with the denial as its value; None if the plan does not go on from it."""
    step = run.workflow.nodes[report.node].step
    if step is None or step.on_denied is None:
        return None
    denial: JsonObject = {"denied": True, "code": failure.code, "message": failure.message}
    values = outputs(step, denial)
    new_outcome = replace(report.outcome, outputs={"value": values}, output_hash=receipts.digest(values))
    return replace(report, outcome=new_outcome)


def closing(run: Run, at: int) -> events.RunEnding | None:
    """Return the ending of a plan that failed, is stuck, or was ended by a step with an ending other than ok."""
    if run.failed is not None and (retry_failure := _exhausted_retry(run)) is not None:
        return events.RunEnding(at=at, ending="failed", error=retry_failure)
    if run.failed is not None or run.unfinished:
        return visits.failed_ending(run, at)
    state = _state(run)
    key, ending = cast("tuple[str, events.Ending]", state.ended)
    if ending == "ok":
        return None
    last_act = "hands over to a person" if state.emitted is None else "emits its result"
    error: JsonObject = {
        "code": "ESCALATED" if state.emitted is None else "EMITTED",
        "message": f"{key} {last_act} and ends the run as {ending}",
        "node": key,
    }
    return events.RunEnding(at=at, ending=ending, error=error)


def _exhausted_retry(run: Run) -> JsonObject | None:
    """Return the error RETRY_EXHAUSTED if the step has failed as often as its retry step allows; else None."""
    key, error, ending = cast("tuple[str, JsonObject, events.Ending]", run.failed)
    node = run.nodes[key]
    if node.retried_by is None or ending != "failed":
        return None
    tries = run.workflow.nodes[node.retried_by].retry.max_attempts
    if node.slots[0].failures < tries:
        return None
    message = f"{key} was tried {tries} times under {node.retried_by}: {error['message']}"
    return {"code": "RETRY_EXHAUSTED", "message": message, "node": key, "cause": error}


# -- apply ------------------------------------------------------------------------------------------------------------


def start(run: Run, event: events.RunCreated) -> int:
    """Enter the first step; that of a fork is the node it starts from, with the variables it was given. Return 1."""
    plan = cast("definition.Plan", run.workflow.plan)
    run.plan_state = state = PlanState(contexts=event.contexts)
    if event.variables is None:
        state.variables = {name: {"value": {UNSAVED: value}} for name, value in plan.variables.items()}
    else:
        state.variables = {name: cast("Stored", initial_value) for name, initial_value in event.variables.items()}
    first: Any = (event.parent or {}).get("node", plan.entry)
    _enter(run, first, event.at)
    return 1


def _enter(run: Run, key: str, at: int) -> None:
    node = run.nodes[key]
    if node.status == "done":
        visits.clear(node)
    node.retried_by = _state(run).trying
    visits.enter(run, node, at)
    if _is_over_limit(run, node):  # it gets no values: `refuse_visit` fails it
        run.resolving.pop(key, None)
        node.status = "ready"
        run.ready[key] = None


def node_done(
    run: Run,
    node: NodeState,
    event: events.AttemptSucceeded | events.NodeFinished | events.NodeSkipped | events.NodeKept,
) -> None:
    """Save the value of the step, and enter the next step or end the plan."""
    node.status = "done"
    if not isinstance(event, events.AttemptSucceeded):
        return  # a fork has kept the step, and starts elsewhere
    state, step = _state(run), _step(run, node.key)
    if step.op == "retry":
        state.trying = node.key
        _enter(run, cast("str", step.target), event.at)
        return
    _save(state, step, event.outputs)
    if step.op == "emit":
        state.emitted = event.outputs
        _end(run, node.key, step.ending or "ok")
        return
    if step.op != "branch":
        following = step.next
        state.is_judged = state.is_judged or event.holds is False
    else:
        following = event.goto
        if following is not None and run.nodes[following].visit:  # the next pass of the loop begins
            state.is_judged = False
    if state.held == node.key:
        node.status = "asking"
        state.after_held = following
    else:
        _go_on(run, node, event.outputs, following, event.at)


def _go_on(run: Run, node: NodeState, outputs: Stored, next_key: str | None, at: int) -> None:
    """Enter the step that follows a finished one, or end the plan; after a tried step its retry step decides."""
    state = _state(run)
    if state.trying is not None:
        retry_step = _step(run, state.trying)
        _save(state, retry_step, outputs)
        next_key, state.trying = retry_step.next, None
    if next_key is not None:
        _enter(run, next_key, at)
    else:
        _end(run, node.key, "escalated" if _step(run, node.key).op == "ask_human" else "ok")


def hold_step(run: Run, event: events.RunStalled) -> None:
    """Hold the plan at a step that ends next, until a person has answered; a stalled retry holds itself."""
    if run.plan_state is not None and (event.node, event.visit, 0) in run.in_flight:
        run.plan_state.held = event.node


def release_step(run: Run, node: NodeState, at: int) -> bool:
    """Let a held plan go on; return whether it was held."""
    state = run.plan_state
    if state is None or state.held is None:
        return False
    state.held = None
    node.status = "done"
    _go_on(run, node, cast("Stored", node.outputs), state.after_held, at)
    return True


def node_failed(run: Run, node: NodeState, event: events.AttemptFailed | events.NodeFailed) -> None:
    """Fail the run."""
    visits.fail_run(run, node, event)


def go_on_denied(run: Run, node: NodeState, event: events.AttemptFailed) -> None:
    """Save the denial of the step, and enter the step that its `on_denied` names."""
    state = _state(run)
    node.status = "done"
    node.outcome = "failed"
    node.error = event.error
    _save(state, _step(run, node.key), cast("Stored", event.outputs))
    state.trying = None
    _enter(run, cast("str", event.goto), event.at)


def _save(state: PlanState, step: definition.Step, outputs: Stored) -> None:
    if step.save_as is not None:
        state.variables[step.save_as] = outputs


def _end(run: Run, key: str, ending: events.Ending) -> None:
    _state(run).ended = (key, ending)
    run.unfinished = 0

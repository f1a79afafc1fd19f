"""The one place with policy: what a command leads to. It may refuse; it changes nothing.

decide(run, command) -> events     rules on the command itself
step(run, command)   -> events     decides, applies, and lets `follow` add what follows by itself
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from openskelo.errors import Refused
from openskelo.kernel import answers, budget, commands, definition, events, questions, record, reports
from openskelo.kernel.apply import apply, asks
from openskelo.kernel.flows import graph
from openskelo.kernel.follow import by_mode, follow
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import NodeState, Run, is_under_way, may_have_acted


def step(run: Run, command: commands.Command, meter: record.Meter = record.UNMETERED) -> list[events.Event]:
    """Carry out a command in memory: all its facts, applied. Refused leaves the run as it was.

    Which attempts a command stops is ruled here; the `meter` is asked what each of them has used by then.
    """
    facts = list(decide(run, command, meter))
    for fact in facts:
        apply(run, fact)
    at = command.at
    while (fact := follow(run, at, meter)) is not None:
        apply(run, fact)
        facts.append(fact)
        if not run.ready and isinstance(fact, events.AttemptStarted):
            break  # all that follows a start is the start of something else that is ready
    return facts


def decide(run: Run, command: commands.Command, meter: record.Meter = record.UNMETERED) -> tuple[events.Event, ...]:
    """The facts that `command` makes true now, or Refused."""
    if isinstance(command, commands.CreateRun):
        _admit_person(command.by)
        return _create(run, command)
    if not run.created:
        raise Refused("the run does not exist yet", code="RUN_UNKNOWN")
    if run.ended:
        raise Refused("the run has ended", code="RUN_ENDED", hint="fork it to go on from one of its nodes")
    if run.ending is not None and not isinstance(command, commands.Tick | commands.Recover):
        raise Refused("the run is ending", code="RUN_ENDING")
    match command:
        case commands.ReportAttempt():
            return reports.decide(run, command)
        case commands.ResolveNode():
            return _resolve(run, command)
        case commands.Tick():
            return ()
        case commands.AnswerApproval():
            _admit_person(command.by, command.reason)
            return answers.decide(run, command)
        case commands.ReportInterrupted():
            return _interrupt(run, command, meter)
        case commands.Recover():
            return (events.RunRecovered(at=command.at),)
        case commands.PauseRun():
            _admit_person(command.by, command.reason)
            return _pause(run, command)
        case commands.ResumeRun():
            _admit_person(command.by)
            return (events.RunResumed(at=command.at, by=command.by),) if run.paused is not None else ()
        case commands.ChangeMode():
            _admit_person(command.by)
            return _change_mode(run, command)
        case commands.CancelRun():
            _admit_person(command.by, command.reason)
            return (_cancel(command),)
        case (
            commands.AddNode()
            | commands.ChangeNode()
            | commands.RemoveNode()
            | commands.AddEdge()
            | commands.RemoveEdge()
            | commands.SendMessage()
            | commands.CompleteRun()
        ):
            _admit_person(command.by)
            return graph.decide(run, command, meter)
        case _:
            assert_never(command)


def _admit_person(by: str, reason: str | None = None) -> None:
    """Refuse a name or a reason that no log can hold: half a surrogate pair, which undecodable arguments leave."""
    try:
        f"{by}{reason}".encode()
    except UnicodeEncodeError:
        raise Refused("a name or a reason is not text that can be stored", code="TEXT_INVALID") from None


def _create(run: Run, command: commands.CreateRun) -> tuple[events.Event, ...]:
    if run.created:
        raise Refused("the run exists already", code="RUN_EXISTS")
    created = events.RunCreated(
        at=command.at,
        workflow=run.workflow.name,
        workflow_hash=run.workflow.hash,
        definition=command.definition,
        inputs=command.inputs,
        mode=command.mode,
        global_mode=command.global_mode,
        by=command.by,
        parent=command.parent,
        contexts=command.contexts,
        variables=command.variables,
        no_cache=command.no_cache or None,
    )
    if run.workflow.plan is not None:
        _admit_start(run, run.workflow.plan, command)
    for key, node in command.kept.items():
        if not _can_keep(run, key, node):
            raise Refused(
                f"{key} cannot be kept: the workflow has no such node or it lacks results", code="KEPT_INVALID"
            )
    kept = (
        events.NodeKept(at=command.at, node=key, outcome=node.outcome, outputs=node.outputs, items=node.items)
        for key, node in command.kept.items()
    )
    return (created, *kept, *_items_kept(run, command), *_unjudged(run, command))


def _items_kept(run: Run, command: commands.CreateRun) -> Iterator[events.ItemsKept]:
    """That parts of nodes which are done again are there already."""
    for key, items in command.items.items():
        shape = run.workflow.nodes.get(key)
        if shape is None or shape.foreach is None or key in command.kept:
            raise Refused(f"{key} has no items that can be kept", code="KEPT_INVALID")
        listed: tuple[JsonObject, ...] = tuple(
            {"index": one.index, "inputsHash": one.inputs_hash, "outputs": one.outputs} for one in items
        )
        yield events.ItemsKept(at=command.at, node=key, items=listed)


def _unjudged(run: Run, command: commands.CreateRun) -> tuple[events.Event, ...]:
    """That the work of the first node is there already; last of all, when the node is entered."""
    if command.unjudged is None:
        return ()
    key = str((command.parent or {}).get("node"))
    shape = run.workflow.nodes.get(key)
    begins = run.is_dag and all(source in command.kept for source in run.graph.sources.get(key, ()))
    if shape is None or not begins or key in command.kept or shape.foreach is not None or shape.mode == "approval":
        raise Refused(f"the run does not begin with what {key} gave", code="KEPT_INVALID")
    return (events.NodeUnjudged(at=command.at, node=key, outputs=command.unjudged),)


def _admit_start(run: Run, plan: definition.Plan, command: commands.CreateRun) -> None:
    """Refuse a plan that is to begin where it has no step, or with one that is done already."""
    start = plan.entry if command.parent is None else command.parent.get("node", plan.entry)
    if start not in run.workflow.nodes or start in command.kept:
        raise Refused(f"the plan cannot begin with {start}", code="KEPT_INVALID")


def _can_keep(run: Run, key: str, kept: commands.Kept) -> bool:
    shape = run.workflow.nodes.get(key)
    if shape is None or kept.outcome == "skipped":
        return shape is not None and shape.step is None
    return (kept.outputs if shape.foreach is None else kept.items) is not None


def _resolve(run: Run, command: commands.ResolveNode) -> tuple[events.Event, ...]:
    node = run.nodes.get(command.node)
    if node is None or command.node not in run.resolving or node.visit != command.visit:
        raise Refused(f"{command.node} is not waiting for its values", code="STALE_RESOLUTION")
    _admit(run, node, command)
    at, key, visit = command.at, command.node, command.visit
    if command.failure is not None:
        error: JsonObject = {"code": command.failure.code, "message": command.failure.message}
        return (events.NodeFailed(at=at, node=key, visit=visit, error=error),)
    if command.skip:
        return (events.NodeSkipped(at=at, node=key, visit=visit, reason="when"),)
    if command.ask is not None or command.cached is not None:
        if command.ask is not None and (forbidden := by_mode(run, key, at)) is not None:
            return (forbidden,)
        if (refusal := budget.step_refusal(run)) is not None:
            return (events.RunEnding(at=at, ending="budget_exceeded", error={**refusal, "node": key}),)
    if command.cached is not None:
        return (_from_cache(run, node, command, command.cached),)
    resolved = events.NodeResolved(
        at=at,
        node=key,
        visit=visit,
        inputs=command.inputs,
        items=command.items,
        count=command.count,
        taken=command.taken,
        code=command.code,
    )
    if command.ask is None or command.count == 0 or -1 not in (command.taken or (-1,)):  # nobody is asked about no work
        return (resolved,)
    return (resolved, questions.about_node(run, node, command.ask, at))


def _admit(run: Run, node: NodeState, command: commands.ResolveNode) -> None:
    """Refuse values that do not belong to this node, so that `apply` can trust them."""
    shape = run.workflow.nodes[node.key]
    if command.failure is not None:
        return
    if command.skip:
        wrong = "part of it is under way, and it cannot be skipped any more" if is_under_way(node) else None
        wrong = wrong if run.is_dag else "a step of a plan and a turn are not skipped"
    elif command.cached is not None:
        cacheable = shape.cache and shape.foreach is None and shape.mode != "approval" and not run.no_cache
        wrong = None if cacheable else "its results are not to be had from the cache"
    elif {command.count is not None, command.items is not None} != {shape.foreach is not None}:
        wrong = "a foreach needs its items and their count, and only a foreach does"
    elif command.count is not None and command.count < 0:
        wrong = "there cannot be fewer than no items"
    elif command.taken is not None and not _can_take(run, node, command.taken, command.count):
        wrong = "it has not taken over such items"
    elif asks(run, shape) != (command.ask is not None):
        wrong = "a person is asked first where the node or the run says so, and only there"
    else:
        wrong = None
    if wrong is not None:
        raise Refused(f"{node.key}: {wrong}", code="RESOLUTION_INVALID")


def _can_take(run: Run, node: NodeState, taken: tuple[int, ...], count: int | None) -> bool:
    """Only the first visit has items from another run: a later one is there to do them better."""
    earlier = run.earlier.get(node.key, ())
    return node.visit == 1 and len(taken) == count and all(-1 <= number < len(earlier) for number in taken)


def _from_cache(
    run: Run, node: NodeState, command: commands.ResolveNode, cached: commands.Cached
) -> events.AttemptSucceeded:
    tried = record.Attempt(node=node.key, visit=node.visit, attempt=node.slots[0].attempt + 1)
    evidence = record.Evidence(inputs_hash=cached.inputs_hash, output_hash=cached.output_hash)
    return events.AttemptSucceeded(
        at=command.at,
        node=node.key,
        visit=node.visit,
        attempt=tried.attempt,
        outputs=cached.outputs,
        receipt=record.receipt(run, tried, "succeeded", evidence, command.at),
        cached=cached.source,
    )


def _interrupt(run: Run, command: commands.ReportInterrupted, meter: record.Meter) -> tuple[events.Event, ...]:
    flight = reports.in_flight(run, command)
    used = meter.used(flight)
    return (
        events.AttemptInterrupted(
            at=command.at,
            node=command.node,
            visit=command.visit,
            attempt=command.attempt,
            item=command.item,
            reason="suspended",
            uncertain=may_have_acted(run, flight),
            receipt=record.cut(run, flight, command.at, "interrupted", used),
            spent=record.spent(used),
        ),
    )


def _pause(run: Run, command: commands.PauseRun) -> tuple[events.Event, ...]:
    """The first one counts, but for a suspension, which does not outlast the wish of a person."""
    if run.paused is not None and (run.paused != commands.SUSPENDED or command.reason == commands.SUSPENDED):
        return ()
    return (events.RunPaused(at=command.at, reason=command.reason, by=command.by),)


def _change_mode(run: Run, command: commands.ChangeMode) -> tuple[events.Event, ...]:
    mode, global_mode = command.mode or run.mode, command.global_mode or run.global_mode
    if (mode, global_mode) == (run.mode, run.global_mode):
        return ()
    return (events.RunModeChanged(at=command.at, mode=mode, global_mode=global_mode, by=command.by),)


def _cancel(command: commands.CancelRun) -> events.RunEnding:
    error: JsonObject = {"code": "CANCELLED", "message": command.reason or f"cancelled by {command.by}"}
    return events.RunEnding(at=command.at, ending="cancelled", error=error, by=command.by)

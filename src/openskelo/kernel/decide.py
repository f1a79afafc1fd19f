"""The only place with policy: which events a command leads to.

    decide(run, command) -> events     the events of the command itself, or Refused; changes nothing
    step(run, command)   -> events     decide, apply, then `follow` until the run has nothing more to do by itself

`decide` has no clock, no randomness and no I/O: times, ids and results arrive inside commands. So the same kernel runs
under the engine, in a carrier, and in a simulation with a seed. Reports of attempts are decided in `reports`, answers
to approvals in `answers`, commands to a live graph in `flows.graph`; everything else is here.

The last three functions say what the run waits for besides its attempts in flight. The driver asks them after each
append. They read the sets that `apply` keeps, so a run that was folded from its log waits for exactly the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from openskelo.errors import Refused
from openskelo.kernel import answers, budget, calls, commands, events, receipts, reports, system_approvals
from openskelo.kernel.apply import apply
from openskelo.kernel.flows import graph, visits
from openskelo.kernel.flows.scheduler import scheduler_of
from openskelo.kernel.follow import follow, refuse_effect
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import NodeState, OpenApproval, Run, is_under_way, may_have_acted


def step(run: Run, command: commands.Command, meter: receipts.Meter = receipts.UNMETERED) -> list[events.Event]:
    """Return all events of a command, applied to the run in memory; raise Refused and leave the run as it was.

    The driver answers the kernel's questions as `meter`.
    """
    new_events = list(decide(run, command, meter))
    for event in new_events:
        apply(run, event)
    while (event := follow(run, command.at, meter)) is not None:
        apply(run, event)
        new_events.append(event)
    return new_events


def decide(run: Run, command: commands.Command, meter: receipts.Meter = receipts.UNMETERED) -> tuple[events.Event, ...]:
    """Return the events of the command, or raise Refused."""
    if isinstance(command, commands.CreateRun):
        _check_text(command.by)
        return _create(run, command)
    if not run.created:
        raise Refused("the run does not exist yet", code="RUN_UNKNOWN")
    if run.ended:
        raise Refused("the run has ended", code="RUN_ENDED", hint="fork it to go on from one of its nodes")
    if run.ending is not None and not isinstance(command, commands.Tick | commands.Recover | commands.SkipTime):
        raise Refused("the run is ending", code="RUN_ENDING")
    match command:
        case commands.ReportAttempt():
            return reports.decide(run, command)
        case commands.ResolveNode():
            return _resolve(run, command)
        case commands.KeepArtifacts():
            return reports.keep_artifacts(run, command)
        case commands.Tick():
            return ()
        case commands.AnswerApproval():
            _check_text(command.by, command.reason)
            return answers.decide(run, command)
        case commands.ReportProgress():
            return calls.decide_progress(run, command)
        case commands.AskAboutCall():
            return calls.ask(run, command)
        case commands.ReportInterrupted():
            return _interrupt(run, command, meter)
        case commands.Recover():
            return (events.RunRecovered(at=command.at),)
        case commands.SkipTime():
            return _skip_time(run, command)
        case commands.PauseRun():
            _check_text(command.by, command.reason)
            return _pause(run, command)
        case commands.ResumeRun():
            _check_text(command.by)
            return (events.RunResumed(at=command.at, by=command.by),) if run.paused is not None else ()
        case commands.ChangeMode():
            _check_text(command.by)
            return _change_mode(run, command)
        case commands.CancelRun():
            _check_text(command.by, command.reason)
            return (_cancel(command),)
        case (
            commands.AddNode()
            | commands.ChangeNode()
            | commands.RemoveNode()
            | commands.AddEdge()
            | commands.RemoveEdge()
            | commands.SendMessage()
            | commands.ResetSession()
            | commands.RetryTurn()
            | commands.CompleteRun()
        ):
            _check_text(command.by)
            return graph.decide(run, command, meter)
        case _:
            assert_never(command)


def _check_text(by: str, reason: str | None = None) -> None:
    """Raise Refused TEXT_INVALID for text with a lone surrogate, as undecodable arguments have: no log can hold it."""
    try:
        f"{by}{reason}".encode()
    except UnicodeEncodeError:
        raise Refused("a name or a reason is not text that can be stored", code="TEXT_INVALID") from None


def _create(run: Run, command: commands.CreateRun) -> tuple[events.Event, ...]:
    if run.created:
        raise Refused("the run exists already", code="RUN_EXISTS")
    run_created = events.RunCreated(
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
    scheduler_of(run).check_start(run, command)
    for key, node in command.kept.items():
        if not _can_keep(run, key, node):
            raise Refused(
                f"{key} cannot be kept: the workflow has no such node or it lacks results", code="KEPT_INVALID"
            )
    kept_nodes = (
        events.NodeKept(
            at=command.at,
            node=key,
            outcome=node.outcome,
            outputs=node.outputs,
            items=node.items,
            errors=node.errors or None,
        )
        for key, node in command.kept.items()
    )
    return (run_created, *kept_nodes, *_items_kept(run, command), *_unjudged(command))


def _items_kept(run: Run, command: commands.CreateRun) -> Iterator[events.ItemsKept]:
    """Yield the items of a foreach that the run takes over, though the node as a whole is done again."""
    for key, items in command.items.items():
        spec = run.workflow.nodes.get(key)
        if spec is None or spec.foreach is None or key in command.kept:
            raise Refused(f"{key} has no items that can be kept", code="KEPT_INVALID")
        item_documents: tuple[JsonObject, ...] = tuple(
            {"index": item.index, "inputsHash": item.inputs_hash, "outputs": item.outputs} for item in items
        )
        yield events.ItemsKept(at=command.at, node=key, items=item_documents)


def _unjudged(command: commands.CreateRun) -> tuple[events.Event, ...]:
    """Return the event that the work of the first node is done, and only its judgement is missing."""
    if command.unjudged is None:
        return ()
    key = str((command.parent or {}).get("node"))  # `check_start` has checked it
    return (events.NodeUnjudged(at=command.at, node=key, outputs=command.unjudged),)


def _can_keep(run: Run, key: str, kept: commands.Kept) -> bool:
    spec = run.workflow.nodes.get(key)
    if spec is None or kept.outcome == "skipped":
        return spec is not None and spec.step is None
    return (kept.outputs if spec.foreach is None else kept.items) is not None


def _resolve(run: Run, command: commands.ResolveNode) -> tuple[events.Event, ...]:
    node = run.nodes.get(command.node)
    if node is None or command.node not in run.resolving or node.visit != command.visit:
        raise Refused(f"{command.node} is not waiting for its values", code="STALE_RESOLUTION")
    _check_resolution(run, node, command)
    at, key, visit = command.at, command.node, command.visit
    if command.failure is not None:
        error: JsonObject = {"code": command.failure.code, "message": command.failure.message}
        return (events.NodeFailed(at=at, node=key, visit=visit, error=error),)
    if command.skip:
        return (events.NodeSkipped(at=at, node=key, visit=visit, reason="when"),)
    if command.ask is not None or command.cached is not None:
        if command.ask is not None and (denial := refuse_effect(run, key, at)) is not None:
            return (denial,)
        if (refusal := budget.step_refusal(run)) is not None:
            return (events.RunEnding(at=at, ending="budget_exceeded", error={**refusal, "node": key}),)
    if command.cached is not None:
        return (_from_cache(run, node, command, command.cached),)
    node_resolved = events.NodeResolved(
        at=at,
        node=key,
        visit=visit,
        inputs=command.inputs,
        items=command.items,
        count=command.count,
        taken=command.taken,
        code=command.code,
    )
    if command.ask is None or command.count == 0 or -1 not in (command.taken or (-1,)):
        return (node_resolved,)
    return (node_resolved, system_approvals.about_node(run, node, command.ask, at))


def _check_resolution(run: Run, node: NodeState, command: commands.ResolveNode) -> None:
    """Raise Refused RESOLUTION_INVALID for values that the node cannot have, so that `apply` can trust them."""
    spec = run.workflow.nodes[node.key]
    if command.failure is not None:
        return
    if command.skip:
        wrong = "part of it is under way, and it cannot be skipped any more" if is_under_way(node) else None
        wrong = wrong if spec.is_block else "a step of a plan and a turn are not skipped"
    elif command.cached is not None:
        cacheable = spec.cache and spec.foreach is None and not spec.work.asks_person and not run.no_cache
        wrong = None if cacheable else "its results are not to be had from the cache"
    elif {command.count is not None, command.items is not None} != {spec.foreach is not None}:
        wrong = "a foreach needs its items and their count, and only a foreach does"
    elif command.count is not None and command.count < 0:
        wrong = "there cannot be fewer than no items"
    elif command.taken is not None and not _can_take(run, node, command.taken, command.count):
        wrong = "it has not taken over such items"
    elif visits.asks_person(run, spec) != (command.ask is not None):
        wrong = "a person is asked first where the node or the run says so, and only there"
    else:
        wrong = None
    if wrong is not None:
        raise Refused(f"{node.key}: {wrong}", code="RESOLUTION_INVALID")


def _can_take(run: Run, node: NodeState, taken: tuple[int, ...], count: int | None) -> bool:
    """True if these kept items exist, and the visit is the first: a later visit is there to do them better."""
    kept_items = run.kept_items.get(node.key, ())
    return node.visit == 1 and len(taken) == count and all(-1 <= number < len(kept_items) for number in taken)


def _from_cache(
    run: Run, node: NodeState, command: commands.ResolveNode, cached: commands.Cached
) -> events.AttemptSucceeded:
    attempt = receipts.AttemptRef(node=node.key, visit=node.visit, attempt=node.slots[0].attempt + 1)
    evidence = receipts.Evidence(inputs_hash=cached.inputs_hash, output_hash=cached.output_hash)
    return events.AttemptSucceeded(
        at=command.at,
        node=node.key,
        visit=node.visit,
        attempt=attempt.attempt,
        outputs=cached.outputs,
        receipt=receipts.build(run, attempt, "succeeded", evidence, command.at),
        cached=cached.source,
    )


def _interrupt(run: Run, command: commands.ReportInterrupted, meter: receipts.Meter) -> tuple[events.Event, ...]:
    attempt = calls.find_attempt(run, command)
    usage = meter.used(attempt)
    return (
        events.AttemptInterrupted(
            at=command.at,
            node=command.node,
            visit=command.visit,
            attempt=command.attempt,
            item=command.item,
            reason="suspended",
            uncertain=may_have_acted(run, attempt),
            receipt=receipts.build_stopped(run, attempt, command.at, "interrupted", usage),
            spent=receipts.spent(usage),
        ),
    )


def _skip_time(run: Run, command: commands.SkipTime) -> tuple[events.Event, ...]:
    """Return the fact, or nothing if the run was not busy: then no time is counted that could be left out."""
    if run.active_since is None:
        return ()
    skipped_ms = min(command.skipped_ms, command.at - run.active_since)
    return (events.RunTimeSkipped(at=command.at, skipped_ms=skipped_ms),) if skipped_ms > 0 else ()


def _pause(run: Run, command: commands.PauseRun) -> tuple[events.Event, ...]:
    """Return the pause; a second one changes nothing, unless a person pauses a run that is only suspended."""
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


# -- what a run waits for ---------------------------------------------------------------------------------------------


def resolutions(run: Run) -> tuple[str, ...]:
    """Return the keys of the nodes that wait for the values of their expressions."""
    if not run.resolving or run.ending is not None or run.paused is not None:
        return ()
    return tuple(run.resolving)


def wake_at(run: Run) -> int | None:
    """Return the next moment at which time itself moves the run: a `tick_at` or a `next_expiry`."""
    times = [at for at in (tick_at(run), next_expiry(run)) if at is not None]
    return min(times, default=None)


def tick_at(run: Run) -> int | None:
    """Return when, in the run's own time, it needs a `Tick`: a retry, or the end of its wall time."""
    if run.ended:
        return None
    times: list[int] = []
    if run.timers and run.paused is None:
        times.append(run.timers[0][0])
    if (deadline := budget.wall_deadline(run)) is not None:
        times.append(deadline)
    return min(times, default=None)


def next_expiry(run: Run) -> int | None:
    """Return when, by the system's clock, the first open approval expires."""
    return run.expiries[0][0] if run.expiries and not run.ended else None


def expired(run: Run, at: int) -> tuple[OpenApproval, ...]:
    """Return the open approvals that have expired by the system's clock, the earliest first.

    The driver answers them as the timer.
    """
    due: list[tuple[int, str]] = []
    indexes = [0]
    while indexes:
        index = indexes.pop()
        if index < len(run.expiries) and run.expiries[index][0] <= at:
            due.append(run.expiries[index])
            indexes += (2 * index + 1, 2 * index + 2)  # `expiries` is a heap: only children of expired ones can be
    return tuple(run.approvals[approval_id] for _, approval_id in sorted(due) if approval_id in run.approvals)

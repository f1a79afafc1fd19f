"""Random histories: a run and everybody around it, played by chance, and watched for what must always hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from openskelo.errors import Refused
from openskelo.kernel import budget, commands, decide, definition, events, follow, outcome, receipts
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.decide import step
from openskelo.kernel.flows import visits
from openskelo.record import envelope
from openskelo.structs import replace
from tests.kernel import chance as chances
from tests.kernel import scan
from tests.kernel.stage import RUN, START, fold

MOST_ITEMS = 3


@dataclass
class Play:
    """The run, and beside it a shadow that is only ever told the stored lines."""

    chance: Random
    workflow: definition.Workflow
    at: int = START
    run: runs.Run = field(init=False)
    shadow: runs.Run = field(init=False)
    log: list[events.Event] = field(default_factory=list[events.Event])
    chain: envelope.Chain = field(default_factory=lambda: envelope.Chain(RUN))
    counted: int = 0
    since_fact: int = 0
    suspended: int = 0
    unrepeatable: set[runs.AttemptId] = field(default_factory=set[runs.AttemptId])
    excess: dict[str, int] = field(default_factory=lambda: {"tokens": 0, "cost_nanousd": 0})
    refold: bool = False

    def __post_init__(self) -> None:
        self.run = runs.new(RUN, self.workflow)
        self.shadow = runs.new(RUN, self.workflow)

    # -- one command --------------------------------------------------------------------------------------------------

    def send(self, command: commands.Command) -> bool:
        """Carry out a command and check everything; False when it was refused (and changed nothing)."""
        if self.refold:
            self.run = fold(self.workflow, self.log)
        self._pass_time(command)
        try:
            facts = step(self.run, command)
        except Refused:
            assert self.run == self.shadow
            return False
        assert follow.follow(self.run, command.at, receipts.UNMETERED) is None
        if isinstance(command, commands.ReportAttempt):
            self._remember(command)
        if facts and not isinstance(command, commands.Recover):
            self.counted += self.since_fact
            self.since_fact = 0
        for fact in facts:
            _, stored = envelope.open_line(envelope.seal(self.chain, (fact,))[0])
            assert stored == fact
            self._watch(fact)
            apply(self.shadow, stored)
            assert scan.kept(self.shadow) == scan.scanned(self.shadow)
        self.log += facts
        assert self.run == self.shadow
        self._check_standing()
        return True

    def _pass_time(self, command: commands.Command) -> None:
        """Time counts while the run can move without a person, and not while no process drove it, or it was skipped."""
        if busy(self.run):
            self.since_fact += command.at - self.at
            self.since_fact -= command.skipped_ms if isinstance(command, commands.SkipTime) else 0
        if isinstance(command, commands.Recover):
            self.since_fact = 0
        self.at = command.at

    def _watch(self, fact: events.Event) -> None:
        """What a fact may never do, seen from the state before it."""
        if isinstance(fact, events.AttemptStarted):
            node, shape = self.shadow.nodes[fact.node], self.shadow.workflow.nodes[fact.node]
            assert shape.mode != "approval"
            assert not visits.asks_person(self.shadow, shape) or node.granted, "started without having been allowed"
            assert not any(
                asked.node == fact.node and asked.item == fact.item for asked in self.shadow.approvals.values()
            )
            assert self.shadow.paused is None
            judges = node.slots[fact.item or 0].unjudged is not None  # what is done already
            again = (fact.node, fact.visit, fact.item or 0) in self.unrepeatable
            assert judges or not again, "a once effect repeated unasked"
        if isinstance(fact, events.ApprovalResolved) and self.shadow.approvals[fact.approval_id].kind == "uncertain":
            self.unrepeatable.discard((fact.node, fact.visit, fact.item or 0))
        if isinstance(fact, events.AttemptSucceeded | events.AttemptFailed):
            flight = self.shadow.in_flight.get((fact.node, fact.visit, fact.item or 0))
            metrics: Any = fact.receipt["metrics"]
            spent: Any = fact.spent or {"costNanousd": 0}
            used: dict[str, int] = {"tokens": metrics["tokens_in"], "cost_nanousd": spent["costNanousd"]}
            for name, amount in used.items():
                reserved = 0 if flight is None else getattr(flight.reserve, name)
                self.excess[name] += max(0, amount - reserved)

    def _remember(self, report: commands.ReportAttempt) -> None:
        """Work that has or may have had its effect, which happens once, is not to be started again unasked."""
        failure, shape = report.outcome.failure, self.run.workflow.nodes[report.node]
        if failure is None or failure.happened == "no" or failure.denied:
            return
        if shape.effect == "once" and not shape.repeatable:
            self.suspended += 1  # a person may let it be tried as often as they like
            self.unrepeatable.add((report.node, report.visit, report.item or 0))

    def _check_standing(self) -> None:
        run, limits = self.run, self.workflow.limits
        owes = run.in_flight or decide.resolutions(run) or decide.wake_at(run) is not None
        match runs.status(run):
            case "running":
                assert owes, "running with nothing owed"
            case "queued":
                assert owes, "queued with nothing owed"
                assert (run.in_flight, run.receipts) == ({}, 0), "queued although it has begun"
            case "paused":
                assert run.paused is not None or run.approvals or run.graph_state is not None, (
                    "waiting, although no person can move it"
                )
            case _:
                assert run.ended
        assert (run.lost, run.uncertain, run.bouncing) == ({}, {}, None)
        assert run.ended or (run.failed, run.ending) == (None, None)
        if run.ended:
            assert (run.in_flight, run.approvals) == ({}, {})
            assert isinstance(self.log[-1], events.RunEnded)
        else:
            assert budget.wall_ms(run, self.at) == self.counted + self.since_fact
        if limits.max_steps is not None:
            assert run.spent.steps + run.reserved.steps <= limits.max_steps
        for name, limit in (("tokens", limits.max_tokens), ("cost_nanousd", limits.max_cost_nanousd)):
            if limit is not None:
                total = getattr(run.spent, name) + getattr(run.reserved, name)
                assert total <= limit + self.excess[name]

    # -- what may come next -------------------------------------------------------------------------------------------

    def create(self) -> None:
        interactive = self.chance.random() < 0.3
        planning = self.chance.random() < 0.03
        kept = {
            key: commands.Kept(outcome="skipped")
            if self.chance.random() < 0.3
            else commands.Kept(outcome="succeeded", outputs={"value": 1}, items=({"value": 1},))
            for key in self.workflow.nodes
            if self.chance.random() < 0.03 and self.workflow.plan is None
        }
        command = commands.CreateRun(
            at=self.at,
            definition="d",
            inputs={"value": {}},
            by="nora",
            mode="INTERACTIVE" if interactive else "AUTO",
            global_mode="PLANNING" if planning else "IMPLEMENTATION",
            kept=kept,
        )
        first = [key for key in self.workflow.nodes if self._may_begin(key, kept)]
        if first and self.chance.random() < 0.1:
            parent = {"runId": RUN, "node": self.chance.choice(first)}
            command = replace(command, parent=parent, unjudged={"value": {"out": 1}})
        if self.chance.random() < 0.5:
            command = replace(command, items=self._items(kept))
        assert self.send(command)

    def _items(self, kept: Mapping[str, commands.Kept]) -> dict[str, tuple[commands.KeptItem, ...]]:
        """Some items of what is not kept as a whole."""
        each = [key for key, shape in self.workflow.nodes.items() if shape.foreach is not None and key not in kept]
        item = commands.KeptItem(index=0, inputs_hash="i", outputs={"value": 1})
        return {key: (item,) * self.chance.randint(1, MOST_ITEMS) for key in each}

    def _may_begin(self, key: str, kept: Mapping[str, commands.Kept]) -> bool:
        """Whether a fork may begin with what this node gave."""
        shape = self.workflow.nodes[key]
        begins = key not in kept and all(source in kept for source in self.run.dependencies.sources[key])
        return self.run.workflow.kind == "blocks" and begins and shape.foreach is None and shape.mode != "approval"

    def later(self) -> int:
        return self.at + self.chance.choice([0, 0, 0, 1, 7, 30])

    def owed(self) -> commands.Command | None:
        """Something that the run waits for and that leads it on, or None when it waits for nothing."""
        run, chance = self.run, self.chance
        moves: list[commands.Command] = [self._report(flight) for flight in run.in_flight.values()]
        moves += [self._resolution(key) for key in decide.resolutions(run)]
        moves += [self._answer(asked) for asked in run.approvals.values()]
        if (wake_at := decide.wake_at(run)) is not None:
            moves.append(commands.Tick(at=max(self.at, wake_at)))
        if run.paused is not None:
            moves.append(commands.ResumeRun(at=self.at, by="nora"))
        return chance.choice(moves) if moves else None

    def trouble(self) -> commands.Command:
        """Something that comes from outside."""
        chance = self.chance
        at = self.later()
        flights = list(self.run.in_flight.values())
        if flights and chance.random() < 0.3:
            self.suspended += 1
            flight = chance.choice(flights)
            return commands.ReportInterrupted(
                at=at, node=flight.node, visit=flight.visit, attempt=flight.attempt, item=flight.item
            )
        return chance.choice(
            (
                commands.Recover(at=at),
                commands.Recover(at=at + 1_000),
                commands.SkipTime(at=at + 1_000, skipped_ms=1_000),
                commands.Tick(at=at),
                commands.Tick(at=at + 50),
                commands.PauseRun(at=at, by="nora"),
                commands.ResumeRun(at=at, by="nora"),
            )
        )

    def _report(self, flight: runs.Attempt) -> commands.ReportAttempt:
        chance = self.chance
        metrics = outcome.Metrics(
            tokens_in=chance.randint(0, flight.reserve.tokens + chance.choice([0, 0, 5])),
            cost_nanousd=chance.randint(0, flight.reserve.cost_nanousd),
        )
        step = self.run.workflow.nodes[flight.node].step
        if chance.random() < (0.65 if step is None else 0.9):
            holds = None if step is None else chance.random() < 0.5
            result = outcome.Outcome(
                inputs_hash="i", outputs={"value": chance.randint(0, 9)}, metrics=metrics, holds=holds
            )
        else:
            failure = outcome.Failure(
                code="BAD",
                message=chance.choice(["x", "x", "x", "y"]),
                gate=chance.choice([None, *chances.GATES]),
                retryable=chance.random() < 0.99,
                retry_after_ms=chance.choice([None, None, 15]),
                denied=step is not None and chance.random() < 0.4,
                happened=chance.choice(["no", "no", "unknown", "unknown", "unknown", "yes"]),
            )
            output = chance.choice([None, "sha256:1", "sha256:1", "sha256:2"])
            unjudged = step is None and failure.happened == "yes" and failure.gate is None  # no gate could be evaluated
            if unjudged and chance.random() < 0.2:
                failure = replace(failure, missing=True)
            result = outcome.Outcome(
                inputs_hash="i",
                outputs={"value": 1} if unjudged else None,
                output_hash=output,
                failure=failure,
                metrics=metrics,
            )
        return commands.ReportAttempt(
            at=self.later(),
            node=flight.node,
            visit=flight.visit,
            attempt=flight.attempt,
            item=flight.item,
            outcome=result,
        )

    def _resolution(self, key: str) -> commands.ResolveNode:
        chance, shape, node = self.chance, self.run.workflow.nodes[key], self.run.nodes[key]
        more: dict[str, Any] = {"at": self.later(), "node": key, "visit": node.visit}
        if shape.when is not None and chance.random() < 0.4 and not runs.is_under_way(node):
            return commands.ResolveNode(skip=True, **more)
        if chance.random() < 0.003:
            return commands.ResolveNode(failure=outcome.Failure(code="EXPR_FAILED", message="x"), **more)
        if shape.foreach is not None:
            count = chance.randint(0, MOST_ITEMS) if node.items is None else len(node.slots)
            more |= {"items": {"value": list(range(count))}, "count": count}
            earlier = self.run.kept_items.get(key, ())
            if earlier and node.visit == 1:
                more["taken"] = tuple(chance.randint(-1, len(earlier) - 1) for _ in range(count))
        elif shape.cache and shape.mode != "approval" and chance.random() < 0.5:
            cached = commands.Cached(outputs={"value": 1}, inputs_hash="i", output_hash="o", source={"runId": "r"})
            return commands.ResolveNode(cached=cached, **more)
        if visits.asks_person(self.run, shape):
            expires_at = chance.choice([None, None, None, self.at + 40])
            more["ask"] = commands.Ask(prompt="?", args={}, form={}, digest="d", expires_at=expires_at)
        return commands.ResolveNode(**more)

    def _answer(self, asked: runs.OpenApproval) -> commands.AnswerApproval:
        chance = self.chance
        at = self.later()
        by = "nora"
        status: commands.Answer = "approved"
        if chance.random() < 0.25:
            status = "modified" if chance.random() < 0.8 else "denied"
        if asked.kind == "stalled" and status == "modified":
            status = "approved"
        if asked.expires_at is not None and at >= asked.expires_at:
            by, status = "timer", "denied"
        return commands.AnswerApproval(
            at=at,
            approval_id=asked.id,
            status=status,
            by=by,
            digest=asked.digest,
            outputs={"value": 3},
            args={"x": 1},
            new_digest="n",
            **self._changed(asked, status),
        )

    def _changed(self, asked: runs.OpenApproval, status: commands.Answer) -> dict[str, Any]:
        """What changed inputs may come to: no work at all, or work on other items."""
        chance, shape, node = self.chance, self.run.workflow.nodes[asked.node], self.run.nodes[asked.node]
        if asked.kind != "approval" or status != "modified" or shape.mode == "approval" or runs.has_begun(node):
            return {}
        if shape.when is not None and chance.random() < 0.2:
            return {"skip": True}
        if shape.foreach is None or chance.random() < 0.2:
            return {}
        count = chance.randint(0, MOST_ITEMS)
        return {"items": {"value": list(range(count))}, "count": count}


def busy(run: runs.Run) -> bool:
    """Whether the run can move without a person, found by looking everywhere."""
    if run.ended or not run.created:
        return False
    if run.in_flight:
        return True
    moves = any(
        node.status in ("resolving", "ready") or any(slot.state == "waiting" for slot in node.slots)
        for node in run.nodes.values()
    )
    found = scan.scanned(run)
    return run.paused is None and (moves or bool(found["finishing"]) or bool(found["ready"]))


def most_attempts(play: Play) -> dict[str, int]:
    """How often each node can be tried at all: visits by the bounces there are, tries by retries and crashes."""
    nodes = play.workflow.nodes.values()
    rules = [rule for node in nodes for rule in node.bounces]
    rules += [node.approval.bounce for node in nodes if node.approval is not None and node.approval.bounce is not None]
    visits = 1 + sum(rule.max_bounces for rule in rules)
    if play.workflow.plan is not None:
        visits = chances.MOST_VISITS
    return {
        node.key: visits * MOST_ITEMS * (node.retry.max_attempts + follow.MAX_INTERRUPTIONS) + play.suspended
        for node in nodes
    }

"""A run driven by hand: what the tests of the kernel share.

A `Stage` plays driver, executors, people and clock. After every command it folds the log from scratch, also through the
sealed lines, and holds the result and a full scan against the run in memory; so every story is a test of those too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openskelo.kernel import commands, decide, definition, events, outcome, receipts
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.decide import step
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import envelope
from openskelo.values import canonical
from tests.kernel import scan

RUN = "6f1c7f0e-6a3b-4f0e-9f5e-0d6a1c2b3d4e"
START = 1_700_000_000_000
ANYTHING: JsonObject = {}


def work(
    key: str, *sources: str, optional: tuple[str, ...] = (), mode: definition.Mode = "deterministic", **more: Any
) -> definition.Node:
    """A node that needs the `out` of each source, and takes that of each of `optional`."""
    ports = tuple(
        definition.Port(name=name, schema=ANYTHING, required=name not in optional) for name in (*sources, *optional)
    )
    bindings = {name: definition.Binding(node=name, port="out") for name in (*sources, *optional)}
    outputs = (definition.Port(name="out", schema=ANYTHING),)
    return definition.Node(key=key, mode=mode, inputs=ports, bindings=bindings, outputs=outputs, **more)


def flow(
    *nodes: definition.Node, limits: definition.Limits | None = None, parallel: int = 64, name: str = "flow"
) -> definition.Workflow:
    """A workflow of these nodes."""
    return definition.Workflow(
        name=name,
        hash=canonical.digest([name, *(node.key for node in nodes)]),
        nodes={node.key: node for node in nodes},
        limits=limits or definition.Limits(),
        parallel=parallel,
    )


def fold(workflow: definition.Workflow, log: list[events.Event]) -> runs.Run:
    """What the log amounts to."""
    run = runs.new(RUN, workflow)
    for event in log:
        apply(run, event)
    return run


def sealed(log: list[events.Event]) -> list[bytes]:
    """The log as it is stored."""
    chain = envelope.Chain(RUN)
    return list(envelope.seal(chain, log))


def failure(message: str, code: str = "BAD", **more: Any) -> outcome.Failure:
    """A failure that may be tried again."""
    return outcome.Failure(code=code, message=message, **more)


@dataclass
class Stage:
    """One run, its log, and its clock."""

    workflow: definition.Workflow
    at: int = START
    checked: bool = True
    meter: receipts.Meter = receipts.UNMETERED
    run: runs.Run = field(init=False)
    log: list[events.Event] = field(default_factory=list[events.Event])

    def __post_init__(self) -> None:
        self.run = runs.new(RUN, self.workflow)

    # -- commands -----------------------------------------------------------------------------------------------------

    def step(self, command: commands.Command) -> list[str]:
        """Carry out a command; what it led to, told in short."""
        facts = step(self.run, command, self.meter)
        self.log += facts
        if self.checked:
            self.check()
        return [tell(fact) for fact in facts]

    def create(self, **more: Any) -> list[str]:
        """Begin."""
        return self.step(commands.CreateRun(at=self.at, definition="sha256:d", inputs={"value": {}}, by="nora", **more))

    def tick(self, milliseconds: int = 0) -> list[str]:
        """Let time pass."""
        self.at += milliseconds
        return self.step(commands.Tick(at=self.at))

    def resolve(self, key: str, **more: Any) -> list[str]:
        """Tell the values of a node's expressions."""
        if "count" in more:
            more.setdefault("items", {"value": list(range(more["count"]))})
        return self.step(commands.ResolveNode(at=self.at, node=key, visit=self.run.nodes[key].visit, **more))

    def ask(self, key: str, expires_at: int | None = None, **more: Any) -> list[str]:
        """Tell the values of a node that a person is asked about."""
        asked = commands.Ask(
            prompt=f"{key}?", args={"of": key}, form={"type": "object"}, digest=f"sha256:{key}", expires_at=expires_at
        )
        return self.resolve(key, ask=asked, **more)

    def report(self, key: str, result: outcome.Outcome, item: int | None = None) -> list[str]:
        """An executor is done with the attempt in flight."""
        flight = self.run.in_flight[key, self.run.nodes[key].visit, item or 0]
        return self.step(
            commands.ReportAttempt(
                at=self.at, node=key, visit=flight.visit, attempt=flight.attempt, item=item, outcome=result
            )
        )

    def succeed(self, key: str, item: int | None = None, value: Json = "done", **more: Any) -> list[str]:
        """The attempt in flight succeeds with `out: value`."""
        outputs: JsonObject = {"out": value}
        result = outcome.Outcome(
            inputs_hash="sha256:in", outputs={"value": outputs}, output_hash=canonical.digest(outputs), **more
        )
        return self.report(key, result, item)

    def fail(
        self,
        key: str,
        why: outcome.Failure | str = "no",
        item: int | None = None,
        output: str | None = None,
        **more: Any,
    ) -> list[str]:
        """The attempt in flight fails."""
        reason = failure(why) if isinstance(why, str) else why
        return self.report(
            key, outcome.Outcome(inputs_hash="sha256:in", output_hash=output, failure=reason, **more), item
        )

    def asked(self, key: str) -> runs.OpenApproval:
        """The one question that is open about a node."""
        (found,) = (asked for asked in self.run.approvals.values() if asked.node == key)
        return found

    def answer(self, key: str, status: commands.Answer = "approved", by: str = "nora", **more: Any) -> list[str]:
        """A person answers the question about a node."""
        asked = self.asked(key)
        more.setdefault("digest", asked.digest)
        return self.step(commands.AnswerApproval(at=self.at, approval_id=asked.id, status=status, by=by, **more))

    def crash(self, milliseconds: int = 0) -> list[str]:
        """The driver dies; some time later another one takes over."""
        self.at += milliseconds
        return self.step(commands.Recover(at=self.at))

    # -- what is held -------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """The log, stored and read back, amounts to the run in memory; its sets are what a full scan finds."""
        assert fold(self.workflow, self.log) == self.run
        read = [envelope.open_line(line)[1] for line in sealed(self.log)]
        assert read == self.log
        assert fold(self.workflow, read) == self.run
        assert scan.kept(self.run) == scan.scanned(self.run)
        owes = self.run.in_flight or decide.resolutions(self.run) or decide.wake_at(self.run) is not None
        if runs.status(self.run) == "running":
            assert owes, "running with nothing owed"
        if runs.status(self.run) == "paused":
            live = self.run.graph_state is not None  # a person may send a message
            assert self.run.paused is not None or self.run.approvals or live, "waiting, although no person can move it"

    def outcomes(self) -> Mapping[str, str | None]:
        """How each node ended."""
        return {key: node.outcome for key, node in self.run.nodes.items()}

    def ends(self) -> tuple[str, str | None]:
        """The run's ending and the code of its error."""
        assert self.run.ended
        return str(self.run.ending), None if self.run.error is None else str(self.run.error["code"])


def tell(event: events.Event) -> str:
    """A fact in one short line: its type, which piece of which node, and what is particular about it."""
    words = [events.NAMES[type(event)]]
    if (key := getattr(event, "node", None)) is not None:
        item = getattr(event, "item", None)
        words.append(key if item is None else f"{key}[{item}]")
    if (attempt := getattr(event, "attempt", None)) is not None:
        words.append(f"{getattr(event, 'visit', '')}.{attempt}")
    return " ".join((*words, *_particulars(event)))


def _particulars(event: events.Event) -> tuple[str, ...]:
    match event:
        case events.AttemptFailed(next="retry"):
            return ("retry", f"+{(event.retry_at or 0) - event.at}")
        case events.AttemptFailed():
            return (event.next,)
        case events.AttemptInterrupted():
            return (event.reason, "uncertain") if event.uncertain else (event.reason,)
        case events.AttemptCancelled() | events.NodeSkipped() | events.ApprovalWithdrawn():
            return (event.reason,)
        case events.NodeResolved():
            return () if event.count is None else (f"x{event.count}",)
        case events.ItemFailed():
            return (str(event.error["code"]),)
        case events.NodeFailed():
            return (event.ending, str(event.error["code"]))
        case events.NodeBounced():
            return (f"-> {event.route_to}", f"#{event.bounce}")
        case events.ApprovalRequested():
            return (str(event.tool["name"]),)
        case events.ApprovalResolved():
            return (str(event.resolution["status"]), f"by {event.by}")
        case events.RunStalled():
            return (event.kind,)
        case events.RunEnding() | events.RunEnded():
            return (event.ending,) if event.error is None else (event.ending, str(event.error["code"]))
        case _:
            return ()

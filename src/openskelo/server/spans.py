"""A run that has ended as spans: one for the run, each visit of a node, each question and each attempt.

Made from the facts of its log alone. Ids follow from the run's, so that the same run gives the same spans. They say
what was done, when, by whom and how it came out; nothing that went through the run is in them.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from typing import cast

from openskelo.contract import envelope, pruned
from openskelo.frozen import field, mutable
from openskelo.kernel import events
from openskelo.kernel.json import JsonObject
from openskelo.server import asked

Value = str | int | float | bool


@mutable
class Span:
    """One span; times are milliseconds, `error` is a code. `calls` if it is about a model elsewhere."""

    id: int
    parent: int | None
    name: str
    start: int
    end: int
    attributes: dict[str, Value] = field(default_factory=dict[str, Value])
    error: str | None = None
    calls: bool = False


def trace_id(run_id: str) -> int:
    """The trace of a run: its UUID as a number."""
    return uuid.UUID(run_id).int


def of(run_id: str, lines: Iterable[bytes], experts: asked.Experts) -> list[Span]:
    """The spans of a run, the run's own first; what was pruned is left out."""
    story = _Story(run_id, experts)
    for line in lines:
        if not pruned.is_pruned(line):
            story.tell(envelope.open_line(line)[1])
    return [story.run, *story.visits.values(), *story.others]


Outcome = events.AttemptSucceeded | events.AttemptFailed | events.AttemptInterrupted | events.AttemptCancelled


class _Story:
    def __init__(self, run_id: str, experts: asked.Experts) -> None:
        self._run_id = run_id
        self._experts = experts
        self.run = Span(id=self._id("run"), parent=None, name="run", start=0, end=0)
        self.run.attributes["openskelo.run.id"] = run_id
        self.visits: dict[tuple[str, int], Span] = {}
        self.others: list[Span] = []
        self._open: dict[str, Span] = {}

    def tell(self, event: events.Event) -> None:
        self.run.start = self.run.start or event.at
        self.run.end = max(self.run.end, event.at)
        node, visit = getattr(event, "node", None), getattr(event, "visit", None)
        if isinstance(node, str) and isinstance(visit, int):
            self._visit(node, visit, event.at)
        match event:
            case events.RunCreated():
                self.run.name = f"run {event.workflow}"
                self.run.attributes["openskelo.workflow.name"] = event.workflow
                self.run.attributes["openskelo.workflow.hash"] = event.workflow_hash
            case events.RunEnded():
                self._ended(event)
            case events.AttemptStarted():
                self._start(event)
            case (
                events.AttemptSucceeded()
                | events.AttemptFailed()
                | events.AttemptInterrupted()
                | events.AttemptCancelled()
            ):
                self._finish(event)
            case events.ApprovalRequested() | events.ApprovalResolved() | events.ApprovalWithdrawn():
                self._question(event)
            case _:
                return

    def _ended(self, event: events.RunEnded) -> None:
        self.run.attributes["openskelo.run.ending"] = event.ending
        for name in ("steps", "tokens"):
            self.run.attributes[f"openskelo.run.{name}"] = cast("int", (event.spent or {}).get(name, 0))
        if event.ending != "ok":
            self.run.error = str((event.error or {}).get("code", event.ending))

    def _visit(self, node: str, visit: int, at: int) -> Span:
        span = self.visits.get((node, visit))
        if span is None:
            key = f"{node}/{visit}"
            span = Span(id=self._id(key), parent=self.run.id, name=f"node {node}", start=at, end=at)
            span.attributes |= {"openskelo.node.key": node, "openskelo.node.visit": visit}
            self.visits[node, visit] = span
        span.end = max(span.end, at)
        return span

    def _start(self, event: events.AttemptStarted) -> None:
        key = f"{event.node}/{event.visit}/{event.item or 0}/{event.attempt}"
        span = Span(
            id=self._id(key),
            parent=self.visits[event.node, event.visit].id,
            name=f"attempt {event.node}",
            start=event.at,
            end=event.at,
        )
        span.attributes |= {"openskelo.node.key": event.node, "openskelo.attempt": event.attempt}
        if event.item is not None:
            span.attributes["openskelo.item"] = event.item
        self._open[key] = span
        self.others.append(span)

    def _finish(self, event: Outcome) -> None:
        span = self._open.pop(f"{event.node}/{event.visit}/{event.item or 0}/{event.attempt}", None)
        if span is None:
            return  # an answer, or from the cache: nobody worked
        span.end = event.at
        span.attributes["openskelo.attempt.status"] = cast("str", event.receipt["status"])
        if isinstance(event, events.AttemptFailed):
            span.error = self.visits[event.node, event.visit].error = str(event.error.get("code"))
        elif isinstance(event, events.AttemptSucceeded):
            self.visits[event.node, event.visit].error = None
        expert = self._experts.get(event.node)
        if expert is not None:
            _add_model(span, expert, event.receipt)

    def _question(self, event: events.ApprovalRequested | events.ApprovalResolved | events.ApprovalWithdrawn) -> None:
        if isinstance(event, events.ApprovalRequested):
            parent = self.visits[event.node, event.visit].id
            name = f"approval {event.node}"
            span = Span(id=self._id(event.approval_id), parent=parent, name=name, start=event.at, end=event.at)
            span.attributes["openskelo.approval.id"] = event.approval_id
            self._open[event.approval_id] = span
            self.others.append(span)
            return
        span = self._open.pop(event.approval_id, None)
        if span is not None:
            answered = isinstance(event, events.ApprovalResolved)
            status = str(event.resolution.get("status")) if answered else "withdrawn"
            span.end = event.at
            span.attributes["openskelo.approval.status"] = status

    def _id(self, key: str) -> int:
        found = hashlib.sha256(f"{self._run_id}/{key}".encode()).digest()[:8]
        return int.from_bytes(found) or 1


def _add_model(span: Span, expert: Mapping[str, str], receipt: JsonObject) -> None:
    """The attributes that OpenTelemetry's conventions for generative AI ask for."""
    metrics = cast("Mapping[str, int]", receipt["metrics"])
    span.calls = True
    span.name = f"chat {expert['model']}"
    span.attributes |= {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": expert["kind"],
        "gen_ai.request.model": expert["model"],
        "gen_ai.usage.input_tokens": metrics["tokens_in"],
        "gen_ai.usage.output_tokens": metrics["tokens_out"],
        "openskelo.expert": expert["expert"],
    }

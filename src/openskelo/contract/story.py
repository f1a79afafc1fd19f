"""Whether events can have happened in this order, as far as that shows without the workflow's definition.

No outcome without a start, no second outcome, no answer to a question nobody asked, nothing left open at the end.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

from openskelo.frozen import field, frozen, mutable
from openskelo.kernel import events, ids

Place: TypeAlias = tuple[str, int, int]  # node key, visit, slot
Result: TypeAlias = events.AttemptSucceeded | events.AttemptFailed
Cut: TypeAlias = events.AttemptInterrupted | events.AttemptCancelled

_STATUSES = ("approved", "denied", "modified")


@frozen
class _Question:
    place: Place
    kind: str
    digest: str


@frozen
class _Answer:
    """The event right before was an answer: its result may follow without a start."""

    question: _Question
    status: Literal["approved", "denied", "modified"]


@mutable
class Story:
    """What is under way after the events told so far. `tell` gives why the next one is impossible, or None."""

    run_id: str
    _flying: dict[Place, int] = field(default_factory=dict[Place, int])
    _tried: dict[Place, int] = field(default_factory=dict[Place, int])
    _waiting: Counter[Place] = field(default_factory=Counter[Place])
    _questions: dict[str, _Question] = field(default_factory=dict[str, _Question])
    _asked: int = 0
    _answer: _Answer | None = None
    _ending: str | None = None
    _begun: bool = False
    _worked: bool = False

    def tell(self, event: events.Event) -> str | None:
        """Take the next event in; says why it cannot have happened here, or None."""
        answer, self._answer = self._answer, None
        if isinstance(event, events.RunCreated):
            refused = "the run is created a second time" if self._begun else None
            self._begun = True
            return refused
        if not self._begun:
            return "the first event is not run.created"
        if isinstance(event, events.NodeKept | events.NodeUnjudged | events.ItemsKept):
            return "a node is kept after the run's own work began" if self._worked else None
        self._worked = True
        match event:
            case events.AttemptStarted():
                return self._started(event)
            case events.AttemptSucceeded() | events.AttemptFailed():
                return self._landed(event, answer)
            case events.AttemptInterrupted() | events.AttemptCancelled():
                return self._cut(event)
            case events.ArtifactCreated():
                return self._not_flying(_place(event), event.attempt, event.node)
            case events.RetryDue():
                return self._due(event)
            case events.ApprovalRequested() | events.ApprovalResolved() | events.ApprovalWithdrawn():
                return self._people(event)
            case events.RunEnding() | events.RunEnded():
                return self._end(event)
            case _:
                return None

    # -- attempts -----------------------------------------------------------------------------------------------------

    def _started(self, event: events.AttemptStarted) -> str | None:
        place = _place(event)
        expected = self._tried.get(place, 0) + 1
        if place in self._flying:
            return f"{event.node} is started while its attempt {self._flying[place]} is under way"
        if self._ending is not None:
            return f"{event.node} is started while the run is ending"
        self._flying[place] = self._tried[place] = event.attempt
        if event.attempt != expected:
            return f"{event.node} starts attempt {event.attempt}; the next one is {expected}"
        return None

    def _landed(self, event: Result, answer: _Answer | None) -> str | None:
        place = _place(event)
        if place in self._flying:
            refused = self._not_flying(place, event.attempt, event.node)
            del self._flying[place]
        else:
            refused = self._not_given(event, place, answer)
        self._tried[place] = event.attempt
        if isinstance(event, events.AttemptFailed) and event.next == "retry":
            self._waiting[place] += 1
            if event.retry_at is None:
                return f"{event.node} is to be retried, but the event does not say when"
        return refused

    def _not_given(self, event: Result, place: Place, answer: _Answer | None) -> str | None:
        """Why an outcome without a start is impossible: it comes from the cache, or from the answer right before."""
        tried = self._tried.get(place, 0)
        if answer is not None and answer.question.place[:2] == place[:2]:
            # One question stands for all items of a node; only a cut attempt is asked about by itself.
            cut = answer.question.kind == "uncertain" and answer.question.place == place
            expected = tried if cut else tried + 1
            fits = answer.status == "denied" or isinstance(event, events.AttemptSucceeded)
            if fits and event.attempt == expected:
                return None
        if isinstance(event, events.AttemptSucceeded) and event.cached is not None and event.attempt == tried + 1:
            return None
        return f"attempt {event.attempt} of {event.node} has an outcome, but was never started"

    def _cut(self, event: Cut) -> str | None:
        place = _place(event)
        refused = self._not_flying(place, event.attempt, event.node)
        self._flying.pop(place, None)
        return refused

    def _not_flying(self, place: Place, attempt: int, node: str) -> str | None:
        if self._flying.get(place) == attempt:
            return None
        return f"attempt {attempt} of {node} is not under way"

    def _due(self, event: events.RetryDue) -> str | None:
        place = _place(event)
        self._waiting[place] -= 1
        return None if self._waiting[place] >= 0 else f"{event.node} is due for a retry that nobody waits for"

    # -- people -------------------------------------------------------------------------------------------------------

    def _people(
        self, event: events.ApprovalRequested | events.ApprovalResolved | events.ApprovalWithdrawn
    ) -> str | None:
        if isinstance(event, events.ApprovalRequested):
            return self._question(event)
        asked = self._questions.pop(event.approval_id, None)
        if asked is None:
            return f"approval {event.approval_id} is not open"
        if asked.place[:2] != (event.node, event.visit):
            return f"approval {event.approval_id} belongs to {asked.place[0]}, not to {event.node}"
        if isinstance(event, events.ApprovalWithdrawn):
            return None
        status = event.resolution.get("status")
        if status not in _STATUSES:
            return f"approval {event.approval_id} has no answer"
        if status != "modified" and event.digest != asked.digest:
            return f"the answer to approval {event.approval_id} is about something else than what was asked"
        if status == "modified" and not isinstance(event.resolution.get("modifiedArgs"), dict):
            return f"approval {event.approval_id} was modified, but the event does not say how"
        self._answer = _Answer(question=asked, status=status)
        return None

    def _question(self, event: events.ApprovalRequested) -> str | None:
        self._asked += 1
        kind, args = event.tool.get("name"), event.tool.get("args")
        if not isinstance(kind, str) or not isinstance(args, dict):
            return f"approval {event.approval_id} does not say what is asked"
        self._questions[event.approval_id] = _Question(place=_place(event), kind=kind, digest=event.digest)
        if event.approval_id != ids.derive(self.run_id, f"approval/{self._asked}"):
            return f"approval {event.approval_id} is not the run's question number {self._asked}"
        return None

    # -- the end ------------------------------------------------------------------------------------------------------

    def _end(self, event: events.RunEnding | events.RunEnded) -> str | None:
        decided, self._ending = self._ending, event.ending
        if isinstance(event, events.RunEnding):
            return None if decided is None else "the run's ending is decided twice"
        if decided != event.ending and (decided is not None or event.ending != "ok"):
            return f"the run ends as {event.ending}, which was not decided"
        if self._flying:
            return f"the run ends while {next(iter(self._flying))[0]} is under way"
        if self._questions:
            return "the run ends while a person is being asked"
        return None


def _place(
    event: events.AttemptStarted | Result | Cut | events.ArtifactCreated | events.RetryDue | events.ApprovalRequested,
) -> Place:
    return event.node, event.visit, event.item or 0

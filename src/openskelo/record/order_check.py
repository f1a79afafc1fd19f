"""Check that events can have happened in this order, as far as that shows without the workflow's definition.

An attempt has one start and one outcome, an answer has an open approval, and nothing is open when the run ends.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

from openskelo.kernel import events, ids
from openskelo.structs import field, frozen, mutable

SlotId: TypeAlias = tuple[str, int, int]  # node key, visit, slot
Result: TypeAlias = events.AttemptSucceeded | events.AttemptFailed
Stopped: TypeAlias = events.AttemptInterrupted | events.AttemptCancelled

_STATUSES = ("approved", "denied", "modified")


@frozen
class _Approval:
    slot: SlotId
    kind: str
    digest: str


@frozen
class _Answer:
    """The answer in the event before: its result may follow without a start."""

    approval: _Approval
    status: Literal["approved", "denied", "modified"]


@mutable
class OrderCheck:
    """The open state after the events so far: attempts in flight, waiting retries, open approvals."""

    run_id: str
    _in_flight: dict[SlotId, int] = field(default_factory=dict[SlotId, int])
    _last_attempts: dict[SlotId, int] = field(default_factory=dict[SlotId, int])
    _waiting: Counter[SlotId] = field(default_factory=Counter[SlotId])
    _approvals: dict[str, _Approval] = field(default_factory=dict[str, _Approval])
    _approvals_requested: int = 0
    _answer: _Answer | None = None
    _ending: str | None = None
    _created: bool = False
    _started: bool = False

    def check(self, event: events.Event) -> str | None:
        """Note the next event; return why it cannot have happened here, or None."""
        answer, self._answer = self._answer, None
        if isinstance(event, events.RunCreated):
            reason = "the run is created a second time" if self._created else None
            self._created = True
            return reason
        if not self._created:
            return "the first event is not run.created"
        if isinstance(event, events.NodeKept | events.NodeUnjudged | events.ItemsKept):
            if self._started:
                return "a node is kept after the run's own work began"
            return None
        self._started = True
        match event:
            case events.AttemptStarted():
                return self._check_started(event)
            case events.AttemptSucceeded() | events.AttemptFailed():
                return self._check_result(event, answer)
            case events.AttemptInterrupted() | events.AttemptCancelled():
                return self._check_stopped(event)
            case (
                events.ArtifactCreated()
                | events.SessionOpened()
                | events.CallStarted()
                | events.CallRuled()
                | events.CallCompleted()
                | events.CallGranted()
            ):
                return self._check_in_flight(_slot(event), event.attempt, event.node)
            case events.RetryDue():
                return self._check_retry_due(event)
            case events.ApprovalRequested() | events.ApprovalResolved() | events.ApprovalWithdrawn():
                return self._check_approval(event)
            case events.RunEnding() | events.RunEnded():
                return self._check_end(event)
            case _:
                return None

    # -- attempts -----------------------------------------------------------------------------------------------------

    def _check_started(self, event: events.AttemptStarted) -> str | None:
        slot = _slot(event)
        expected_attempt = self._last_attempts.get(slot, 0) + 1
        if slot in self._in_flight:
            return f"{event.node} is started while its attempt {self._in_flight[slot]} is under way"
        if self._ending is not None:
            return f"{event.node} is started while the run is ending"
        self._in_flight[slot] = self._last_attempts[slot] = event.attempt
        if event.attempt != expected_attempt:
            return f"{event.node} starts attempt {event.attempt}; the next one is {expected_attempt}"
        return None

    def _check_result(self, event: Result, answer: _Answer | None) -> str | None:
        slot = _slot(event)
        if slot in self._in_flight:
            reason = self._check_in_flight(slot, event.attempt, event.node)
            del self._in_flight[slot]
        else:
            reason = self._check_unstarted(event, slot, answer)
        self._last_attempts[slot] = event.attempt
        if isinstance(event, events.AttemptFailed) and event.next == "retry":
            self._waiting[slot] += 1
            if event.retry_at is None:
                return f"{event.node} is to be retried, but the event does not say when"
        return reason

    def _check_unstarted(self, event: Result, slot: SlotId, answer: _Answer | None) -> str | None:
        """Return why an outcome without a start is impossible, unless it comes from the cache or an answer."""
        last_attempt = self._last_attempts.get(slot, 0)
        if answer is not None and answer.approval.slot[:2] == slot[:2]:
            # One approval stands for all items of a node; only an uncertain attempt is asked about by itself.
            is_uncertain = answer.approval.kind == "uncertain" and answer.approval.slot == slot
            expected_attempt = last_attempt if is_uncertain else last_attempt + 1
            fits = answer.status == "denied" or isinstance(event, events.AttemptSucceeded)
            if fits and event.attempt == expected_attempt:
                return None
        if (
            isinstance(event, events.AttemptSucceeded)
            and event.cached is not None
            and event.attempt == last_attempt + 1
        ):
            return None
        return f"attempt {event.attempt} of {event.node} has an outcome, but was never started"

    def _check_stopped(self, event: Stopped) -> str | None:
        slot = _slot(event)
        reason = self._check_in_flight(slot, event.attempt, event.node)
        self._in_flight.pop(slot, None)
        return reason

    def _check_in_flight(self, slot: SlotId, attempt: int, node: str) -> str | None:
        if self._in_flight.get(slot) == attempt:
            return None
        return f"attempt {attempt} of {node} is not under way"

    def _check_retry_due(self, event: events.RetryDue) -> str | None:
        slot = _slot(event)
        self._waiting[slot] -= 1
        if self._waiting[slot] >= 0:
            return None
        return f"{event.node} is due for a retry that was not waiting"

    # -- approvals ----------------------------------------------------------------------------------------------------

    def _check_approval(
        self, event: events.ApprovalRequested | events.ApprovalResolved | events.ApprovalWithdrawn
    ) -> str | None:
        if isinstance(event, events.ApprovalRequested):
            return self._check_requested(event)
        approval = self._approvals.pop(event.approval_id, None)
        if approval is None:
            return f"approval {event.approval_id} is not open"
        if approval.slot[:2] != (event.node, event.visit):
            return f"approval {event.approval_id} belongs to {approval.slot[0]}, not to {event.node}"
        if isinstance(event, events.ApprovalWithdrawn):
            return None
        status = event.resolution.get("status")
        if status not in _STATUSES:
            return f"approval {event.approval_id} has no answer"
        if status != "modified" and event.digest != approval.digest:
            return f"the answer to approval {event.approval_id} is about something else than what was asked"
        if status == "modified" and not isinstance(event.resolution.get("modifiedArgs"), dict):
            return f"approval {event.approval_id} was modified, but the event does not say how"
        self._answer = _Answer(approval=approval, status=status)
        return None

    def _check_requested(self, event: events.ApprovalRequested) -> str | None:
        self._approvals_requested += 1
        kind, args = event.tool.get("name"), event.tool.get("args")
        if not isinstance(kind, str) or not isinstance(args, dict):
            return f"approval {event.approval_id} does not say what is asked"
        self._approvals[event.approval_id] = _Approval(slot=_slot(event), kind=kind, digest=event.digest)
        if event.approval_id != ids.derive(self.run_id, f"approval/{self._approvals_requested}"):
            return f"approval {event.approval_id} is not the run's approval number {self._approvals_requested}"
        return None

    # -- the end ------------------------------------------------------------------------------------------------------

    def _check_end(self, event: events.RunEnding | events.RunEnded) -> str | None:
        decided_ending, self._ending = self._ending, event.ending
        if isinstance(event, events.RunEnding):
            if decided_ending is None:
                return None
            return "the run's ending is decided twice"
        if decided_ending != event.ending and (decided_ending is not None or event.ending != "ok"):
            return f"the run ends as {event.ending}, which was not decided"
        if self._in_flight:
            return f"the run ends while {next(iter(self._in_flight))[0]} is under way"
        if self._approvals:
            return "the run ends while a person is being asked"
        return None


def _slot(
    event: events.AttemptStarted
    | Result
    | Stopped
    | events.ArtifactCreated
    | events.SessionOpened
    | events.CallStarted
    | events.CallRuled
    | events.CallCompleted
    | events.CallGranted
    | events.RetryDue
    | events.ApprovalRequested,
) -> SlotId:
    return event.node, event.visit, event.item or 0

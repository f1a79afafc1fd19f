"""Verify a run's record line by line, with nothing but its bytes (and the workflow's definition, if there is one).

Integrity comes first: every line re-serialises to the same bytes, `seq` has no gap, the hashes chain. As long as that
holds, the events are also checked for meaning: their fields, their receipts, their order, and whether the kernel's
state allows them. After the first problem only integrity is checked, because what follows from it is not a second one.
"""

from __future__ import annotations

from typing import Literal, cast

from openskelo.kernel import definition, events
from openskelo.kernel import receipts as kernel_receipts
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import envelope, line_check, order_check, receipts, signature, state_check
from openskelo.structs import frozen, replace

#: The most problems that are listed; a file that is not a log at all has one per line.
MAX_PROBLEMS = 100


@frozen
class Problem:
    """A problem in a line (counted from 1), at a byte of the whole file.

    Line 0 means the record as a whole, or a file beside it.
    """

    line: int
    offset: int
    code: str
    message: str
    #: That of the line's event if known.
    seq: int | None = None

    def document(self) -> JsonObject:
        """Return the problem as JSON."""
        return {
            "line": self.line,
            "offset": self.offset,
            "seq": self.seq,
            "code": self.code,
            "message": self.message,
        }


@frozen
class Verification:
    """The result of verifying a record.

    It is intact if no problem was found. A record that is intact but not ended may go on, or may have been cut at the
    end of a line.
    """

    run_id: str | None
    events: int
    receipts: int
    #: The number of events without data.
    pruned: int
    head: str
    #: The last event is `run.ended`.
    ended: bool
    #: The kernel's state was checked, too.
    folded: bool
    problems: tuple[Problem, ...]
    #: The number of blobs that were hashed again.
    blobs: int = 0
    #: `ok` if it is over the hash of the last event, `partial` if later ones are not signed.
    signature: Literal["ok", "partial", "bad", "none"] = "none"
    #: The event whose hash the signature is over.
    signed_seq: int | None = None
    public_key: str | None = None
    #: Only a key that the caller has `given` proves whose record it is.
    key: Literal["given", "embedded"] | None = None

    @property
    def intact(self) -> bool:
        """True if no problem was found."""
        return not self.problems

    def document(self) -> JsonObject:
        """Return the result as JSON."""
        document: dict[str, Json] = {
            "runId": self.run_id,
            "intact": self.intact,
            "ended": self.ended,
            "events": self.events,
            "receipts": self.receipts,
            "pruned": self.pruned,
            "folded": self.folded,
            "blobs": self.blobs,
            "head": self.head,
            "signature": self.signature,
            "problems": [problem.document() for problem in self.problems],
        }
        if self.signature != "none":
            document["signedBy"] = {"publicKey": self.public_key, "key": self.key, "seq": self.signed_seq}
        return document


def add_signature(
    verification: Verification, document: JsonObject | None, head: str | None, public_key: str | None = None
) -> Verification:
    """Return the result with the check of a signature; `head` is the hash that the record has at the signed seq.

    A caller that gives a key wants all of the record signed by it: then a missing signature, or one over an earlier
    event, is a problem. What comes after a signed event could be written without the key.
    """
    if document is None:
        if public_key is None:
            return verification
        missing = Problem(line=0, offset=0, code="SIGNATURE_MISSING", message="the record is not signed")
        return replace(verification, problems=(*verification.problems, missing))
    verdict = signature.check(document, run_id=verification.run_id or "", head=head, public_key=public_key)
    state: Literal["ok", "partial", "bad"] = "bad"
    if verdict.ok:
        state = "ok" if head == verification.head else "partial"
    problems = verification.problems
    if state == "bad":
        problems = (*problems, Problem(line=0, offset=0, code="SIGNATURE_BAD", message=verdict.reason, seq=verdict.seq))
    elif state == "partial" and public_key is not None:
        problems = (*problems, _unsigned(verdict.seq, verification.events))
    return replace(
        verification,
        problems=problems,
        signature=state,
        signed_seq=verdict.seq,
        public_key=verdict.public_key,
        key=verdict.key,
    )


def _unsigned(seq: int, last: int) -> Problem:
    rest = f"event {last} is" if last == seq + 1 else f"events {seq + 1} to {last} are"
    message = f"signed up to event {seq}: {rest} not signed"
    return Problem(line=0, offset=0, code="SIGNATURE_PARTIAL", message=message, seq=seq)


class Verifier:
    """Checks the lines of one record in order. `line` and `offset` say where the next one starts.

    `watched` is the hash of event `watch`, once it has been read.
    """

    def __init__(self, *, workflow: definition.Workflow | None = None, watch: int | None = None) -> None:
        self.workflow = workflow
        self.watch = watch
        self.line = 1
        self.offset = 0
        self.run_id: str | None = None
        self.seq = 0
        self.head = envelope.GENESIS
        self._problems: list[Problem] = []
        self.watched: str | None = None
        self._reading: int | None = None
        self._unreadable = 0
        self._at = 0
        self._ended = False
        self._events = self._pruned = 0
        #: The first event that has kept data which pruning removes, after one that has lost it.
        self._kept_seq: int | None = None
        self._checks: _EventChecks | None = None

    def add(self, raw: bytes) -> events.Event | None:
        """Check the next line; return its event if the line and its place are right and its data is not pruned."""
        event: events.Event | None = None
        if len(self._problems) < MAX_PROBLEMS:
            self._events += 1
            try:
                event = self._check(raw)
            except line_check.Fault as fault:
                self.report(fault)
                self._unreadable += fault.code in ("LINE_TORN", "LINE_INVALID")
        self.skip(raw)
        return event

    def skip(self, raw: bytes) -> None:
        """Go on to the next line."""
        self._reading = None
        self.line += 1
        self.offset += len(raw)

    def report(self, fault: line_check.Fault) -> None:
        """List a problem at the current line."""
        if len(self._problems) >= MAX_PROBLEMS:
            return
        self._problems.append(
            Problem(
                line=self.line,
                offset=self.offset + fault.at,
                code=fault.code,
                message=fault.message,
                seq=self._reading,
            )
        )

    def report_whole(self, fault: line_check.Fault, seq: int | None = None) -> None:
        """List a problem of the record as a whole, or of what event `seq` refers to."""
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(Problem(line=0, offset=0, code=fault.code, message=fault.message, seq=seq))

    def result(self) -> Verification:
        """Return what the lines together prove."""
        if not self._events:
            self.report(line_check.Fault("EMPTY", "there are no events"))
        checks = self._checks
        problems = tuple(self._problems)
        if self._pruned and not self._ended and not problems:
            # `run.ended` names the last receipt: without it, the receipts of pruned lines are not covered.
            message = "only runs that have ended are pruned, and the end of this one is missing"
            problems = (Problem(line=0, offset=0, code="SEQ_GAP", message=message),)
        elif self._kept_seq is not None and not problems:
            # Pruning goes from the last event to the first: what was interrupted has lost the data of the later ones.
            message = (
                f"event {self._kept_seq} has data although an earlier one has lost its own: no pruning leaves that"
            )
            problems = (Problem(line=0, offset=0, code="PRUNED_IN_PART", message=message, seq=self._kept_seq),)
        return Verification(
            run_id=self.run_id,
            events=self._events,
            receipts=0 if checks is None else checks.receipts,
            pruned=self._pruned,
            head=self.head,
            ended=self._ended,
            folded=checks is not None and checks.is_folding and not problems,
            problems=problems,
        )

    def _check(self, raw: bytes) -> events.Event | None:
        if not raw.endswith(b"\n"):
            raise line_check.Fault("LINE_TORN", "the line has no end: the copy was cut here", len(raw))
        line = raw[:-1]
        entry = line_check.parse(line)
        self._reading = cast("int", entry["seq"])
        self._check_place(entry)
        line_check.check_bytes(line, entry)
        at = line_check.check_time(entry, self._at)
        self._at = at
        name = cast("str", entry["type"])
        self._ended = name == "run.ended"
        if self.seq == self.watch:
            self.watched = self.head
        if name not in events.TYPES:
            raise line_check.Fault(
                "EVENT_UNKNOWN", f"no event type {name!r} is known; a newer version may have written it"
            )
        if (self.seq == 1) != (name == "run.created"):
            raise line_check.Fault("EVENT_IMPOSSIBLE", "run.created is the first event, and only the first")
        if "data" not in entry:
            if name in line_check.NEVER_PRUNED:
                raise line_check.Fault("EVENT_INVALID", f"{name} is never pruned")
            self._pruned += 1
            self._checks = self._checks or _EventChecks(cast("str", self.run_id), None)
            self._checks.add_pruned(entry, at)
            return None
        if self._pruned and self._kept_seq is None and name not in line_check.NEVER_PRUNED:
            self._kept_seq = self.seq
        event = line_check.decode(entry, name, at)
        self._check_event(event)
        return event

    def _check_place(self, opened: JsonObject) -> None:
        """Raise Fault if this is not the next line of the chain; the next line is then checked against this one."""
        run_id, seq, prev = cast("str", opened["runId"]), cast("int", opened["seq"]), cast("str", opened["prev"])
        expected_seq, head, had_ended = self.seq + 1, self.head, self._ended
        if self.run_id is None:
            self.run_id = run_id
        elif run_id != self.run_id:
            raise line_check.Fault("RUN_CHANGED", f"the line belongs to run {run_id}, not to {self.run_id}")
        if seq < expected_seq:
            raise line_check.Fault(
                "SEQ_REPEATED", f"seq {seq} comes again, or out of order; {expected_seq} was expected"
            )
        unreadable, self._unreadable = self._unreadable, 0
        self.seq, self.head = seq, cast("str", opened["hash"])
        if had_ended:
            raise line_check.Fault("AFTER_END", "the run had ended; nothing may follow run.ended")
        if seq > expected_seq + unreadable:
            raise line_check.Fault("SEQ_GAP", f"seq {_span(expected_seq, seq - 1)} missing before seq {seq}")
        if seq == expected_seq and prev != head:
            raise line_check.Fault(
                "PREV_MISMATCH", f"seq {seq} does not follow from the line before: one of the two was changed"
            )

    def _check_event(self, event: events.Event) -> None:
        if self._checks is None:
            self._checks = _EventChecks(cast("str", self.run_id), self.workflow)
        if self._problems:
            self._checks.skip(event)
        else:
            self._checks.add(event)


class _EventChecks:
    """Checks the receipts, the order and the state of the events; after pruned data only the receipts."""

    def __init__(self, run_id: str, workflow: definition.Workflow | None) -> None:
        self._has_pruned = False
        self.receipts = 0
        self._order = order_check.OrderCheck(run_id)
        self._state = None if workflow is None else state_check.StateCheck(run_id, workflow)
        self._created: events.RunCreated | None = None
        self._last_receipt: str | None = kernel_receipts.GENESIS  # None: not known

    @property
    def is_folding(self) -> bool:
        """True if the kernel's state is checked too."""
        return self._state is not None and not self._has_pruned

    def add_pruned(self, opened: JsonObject, at: int) -> None:
        """Check the receipt of a pruned line; raise Fault if it does not fit."""
        self._has_pruned = True
        if "receipt" in opened:
            self.receipts += 1
            fault_text = receipts.find_fault_of_pruned(opened, at, self._last_receipt)
            self._follow(cast("JsonObject", opened["receipt"]), fault_text)
        elif receipts.has_receipt(cast("str", opened["type"])):
            self._last_receipt = None
            raise line_check.Fault("RECEIPT_INVALID", f"{opened['type']} has lost its receipt, which pruning keeps")

    def skip(self, event: events.Event) -> None:
        """Leave out an event after a fault; the receipt that follows it has no known predecessor."""
        if isinstance(event, receipts.Receipted):
            self._last_receipt = None

    def add(self, event: events.Event) -> None:
        """Check the next event; raise Fault if it cannot have happened."""
        if isinstance(event, events.RunCreated):
            self._created = event
        if isinstance(event, receipts.Receipted):
            self.receipts += 1
            self._follow(event.receipt, receipts.find_fault(event, self._created, self._last_receipt))
        if isinstance(event, events.RunEnded) and event.receipt_head is not None:
            self._check_head(event.receipt_head)
        if self._has_pruned:
            return
        fault_text = self._order.check(event)
        if fault_text is None and self._state is not None:
            fault_text = self._state.check(event)
        if fault_text is not None:
            raise line_check.Fault("EVENT_IMPOSSIBLE", fault_text)

    def _follow(self, receipt: JsonObject, fault_text: str | None) -> None:
        if fault_text is not None:
            raise line_check.Fault("RECEIPT_INVALID", fault_text)
        self._last_receipt = kernel_receipts.digest(receipt)

    def _check_head(self, head: str) -> None:
        if self._last_receipt not in (None, head):
            raise line_check.Fault("RECEIPT_INVALID", f"the run ended with receipt {head}, which is not its last one")


def _span(first: int, last: int) -> str:
    if first == last:
        return f"{first} is"
    return f"{first} to {last} are"

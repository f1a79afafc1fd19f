"""Verify a run's record line by line, with nothing but its bytes (and the workflow's definition, if there is one).

Integrity first: every line re-serialises to the same bytes, seq has no gap, the hashes chain. While that holds, the
events are also checked for sense: their fields, their receipts, their order, and what the kernel makes of them.
"""

from __future__ import annotations

from typing import Literal, cast

from openskelo.contract import envelope, fold, pruned, receipts, sealed, signature, story
from openskelo.frozen import frozen, replace
from openskelo.kernel import definition, events
from openskelo.kernel import receipts as kernel_receipts
from openskelo.kernel.json import Json, JsonObject

#: So many problems are listed; a file that is no log at all would list one a line.
MAX_PROBLEMS = 100


@frozen
class Problem:
    """One thing that is wrong: in which line (from 1), at which byte of the whole, with which event if it says so.

    Line 0 is about the record as a whole, or about what lies beside it.
    """

    line: int
    offset: int
    code: str
    message: str
    seq: int | None = None

    def document(self) -> JsonObject:
        """The problem as JSON."""
        return {
            "line": self.line,
            "offset": self.offset,
            "seq": self.seq,
            "code": self.code,
            "message": self.message,
        }


@frozen
class Verification:
    """What a record proves.

    `intact`: nothing is wrong with what is there. `ended`: the last event is `run.ended`; a record that is intact but
    not ended may go on, or may have been cut at a line's end. `folded`: the kernel, given the workflow, agrees too.
    `pruned` events have given up their data. `blobs` were hashed again. `signature` is one over the hash of event
    `signed_seq`: `ok` if that is the last, `partial` if others come after it, for which it does not vouch; by a
    `given` key it also says whose the record is.
    """

    run_id: str | None
    events: int
    receipts: int
    pruned: int
    head: str
    ended: bool
    folded: bool
    problems: tuple[Problem, ...]
    blobs: int = 0
    signature: Literal["ok", "partial", "bad", "none"] = "none"
    signed_seq: int | None = None
    public_key: str | None = None
    key: Literal["given", "embedded"] | None = None

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def document(self) -> JsonObject:
        """The result as JSON."""
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


def signed(
    proved: Verification, document: JsonObject | None, head: str | None, public_key: str | None = None
) -> Verification:
    """The result with a signature looked at; `head` is the hash that the record has at the signed seq.

    Whoever gives a key wants all of the record signed by it: then one without a signature, or with a signature of
    an earlier head, is not good enough. Anybody can write what comes after a signed event.
    """
    if document is None:
        if public_key is None:
            return proved
        missing = Problem(line=0, offset=0, code="SIGNATURE_MISSING", message="the record is not signed")
        return replace(proved, problems=(*proved.problems, missing))
    checked = signature.check(document, run_id=proved.run_id or "", head=head, public_key=public_key)
    state = ("ok" if head == proved.head else "partial") if checked.ok else "bad"
    problems = proved.problems
    if state == "bad":
        problems = (*problems, Problem(line=0, offset=0, code="SIGNATURE_BAD", message=checked.reason, seq=checked.seq))
    elif state == "partial" and public_key is not None:
        problems = (*problems, _unsigned(checked.seq, proved.events))
    return replace(
        proved,
        problems=problems,
        signature=state,
        signed_seq=checked.seq,
        public_key=checked.public_key,
        key=checked.key,
    )


def _unsigned(seq: int, last: int) -> Problem:
    rest = f"event {last} is" if last == seq + 1 else f"events {seq + 1} to {last} are"
    message = f"signed up to event {seq}: {rest} signed by nobody"
    return Problem(line=0, offset=0, code="SIGNATURE_PARTIAL", message=message, seq=seq)


class Verifier:
    """Takes the lines of one record in order. `line` and `offset` say where the next one starts.

    `watched` is the hash of event `watch`, once that has passed.
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
        self._sense: Sense | None = None

    def add(self, raw: bytes) -> events.Event | None:
        """Check the next line; gives its event when line and chain are right and its data is there."""
        event: events.Event | None = None
        if len(self._problems) < MAX_PROBLEMS:
            self._events += 1
            try:
                event = self._check(raw)
            except sealed.Fault as fault:
                self.report(fault)
                self._unreadable += fault.code in ("LINE_TORN", "LINE_INVALID")
        self.skip(raw)
        return event

    def skip(self, raw: bytes) -> None:
        """Go on to the next line."""
        self._reading = None
        self.line += 1
        self.offset += len(raw)

    def report(self, fault: sealed.Fault) -> None:
        """List what is wrong at the place reached."""
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

    def report_whole(self, fault: sealed.Fault, seq: int | None = None) -> None:
        """List what is wrong with the record as a whole, or with what event `seq` refers to."""
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(Problem(line=0, offset=0, code=fault.code, message=fault.message, seq=seq))

    def result(self) -> Verification:
        """What all lines together prove."""
        if not self._events:
            self.report(sealed.Fault("EMPTY", "there is not one event"))
        sense = self._sense
        problems = tuple(self._problems)
        if self._pruned and not self._ended and not problems:
            # The end names the last receipt: without it, those of pruned lines could be anything.
            message = "only runs that have ended give up data, and the end of this one is missing"
            problems = (Problem(line=0, offset=0, code="SEQ_GAP", message=message),)
        return Verification(
            run_id=self.run_id,
            events=self._events,
            receipts=0 if sense is None else sense.receipts,
            pruned=self._pruned,
            head=self.head,
            ended=self._ended,
            folded=sense is not None and sense.folding and not problems,
            problems=problems,
        )

    def _check(self, raw: bytes) -> events.Event | None:
        if not raw.endswith(b"\n"):
            raise sealed.Fault("LINE_TORN", "the line has no end: the copy was cut here", len(raw))
        line = raw[:-1]
        opened = sealed.parse(line)
        self._reading = cast("int", opened["seq"])
        self._check_place(opened)
        sealed.check_bytes(line, opened)
        at = sealed.check_time(opened, self._at)
        self._at = at
        name = cast("str", opened["type"])
        self._ended = name == "run.ended"
        if self.seq == self.watch:
            self.watched = self.head
        if name not in events.TYPES:
            raise sealed.Fault("EVENT_UNKNOWN", f"no event type {name!r} is known; a newer version may have written it")
        if (self.seq == 1) != (name == "run.created"):
            raise sealed.Fault("EVENT_IMPOSSIBLE", "run.created is the first event, and only the first")
        if "data" not in opened:
            if name in pruned.KEPT:
                raise sealed.Fault("EVENT_INVALID", f"{name} never gives up its data")
            self._pruned += 1
            self._sense = self._sense or Sense(cast("str", self.run_id), None)
            self._sense.lose(opened, at)
            return None
        event = sealed.decode(opened, name, at)
        self._make_sense(event)
        return event

    def _check_place(self, opened: JsonObject) -> None:
        """Is this the line that comes next? If not, say so once and go on from here."""
        run_id, seq, prev = cast("str", opened["runId"]), cast("int", opened["seq"]), cast("str", opened["prev"])
        expected, head, ended = self.seq + 1, self.head, self._ended
        if self.run_id is None:
            self.run_id = run_id
        elif run_id != self.run_id:
            raise sealed.Fault("RUN_CHANGED", f"the line belongs to run {run_id}, not to {self.run_id}")
        if seq < expected:
            raise sealed.Fault("SEQ_REPEATED", f"seq {seq} comes again, or out of order; {expected} was expected")
        unreadable, self._unreadable = self._unreadable, 0
        self.seq, self.head = seq, cast("str", opened["hash"])
        if ended:
            raise sealed.Fault("AFTER_END", "the run had ended; nothing may follow run.ended")
        if seq > expected + unreadable:
            raise sealed.Fault("SEQ_GAP", f"seq {_span(expected, seq - 1)} missing before seq {seq}")
        if seq == expected and prev != head:
            raise sealed.Fault(
                "PREV_MISMATCH", f"seq {seq} does not follow from the line before: one of the two was changed"
            )

    def _make_sense(self, event: events.Event) -> None:
        if self._sense is None:
            self._sense = Sense(cast("str", self.run_id), self.workflow)
        if self._problems:
            self._sense.skip(event)
        else:
            self._sense.check(event)


class Sense:
    """What the events so far amount to. `blind` once data was pruned: what follows can no longer be judged."""

    def __init__(self, run_id: str, workflow: definition.Workflow | None) -> None:
        self.blind = False
        self.receipts = 0
        self._story = story.Story(run_id)
        self._fold = None if workflow is None else fold.Fold(run_id, workflow)
        self._created: events.RunCreated | None = None
        self._last_receipt: str | None = kernel_receipts.GENESIS  # None: not known

    @property
    def folding(self) -> bool:
        """Whether the kernel judges too."""
        return self._fold is not None and not self.blind

    def lose(self, opened: JsonObject, at: int) -> None:
        """Take in a line that gave up its data; a sealed.Fault if the receipt that it has kept does not fit."""
        self.blind = True
        if "receipt" in opened:
            self.receipts += 1
            refused = receipts.kept_fault(opened, at, self._last_receipt)
            self._follow(cast("JsonObject", opened["receipt"]), refused)
        elif receipts.may_have_one(cast("str", opened["type"])):
            self._last_receipt = None
            raise sealed.Fault("RECEIPT_INVALID", f"{opened['type']} has lost its receipt, which stays when data goes")

    def skip(self, event: events.Event) -> None:
        """Leave the next event out, as all are after a fault; a receipt that follows it is not blamed for that."""
        if isinstance(event, receipts.Receipted):
            self._last_receipt = None

    def check(self, event: events.Event) -> None:
        """Take the next event in; a sealed.Fault if it cannot have happened."""
        if isinstance(event, events.RunCreated):
            self._created = event
        if isinstance(event, receipts.Receipted):
            self.receipts += 1
            self._follow(event.receipt, receipts.fault(event, self._created, self._last_receipt))
        if isinstance(event, events.RunEnded) and event.receipt_head is not None:
            self._check_head(event.receipt_head)
        if self.blind:
            return
        refused = self._story.tell(event)
        if refused is None and self._fold is not None:
            refused = self._fold.add(event)
        if refused is not None:
            raise sealed.Fault("EVENT_IMPOSSIBLE", refused)

    def _follow(self, receipt: JsonObject, refused: str | None) -> None:
        if refused is not None:
            raise sealed.Fault("RECEIPT_INVALID", refused)
        self._last_receipt = kernel_receipts.digest(receipt)

    def _check_head(self, head: str) -> None:
        if self._last_receipt not in (None, head):
            raise sealed.Fault("RECEIPT_INVALID", f"the run ended with receipt {head}, which is not its last one")


def _span(first: int, last: int) -> str:
    return f"{first} is" if first == last else f"{first} to {last} are"

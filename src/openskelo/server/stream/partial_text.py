"""The text that models are writing right now: the text so far of attempts in flight.

It is not in the log: it exists only in the process that drives the run, and ends with it. Values of secrets are masked
before any of it is shown.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from openskelo import clock
from openskelo.executors.attempt import running_attempt
from openskelo.handlers import secrets as handlers_secrets
from openskelo.kernel import ids
from openskelo.kernel.json import Json
from openskelo.record import envelope
from openskelo.wire import wire_ids

#: Which attempt of a run: node key, visit, attempt, item.
AttemptId: TypeAlias = tuple[str, int, int, int | None]

#: The last part of an attempt's text, in characters, that is kept for clients that join late.
MAX_TEXT = 256 * 1024
#: The same for all attempts together; the oldest are dropped first.
MAX_TOTAL = 16 * 1024 * 1024
#: Text that came less than this many milliseconds ago is being streamed.
STREAMING_MS = 2000
#: How often the followers are told at most that a model or an agent is alive, in milliseconds.
HEARTBEAT_MS = 1000


class Partial:
    """The text of one attempt, as far as it may be shown.

    `offset` is where the kept `text` starts and `end` where it ends, in UTF-16 units, as browsers count. `summary` is
    what the attempt said last that it is doing; `output_at` is when its last text came, in milliseconds.
    """

    __slots__ = (
        "__weakref__",
        "_masked",
        "attempt",
        "end",
        "message_id",
        "offset",
        "output_at",
        "run_id",
        "summary",
        "text",
        "told_at",
    )

    def __init__(self, run_id: str, attempt: AttemptId) -> None:
        self.run_id = run_id
        self.attempt = attempt
        self.message_id = wire_ids.message(run_id, *attempt)
        self.text = ""
        self.offset = 0
        self.end = 0
        self.summary = "answering"
        self.output_at: int | None = None
        self.told_at = 0  # when the followers were last told that it is alive
        self._masked: handlers_secrets.MaskedStream | None = None

    def add(self, piece: str, hidden: Sequence[str]) -> None:
        """Append a piece. Its end is held back while it may be the start of a secret."""
        self.output_at = clock.wall_ms()
        if hidden:
            if self._masked is None:
                self._masked = handlers_secrets.MaskedStream(hidden)
            piece = self._masked.add(piece)
        if not piece.isascii():
            piece = piece.encode("utf-8", "replace").decode()
        self.text += piece
        self.end += _utf16_length(piece)
        if len(self.text) > MAX_TEXT:
            dropped_text, self.text = self.text[:-MAX_TEXT], self.text[-MAX_TEXT:]
            self.offset += _utf16_length(dropped_text)

    def document(self) -> dict[str, Json]:
        """Return the text so far, for a snapshot."""
        return {**self._ids(), "offset": self.offset, "text": self.text}

    def delta(self, start: int) -> dict[str, Json]:
        """Return the event with all text from `start` on, which is an earlier `end`."""
        start = max(start, self.offset)
        return {
            "id": ids.derive(self.message_id, f"{start}>{self.end}"),
            "runId": self.run_id,
            "ts": envelope.timestamp(clock.wall_ms()),
            "type": "message.assistant.delta",
            **self._ids(),
            "offset": start,
            "delta": _from_utf16_offset(self.text, start - self.offset),
        }

    def progress(self) -> dict[str, Json]:
        """Return the event that says what the attempt is doing."""
        return {
            "id": str(uuid.uuid4()),
            "runId": self.run_id,
            "ts": envelope.timestamp(clock.wall_ms()),
            "type": "node.progress",
            "nodeId": wire_ids.node(self.run_id, self.attempt[0]),
            "status": "running",
            "summary": self.summary,
        }

    def connection(self) -> dict[str, Json]:
        """Return the event that the node's model or agent is alive, and whether it is sending text."""
        self.told_at = clock.wall_ms()
        now = envelope.timestamp(self.told_at)
        is_streaming = self.output_at is not None and self.told_at - self.output_at < STREAMING_MS
        output_at = None if self.output_at is None else envelope.timestamp(self.output_at)
        return {
            "id": str(uuid.uuid4()),
            "runId": self.run_id,
            "ts": now,
            "type": "node.connection",
            "nodeId": wire_ids.node(self.run_id, self.attempt[0]),
            "connection": {
                "status": "connected",
                "streaming": is_streaming,
                "lastHeartbeatAt": now,
                "lastOutputAt": output_at,
            },
        }

    def _ids(self) -> dict[str, Json]:
        node, visit, attempt, item = self.attempt
        return {
            "nodeId": wire_ids.node(self.run_id, node),
            "messageId": self.message_id,
            "visit": visit,
            "attempt": attempt,
            "item": item,
        }


class Partials:
    """The partial texts of all attempts that are not known to have ended.

    `unsent` holds those with text that has not been sent to all followers yet.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._hidden = handlers_secrets.values(secrets)
        self._by_run: dict[str, dict[AttemptId, Partial]] = {}
        self._total = 0
        self.count = 0
        self.unsent: dict[Partial, None] = {}

    def note(self, request: running_attempt.AttemptRequest, summary: str) -> Partial:
        """Store the summary of what an attempt is doing, with secrets masked; return the attempt's partial text."""
        partial = self._of(request)
        partial.summary = handlers_secrets.mask(summary, self._hidden)
        return partial

    def _of(self, request: running_attempt.AttemptRequest) -> Partial:
        attempt = (request.node.key, request.visit, request.attempt, request.item_index)
        attempts = self._by_run.setdefault(request.run_id, {})
        if attempt not in attempts:
            attempts[attempt] = Partial(request.run_id, attempt)
            self.count += 1
        return attempts[attempt]

    def add(self, request: running_attempt.AttemptRequest, piece: str) -> Partial | None:
        """Append a piece of a model's text; return the partial text if this is its first piece."""
        partial = self._of(request)
        is_new = partial.output_at is None
        before = len(partial.text)
        partial.add(piece, self._hidden)
        self._total += len(partial.text) - before
        self.unsent[partial] = None
        while self._total > MAX_TOTAL:
            self._drop_oldest()
        return partial if is_new else None

    def get(self, run_id: str, attempt: AttemptId) -> Partial | None:
        """Return the text of one attempt, if there is any."""
        attempts = self._by_run.get(run_id)
        return None if attempts is None else attempts.get(attempt)

    def of_run(self, run_id: str) -> tuple[Partial, ...]:
        """Return all texts of a run."""
        return tuple(self._by_run.get(run_id, {}).values())

    def remove(self, run_id: str, attempts: Iterable[AttemptId]) -> None:
        """Drop the texts of attempts that have ended: their results are in the log."""
        partials = self._by_run.get(run_id)
        if partials is None:
            return
        for attempt in attempts:
            partial = partials.pop(attempt, None)
            if partial is not None:
                self._forget(partial)
        if not partials:
            del self._by_run[run_id]

    def sweep(self, keep: Callable[[str, AttemptId], bool]) -> None:
        """Drop the text of every attempt for which `keep` returns False."""
        for run_id, partials in tuple(self._by_run.items()):
            self.remove(run_id, [attempt for attempt in partials if not keep(run_id, attempt)])

    def _drop_oldest(self) -> None:
        run_id, partials = next(iter(self._by_run.items()))
        self.remove(run_id, [next(iter(partials))])

    def _forget(self, partial: Partial) -> None:
        self.count -= 1
        self._total -= len(partial.text)
        self.unsent.pop(partial, None)


def _utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _from_utf16_offset(text: str, start: int) -> str:
    if text.isascii():
        return text[start:]
    return text.encode("utf-16-le")[start * 2 :].decode("utf-16-le", "replace")

"""What models are saying right now: the text so far of attempts under way. It is beside the log and dies with us."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from openskelo.contract import envelope, naming
from openskelo.engine import clock
from openskelo.executors import task
from openskelo.handlers import secret
from openskelo.kernel import ids
from openskelo.kernel.json import Json

#: Node key, visit, attempt, item: which attempt of a run.
Attempt: TypeAlias = tuple[str, int, int, int | None]

#: So much of one attempt's text is kept for late viewers: its end.
MAX_TEXT = 256 * 1024
#: So much is kept of all attempts together; the oldest go first.
MAX_TOTAL = 16 * 1024 * 1024


class Partial:
    """The text of one attempt, as far as it may be shown.

    `offset` is where the kept `text` starts and `end` where it ends, in the units that a browser counts.
    """

    __slots__ = ("__weakref__", "_held", "attempt", "end", "message_id", "offset", "run_id", "text")

    def __init__(self, run_id: str, attempt: Attempt) -> None:
        self.run_id = run_id
        self.attempt = attempt
        self.message_id = naming.message(run_id, *attempt)
        self.text = ""
        self.offset = 0
        self.end = 0
        self._held: str = ""

    def add(self, piece: str, hidden: Sequence[str]) -> None:
        """Take in what was said. What may be the beginning of a secret is held back until more has come."""
        if hidden:
            piece = secret.mask(self._held + piece, hidden)
            held = _maybe_secret(piece, hidden)
            piece, self._held = piece[: len(piece) - held], piece[len(piece) - held :]
        if not piece.isascii():
            piece = piece.encode("utf-8", "replace").decode()
        self.text += piece
        self.end += _units(piece)
        if len(self.text) > MAX_TEXT:
            gone, self.text = self.text[:-MAX_TEXT], self.text[-MAX_TEXT:]
            self.offset += _units(gone)

    def document(self) -> dict[str, Json]:
        """The text so far, for a snapshot."""
        return {**self._place(), "offset": self.offset, "text": self.text}

    def delta(self, start: int) -> dict[str, Json]:
        """The event that tells everything from `start` (an `end` of before) on."""
        start = max(start, self.offset)
        return {
            "id": ids.derive(self.message_id, f"{start}>{self.end}"),
            "runId": self.run_id,
            "ts": envelope.timestamp(clock.wall_ms()),
            "type": "message.assistant.delta",
            **self._place(),
            "offset": start,
            "delta": _from_unit(self.text, start - self.offset),
        }

    def progress(self) -> dict[str, Json]:
        """The event that tells that the answer is being written."""
        return {
            "id": ids.derive(self.message_id, "progress"),
            "runId": self.run_id,
            "ts": envelope.timestamp(clock.wall_ms()),
            "type": "node.progress",
            "nodeId": naming.node(self.run_id, self.attempt[0]),
            "status": "running",
            "summary": "answering",
        }

    def _place(self) -> dict[str, Json]:
        node, visit, attempt, item = self.attempt
        return {
            "nodeId": naming.node(self.run_id, node),
            "messageId": self.message_id,
            "visit": visit,
            "attempt": attempt,
            "item": item,
        }


class Partials:
    """The partial texts of every attempt that this process has heard, none of which has ended as far as is known."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._hidden = secret.values(secrets)
        self._of: dict[str, dict[Attempt, Partial]] = {}
        self._total = 0
        self.count = 0
        self.fresh: dict[Partial, None] = {}  # those with text that not everybody has been told

    def hear(self, of: task.Task, piece: str) -> Partial | None:
        """Take in a piece of what a model says; gives its text when it has just begun."""
        attempt = (of.node.key, of.visit, of.attempt, of.item_index)
        attempts = self._of.setdefault(of.run_id, {})
        known = attempts.get(attempt)
        partial = known or Partial(of.run_id, attempt)
        attempts[attempt] = partial
        self.count += known is None
        before = len(partial.text)
        partial.add(piece, self._hidden)
        self._total += len(partial.text) - before
        self.fresh[partial] = None
        while self._total > MAX_TOTAL:
            self._drop_oldest()
        return None if known else partial

    def get(self, run_id: str, attempt: Attempt) -> Partial | None:
        """The text of one attempt, if any was heard."""
        attempts = self._of.get(run_id)
        return None if attempts is None else attempts.get(attempt)

    def of_run(self, run_id: str) -> tuple[Partial, ...]:
        """All that is being said in a run."""
        return tuple(self._of.get(run_id, {}).values())

    def end(self, run_id: str, attempts: Iterable[Attempt]) -> None:
        """These attempts have ended: what they came to is in the log."""
        known = self._of.get(run_id)
        if known is None:
            return
        for attempt in attempts:
            partial = known.pop(attempt, None)
            if partial is not None:
                self._forget(partial)
        if not known:
            del self._of[run_id]

    def sweep(self, keep: Callable[[str, Attempt], bool]) -> None:
        """Let go of the text of every attempt of a run that is not to be kept."""
        for run_id, known in tuple(self._of.items()):
            self.end(run_id, [attempt for attempt in known if not keep(run_id, attempt)])

    def _drop_oldest(self) -> None:
        run_id, known = next(iter(self._of.items()))
        self.end(run_id, [next(iter(known))])

    def _forget(self, partial: Partial) -> None:
        self.count -= 1
        self._total -= len(partial.text)
        self.fresh.pop(partial, None)


def _maybe_secret(text: str, hidden: Sequence[str]) -> int:
    """How many of the last characters are the beginning of something hidden."""
    longest = min(len(text), max(len(value) for value in hidden) - 1)
    for length in range(longest, 0, -1):
        if any(value.startswith(text[-length:]) for value in hidden):
            return length
    return 0


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _from_unit(text: str, start: int) -> str:
    return text[start:] if text.isascii() else text.encode("utf-16-le")[start * 2 :].decode("utf-16-le", "replace")

"""What the wire tells of a node and the kernel need not know: times, tokens, words, what is on its way to it."""

from __future__ import annotations

from typing import Any

from openskelo.contract import receipts
from openskelo.frozen import field, mutable
from openskelo.kernel import events, fresh
from openskelo.kernel.json import Json, JsonObject

#: How many artifacts of a visit a handoff mentions: the newest.
MOST_MADE = 50
_MOST_SAID = 200


@mutable
class Usage:
    """What models have used, by the receipts."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_nanousd: int = 0

    def add(self, event: receipts.Receipted) -> None:
        """Count one more attempt, whatever became of it."""
        metrics: Any = event.receipt["metrics"]
        spent: Any = event.spent or {}
        self.tokens_in += metrics["tokens_in"]
        self.tokens_out += metrics["tokens_out"]
        self.cost_nanousd += spent.get("costNanousd", 0)

    def document(self) -> JsonObject:
        """As the wire shows it."""
        return {
            "promptTokens": self.tokens_in,
            "completionTokens": self.tokens_out,
            "totalTokens": self.tokens_in + self.tokens_out,
            "costUsd": self.cost_nanousd / 1e9,
        }


@mutable
class Trace:
    """One node's. `tools` are the calls that were proposed or started and are not completed, by slot."""

    active_at: int
    visit: int = 0  # of a plan's step: the one that this is about
    started_at: int | None = None
    ended_at: int | None = None
    usage: Usage = field(default_factory=Usage)
    inbox: int = 0
    questions: int = 0
    asked: str = ""
    said: str = ""
    trouble: str = ""
    verdicts: tuple[JsonObject, ...] = ()
    made: list[JsonObject] = field(default_factory=fresh.a_list)
    handed: tuple[JsonObject, ...] = ()  # of a live graph's node: the files of its last turn that came to its end
    tools: dict[int, str] = field(default_factory=fresh.a_dict)


def follow(trace: Trace, event: events.Event, *, done: bool) -> None:
    """Take in a fact about the node, after the kernel has; `done`: the node is done now."""
    trace.active_at = event.at
    trace.ended_at = (trace.ended_at or event.at) if done else None
    match event:
        case events.AttemptStarted():
            trace.inbox = 0
            trace.started_at = event.at if trace.started_at is None else trace.started_at
        case events.AttemptSucceeded() | events.AttemptFailed():
            _landed(trace, event)
        case events.AttemptCancelled():
            trace.usage.add(event)
        case events.AttemptInterrupted():
            trace.usage.add(event)
            trace.trouble = f"interrupted by {'a crash' if event.reason == 'crash' else 'a suspension'}"
        case events.NodeSkipped():
            trace.inbox, trace.said = 0, f"skipped: {_WHY[event.reason]}"
        case events.NodeFinished() | events.NodeFailed():
            trace.inbox = 0
        case events.NodeKept():
            trace.inbox, trace.said = 0, "kept from the run it was forked from"
        case events.NodeUnjudged():
            trace.said = "done in the run it was forked from, and yet to be judged"
        case events.ItemsKept():
            trace.said = f"{len(event.items)} items were done in the run it was forked from"
        case events.ApprovalRequested():
            trace.questions += 1
            trace.asked = short(event.prompt)
        case events.ApprovalResolved() | events.ApprovalWithdrawn():
            trace.questions -= 1
        case events.ArtifactCreated():
            trace.made.append({"type": event.artifact["kind"], "ref": f"artifact://{event.artifact['id']}"})
            del trace.made[:-MOST_MADE]
        case _:
            pass


def begin_again(trace: Trace, inbox: int) -> None:
    """A bounce has undone the node's visit; `inbox` values wait for the next one."""
    trace.started_at = trace.ended_at = None
    trace.inbox = inbox
    trace.said = trace.trouble = ""
    trace.verdicts = ()
    trace.made = []


def _landed(trace: Trace, event: events.AttemptSucceeded | events.AttemptFailed) -> None:
    trace.inbox = 0
    trace.usage.add(event)
    trace.verdicts = event.verdicts or ()
    if isinstance(event, events.AttemptFailed):
        trace.trouble = short(str(event.error["message"]))
    else:
        trace.trouble = ""
        trace.said = short(words(event.outputs.get("value")))
        trace.handed = tuple(trace.made)


def words(outputs: Json) -> str:
    """The text that outputs amount to, when they are one text; else nothing."""
    if isinstance(outputs, dict) and len(outputs) == 1:
        (value,) = outputs.values()
        return value if isinstance(value, str) else ""
    return ""


def spoken(outputs: Json) -> str:
    """The text that a turn of a live graph says: its `message`, or what its outputs amount to."""
    said = outputs.get("message") if isinstance(outputs, dict) else None
    return said if isinstance(said, str) else words(outputs)


def short(text: str) -> str:
    """The first line with anything in it, and of that the beginning."""
    line = next((line.strip() for line in text[:4000].splitlines() if line.strip()), "")
    return line if len(line) <= _MOST_SAID else line[: _MOST_SAID - 1] + "…"


_WHY = {"when": "its condition does not hold", "upstream": "what it needs was skipped", "denied": "a person said no"}

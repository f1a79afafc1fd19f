"""Records to verify: logs made by driving the kernel by hand, and forgeries that chain correctly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from openskelo.kernel import commands, decide, definition, events, outcome, run, workflow_codec
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import bundle, envelope
from openskelo.structs import replace
from openskelo.values import canonical

RUN_ID = "3f0e8f0a-1111-4222-8333-444455556666"
START = 1_700_000_000_000

Forge = Callable[[list[events.Event]], Iterable[events.Event]]


def workflow() -> definition.Workflow:
    """`draft` (retried once), then `each` over two items, then the approval `sign_off`."""
    text = definition.Port(name="text", schema={"type": "string"})
    nodes = (
        definition.Node(
            key="draft", mode="deterministic", outputs=(text,), retry=definition.Retry(max_attempts=2, delay_ms=50)
        ),
        definition.Node(
            key="each",
            mode="deterministic",
            outputs=(text,),
            after=("draft",),
            foreach=definition.Foreach(items="[1, 2]", concurrency=2),
        ),
        definition.Node(
            key="sign_off",
            mode="approval",
            outputs=(text,),
            after=("each",),
            approval=definition.Approval(prompt="Fine?"),
        ),
    )
    made = definition.Workflow(name="letters", hash="", nodes={node.key: node for node in nodes})
    return replace(made, hash=bundle.workflow_hash(made))


@dataclass
class Record:
    """A run in the making: every command is decided and sealed at once."""

    workflow: definition.Workflow = field(default_factory=workflow)
    at: int = START
    lines: list[bytes] = field(default_factory=list[bytes])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def __post_init__(self) -> None:
        self.run = run.new(RUN_ID, self.workflow)
        self._chain = envelope.Chain(run_id=RUN_ID)

    def keep(self, data: bytes) -> str:
        name = canonical.digest_bytes(data)
        self.blobs[name] = data
        return name

    def do(self, command: commands.Command) -> None:
        self.lines += envelope.seal(self._chain, decide.step(self.run, command))

    def later(self, milliseconds: int = 7) -> int:
        self.at += milliseconds
        return self.at

    def create(self) -> None:
        name = self.keep(canonical.dumps(workflow_codec.encode(self.workflow)))
        self.do(commands.CreateRun(at=self.at, definition=name, inputs={"value": {"who": "bee"}}, by="tester"))

    def report(self, node: str, made: JsonObject | None, *, attempt: int = 1, item: int | None = None) -> None:
        """The attempt gave `made`, or failed when that is None."""
        inputs_hash = canonical.digest({"who": "bee"})
        if made is None:
            failure = outcome.Failure(code="HANDLER_RAISED", message="no ink")
            result = outcome.Outcome(inputs_hash=inputs_hash, failure=failure)
        else:
            result = outcome.Outcome(
                inputs_hash=inputs_hash,
                outputs={"value": made},
                output_hash=canonical.digest(made),
                metrics=outcome.Metrics(tokens_in=3, tokens_out=4, wall_ms=self.at % 13),
            )
        self.do(commands.ReportAttempt(at=self.later(), node=node, visit=1, attempt=attempt, item=item, outcome=result))

    def text(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)


def asked() -> Record:
    """A run that failed once, was retried, lost its driver, and now waits for a person."""
    record = Record()
    record.create()
    record.report("draft", None)
    record.do(commands.Tick(at=record.later(60)))
    record.report("draft", {"text": "Liebe Grüße \U0001f41d"}, attempt=2)
    record.do(commands.ResolveNode(at=record.at, node="each", visit=1, items={"value": [1, 2]}, count=2))
    record.report("each", {"text": "one"}, item=0)
    record.do(commands.Recover(at=record.later()))
    record.report("each", {"text": "two"}, attempt=2, item=1)
    question = commands.Ask(prompt="Fine?", args={"text": "one"}, form={}, digest=canonical.digest(1), expires_at=None)
    record.do(commands.ResolveNode(at=record.later(), node="sign_off", visit=1, ask=question))
    return record


def ended() -> Record:
    """The same run once the person has answered."""
    record = asked()
    made: dict[str, Json] = {"text": "signed"}
    record.do(
        commands.AnswerApproval(
            at=record.later(),
            approval_id=next(iter(record.run.approvals)),
            status="approved",
            by="ada",
            digest=canonical.digest(1),
            outputs={"value": made},
            inputs_hash=canonical.digest({}),
            output_hash=canonical.digest(made),
        )
    )
    assert record.run.ended
    return record


def events_of(lines: Iterable[bytes]) -> list[events.Event]:
    return [envelope.open_line(line)[1] for line in lines]


def forged(lines: Sequence[bytes], forge: Forge) -> list[bytes]:
    """The lines after `forge` changed their events, with every hash made right again."""
    chain = envelope.Chain(run_id=RUN_ID)
    return list(envelope.seal(chain, forge(events_of(lines))))


def pruned(line: bytes) -> bytes:
    """The line without its data."""
    opened = orjson.loads(line)
    data_hash = canonical.digest(opened.pop("data")).removeprefix("sha256:")
    return canonical.dumps({**opened, "dataHash": data_hash})

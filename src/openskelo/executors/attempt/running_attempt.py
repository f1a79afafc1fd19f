"""One attempt as executors see it: the request that the driver hands over, and the attempt while it runs.

The driver resolves all values of an attempt into an `AttemptRequest`. The performer wraps it in a `RunningAttempt`,
which collects what the work leaves besides its outputs: log lines, files, usage, verdicts.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from openskelo.executors.attempt import budget_claims
from openskelo.handlers import secrets
from openskelo.kernel import commands, definition, ids, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen, mutable
from openskelo.values import canonical

#: The hash of no bytes, for inputs that could not be hashed.
EMPTY_HASH = canonical.digest_bytes(b"")


@mutable
class VisitInputs:
    """The inputs that all items of one foreach visit share, computed for the first item and reused for the others."""

    inputs: JsonObject
    items: Sequence[Json]
    #: The input port that takes the item; empty without one.
    item_name: str = ""
    hash: str = ""
    #: For work that may change them: the bytes that copies are made from.
    encoded: Mapping[str, bytes] | None = None
    #: All of them as one JSON object, for worker processes.
    message: bytes = b""
    #: True once all inputs but the item are known to keep the contract.
    checked: bool = False
    #: The inputs of the run.
    run_inputs: JsonObject = field(default_factory=dict[str, Json])


@frozen
class AttemptRequest:
    """One attempt as the driver hands it to the performer: all values resolved, nothing left to look up."""

    run_id: str
    workflow_name: str
    node: definition.Node
    visit: int
    attempt: int
    #: Complete: bindings, transforms and defaults are applied.
    inputs: JsonObject
    #: The recorded start of the visit, in milliseconds.
    now: int
    #: Set in a foreach.
    item_index: int | None = None
    item: Json = None
    visit_inputs: VisitInputs | None = None
    #: What the previous attempt or a bounce tells this one.
    feedback: Json = None
    #: The inputs of the run, for prompts and gates; large ones only where the node uses them.
    run_inputs: JsonObject = field(default_factory=dict[str, Json])
    #: The mode of the plan, which bounds what its steps may reach.
    plan_mode: definition.PlanMode = "normal"
    #: Set if the run has limits and the node may call a model, and for an agent, which has caps of its own.
    budget_claims: budget_claims.BudgetClaims | None = None
    #: The outputs of the previous attempt if its gates could not be evaluated: this attempt only judges them.
    outputs_to_judge: JsonObject | None = None
    #: The last conversation of the node's agent, as `events.SessionOpened` has it.
    session: JsonObject | None = None
    #: The calls that a person has allowed the agent for the rest of the run.
    call_rules: tuple[JsonObject, ...] = ()
    #: True if the run is in PLANNING mode.
    is_planning: bool = False

    @property
    def idempotency_key(self) -> str:
        """The key that every attempt at this piece of work has."""
        return ids.idempotency_key(self.run_id, self.node.key, self.visit, self.item_index or 0)

    @property
    def item_name(self) -> str:
        """The variable name of a foreach item in expressions and prompts."""
        if self.node.foreach is None:
            return "item"
        return self.node.foreach.name

    @property
    def attempt_id(self) -> budget_claims.AttemptId:
        """Node key, visit, slot and attempt number: unique within the run."""
        return self.node.key, self.visit, self.item_index or 0, self.attempt


@frozen
class File:
    """A text that the attempt leaves as an artifact, whether it succeeds or fails."""

    kind: str
    name: str
    text: str
    media_type: str = "text/plain"
    metadata: JsonObject | None = None


#: What an attempt tells the record while it is under way: the session of its agent, or a call of the agent.
Progress: TypeAlias = JsonObject | commands.CallProgress


@frozen
class CallQuestion:
    """A question to a person about a call that an agent wants to make."""

    call_id: str
    #: Exactly what is shown, as JSON: the tool, its arguments, the reason for asking, and what helps to judge.
    args: JsonObject
    prompt: str
    #: Binds the answer to the call and the files it is made on.
    digest: str
    #: The JSON Schema of the arguments if a person may change them.
    form: JsonObject = field(default_factory=dict[str, Json])


@frozen
class CallAnswer:
    """The answer about a call."""

    status: commands.Answer
    by: str
    reason: str | None = None
    #: Set if a person has changed them.
    arguments: JsonObject | None = None
    #: How long calls like this one are allowed, if for longer than once.
    remember: str | None = None
    #: The calls that are like this one.
    rule: JsonObject | None = None


class Recorder(Protocol):
    """Puts what an attempt says while it is under way into the log of its run."""

    def add(self, progress: Progress) -> None:
        """Take what the agent does into the record, soon."""
        ...

    async def make_durable(self) -> None:
        """Return when all that was added is durable."""
        ...

    async def record_prompts(self) -> None:
        """Make the prompts among the attempt's files durable."""
        ...

    async def ask(self, question: CallQuestion) -> CallAnswer:
        """Put a question about a call to a person and return the answer."""
        ...


@mutable
class RunningAttempt:
    """One attempt in progress."""

    request: AttemptRequest
    #: The work's own copy, if it may change them.
    inputs: JsonObject
    #: They become the log of the attempt.
    lines: list[str] = field(default_factory=list[str])
    usage: budget_claims.Usage = field(default_factory=budget_claims.Usage)
    #: Its artifacts by name.
    files: dict[str, File] = field(default_factory=dict[str, File])
    #: The text that a model has sent so far, in pieces.
    streamed: list[str] = field(default_factory=list[str])
    #: The whole answer of a model, once it is complete.
    answer: str | None = None
    #: The result of a step's verdict or condition.
    holds: bool | None = None
    #: What the receipt says of an agent's attempt beside its session.
    evidence: JsonObject | None = None
    #: Where the turn of a live graph goes.
    route: outcome.Route = "on"
    #: A reading of the performance counter.
    started: float = field(default_factory=time.perf_counter)
    inputs_hash: str = EMPTY_HASH
    output_hash: str | None = None
    #: The hash of all that an agent has changed in its workspace.
    diff_hash: str | None = None
    #: The verdicts of the gates.
    verdicts: tuple[JsonObject, ...] = ()
    #: None if no run is driven (a test of a node), and once the work is over.
    recorder: Recorder | None = None
    #: The artifacts that are in the log already: the hash of each by its id.
    recorded: dict[str, str] = field(default_factory=dict[str, str])
    #: The workspace of an agent.
    folder: Path | None = None
    #: Adds to `files` what the attempt leaves if it is stopped now; None if that is there already.
    keep_partial: Callable[[], Awaitable[None]] | None = None
    #: Gives the agent of the attempt a word of a person; None before its work has begun.
    steer: Callable[[str], Awaitable[None]] | None = None
    #: Words of a person that the agent has not been told: they are its next prompt.
    unheard: list[str] = field(default_factory=list[str])
    #: They are masked in all that the attempt leaves, tells and asks, beside the secrets of the project.
    secret_values: tuple[str, ...] = ()
    #: Returns what another process has printed for the attempt, until that is added to `lines` at its end.
    read_printed: Callable[[], str] = lambda: ""

    def record(self, progress: Progress) -> None:
        """Take what the agent does into the record, if a run is driven."""
        if self.recorder is not None:
            self.recorder.add(progress)


# -- artifacts --------------------------------------------------------------------------------------------------------
#
# What an attempt leaves besides its outputs, as artifacts: without secrets, bounded, and valid UTF-8.


#: How many bytes of a log are kept: the first `HEAD_BYTES`, and the end.
MAX_LOG_BYTES = 256 * 1024
HEAD_BYTES = 64 * 1024
_MAX_MESSAGE = 4000
#: The artifact of an answer that broke off.
PARTIAL_ANSWER = "answer.partial.txt"


def clean(text: str, secret_values: Sequence[str] = ()) -> str:
    """Return `text` as it may be stored: no secrets, no lone surrogates, at most a few thousand characters."""
    text = clean_text(text, secret_values)
    if len(text) <= _MAX_MESSAGE:
        return text
    return text[:_MAX_MESSAGE] + " …"


def cut_mark(count: int) -> bytes:
    """Return the line that stands for `count` bytes of a log that is too long."""
    return f"\n… {count} bytes left out …\n".encode()


def log_so_far(attempt: RunningAttempt, secret_values: Sequence[str]) -> str:
    """Return the whole lines that the attempt has logged so far, the end of them if they are many; secrets are masked.

    A line that is not complete is held back, because it may end in a part of a secret.
    """
    complete_lines = attempt.read_printed().rpartition("\n")[0]
    lines = [*attempt.lines, *complete_lines.splitlines()]
    text = clean_text("\n".join(lines), secret_values)[-HEAD_BYTES:]
    return text + "\n" if text else ""


def clean_text(text: str, secret_values: Sequence[str]) -> str:
    """Return `text` without secrets and lone surrogates."""
    text = secrets.mask(text, secret_values)
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def mask_all(documents: Sequence[JsonObject], secret_values: Sequence[str]) -> Sequence[JsonObject]:
    """Return verdicts or feedback with every secret in them masked."""
    if not secret_values:
        return documents
    return [cast("JsonObject", secrets.mask_json(document, secret_values)) for document in documents]


def collect_artifacts(
    attempt: RunningAttempt, secret_values: Sequence[str]
) -> list[tuple[outcome.ArtifactNote, bytes]]:
    """Return what the attempt leaves, with its bytes: its files, an answer that broke off, and its log.

    What is recorded already is left out. The ids are the same each time the same attempt is recorded.
    """
    files = list(attempt.files.values())
    if attempt.answer is None and attempt.streamed:
        files.append(File(kind="log", name=PARTIAL_ANSWER, text="".join(attempt.streamed)))
    lines = [*attempt.lines, *attempt.read_printed().splitlines()]
    if lines:
        name = f"{attempt.request.node.key}.log"
        files.append(File(kind="log", name=name, text="\n".join(lines) + "\n"))
    artifacts = [_artifact(attempt, file, secret_values) for file in files]
    return [(note, data) for note, data in artifacts if note.id not in attempt.recorded]


def collect_prompts(attempt: RunningAttempt, secret_values: Sequence[str]) -> list[tuple[outcome.ArtifactNote, bytes]]:
    """Return the prompts of the attempt that are not recorded yet, with their bytes."""
    artifacts = [_artifact(attempt, file, secret_values) for file in attempt.files.values() if file.kind == "prompt"]
    return [(note, data) for note, data in artifacts if note.id not in attempt.recorded]


def recorded_hash(attempt: RunningAttempt, name: str) -> str | None:
    """Return the hash of a file of the attempt as the log has it; None if the log does not have it yet."""
    return attempt.recorded.get(_artifact_id(attempt, name))


def _artifact_id(attempt: RunningAttempt, name: str) -> str:
    request = attempt.request
    return ids.derive(request.run_id, f"{request.idempotency_key}/{request.attempt}/{name}")


def _artifact(attempt: RunningAttempt, file: File, secret_values: Sequence[str]) -> tuple[outcome.ArtifactNote, bytes]:
    """Return the note of a file, with its bytes. A file that was recorded with other bytes gets an id of its own."""
    data = secrets.mask(file.text, secret_values).encode("utf-8", "replace")
    if file.kind == "log" and len(data) > MAX_LOG_BYTES:
        cut = cut_mark(len(data) - MAX_LOG_BYTES)
        data = data[:HEAD_BYTES] + cut + data[-(MAX_LOG_BYTES - HEAD_BYTES) :]
    digest = canonical.digest_bytes(data)
    note_id = _artifact_id(attempt, file.name)
    if attempt.recorded.get(note_id, digest) != digest:
        note_id = _artifact_id(attempt, f"{file.name}/{digest}")
    note = outcome.ArtifactNote(
        id=note_id,
        kind=file.kind,
        name=file.name,
        hash=digest,
        size=len(data),
        media_type=file.media_type,
        metadata=None if file.metadata is None else mask_all([file.metadata], secret_values)[0],
    )
    return note, data

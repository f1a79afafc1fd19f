"""One attempt, from the values it works on to the command that reports its outcome.

    make_request (inputs)  ->  Performer.perform (work, contracts, gates)  ->  ReportAttempt, with blobs and cache entry
                                     │
                                     └─ before a model is asked: KeepArtifacts, with the prompt

The report goes to the run's mailbox. There is exactly one report for each attempt, even if the work crashes, unless the
driver itself stopped the attempt or the store cannot keep the outcome. The prompts of attempts that begin together
share one commit, as all commands do that are in the mailboxes at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from openskelo import errors
from openskelo.engine.attempts import attempt_task
from openskelo.engine.drive import driven_run
from openskelo.engine.resolving import resolve
from openskelo.executors import stored_values
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.attempt import running_attempt
from openskelo.executors.handlers import invocation
from openskelo.executors.inputs import node_inputs
from openskelo.kernel import commands, outcome
from openskelo.kernel.json import JsonObject, Stored
from openskelo.kernel.run import Attempt, Run
from openskelo.programs import time_limit
from openskelo.stores import api
from openskelo.structs import replace
from openskelo.values import canonical

_NO_ENTRIES: Mapping[str, JsonObject] = {}
#: How many bytes a part of a large question may have to stand in the event itself.
_MAX_SHOWN = 2000
#: How long the end of an agent's call may wait for the next report, so that they share a commit.
_PROGRESS_SECONDS = 0.5
#: How large the arguments or the result of a call may be; of a larger one the beginning is kept.
_MAX_CALL_BYTES = 1024 * 1024


class AttemptRecorder:
    """Puts what an attempt says of itself while it is under way into the log of its run, without secrets.

    A session, the start of a call and a ruling on one are sent at once, and `make_durable` waits until they are in the
    log: an agent that asks goes on only then. The end of a call may wait for the next report: a crash may lose it, and
    then the call counts as cut.
    """

    def __init__(
        self,
        blobs: api.Blobs,
        performer: attempt_performer.Performer,
        run: driven_run.DrivenRun,
        attempt: attempt_task.AttemptTask,
        running: running_attempt.RunningAttempt,
        now: Callable[[], int],
    ) -> None:
        self._stored_blobs = blobs
        self._performer = performer
        self._run = run
        self._task = attempt
        self._running = running
        self._now = now
        self._session: JsonObject | None = None
        self._calls: list[commands.CallProgress] = []
        self._blobs: dict[str, bytes] = {}  # of the calls
        self._timer: asyncio.TimerHandle | None = None
        self._sent: asyncio.Future[None] | None = None  # the last report

    def add(self, progress: running_attempt.Progress) -> None:
        """Take a session, or the start of a call, a ruling on it, or its end."""
        match progress:
            case commands.StartedCall():
                args = self._keep(progress.args)
                self._calls.append(replace(progress, info=self._mask(progress.info), args=args))
                self.send()
            case commands.RuledCall():
                args = self._keep(progress.args)
                self._calls.append(replace(progress, gate=self._mask(progress.gate), args=args))
                self.send()
            case commands.EndedCall():
                self._calls.append(replace(progress, result=self._keep(progress.result)))
                if self._timer is None:
                    self._timer = asyncio.get_running_loop().call_later(_PROGRESS_SECONDS, self.send)
            case _:
                self._session = self._mask(progress)
                self.send()

    def _keep(self, value: Stored) -> Stored:
        """Return a value of a call as its event has it, without secrets; the bytes of a large one go along."""
        masked = self._mask(value)["value"]
        try:
            admitted = canonical.admit(masked)
            data = canonical.dumps(admitted)
        except errors.InvalidInput:
            return {"value": {"unreadable": str(masked)[:_MAX_SHOWN]}}
        if len(data) <= stored_values.INLINE_BYTES:
            return {"value": admitted}
        if len(data) > _MAX_CALL_BYTES:
            text = admitted if isinstance(admitted, str) else data.decode()
            shortened: JsonObject = {"shortened": text[: _MAX_CALL_BYTES // 2], "bytes": len(data)}
            data = canonical.dumps(shortened)
        name = canonical.digest_bytes(data)
        self._blobs[name] = data
        return {"blob": name, "bytes": len(data)}

    async def make_durable(self) -> None:
        """Wait until all that was taken is in the log (Refused if the attempt is over, StoreError)."""
        self.send()
        if self._sent is not None:
            await asyncio.shield(self._sent)

    def send(self) -> None:
        """Send what was collected."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._session is None and not self._calls:
            return
        attempt = self._task.attempt
        report = commands.ReportProgress(
            at=self._now(),
            node=attempt.node,
            visit=attempt.visit,
            attempt=attempt.attempt,
            item=attempt.item,
            session=self._session,
            calls=tuple(self._calls),
        )
        blobs = self._blobs
        self._session, self._calls, self._blobs = None, [], {}
        self._sent = self._run.submit(report, blobs)
        self._sent.add_done_callback(_retrieve)

    async def record_prompts(self) -> None:
        """Make the prompts of the attempt durable (StoreError; Refused if the attempt was stopped)."""
        prompts = await self._performer.store_prompts(self._running)
        if not prompts.notes:
            return
        attempt = self._task.attempt
        command = commands.KeepArtifacts(
            at=self._now(),
            node=attempt.node,
            visit=attempt.visit,
            attempt=attempt.attempt,
            item=attempt.item,
            artifacts=prompts.notes,
        )
        await self._run.submit(command, prompts.blobs)

    async def ask(self, question: running_attempt.CallQuestion) -> running_attempt.CallAnswer:
        """Ask a person about a call and wait for the answer (StoreError; Refused if the attempt or question is over).

        The question is durable before this waits. The clock of the attempt stands still meanwhile. A person sees no
        secrets; the digest still binds the answer to what is really asked.
        """
        attempt = self._task.attempt
        args = self._mask(question.args)
        stored_args = await stored_values.store(self._stored_blobs, args)
        command = commands.AskAboutCall(
            at=self._now(),
            node=attempt.node,
            visit=attempt.visit,
            attempt=attempt.attempt,
            item=attempt.item,
            call_id=question.call_id,
            args=cast("JsonObject", stored_args.get("value") or _short(args)),
            stored=None if "value" in stored_args else stored_args,
            prompt=cast("str", self._mask({"prompt": question.prompt})["prompt"]),
            digest=question.digest,
            form=self._mask(question.form),
        )
        self.send()
        answer = self._task.expect_answer(question.call_id)
        with self._task.clock_stopped():
            await self._run.submit(command)
            resolution = await answer
        edited_args = resolution.get("stored") or {"value": resolution.get("modifiedArgs")}
        arguments = await stored_values.load(self._stored_blobs, cast("Stored", edited_args))
        return running_attempt.CallAnswer(
            status=cast("commands.Answer", resolution["status"]),
            by=str(resolution["by"]),
            reason=cast("str | None", resolution.get("reason")),
            arguments=cast("JsonObject | None", arguments),
            remember=cast("str | None", resolution.get("remember")),
            rule=cast("JsonObject | None", resolution.get("rule")),
        )

    def _mask(self, value: JsonObject) -> JsonObject:
        return self._performer.mask_json(value, self._running)


def _retrieve(sent: asyncio.Future[None]) -> None:
    """Take the error of a report for which nothing may be waiting: the attempt is over, or the run was dropped."""
    if not sent.cancelled():
        sent.exception()


async def perform(
    blobs: api.Blobs,
    performer: attempt_performer.Performer,
    run: driven_run.DrivenRun,
    attempt: attempt_task.AttemptTask,
    now: Callable[[], int],
) -> driven_run.QueuedCommand:
    """Perform the attempt and return its report (StoreError when the store cannot keep the outcome)."""
    cache_entries = _NO_ENTRIES
    try:
        request = await node_inputs.make_request(blobs, run.state, attempt.attempt, run.visits)
    except errors.OpenSkeloError as error:
        if node_inputs.is_store_trouble(error):
            raise
        # A blob is gone or damaged, or a reference of a plan names nothing.
        retryable = not isinstance(error, errors.AttemptFailed) or error.retryable
        failure = outcome.Failure(code=error.code, message=error.message, retryable=retryable)
        result = attempt_performer.AttemptResult(outcome=outcome.Outcome(inputs_hash="", failure=failure))
    else:
        running = attempt.progress = running_attempt.RunningAttempt(request, request.inputs)
        running.recorder = recorder = AttemptRecorder(blobs, performer, run, attempt, running, now)
        code = _code(performer, request) if request.node.cache else None
        try:
            result = await performer.perform(running)
        finally:
            recorder.send()
            running.recorder = None  # they refer to each other, and would be left to the garbage collector
        # A result is cached only if the code that produced it is known: the handler's file may have changed meanwhile,
        # and outputs of an earlier attempt that were only judged now may come from older code.
        if code is not None and code == _code(performer, request) and (request.outputs_to_judge is None or not code):
            cache_entries = cache_entry(run.state, request, result.outcome, code)
    return driven_run.QueuedCommand(
        command=_report(attempt.attempt, result.outcome, now()), blobs=result.blobs, cached=cache_entries
    )


async def steer(blobs: api.Blobs, attempt: attempt_task.AttemptTask, content: Stored) -> None:
    """Give a message to the agent of an attempt in flight; one that has not begun reads it with its inputs."""
    progress = attempt.progress
    if progress is None:
        return
    text = str(await stored_values.load(blobs, content))
    if progress.steer is None:
        progress.unheard.append(text)
    else:
        await progress.steer(text)


def _short(args: JsonObject) -> JsonObject:
    """Return the parts of a large question that are short; all of it is stored beside."""
    return {name: value for name, value in args.items() if len(canonical.dumps(value)) <= _MAX_SHOWN}


def lost(
    performer: attempt_performer.Performer, attempt: attempt_task.AttemptTask, error: BaseException, now: int
) -> driven_run.QueuedCommand:
    """Return the report of an attempt whose work ended the request around it: it failed, with an unknown effect."""
    match error:
        case asyncio.CancelledError():
            attempt_failure = time_limit.cancelled_itself()
        case GeneratorExit():
            attempt_failure = errors.AttemptFailed(invocation.describe(error), code="HANDLER_RAISED")
        case _:
            attempt_failure = errors.AttemptFailed(invocation.describe(error), code="INTERNAL")
    failure = outcome.Failure(
        code=attempt_failure.code, message=performer.mask(attempt_failure.message, attempt.progress), happened="unknown"
    )
    result = outcome.Outcome(inputs_hash="", failure=failure)
    return driven_run.QueuedCommand(command=_report(attempt.attempt, result, now))


def _report(attempt: Attempt, result: outcome.Outcome, at: int) -> commands.ReportAttempt:
    return commands.ReportAttempt(
        at=at,
        node=attempt.node,
        visit=attempt.visit,
        attempt=attempt.attempt,
        item=attempt.item,
        outcome=result,
    )


def _code(performer: attempt_performer.Performer, request: running_attempt.AttemptRequest) -> str | None:
    """Return the digest of the code that does the work; None when the handler is not there."""
    try:
        return performer.code_digest(request.node)
    except errors.AttemptFailed:
        return None


def cache_entry(
    run: Run, request: running_attempt.AttemptRequest, result: outcome.Outcome, code: str
) -> dict[str, JsonObject]:
    """Return the cache entry, by key, that a successful attempt of a caching node leaves for later runs.

    Empty for work that was sent back, which answered more than its inputs ask, and for items of a foreach.
    """
    sent_back = isinstance(request.feedback, Mapping) and not {"from", "sent_back"}.isdisjoint(request.feedback)
    is_success = result.failure is None and result.outputs is not None and result.output_hash is not None
    if not is_success or sent_back or request.item_index is not None:
        return {}
    entry: JsonObject = {
        "outputs": result.outputs,
        "outputHash": result.output_hash,
        "source": {"runId": run.id, "node": request.node.key, "visit": request.visit, "attempt": request.attempt},
    }
    return {resolve.cache_key(run.id, request.node, result.inputs_hash, code): entry}

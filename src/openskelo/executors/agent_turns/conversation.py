"""The turns of one attempt in an open session: a prompt is sent, and what the agent does until it has a result.

    prompt ──> turn ──> its record ──> a result?  yes: done      no: the next prompt, within the bound

This is also the listener of the session (`acp_client.Listener`): text goes to the viewers of the run, calls into the
record, and requests for permission to the permissions of the session.
"""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import agent_settings, errors
from openskelo.agents import profiles, sessions
from openskelo.agents.acp import acp_client
from openskelo.agents.workspace import workspace
from openskelo.executors import api
from openskelo.executors.agent_turns import call_questions, talk, turn_record
from openskelo.executors.ai import prompt
from openskelo.executors.attempt import running_attempt, turn_meter
from openskelo.handlers import secrets
from openskelo.kernel.json import Json, JsonObject
from openskelo.values.schema import validator

#: How many more turns an agent gets that ends its turn when a call is denied, or does not take words during a turn.
_MAX_EXTRA_TURNS = 10
#: How long the words are with which viewers are told what an agent is doing.
_MAX_ACTIVITY = 200
_CONTINUE = "You ended your turn without a result. Go on with the task."
#: What follows a reason or a word that the agent has missed in its turn, which may have had a result.
_GO_ON = "Go on with the task. Your result is what you hand in, or say, at the end."


class Conversation:
    """The exchange of prompts and answers between an attempt and its agent, in an open session."""

    def __init__(
        self,
        attempt: running_attempt.RunningAttempt,
        agent: agent_settings.AgentSettings,
        services: api.Services,
        place: workspace.Workspace,
        session: sessions.Session,
        hidden: tuple[str, ...],
    ) -> None:
        self._attempt = attempt
        self._agent = agent
        self._services = services
        self._place = place
        self._session = session
        self._hidden = hidden
        self._record = turn_record.TurnRecord(attempt, agent, session, hidden)
        self._questions = call_questions.CallQuestions(attempt, agent.name, place, self._record, hidden)
        self._turn = acp_client.Turn()
        #: Masks secrets in what the agent says.
        self._streamed = secrets.MaskedStream(hidden)
        #: Reasons that the protocol could not carry to the model: they open its next turn.
        self._denials: list[str] = []
        self._is_talking = False
        self._activity = ""
        self._trouble: str | None = None  # what went wrong between the gateway and the model in the last turn
        self._is_locked_out = False

    async def hold(self, speaker: talk.Talk, meter: turn_meter.TurnMeter) -> JsonObject:
        """Take turns until there is a result; raise AttemptFailed if there is none in the turns that it may take."""
        text = await self._write_prompt(speaker)
        if self._attempt.recorder is not None:
            await self._attempt.recorder.record_prompts()
        turns_left, extra = speaker.max_turns, _MAX_EXTRA_TURNS
        while True:
            turns_left -= 1
            await self._take_turn(text, meter)
            result = self._find_result(speaker, is_last=turns_left <= 0, may_go_on=extra > 0)
            if result is not None:
                return result
            missed_notes = (*self._denials, *self._attempt.unheard)
            if missed_notes:  # a turn that a denial has ended, or that has missed a word of a person, does not count
                turns_left, extra = turns_left + 1, extra - 1
            self._denials.clear()
            self._attempt.unheard.clear()
            text = "\n\n".join((*missed_notes, _GO_ON)) if missed_notes else _CONTINUE

    async def steer(self, text: str) -> bool:
        """Give the agent a word of a person during its turn; False if it does not take it, or no turn is under way."""
        return self._is_talking and await self._session.client.steer(self._session.id, text)

    def keep_partial(self) -> None:
        """Keep what there is of a turn that fails or is stopped."""
        if self._is_talking:
            self._record.keep_turn()
        if self._attempt.answer is not None and self._said() != self._attempt.answer:  # a turn after one with an answer
            name = running_attempt.PARTIAL_ANSWER
            self._attempt.files[name] = running_attempt.File(kind="log", name=name, text=self._said())

    def quote(self, length: int) -> str:
        """Return the beginning of what the agent said, without secrets, which a cut could make unrecognisable."""
        return secrets.mask(self._said(), self._hidden)[:length]

    def _said(self) -> str:
        return "".join(self._turn.text).strip()

    async def _write_prompt(self, speaker: talk.Talk) -> str:
        """Return what is sent: only what is new if the agent knows its task, else the whole prompt. Keep both."""
        words = await speaker.write(self._attempt, self._session, self._place)
        full = "\n\n".join(part for part in words.blocks.values() if part)
        sent = full
        if self._session.knows_task:
            sent = words.news
        elif self._session.is_continued:  # it may have got the prompt of the attempt that was cut, or not
            sent = f"{talk.TRY_AGAIN}\n\n{full}"
        prompt.keep_texts(self._attempt, full=full, sent=sent, blocks=words.blocks, metadata=words.metadata)
        for file in words.files:
            self._attempt.files[file.name] = file
        return sent

    def _find_result(self, speaker: talk.Talk, *, is_last: bool, may_go_on: bool) -> JsonObject | None:
        """Return the result of a turn; None if the agent has to go on, also because there is something to tell it."""
        is_denied = bool(self._denials) and self._turn.stop_reason == "cancelled"
        if may_go_on and (self._attempt.unheard or is_denied):
            return None
        is_last = is_last and not (may_go_on and self._denials)
        try:
            return speaker.find_result(self._session.result.result, self._said(), is_last=is_last)
        except errors.AttemptFailed as error:
            self._add_trouble(error)
            raise

    # -- a turn -------------------------------------------------------------------------------------------------------

    async def _take_turn(self, text: str, meter: turn_meter.TurnMeter) -> None:
        session = self._session
        turn = self._turn = acp_client.Turn()
        self._record.begin_turn(turn)
        meter.begin_turn(turn)
        self._questions.begin_turn(turn)
        session.result.begin_turn()
        session.permissions.open(self._questions)
        if session.gateway is not None:
            session.gateway.begin_turn(meter)
        self._is_talking = True
        try:
            await session.client.prompt(session.id, text, turn, self, idle_ms=self._agent.idle_ms)
            self._record.end_calls()
        except errors.AttemptFailed as error:
            self._note_trouble()
            self._add_trouble(error)
            raise
        finally:
            self._is_talking = False
            self._pass_on(self._streamed.flush())
            self._note_trouble()
            session.result.end_turn()
            session.permissions.close()
            session.is_continued = session.knows_task = True
            if session.gateway is not None:
                session.gateway.end_turn()
            meter.end_turn()
            self._record.keep_turn()
        meter.check_caps()
        self._check_turn()
        self._attempt.answer = self._said()

    def _check_turn(self) -> None:
        """Raise AttemptFailed if the turn ended without having done anything, also if the agent calls it a success."""
        turn = self._turn
        if turn.stop_reason == "refusal":
            raise self._failure(
                f"the model refused: {self.quote(500)}", code="AGENT_REFUSED", hint="change the prompt, or the model"
            )
        if turn.stop_reason == "cancelled" and not self._denials:
            raise self._failure(
                "the agent cancelled its turn", code="AGENT_CANCELLED", hint="transcript.jsonl shows its last messages"
            )
        if self._denials:
            return  # the agent has ended its turn over a denial, and is told the reason next
        if turn.stop_reason in ("max_tokens", "max_turn_requests") and self._session.result.result is None:
            raise self._failure(
                f"the agent ended its turn at a limit of its model ({turn.stop_reason})",
                code="AGENT_NO_RESULT",
                hint="give it a smaller task, or more turns: `until: complete` and `max_turns`",
            )
        is_silent = not turn.calls and not self._said()
        has_no_usage = profiles.PROFILES[self._agent.provider].fails_without_usage and not turn.has_usage
        if is_silent or has_no_usage:
            reply_text = self.quote(500) or "it said nothing"
            raise self._failure(
                f"the agent's turn had no result: {reply_text}",
                code="AGENT_NO_RESULT",
                hint="it may not have reached its model: look at its key, and at stderr.log and transcript.jsonl",
            )

    def _note_trouble(self) -> None:
        """Keep what went wrong at the model: agents often do not say it."""
        if self._session.gateway is not None:
            self._trouble, self._is_locked_out = self._session.gateway.trouble, self._session.gateway.is_locked_out

    def _failure(self, message: str, *, code: str, hint: str) -> errors.AttemptFailed:
        """Return the failure of a turn, with what went wrong at the model."""
        failure = errors.AttemptFailed(message, code=code, hint=hint)
        self._add_trouble(failure)
        return failure

    def _add_trouble(self, failure: errors.AttemptFailed) -> None:
        """Add what went wrong at the model to the failure of a turn, unless the gateway itself has ended it."""
        if self._trouble is None or isinstance(failure, errors.OverBudget) or failure is self._turn.failure:
            return
        failure.message = f"{failure.message}; {self._trouble}"
        failure.args = (failure.message,)
        failure.retryable = failure.retryable and not self._is_locked_out

    # -- the listener -------------------------------------------------------------------------------------------------

    def on_text(self, text: str) -> None:
        """Pass a piece of the agent's message on to the viewers of the run."""
        self._pass_on(self._streamed.add(text))
        self.on_activity("answering")

    def _pass_on(self, text: str) -> None:
        if text:
            self._attempt.streamed.append(text)
            self._services.on_text(self._attempt.request, text)

    def on_activity(self, summary: str) -> None:
        """Tell the viewers of the run what the agent is doing, if that has changed."""
        line = secrets.mask(" ".join(summary.split()), self._hidden)[:_MAX_ACTIVITY]
        if line != self._activity:
            self._activity = line
            self._services.on_status(self._attempt.request, line)

    def on_call(self, call: acp_client.ToolCall) -> None:
        """Put a call into the record."""
        self.on_activity("thinking" if call.is_over else _describe_activity(call))
        if call.is_over:
            self._session.permissions.end_call(call.id)
        self._record.note_call(call)

    async def on_permission(self, request: acp_client.PermissionRequest) -> str | None:
        """Return the agent's option for the ruling: once, never for longer."""
        ruling = await self._session.permissions.permit(request)
        if not ruling.is_allowed:
            self._denials.append(f"The call {request.call.title!r} was denied: {ruling.why}")
        return request.option("allow_once" if ruling.is_allowed else "reject_once")

    async def on_question(self, prompt: str, schema: JsonObject) -> JsonObject | None:
        """Put the agent's own question to a person; decline a form whose schema no answer could be checked against."""
        try:
            validator.compile(schema)
        except errors.InvalidInput:
            return None
        return (await self._questions.ask_form(prompt, schema)).values


def _describe_activity(call: acp_client.ToolCall) -> str:
    """Return what an agent does with a call, in a few words; of a command also the last line that it printed."""
    arguments: Mapping[str, Json] = call.arguments if isinstance(call.arguments, Mapping) else {}
    command = next((arguments[name] for name in ("command", "cmd") if name in arguments), None)
    if command is not None:
        words = " ".join(map(str, command)) if isinstance(command, list) else str(command)
        last_line = call.output.strip().rsplit("\n", 1)[-1]
        return f"runs: {words[: _MAX_ACTIVITY // 2]}" + (f" > {last_line}" if last_line else "")
    path = next((str(arguments[name]) for name in ("file_path", "path", "filePath") if name in arguments), "")
    path = path or next(iter(call.locations), "")
    verb = {"edit": "edits", "delete": "deletes", "move": "moves", "read": "reads", "search": "searches"}.get(call.kind)
    if verb and path:
        return f"{verb} {path}"
    return f"calls {call.tool_name or call.title or call.kind}"

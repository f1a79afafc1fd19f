"""The client side of the Agent Client Protocol (ACP): JSON-RPC over the pipes of one agent program.

The library `agent-client-protocol` numbers requests and matches answers. This module reads the lines, keeps a
transcript of them, and turns the agent's notifications into a `Turn`, the account of one prompt:

    prompt ──> session/prompt ──────────────────────────────────────────────> stop reason, usage
                  │ session/update: text, thoughts, plan, tool calls, usage      into the Turn, and to the listener
                  │ session/request_permission                                   answered by the listener
                  │ elicitation/create                                           a form, answered by the listener

Updates are read as plain JSON: an agent of a newer version may send kinds that this client does not know, and they
must not break a turn. Lines that are no JSON-RPC are counted and kept, not obeyed. The agent is not offered our file
system or terminals: it works on its folder directly, which is what a workspace is for.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import orjson

from openskelo import errors
from openskelo.agents.acp import process
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen, mutable

if TYPE_CHECKING:
    from acp.connection import Connection

PROTOCOL_VERSION = 1
#: How much of the protocol is kept of one turn; the middle of a longer transcript is left out.
MAX_TRANSCRIPT_BYTES = 8 * 1024 * 1024
_MAX_TEXT = 4000
#: How many characters are kept of what an agent says in a turn, of its thoughts, and of the result of a call.
MAX_TURN_TEXT = 8 * 1024 * 1024
#: How long the name, the version and the id of a session may be that an agent tells.
_MAX_NAME = 1000
#: How long an agent gets to end its turn when it is asked to.
CANCEL_SECONDS = 2.0
#: How Claude Code begins the result of a command that failed.
_FAILED_COMMAND = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
#: Beyond this a number is no exit code, on any system.
_MAX_EXIT_CODE = 2**32
_METHOD_NOT_FOUND = -32601
_INTERNAL_ERROR = -32603
_Answer = TypeVar("_Answer")


@mutable
class ToolCall:
    """A call of one of the agent's tools, put together from all messages about it.

    Times are seconds of the event loop's clock.
    """

    id: str
    title: str = ""
    #: The agent's name of the tool, if its program says it beside the title, which is made for people.
    tool_name: str = ""
    kind: str = "other"
    #: pending, in_progress, completed or failed.
    status: str = "pending"
    arguments: Json = None
    #: The text that the tool returned.
    output: str = ""
    locations: tuple[str, ...] = ()
    #: The edits that the agent shows (`path`, `oldText`, `newText`).
    diffs: tuple[JsonObject, ...] = ()
    #: That of a command, if the agent tells it.
    exit_code: int | None = None
    started: float = 0.0
    ended: float = 0.0

    @property
    def is_over(self) -> bool:
        """True if the agent has said how the call ended."""
        return self.status in ("completed", "failed")


@mutable
class Turn:
    """A turn: everything that happened since one prompt was sent."""

    text: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    kept_characters: int = 0
    left_out_characters: int = 0
    calls: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    plan: Sequence[JsonObject] = ()
    stop_reason: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    has_usage: bool = False
    cost_usd: float | None = None
    last_sign: float = 0.0
    waits_for_person: int = 0
    failure: errors.AttemptFailed | None = None
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    def keep(self, pieces: list[str], text: str) -> str:
        """Add a piece to the text or the thoughts, and return as much of it as is kept: the beginning of both is."""
        kept = text[: MAX_TURN_TEXT - self.kept_characters]
        self.kept_characters += len(kept)
        self.left_out_characters += len(text) - len(kept)
        if kept:
            pieces.append(kept)
        return kept

    def stop(self, failure: errors.AttemptFailed) -> None:
        """End the turn with this failure, from a listener's callback."""
        self.failure = self.failure or failure
        self.stopped.set()


@frozen
class PermissionRequest:
    """The agent asks whether it may call a tool."""

    call: ToolCall
    #: The possible answers, with `optionId` and `kind`.
    options: Sequence[JsonObject]

    def option(self, kind: str) -> str | None:
        """Return the id of the first option of this kind, None if the agent offers none."""
        return next((str(option.get("optionId")) for option in self.options if option.get("kind") == kind), None)


class Listener(Protocol):
    """The owner of a session, who is told what happens in a turn."""

    def on_text(self, text: str) -> None:
        """Take a piece of the agent's message."""
        ...

    def on_call(self, call: ToolCall) -> None:
        """Take note of a call that is new, or has changed."""
        ...

    def on_activity(self, summary: str) -> None:
        """Take note of what the agent is doing besides: it thinks, or says which step of its plan it is at."""
        ...

    async def on_permission(self, request: PermissionRequest) -> str | None:
        """Return the id of the chosen option, None to cancel the call."""
        ...

    async def on_question(self, prompt: str, schema: JsonObject) -> JsonObject | None:
        """Return the filled form of the agent's own question, None to decline it."""
        ...


@frozen
class AgentInfo:
    """The agent's description of itself when the connection opens."""

    name: str
    version: str
    can_load: bool
    can_resume: bool
    has_http_tools: bool
    auth_methods: tuple[str, ...]
    can_steer: bool = False


class AcpClient:
    """One connection to one agent program. It has at most one turn at a time."""

    def __init__(self, agent: process.AgentProcess) -> None:
        from acp.connection import Connection  # noqa: PLC0415 -- the extra `agents`

        self._agent = agent
        self._pipe = _Pipe(agent, self._update)
        self._connection: Connection = Connection(self._handle, self._pipe)
        self._turn = Turn()
        self._listener: Listener | None = None
        self._cost_before = self._cost_now = 0.0  # of the session: at the start of the turn, and as last told
        self.has_open_turn = False  # a prompt was sent, and the agent has not said that its turn is over
        self.info: AgentInfo | None = None

    # -- the connection -----------------------------------------------------------------------------------------------

    async def initialize(self) -> AgentInfo:
        """Shake hands; raise AttemptFailed AGENT_PROTOCOL if the agent speaks another version."""
        answer = await self._request(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                "clientCapabilities": {
                    "fs": {"readTextFile": False, "writeTextFile": False},
                    "terminal": False,
                    "elicitation": {"form": {}},
                },
                "clientInfo": {"name": "openskelo", "title": "OpenSkelo", "version": "0.1"},
            },
        )
        version = answer.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            raise errors.AttemptFailed(
                f"the agent speaks version {version!r} of the protocol, not {PROTOCOL_VERSION}",
                code="AGENT_PROTOCOL",
                hint="`skelo agents install` installs versions that work",
                retryable=False,
            )
        self.info = _info(answer)
        return self.info

    async def authenticate(self, method: str) -> None:
        """Choose how the agent logs in to its model's vendor."""
        await self._request("authenticate", {"methodId": method})

    async def new_session(self, folder: str, tools: Sequence[JsonObject], meta: JsonObject) -> str:
        """Return the id of a new provider session that works in `folder`."""
        answer = await self._request("session/new", {"cwd": folder, "mcpServers": list(tools), **_meta(meta)})
        return _session_id(answer)

    async def reopen_session(self, session_id: str, folder: str, tools: Sequence[JsonObject], meta: JsonObject) -> bool:
        """Continue a session of an earlier process; False if the agent cannot, or does not know it any more."""
        assert self.info is not None  # noqa: S101 -- the caller has shaken hands
        if self.info.can_resume:
            method = "session/resume"
        elif self.info.can_load:
            method = "session/load"
        else:
            return False
        params = {"sessionId": session_id, "cwd": folder, "mcpServers": list(tools), **_meta(meta)}
        self._pipe.is_replaying = True
        try:
            await self._request(method, params)
        except errors.AttemptFailed as error:
            if error.code == "AGENT_REFUSED":
                return False
            raise
        finally:
            self._pipe.is_replaying = False
        return True

    async def set_mode(self, session_id: str, mode: str) -> None:
        """Choose the agent's own mode of working."""
        await self._request("session/set_mode", {"sessionId": session_id, "modeId": mode})

    async def trust_hooks(self, method: str, folder: str) -> None:
        """Let the agent run the hooks of its settings, which are ours (AttemptFailed AGENT_HOOK if it has none)."""
        known_hooks = _list((await self._request(f"{method}/list", {"cwd": folder})).get("hooks"))
        hooks = [{key: _object(hook).get(key) for key in ("key", "currentHash")} for hook in known_hooks]
        if not hooks:
            raise errors.AttemptFailed(
                "the agent does not know our hook, so its calls would not be asked about",
                code="AGENT_HOOK",
                hint="`skelo agents install` installs versions that work",
                retryable=False,
            )
        await self._request(f"{method}/trust", {"cwd": folder, "hooks": hooks})

    async def set_model(self, session_id: str, model: str) -> None:
        """Choose the model, by the way that the agent knows; raise AttemptFailed AGENT_MODEL if it knows none."""
        ways = (
            ("session/set_config_option", {"sessionId": session_id, "configId": "model", "value": model}),
            ("session/set_model", {"sessionId": session_id, "modelId": model}),
        )
        reason = ""
        for method, params in ways:
            try:
                await self._request(method, params)
            except errors.AttemptFailed as error:
                if error.code != "AGENT_REFUSED":
                    raise
                reason = reason or error.message  # the first way is the one of today's protocol
            else:
                return
        raise errors.AttemptFailed(
            f"the agent does not take the model {model!r}: {reason}",
            code="AGENT_MODEL",
            hint="name a model that it offers, or leave `model` out",
            retryable=False,
        )

    async def close(self) -> None:
        """Close the connection; the process is the caller's to end."""
        with contextlib.suppress(Exception):
            await self._connection.close()

    def take_transcript(self) -> str:
        """Return the lines of the protocol since the last call of this, as JSON lines."""
        return self._pipe.take_transcript()

    # -- a turn -------------------------------------------------------------------------------------------------------

    async def prompt(self, session_id: str, text: str, turn: Turn, listener: Listener, *, idle_ms: int) -> None:
        """Send a prompt and fill `turn` until the agent has ended its turn.

        Raise AttemptFailed if it ends otherwise: AGENT_EXITED, AGENT_IDLE, AGENT_REFUSED, AGENT_PROTOCOL. If the caller
        is cancelled, or the turn fails here, the agent is asked to stop; `has_open_turn` says whether it did not.
        """
        self._turn, self._listener, self._cost_before = turn, listener, self._cost_now
        turn.last_sign = asyncio.get_running_loop().time()
        answer_task = asyncio.ensure_future(
            self._request("session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]})
        )
        stop_task = asyncio.ensure_future(turn.stopped.wait())
        self.has_open_turn = True
        try:
            await _watch(turn, answer_task, stop_task, idle_ms)
            answer = await answer_task
            self.has_open_turn = False
        except (asyncio.CancelledError, errors.AttemptFailed):
            self._listener = None
            await self._stop_turn(session_id, answer_task)
            raise
        finally:
            answer_task.cancel()
            stop_task.cancel()
            self._listener = None
        turn.stop_reason = str(answer.get("stopReason", ""))
        _read_usage(turn, answer)

    async def _stop_turn(self, session_id: str, asked: asyncio.Future[Mapping[str, Any]]) -> None:
        """Ask the agent to stop its turn, and wait a moment for it; the caller ends a program that does not."""
        self._turn.cancelled.set()  # agents wait for an answer to each of their requests
        with contextlib.suppress(Exception):
            if not asked.done():
                await self._connection.send_notification("session/cancel", {"sessionId": session_id})
            await asyncio.wait({asked}, timeout=CANCEL_SECONDS)
        is_over = asked.done() and not asked.cancelled() and asked.exception() is None
        self.has_open_turn = not is_over

    async def steer(self, session_id: str, text: str) -> bool:
        """Give the agent a word during its turn; False if it did not take it."""
        params = {
            "sessionId": session_id,
            "prompt": [{"type": "text", "text": text}],
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        }
        try:
            answer = await self._connection.send_request("_session/steering", params)
        except Exception:  # an error of the agent, or its end: the word is sent in another way
            return False
        return _object(answer).get("outcome") == "injected"

    async def _request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        from acp.exceptions import RequestError  # noqa: PLC0415 -- the extra `agents`

        try:
            answer = await self._connection.send_request(method, dict(params))
        except RequestError as error:
            raise errors.AttemptFailed(
                f"the agent refused {method}: {_describe(error)}",
                code="AGENT_REFUSED",
                hint="`skelo agents check NAME` tries the program alone",
                happened="unknown",
            ) from error
        except (ConnectionError, OSError) as error:
            if self._pipe.is_overrun:
                raise errors.AttemptFailed(
                    f"the agent wrote a line of more than {process.MAX_LINE_BYTES // 2**20} MiB during {method}",
                    code="AGENT_PROTOCOL",
                    hint="let it read and write less at a time",
                    happened="unknown",
                ) from error
            raise errors.AttemptFailed(
                f"the agent ended during {method} ({self._agent.describe_end()})",
                code="AGENT_EXITED",
                hint=self._pipe.complaint() or "`skelo agents check NAME` tries the program alone",
                happened="unknown",
            ) from error
        return _object(answer)

    # -- what the agent sends -----------------------------------------------------------------------------------------

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        from acp.exceptions import RequestError  # noqa: PLC0415 -- the extra `agents`

        self._turn.last_sign = asyncio.get_running_loop().time()
        data = _object(params)
        if method == "session/request_permission":
            return {"outcome": await self._permission(data)}
        if method == "elicitation/create":
            return await self._elicit(data)
        if is_notification:  # of a newer version, or the agent's own
            return None
        raise RequestError(_METHOD_NOT_FOUND, f"this client has no {method}")

    def _update(self, params: Any) -> None:
        fields = _object(_object(params).get("update"))
        if self._listener is None or self._pipe.has_answer:
            return  # history that a loaded session repeats, or something after the end of the turn
        self._turn.last_sign = asyncio.get_running_loop().time()
        match fields.get("sessionUpdate"):
            case "agent_message_chunk":
                text = self._turn.keep(self._turn.text, _content_text(fields.get("content")))
                if text:
                    self._listener.on_text(text)
            case "agent_thought_chunk":
                self._turn.keep(self._turn.thoughts, _content_text(fields.get("content")))
                self._listener.on_activity("thinking")
            case "tool_call" | "tool_call_update":
                self._listener.on_call(self._merge_call(fields))
            case "plan":
                self._turn.plan = tuple(_object(entry) for entry in _list(fields.get("entries")))
                self._listener.on_activity(_describe_plan(self._turn.plan))
            case "usage_update":
                self._read_cost(_object(fields.get("cost")))
            case _:
                pass

    def _read_cost(self, cost: Mapping[str, Any]) -> None:
        """Take what this turn has cost: agents tell what the whole session has cost so far."""
        amount = _number(cost.get("amount"))
        if amount is None or cost.get("currency", "USD") != "USD":
            return
        before = self._cost_before if amount >= self._cost_before else 0.0  # the agent counts anew
        self._turn.cost_usd, self._cost_now = amount - before, amount

    def _merge_call(self, fields: Mapping[str, Any]) -> ToolCall:
        """Return the call that a message tells of, with what the message adds: no message is complete by itself."""
        call_id = str(fields.get("toolCallId", ""))
        now = asyncio.get_running_loop().time()
        call = self._turn.calls.get(call_id)
        if call is None:
            call = self._turn.calls[call_id] = ToolCall(id=call_id, started=now)
        call.title = str(fields.get("title") or call.title)
        call.kind = str(fields.get("kind") or call.kind)
        call.tool_name = _tool_name(fields) or call.tool_name
        if fields.get("rawInput") is not None:
            call.arguments = cast("Json", fields["rawInput"])
        if fields.get("status"):
            call.status = str(fields["status"])
        locations = tuple(str(_object(place).get("path", "")) for place in _list(fields.get("locations")))
        call.locations = locations or call.locations
        _merge_content(call, fields.get("content"))
        if isinstance(fields.get("rawOutput"), str):  # the content may be what the call was described with
            call.output = cast("str", fields["rawOutput"])[:MAX_TURN_TEXT]
        exit_code = _exit_code(fields)
        if exit_code is not None:
            call.exit_code = exit_code
        if call.is_over and not call.ended:
            call.ended = now
        return call

    async def _permission(self, data: Mapping[str, Any]) -> JsonObject:
        tool_call = data.get("toolCall")
        options = tuple(_object(option) for option in _list(data.get("options")))
        if self._listener is None or not isinstance(tool_call, Mapping):
            return {"outcome": "cancelled"}
        call = self._merge_call(cast("Mapping[str, Any]", tool_call))
        self._listener.on_call(call)
        request = PermissionRequest(call=call, options=options)
        option_id = await _unless_cancelled(self._turn, self._listener.on_permission(request))
        if option_id is None:
            return {"outcome": "cancelled"}
        return {"outcome": "selected", "optionId": option_id}

    async def _elicit(self, data: Mapping[str, Any]) -> JsonObject:
        """Put a question of the agent's own to the listener; only forms are known."""
        schema = data.get("requestedSchema")
        if self._listener is None or not isinstance(schema, Mapping):
            return {"action": "decline"}
        form = cast("JsonObject", schema)
        turn = self._turn
        content = await _unless_cancelled(turn, self._listener.on_question(str(data.get("message", "")), form))
        if turn.cancelled.is_set():
            return {"action": "cancel"}
        if content is None:
            return {"action": "decline"}
        return {"action": "accept", "content": content}


async def _watch(
    turn: Turn, asked: asyncio.Future[Mapping[str, Any]], stopped: asyncio.Future[Any], idle_ms: int
) -> None:
    """Wait until the prompt is answered; raise AttemptFailed if the agent gives no sign, or the turn was stopped."""
    loop = asyncio.get_running_loop()
    while not asked.done():
        if turn.waits_for_person:  # then the agent is silent for a good reason
            turn.last_sign = loop.time()
        seconds_left = turn.last_sign + idle_ms / 1000 - loop.time()
        if seconds_left <= 0:
            raise errors.AttemptFailed(
                f"the agent gave no sign for {idle_ms / 1000:g} seconds",
                code="AGENT_IDLE",
                hint="raise `idle_ms` of the agent if its work has such pauses",
                happened="unknown",
            )
        await asyncio.wait({asked, stopped}, timeout=seconds_left, return_when=asyncio.FIRST_COMPLETED)
        if turn.failure is not None:
            raise turn.failure


async def _unless_cancelled(turn: Turn, answer: Coroutine[Any, Any, _Answer]) -> _Answer | None:
    """Return the listener's answer, None if the turn is cancelled before, or at the same time."""
    answering = asyncio.ensure_future(answer)
    cancel_task = asyncio.ensure_future(turn.cancelled.wait())
    try:
        await asyncio.wait({answering, cancel_task}, return_when=asyncio.FIRST_COMPLETED)
        return None if turn.cancelled.is_set() else await answering
    finally:
        answering.cancel()
        cancel_task.cancel()


class _Pipe:
    """Moves JSON-RPC messages over the pipes of the process (a `Transport` of the library), and keeps them.

    Updates go to `on_update` as they come: the library would handle each in a task of its own, and an update that was
    sent after the end of a turn could count to the turn. `has_answer` is True once the last prompt was answered.
    """

    def __init__(self, agent: process.AgentProcess, on_update: Callable[[Any], None]) -> None:
        self._agent = agent
        self._on_update = on_update
        self.has_answer = False
        self.is_overrun = False  # the agent wrote a line that is too long
        self.is_replaying = False  # a session is being loaded: its updates are history, and on record already
        self._awaited: Any = None  # the id of the last request
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._left_out = 0
        self._unreadable = 0
        self._last_unreadable = ""

    async def send(self, message: dict[str, Any]) -> None:
        line = orjson.dumps(message)
        self._keep(b">", line)
        if "id" in message and message.get("method") == "session/prompt":
            self.has_answer, self._awaited = False, message["id"]
        self._agent.writer.write(line + b"\n")
        await self._agent.writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        while True:
            try:
                line = await self._agent.reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as error:
                self._complain(error.partial)
                return None
            except asyncio.LimitOverrunError:
                self.is_overrun = True
                return None
            message = _parse_line(line)
            if message is None:
                self._complain(line)
                continue
            is_update = message.get("method") == "session/update"
            if not (is_update and self.is_replaying):
                self._keep(b"<", line.strip())
            if is_update:
                self._on_update(message.get("params"))
                continue
            if "method" not in message and message.get("id") == self._awaited:
                self.has_answer = True
            return message

    async def close(self) -> None:
        with contextlib.suppress(Exception):
            self._agent.writer.close()

    def take_transcript(self) -> str:
        lines, left_out = self._kept, self._left_out
        self._kept, self._kept_bytes, self._left_out = [], 0, 0
        if not lines:
            return ""
        text = b"\n".join(lines).decode("utf-8", "replace")
        return f'{text}\n{{"leftOut": {left_out}}}\n' if left_out else f"{text}\n"

    def complaint(self) -> str | None:
        """Return what is odd about the lines that were no protocol, None if there were none."""
        if not self._unreadable:
            return None
        return f"{self._unreadable} lines were no JSON-RPC, the last one: {self._last_unreadable}"

    def _complain(self, line: bytes) -> None:
        if line.strip():
            self._unreadable += 1
            self._last_unreadable = line.strip()[:200].decode("utf-8", "replace")

    def _keep(self, direction: bytes, line: bytes) -> None:
        if self._kept_bytes + len(line) > MAX_TRANSCRIPT_BYTES:
            self._left_out += 1
            return
        self._kept_bytes += len(line)
        self._kept.append(b'{"direction":"%s","message":%s}' % (b"sent" if direction == b">" else b"received", line))


def _parse_line(line: bytes) -> dict[str, Any] | None:
    """Return the JSON-RPC message in a line, None if it holds none."""
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict):
        return None
    fields = cast("dict[str, Any]", message)
    if "id" in fields and not isinstance(fields["id"], str | int | float | None):
        return None
    if "method" in fields:
        return fields if isinstance(fields["method"], str) else None
    if "error" in fields and not isinstance(fields["error"], dict):  # the library reads only objects
        fields["error"] = {"code": _INTERNAL_ERROR, "message": str(fields["error"])}
    return fields if "id" in fields else None


def _info(answer: Mapping[str, Any]) -> AgentInfo:
    capabilities = _object(answer.get("agentCapabilities"))
    about = _object(answer.get("agentInfo"))
    return AgentInfo(
        name=str(about.get("name", ""))[:_MAX_NAME],
        version=str(about.get("version", ""))[:_MAX_NAME],
        can_load=capabilities.get("loadSession") is True,
        can_resume="resume" in _object(capabilities.get("sessionCapabilities")),
        has_http_tools=_object(capabilities.get("mcpCapabilities")).get("http") is True,
        auth_methods=tuple(str(_object(method).get("id", "")) for method in _list(answer.get("authMethods"))),
        can_steer=_object(_object(answer.get("_meta")).get("steering")).get("supported") is True,
    )


def _object(value: Any) -> Mapping[str, Any]:
    """Return a JSON object of the agent's, an empty one in place of anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    """Return a JSON array of the agent's, an empty one in place of anything else."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def _tool_name(fields: Mapping[str, Any]) -> str:
    """Return the name of a tool from the `_meta` of a call; empty if it is not there."""
    meta = _object(fields.get("_meta"))
    return str(meta.get("toolName") or _object(meta.get("claudeCode")).get("toolName") or "")


def _exit_code(fields: Mapping[str, Any]) -> int | None:
    """Return the exit code of a command that an update tells of, None if it tells none: each agent has its own place.

    Codex has it in `_meta`, Qwen and OpenCode in the raw output, Claude in the text of a command that failed.
    """
    raw = fields.get("rawOutput")
    told = _object(raw)
    places = (
        _object(_object(fields.get("_meta")).get("terminal_exit")).get("exit_code"),
        told.get("exitCode"),
        told.get("exit_code"),
        _object(told.get("metadata")).get("exit"),
    )
    for code in places:
        if isinstance(code, int) and not isinstance(code, bool) and abs(code) < _MAX_EXIT_CODE:
            return code
    match = _FAILED_COMMAND.match(raw) if isinstance(raw, str) else None
    return None if match is None else int(match[1])


def _meta(meta: JsonObject) -> JsonObject:
    return {"_meta": meta} if meta else {}


def _session_id(answer: Mapping[str, Any]) -> str:
    session_id = answer.get("sessionId")
    if not isinstance(session_id, str) or not 0 < len(session_id) <= _MAX_NAME:
        raise errors.AttemptFailed(
            "the agent opened a session without an id, or with one that is too long",
            code="AGENT_PROTOCOL",
            hint="`skelo agents install` installs versions that work",
            retryable=False,
        )
    return session_id


def _content_text(content: Any) -> str:
    text = _object(content).get("text")
    return text if isinstance(text, str) else ""


def _describe_plan(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return how far the agent is in its plan, and what it is at."""
    done_count = sum(entry.get("status") == "completed" for entry in entries)
    current = next((str(entry.get("content", "")) for entry in entries if entry.get("status") == "in_progress"), "")
    if current:
        return f"plan, {done_count} of {len(entries)} done: {current}"
    return f"plan, {done_count} of {len(entries)} done"


def _merge_content(call: ToolCall, content: Any) -> None:
    texts: list[str] = []
    diffs: list[JsonObject] = []
    for part in _list(content):
        fields = _object(part)
        if fields.get("type") == "content":
            texts.append(_content_text(fields.get("content")))
        elif fields.get("type") == "diff":
            diffs.append({key: cast("Json", fields.get(key)) for key in ("path", "oldText", "newText")})
    call.output = "\n".join(text for text in texts if text)[:MAX_TURN_TEXT] or call.output
    call.diffs = tuple(diffs) or call.diffs


def _read_usage(turn: Turn, answer: Mapping[str, Any]) -> None:
    """Take the tokens of the turn from its answer: `usage`, or the `_meta` of agents that have none."""
    usage = _object(answer.get("usage"))
    if usage:
        turn.has_usage = True
        turn.tokens_in = sum(_count(usage.get(key)) for key in ("inputTokens", "cachedReadTokens", "cachedWriteTokens"))
        turn.tokens_out = sum(_count(usage.get(key)) for key in ("outputTokens", "thoughtTokens"))
        return
    token_count = _object(_object(_object(answer.get("_meta")).get("quota")).get("token_count"))
    if token_count:
        turn.has_usage = True
        turn.tokens_in, turn.tokens_out = (
            _count(token_count.get("input_tokens")),
            _count(token_count.get("output_tokens")),
        )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _describe(error: Any) -> str:
    """Return a JSON-RPC error in words; agents put the cause into its data."""
    data = error.data
    detail = "" if data is None else f" ({orjson.dumps(data, default=str).decode()})"
    return f"{error}{detail}"[:_MAX_TEXT]

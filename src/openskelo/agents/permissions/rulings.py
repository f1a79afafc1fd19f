"""The permissions of a session: every call of its agent is ruled on here, by a hook or by the protocol.

    hook (PreToolUse)            the agent's program asks before every call ──┐
    session/request_permission   the agent asks about a call over ACP ────────┴─> policy: allow, deny, or ask a person
    elicitation/create           the agent has a question of its own ───────────> ask a person

A hook can carry a reason and changed arguments back to the model; the protocol can only carry yes or no. Outside of a
turn every call is denied. `SessionPermissions` outlives the attempts of its session: the executor opens it for each
turn with what the attempt brings along.

A person may change the arguments of a call, and the policy decides on the changed call again: no answer allows what is
denied.

A ruling counts once. The id of a call is the agent's own word, so it proves nothing: a second request with the same id
is another call, and is ruled on anew. The one exception is a call that comes on both ways before it has ended: the
ruling of one way also answers the other, once, if tool, arguments and, where a person was asked, the files of the
workspace are the same.
"""

from __future__ import annotations

import asyncio
import difflib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol, cast

import orjson

from openskelo import agent_settings, errors
from openskelo.agents import profiles
from openskelo.agents.acp import acp_client
from openskelo.agents.permissions import policy
from openskelo.agents.server import session_server, toolbox
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen, mutable, replace

#: How a request for permission comes in.
_Way = Literal["hook", "protocol"]
#: The longest request of a hook that is read.
_MAX_HOOK_BYTES = 32 * 1024 * 1024
_MAX_DIFF_CHARACTERS = 20_000
_MAX_FILE_BYTES = 2 * 1024 * 1024
_NO_TURN = "no turn is under way"
_REPEATED = "its id is that of an earlier call"


@frozen
class Ruling:
    """The decision about a call."""

    is_allowed: bool
    why: str
    was_asked: bool = False
    #: Set if a person has changed them.
    arguments: JsonObject | None = None
    #: The id of the workspace's files that a person was asked about.
    tree: str = ""


@frozen
class CallId:
    """The id of a call in a turn: the agent's own id, and how often it has asked with it. `str` of it is unique."""

    agent_id: str
    number: int = 1

    def __str__(self) -> str:
        return self.agent_id if self.agent_id and self.number == 1 else f"{self.agent_id}#{self.number}"


@frozen
class Question:
    """A call that a person is asked about."""

    call_id: CallId
    call: policy.Call
    why: str
    #: True if changed arguments reach the agent.
    can_change: bool
    #: The id of the workspace's files on which the call would be made.
    tree: str
    diff: str = ""


@frozen
class FormAnswer:
    """A person's answer to a question of the agent's own."""

    #: The filled form; None if the person declines.
    values: JsonObject | None = None
    #: Why the person declines.
    reason: str = ""


class Asker(Protocol):
    """The attempt whose turn is under way, as the permissions of its session see it."""

    async def ask_about(self, question: Question) -> Ruling:
        """Ask a person, and wait for the answer."""
        ...

    async def ask_form(self, prompt: str, schema: JsonObject) -> FormAnswer:
        """Ask a person the agent's own question, and wait for the answer."""
        ...

    async def tree(self) -> str:
        """Return the id of the workspace's files as they are now."""
        ...

    async def on_ruling(self, call_id: CallId, call: policy.Call, ruling: Ruling) -> None:
        """Put what was decided about a call into the record; it is durable after this.

        Raise OpenSkeloError if it cannot be recorded: then the call is not made.
        """
        ...

    def remembered_rules(self) -> tuple[JsonObject, ...]:
        """Return the rules that approvals have made for this turn and this run."""
        ...

    def spent_usd(self) -> float:
        """Return what the turn has cost so far."""
        ...


@mutable
class _Ruled:
    """A call that was ruled on, or waits for its ruling."""

    way: _Way
    call: policy.Call
    is_own: bool
    ruling: asyncio.Future[Ruling]
    #: Its ruling has answered the other way, too.
    is_used_up: bool = False


class SessionPermissions:
    """Rules on the calls of one session."""

    def __init__(self, agent: agent_settings.AgentSettings, folder: Path, *, is_planning: bool = False) -> None:
        self._agent = agent
        self._is_planning = is_planning
        self._profile = profiles.PROFILES[agent.provider]
        self._folder = folder
        self._asker: Asker | None = None
        self._ruled: dict[str, _Ruled] = {}  # the last call of this turn with each of the agent's ids
        self._rulings: list[asyncio.Future[Ruling]] = []  # all of this turn
        self._counts: Counter[str] = Counter()  # how often the agent has asked with each id, in all turns

    def open(self, asker: Asker) -> None:
        """Rule on calls from now on, for this attempt."""
        self._asker, self._ruled, self._rulings = asker, {}, []

    def close(self) -> None:
        """Deny every call from now on, also calls that wait for their ruling."""
        self._asker = None
        for ruling in self._rulings:
            ruling.cancel()

    def end_call(self, agent_id: str) -> None:
        """Rule anew on the next request with this id, because the agent has said that its call is over."""
        self._ruled.pop(agent_id, None)

    # -- over the protocol --------------------------------------------------------------------------------------------

    async def permit(self, request: acp_client.PermissionRequest) -> Ruling:
        """Rule on a call that the agent asks about over ACP."""
        tool_call = request.call
        shown_paths = [str(part["path"]) for part in tool_call.diffs]
        call = policy.make_call(
            self._profile.tool_name(tool_call),
            "edit" if shown_paths else tool_call.kind,
            self._profile.call_arguments(tool_call),
            self._folder,
            locations=(*tool_call.locations, *shown_paths),
            is_tool_server=self._profile.is_tool_server(tool_call),
        )
        if self._profile.is_own_tool(tool_call):
            return await self._rule_once("protocol", tool_call.id, call, is_own=True)
        diff = "\n".join(_diff(str(part["path"]), part["oldText"], part["newText"]) for part in tool_call.diffs)
        return await self._rule_once("protocol", tool_call.id, call, diff=diff)

    # -- by the hook --------------------------------------------------------------------------------------------------

    async def handle_hook(
        self, _scope: session_server.Scope, receive: session_server.Receive, send: session_server.Send
    ) -> None:
        """Answer one request of the agent's hook."""
        body = b""
        more = True
        while more and len(body) <= _MAX_HOOK_BYTES:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        answer = orjson.dumps(await self._answer_hook(body))
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _answer_hook(self, body: bytes) -> JsonObject:
        """Return the hook's answer. It has exactly these keys: agents ignore an answer with others."""
        ruling = await self._rule_hook(body)
        decision: dict[str, Json] = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow" if ruling.is_allowed else "deny",
            "permissionDecisionReason": ruling.why,
        }
        if ruling.is_allowed and ruling.arguments is not None:
            decision["updatedInput"] = ruling.arguments
        return {"hookSpecificOutput": decision}

    async def _rule_hook(self, body: bytes) -> Ruling:
        try:
            hook_call = orjson.loads(body)
        except orjson.JSONDecodeError:
            hook_call = None
        if not isinstance(hook_call, Mapping):
            return Ruling(is_allowed=False, why="the request of the hook could not be read")
        fields = cast("Mapping[str, Json]", hook_call)
        tool = str(fields.get("tool_name") or "")
        call_id = str(fields.get("tool_use_id") or "")
        call = policy.make_call(
            tool,
            self._profile.tool_kinds.get(tool, "other"),
            fields.get("tool_input"),
            self._folder,
            is_tool_server=tool.startswith("mcp__"),
        )
        if tool.startswith(f"mcp__{toolbox.SERVER_NAME}__"):
            return await self._rule_once("hook", call_id, call, is_own=True)
        return await self._rule_once("hook", call_id, call, diff=_edit_diff(call, self._folder))

    # -- the agent's own questions ------------------------------------------------------------------------------------

    async def ask_form(self, prompt: str, schema: JsonObject) -> FormAnswer:
        """Put a question of the agent's own to a person; it is declined if there is no turn."""
        if self._asker is None:
            return FormAnswer(reason=_NO_TURN)
        return await self._asker.ask_form(prompt, schema)

    # -- the ruling ---------------------------------------------------------------------------------------------------

    async def _rule_once(
        self, way: _Way, agent_id: str, call: policy.Call, *, diff: str = "", is_own: bool = False
    ) -> Ruling:
        """Return the ruling on a call, the same one if the agent asks twice: by its hook and over the protocol.

        A call of one of our tools (`is_own`) is allowed: the kernel rules on what it asks for.
        """
        earlier = self._ruled.get(agent_id) if agent_id else None
        if earlier is not None and earlier.way != way and not earlier.is_used_up:
            earlier.is_used_up = True
            answer = await _wait_for(earlier.ruling)
            if (earlier.is_own and is_own) or await self._is_about(earlier.call, answer, call):
                return answer
        self._counts[agent_id] += 1
        call_id = CallId(agent_id=agent_id, number=self._counts[agent_id])
        new_ruling = self._allow_own(call_id, call) if is_own else self._rule(way, call_id, call, diff)
        ruling = asyncio.ensure_future(new_ruling)
        self._rulings.append(ruling)
        self._ruled[agent_id] = _Ruled(way=way, call=call, is_own=is_own, ruling=ruling)
        return await _wait_for(ruling)

    async def _is_about(self, earlier: policy.Call, ruling: Ruling, call: policy.Call) -> bool:
        """True if the ruling on an earlier call is about exactly this one, on these files."""
        arguments = earlier.arguments if ruling.arguments is None else ruling.arguments
        if call.arguments is None or (call.tool, call.arguments) != (earlier.tool, arguments):
            return False
        return not ruling.was_asked or (self._asker is not None and ruling.tree == await self._asker.tree())

    async def _allow_own(self, call_id: CallId, call: policy.Call) -> Ruling:
        if self._asker is None:
            return Ruling(is_allowed=False, why=_NO_TURN)
        return await self._record(self._asker, call_id, call, Ruling(is_allowed=True, why="a tool of OpenSkelo"))

    async def _rule(self, way: _Way, call_id: CallId, call: policy.Call, diff: str) -> Ruling:
        asker = self._asker
        if asker is None:
            return Ruling(is_allowed=False, why=_NO_TURN)
        verdict = self._decide(asker, call)
        ruling = Ruling(is_allowed=verdict.decision == "allow", why=verdict.why)
        if verdict.decision == "ask":
            tree = await asker.tree()
            is_repeated = bool(call_id.agent_id) and call_id.number > 1
            question = Question(
                call_id=call_id,
                call=call,
                why=f"{verdict.why}; {_REPEATED}" if is_repeated else verdict.why,
                can_change=way == "hook",
                tree=tree,
                diff=diff,
            )
            try:
                ruling = replace(await asker.ask_about(question), tree=tree)
            except errors.Refused as refusal:  # the turn is over, or the question was withdrawn
                return Ruling(is_allowed=False, why=refusal.message, was_asked=True)
            if ruling.arguments is not None:
                call = policy.change_arguments(call, ruling.arguments, self._folder)
                ruling = self._rule_on_change(asker, way, call, ruling)
        return await self._record(asker, call_id, call, ruling)

    def _decide(self, asker: Asker, call: policy.Call) -> policy.Verdict:
        denial = policy.forbid_changes(call) if self._is_planning else None
        return denial or policy.decide(call, self._agent, asker.remembered_rules(), asker.spent_usd())

    def _rule_on_change(self, asker: Asker, way: _Way, changed_call: policy.Call, ruling: Ruling) -> Ruling:
        """Return the ruling on the call that a person has made of the agent's: what is denied, no answer allows."""
        if way == "protocol":  # a grant for a call that came by the hook
            return replace(ruling, is_allowed=False, why=f"{ruling.why}, which the agent cannot take here")
        verdict = self._decide(asker, changed_call)
        if verdict.decision != "deny":
            return ruling
        return replace(ruling, is_allowed=False, why=f"{ruling.why}, but {verdict.why}")

    async def _record(self, asker: Asker, call_id: CallId, call: policy.Call, ruling: Ruling) -> Ruling:
        """Return the ruling once it is in the record; a denial if it cannot be recorded, or the turn is over."""
        try:
            await asker.on_ruling(call_id, call, ruling)
        except errors.OpenSkeloError as error:
            return replace(ruling, is_allowed=False, why=error.message)
        return ruling


async def _wait_for(ruling: asyncio.Future[Ruling]) -> Ruling:
    """Return a ruling once it is made; a denial if the turn ends before."""
    try:
        return await asyncio.shield(ruling)
    except asyncio.CancelledError:
        if ruling.cancelled():  # by `close`; else the caller itself is cancelled
            return Ruling(is_allowed=False, why=_NO_TURN)
        raise


def ask_human_tool(permissions: SessionPermissions) -> toolbox.Tool:
    """Return the tool `ask_human`, with which an agent asks a person in the middle of its work."""

    async def ask(arguments: JsonObject) -> Json:
        question = str(arguments["question"])
        answer: dict[str, Json] = {"type": "string", "title": question[:200]}
        if isinstance(arguments.get("options"), list):
            answer["enum"] = arguments["options"]
        form: JsonObject = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
        form_answer = await permissions.ask_form(question, form)
        if form_answer.values is not None:
            return form_answer.values["answer"]
        reason_text = f", and says why: {form_answer.reason}\n" if form_answer.reason else ". "
        return f"The person gives no answer{reason_text}Decide yourself, or end."

    return toolbox.Tool(
        name="ask_human",
        description="Ask a person a question, and wait for the answer. Ask only what you cannot find out yourself.",
        schema={
            "type": "object",
            "properties": {
                "question": {"type": "string", "minLength": 1, "maxLength": 4000},
                "options": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 20},
            },
            "required": ["question"],
            "additionalProperties": False,
        },
        call=ask,
    )


def _edit_diff(call: policy.Call, folder: Path) -> str:
    """Return what an edit would change, as a diff, if its arguments say so; empty otherwise."""
    arguments = call.arguments or {}
    if call.kind != "edit" or len(call.paths) != 1:
        return ""
    (path,) = call.paths
    if "content" in arguments:
        return _diff(path, _read(folder / path), arguments["content"])
    if "old_string" in arguments:
        return _diff(path, arguments["old_string"], arguments.get("new_string"))
    return ""


def _read(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size <= _MAX_FILE_BYTES:
            return path.read_text("utf-8", "replace")
    except OSError:
        pass
    return ""


def _diff(path: str, old: Json, new: Json) -> str:
    lines = difflib.unified_diff(
        str(old or "").splitlines(), str(new or "").splitlines(), f"a/{path}", f"b/{path}", lineterm=""
    )
    text = "\n".join(lines)
    if len(text) <= _MAX_DIFF_CHARACTERS:
        return text
    return f"{text[:_MAX_DIFF_CHARACTERS]}\n… (shortened)"

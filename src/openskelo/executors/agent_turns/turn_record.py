"""The record of an agent's turns: each call as facts, the lines of the protocol and stderr as artifacts, and the diff.

What an agent calls its calls is only data: it may use an id twice. So a call gets a name of its own in the record, from
which our id of it is derived, and a call of a later turn is another call.
"""

from __future__ import annotations

import asyncio

from openskelo import agent_settings, errors
from openskelo.agents import sessions
from openskelo.agents.acp import acp_client, transcript
from openskelo.agents.permissions import policy, rulings
from openskelo.agents.server import toolbox
from openskelo.agents.workspace import workspace
from openskelo.executors.attempt import running_attempt
from openskelo.kernel import commands, ids
from openskelo.kernel.json import Json, JsonObject

TRANSCRIPT_FILE, STDERR_FILE = "transcript.jsonl", "stderr.log"
#: The diff of a turn that has ended well, and of one that has not.
DIFF_FILE, PARTIAL_DIFF_FILE = "diff.patch", "diff.partial.patch"
#: The diff of the attempt before, which was cut: the next attempt finds it in the workspace.
CUT_DIFF_FILE = "diff.cut.patch"
#: How many files the event of a diff names; its summary counts all of them.
_MAX_FILES = 1000
#: Kinds of calls that read, or whose effect is in the workspace, wherever the program can reach.
_LOCAL_KINDS = frozenset({"read", "edit", "delete", "move", "search", "think", "fetch", "switch_mode"})
#: The result of a call of whose end the agent has said nothing.
_UNTOLD = "the agent did not say how it ended"


class TurnRecord:
    """The calls of one attempt, over all of its turns, and what the attempt leaves of each turn."""

    def __init__(
        self,
        attempt: running_attempt.RunningAttempt,
        agent: agent_settings.AgentSettings,
        session: sessions.Session,
        hidden: tuple[str, ...],
    ) -> None:
        self._attempt = attempt
        self._session = session
        self._hidden = hidden
        self._max_calls = agent.max_calls
        # A program without a sandbox reaches everything.
        self._reaches_hosts = session.sandbox.kind == "none" or isinstance(agent.network, tuple)
        self._turn = acp_client.Turn()
        self._stderr_before = 0
        self._started: set[str] = set()
        self._ended: set[str] = set()
        #: The calls of the turns before this one.
        self._earlier: frozenset[str] = frozenset()
        #: The last call of this turn with each of the agent's own ids.
        self._latest: dict[str, str] = {}

    def begin_turn(self, turn: acp_client.Turn) -> None:
        """Take calls and messages of this turn from now on."""
        self._turn = turn
        self._earlier = frozenset(self._started)
        self._latest.clear()
        self._stderr_before = self._session.process.stderr_size()

    # -- calls --------------------------------------------------------------------------------------------------------

    def call_id(self, name: str) -> str:
        """Return our id of a call."""
        request = self._attempt.request
        return ids.derive(request.run_id, f"{request.idempotency_key}/{request.attempt}/{name}")

    def note_call(self, call: acp_client.ToolCall) -> None:
        """Record what the agent has told of a call: its start and its end, each once. Too many calls stop the turn."""
        self._count_calls(len(self._turn.calls))
        if call.status == "pending":
            return  # it may still be asked about
        name = self._name(call.id)
        if name not in self._started:
            self._record_start(name, call.tool_name or call.title or call.kind, call.kind, call.arguments, None)
        if call.is_over and name not in self._ended:
            self._record_end(name, call, is_completed=call.status == "completed", output=call.output)

    async def note_ruling(self, call_id: rulings.CallId, call: policy.Call, ruling: rulings.Ruling) -> None:
        """Record, durably, how a call was ruled on; one that was denied is over. Too many calls stop the turn."""
        name = str(call_id)
        self._latest[call_id.agent_id] = name
        turn_call = self._turn.calls.get(call_id.agent_id)
        if turn_call is not None:  # the wait for a person does not count to the call
            turn_call.started = asyncio.get_running_loop().time()
        arguments = call.arguments if ruling.arguments is None else ruling.arguments
        if name in self._started:  # the agent has told of the call before it asked
            ruled = commands.RuledCall(call_id=self.call_id(name), gate=_gate(ruling), args={"value": arguments})
            self._attempt.record(ruled)
        else:
            self._record_start(name, call.tool, call.kind, arguments, ruling)
            self._count_calls(len(self._started) - len(self._earlier))
        if not ruling.is_allowed and name not in self._ended:
            self._record_end(name, None, is_completed=False, output=ruling.why)
        if self._attempt.recorder is not None:
            await self._attempt.recorder.make_durable()

    def end_calls(self) -> None:
        """Record as failed each call of this turn whose end the agent has not reported."""
        for name in sorted(self._started - self._ended):
            call = next(
                (call for agent_id, call in self._turn.calls.items() if self._latest.get(agent_id) == name), None
            )
            self._record_end(name, call, is_completed=False, output=_UNTOLD)

    def _count_calls(self, count: int) -> None:
        """Stop the turn if the agent has made too many calls."""
        if count > self._max_calls:
            self._turn.stop(
                errors.AttemptFailed(
                    f"the agent made more than {self._max_calls} calls",
                    code="AGENT_CALLS",
                    hint="raise `max_calls`, or give it a smaller task",
                    retryable=False,
                )
            )

    def _name(self, agent_id: str) -> str:
        """Return what a call is called in the record; an id of an earlier turn is another call in this one."""
        name = self._latest.get(agent_id)
        if name is None:
            name = agent_id if agent_id not in self._earlier else f"{agent_id}@{len(self._earlier)}"
            self._latest[agent_id] = name
        return name

    def _record_start(self, name: str, tool: str, kind: str, arguments: Json, ruling: rulings.Ruling | None) -> None:
        """Record that the agent has made a call, and how it was ruled on, if it asked."""
        self._started.add(name)
        info: dict[str, Json] = {
            "id": self.call_id(name),
            "agentCallId": name,
            "tool": tool,
            "kind": kind,
        }
        if ruling is not None:
            info["gate"] = _gate(ruling)
        self._attempt.record(
            commands.StartedCall(
                info=info, args={"value": arguments}, reaches_outside=self._reaches_outside(tool, kind)
            )
        )

    def _reaches_outside(self, tool: str, kind: str) -> bool:
        """True if a call may have an effect that is not in the workspace: a command that can reach other hosts, say."""
        is_own = tool.startswith((f"mcp__{toolbox.SERVER_NAME}__", f"mcp_{toolbox.SERVER_NAME}_"))
        return self._reaches_hosts and kind not in _LOCAL_KINDS and not is_own

    def _record_end(self, name: str, call: acp_client.ToolCall | None, *, is_completed: bool, output: str) -> None:
        """Record that a call is over, with its result."""
        self._ended.add(name)
        ended = asyncio.get_running_loop().time() if call is None or not call.ended else call.ended
        self._attempt.record(
            commands.EndedCall(
                call_id=self.call_id(name),
                status="completed" if is_completed else "failed",
                duration_ms=0 if call is None else max(0, int((ended - call.started) * 1000)),
                result={"value": output},
                exit_code=None if call is None else call.exit_code,
            )
        )

    # -- files --------------------------------------------------------------------------------------------------------

    def keep_turn(self) -> None:
        """Add the transcript of the turn, and what the program wrote to stderr in it, to the attempt.

        What was added by an earlier call is not added again.
        """
        self._attempt.lines += self._session.take_denied()
        if self._turn.left_out_characters:
            self._attempt.lines.append(f"{self._turn.left_out_characters} characters of what it said were left out")
            self._turn.left_out_characters = 0
        lines = transcript.mask_pieces(self._session.client.take_transcript(), self._hidden)
        self._append("transcript", TRANSCRIPT_FILE, lines, "application/jsonl")
        complaints = self._session.process.read_stderr(self._stderr_before)
        if complaints:
            self._stderr_before = self._session.process.trim_stderr()
            self._append("log", STDERR_FILE, complaints, "text/plain")

    def _append(self, kind: str, name: str, text: str, media_type: str) -> None:
        """Add to a file of the attempt, which has what the turns before this one have left."""
        files = self._attempt.files
        earlier = files[name].text if name in files else ""
        files[name] = running_attempt.File(kind=kind, name=name, text=earlier + text, media_type=media_type)


def diff_file(name: str, diff: workspace.Diff) -> running_attempt.File:
    """Return a diff as an artifact."""
    metadata: JsonObject = {
        "filesChanged": list(diff.files[:_MAX_FILES]),
        "summary": diff.summary,
        "insertions": diff.insertions,
        "deletions": diff.deletions,
    }
    return running_attempt.File(kind="diff", name=name, text=diff.patch, media_type="text/x-diff", metadata=metadata)


def _gate(ruling: rulings.Ruling) -> JsonObject:
    """Return a ruling as the record has it."""
    decision = "allow" if ruling.is_allowed else "deny"
    return {"decision": decision, "why": ruling.why, "asked": ruling.was_asked}

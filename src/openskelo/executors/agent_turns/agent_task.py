"""One attempt of an agent: its workspace and its session are opened, it takes its turns, and its changes are kept.

open the workspace ── snapshot ──> session (new, idle, or resumed) ──> turns ──> result, snapshot, diff
"""

from __future__ import annotations

import asyncio
import functools
from typing import cast

from openskelo import agent_settings, errors
from openskelo.agents import profiles, sessions
from openskelo.agents.server import toolbox
from openskelo.agents.workspace import create_workspace, workspace
from openskelo.executors import api
from openskelo.executors.agent_turns import artifact_tool, conversation, talk, turn_record
from openskelo.executors.ai import prompt
from openskelo.executors.attempt import running_attempt, turn_meter
from openskelo.handlers import secrets
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.programs import time_limit
from openskelo.structs import mutable
from openskelo.values import canonical

_MAX_SUMMARY = 2000
#: How long the diff of a turn that fails or is stopped may take: while a run is cancelled, other runs wait for it.
_PARTIAL_DIFF_SECONDS = 10.0
#: What a failure says before the end of the program's stderr, and how much of it that is.
_LAST_WORDS = "its last words:"
_MAX_LAST_WORDS = 500


@mutable
class AgentTask:
    """One attempt of an agent node."""

    node: definition.Node
    agent: agent_settings.AgentSettings
    talk: talk.Talk
    services: api.Services
    attempt: running_attempt.RunningAttempt
    #: The values of secrets.
    hidden: tuple[str, ...] = ()
    #: Set once the session is open.
    conversation: conversation.Conversation | None = None
    #: The snapshot with which the attempt began, once it is known.
    before: str | None = None
    #: The last snapshot, from which a diff was made.
    after: str | None = None

    async def perform(self) -> JsonObject:
        """Return the outputs of the node."""
        request = self.attempt.request
        async with self.services.agents().lock((request.run_id, request.node.key)):
            return await self._perform()

    async def _perform(self) -> JsonObject:
        request, attempt = self.attempt.request, self.attempt
        meter = turn_meter.TurnMeter(attempt, self.agent, self.services.on_status)
        attempt.steer = self._steer
        place = await self._open_workspace()
        attempt.folder = place.folder
        self.before = await place.snapshot()
        place.mark_base(self.before)
        attempt.keep_partial = functools.partial(self._keep_partial, place)
        session_request = sessions.SessionRequest(
            agent=self.agent,
            place=place,
            result=sessions.ResultTool(self.talk.schema),
            resume=self._earlier_session(),
            has_answered=(request.session or {}).get("answered") is not None,
            is_planning=request.is_planning,
            tools=self._tools(),
        )
        try:
            async with self.services.agents().use((request.run_id, request.node.key), session_request) as session:
                self.before = await self._settle_crash(session, place, self.before)
                self._note_session(session, place, self.before)
                self.conversation = conversation.Conversation(
                    attempt, self.agent, self.services, place, session, self.hidden
                )
                timeout_ms = min(self.node.timeout_ms or self.agent.wall_ms, self.agent.wall_ms)
                turns = self.conversation.hold(self.talk, meter)
                result = await time_limit.within(timeout_ms, turns, attempt.usage.idle)
                _check_there(place)  # a program in a folder that is gone cannot take another turn
        except errors.AttemptFailed as error:
            self._add_last_words(error)
            await self._keep_partial(place)
            self._note_evidence(meter)
            raise
        attempt.files[turn_record.DIFF_FILE] = await self._diff_file(place, turn_record.DIFF_FILE, self.before)
        self._note_evidence(meter)
        whole = await place.diff(place.mark_base(self.before), await place.snapshot())
        attempt.diff_hash = canonical.digest_bytes(whole.patch.encode("utf-8", "surrogateescape"))
        return self._outputs(result, self.conversation.quote(_MAX_SUMMARY), whole)

    def _tools(self) -> tuple[toolbox.Tool, ...]:
        index = self.services.artifacts
        return () if index is None else (artifact_tool.read_artifact_tool(index, self.attempt.request.run_id),)

    async def _steer(self, text: str) -> None:
        """Give the agent a word of a person during its turn, or with the next prompt if it does not take it."""
        if self.conversation is None or not await self.conversation.steer(text):
            self.attempt.unheard.append(text)

    async def _open_workspace(self) -> workspace.Workspace:
        """Return the workspace; from now on the agent's secrets are masked in all that the attempt leaves."""
        request, declared_secrets = self.attempt.request, self.services.project.secrets
        notes = create_workspace.WorkspaceNotes(lines=self.attempt.lines)
        try:
            place = await create_workspace.open_workspace(
                self.services.project, self.agent.workspace, request.run_id, request.node.key, notes
            )
            if notes.was_gone:  # an open session is in the folder that is gone
                await self.services.agents().forget(request.run_id)
            return place
        finally:
            references = (*self.agent.env.values(), self.agent.api_key or "")
            hidden_values = notes.secret_values | secrets.referenced_values(references, declared_secrets)
            self.attempt.secret_values = secrets.spellings(hidden_values)
            self.hidden = tuple(
                sorted((*secrets.values(declared_secrets), *self.attempt.secret_values), key=len, reverse=True)
            )

    # -- the session --------------------------------------------------------------------------------------------------

    def _earlier_session(self) -> str | None:
        """Return the id of the conversation that an earlier attempt had with the same agent."""
        earlier = self.attempt.request.session or {}
        if earlier.get("agent") == self.agent.name:
            return str(earlier["sessionId"])
        return None

    async def _settle_crash(self, session: sessions.Session, place: workspace.Workspace, before: str) -> str:
        """Return the snapshot to begin with, after a crash in the last attempt.

        An agent that knows what it did keeps its changes; one that does not begins with the files as they were before
        that attempt, unless `on_crash` says otherwise.
        """
        request = self.attempt.request
        earlier = request.session
        was_cut = talk.is_cut(self.attempt) and request.feedback is None
        keeps = self.agent.on_crash == "keep" or (self.agent.on_crash is None and session.is_continued)
        if earlier is None or not was_cut:
            return before
        tree = str(earlier["tree"])
        if tree != before:  # the last attempt could not keep it, if its process was killed
            self.attempt.files[turn_record.CUT_DIFF_FILE] = turn_record.diff_file(
                turn_record.CUT_DIFF_FILE, await place.diff(tree, before)
            )
        if keeps:
            return before
        await place.restore(tree)
        self.attempt.lines.append("the last attempt was cut: the workspace is as it was before that")
        return tree

    def _note_session(self, session: sessions.Session, place: workspace.Workspace, tree: str) -> None:
        """Put the conversation into the record, so that a later attempt can continue it."""
        info = session.client.info
        if self._earlier_session() is not None and not session.is_continued:
            self.attempt.lines.append(
                "the agent does not know its session any more: it gets the whole prompt, with the history"
            )
        if session.obeyed_settings:
            self.attempt.lines.append(
                f"warning: the program may obey settings of the repository, which can run commands and allow calls: "
                f"{', '.join(session.obeyed_settings)}; the sandbox bubblewrap hides them"
            )
        self.attempt.record(
            {
                "sessionId": session.id,
                "agent": self.agent.name,
                "provider": self.agent.provider,
                "program": "" if info is None else info.name,
                "version": "" if info is None else info.version,
                "continued": session.is_continued,
                "visit": self.attempt.request.visit,
                "attempt": self.attempt.request.attempt,
                "base": place.origin.base or None,
                "tree": tree,
                "sandbox": session.sandbox.as_json(),
                "obeyedSettings": list(session.obeyed_settings),
                "permissions": self.agent.permissions,
                "steering": info is not None and info.can_steer,
                "gate": "hook" if profiles.PROFILES[self.agent.provider].has_hook else "protocol",
            }
        )

    # -- results ------------------------------------------------------------------------------------------------------

    def _add_last_words(self, failure: errors.AttemptFailed) -> None:
        """Add what the program has last written to stderr to a failure of its own, if it does not have it yet."""
        stderr_file = self.attempt.files.get(turn_record.STDERR_FILE)
        if stderr_file is None or not failure.code.startswith("AGENT_") or _LAST_WORDS in failure.message:
            return
        words = secrets.mask(stderr_file.text.strip(), self.hidden)[-_MAX_LAST_WORDS:]
        failure.message = f"{failure.message}; {_LAST_WORDS} {words}"
        failure.args = (failure.message,)

    async def _keep_partial(self, place: workspace.Workspace) -> None:
        """Keep what there is of a turn that fails or is stopped: its messages, its text, and the diff so far.

        Without a diff the turn has still ended for its own reason.
        """
        if self.conversation is not None:
            self.conversation.keep_partial()
        if self.before is None:
            return
        name = turn_record.PARTIAL_DIFF_FILE
        try:
            async with asyncio.timeout(_PARTIAL_DIFF_SECONDS):
                self.attempt.files[name] = await self._diff_file(place, name, self.before)
        except (errors.AttemptFailed, OSError) as error:  # a TimeoutError is an OSError
            reason = str(error) or f"it takes more than {_PARTIAL_DIFF_SECONDS:g} seconds"
            self.attempt.lines.append(f"the diff of the turn could not be made: {reason}")

    async def _diff_file(self, place: workspace.Workspace, name: str, before: str) -> running_attempt.File:
        self.after = await place.snapshot()
        return turn_record.diff_file(name, await place.diff(before, self.after))

    def _note_evidence(self, meter: turn_meter.TurnMeter) -> None:
        """Note what the receipt says of the attempt beside its session, as far as it is known."""
        evidence: dict[str, Json] = {
            "prompt_hash": running_attempt.recorded_hash(self.attempt, prompt.SENT_FILE),
            "tree_after": self.after,
            "reported": meter.reported(),
        }
        self.attempt.evidence = {key: value for key, value in evidence.items() if value is not None}

    def _outputs(self, result: JsonObject, said: str, diff: workspace.Diff) -> JsonObject:
        derived_outputs: JsonObject = {
            "diff": diff.patch,
            "files_changed": list(diff.files),
            "summary": said or diff.summary,
        }
        port_names = {port.name for port in self.node.outputs}
        outputs = {
            **{name: value for name, value in derived_outputs.items() if name in port_names},
            **{name: value for name, value in result.items() if name in port_names},
        }
        return cast("JsonObject", secrets.mask_json(outputs, self.attempt.secret_values))


def _check_there(place: workspace.Workspace) -> None:
    if place.is_gone:
        raise errors.AttemptFailed(
            "the files of the workspace were gone after the turn",
            code="WORKSPACE_GONE",
            hint="the next attempt begins with the files of the last snapshot",
        )

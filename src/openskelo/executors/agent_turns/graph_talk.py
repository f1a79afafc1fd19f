"""A turn of an agent in a live graph: it is told what has come into its inbox, and what it says is the result.

The agent remembers its conversation, so the prompt is complete only where it cannot: in the first turn, after a reset,
after another agent had the node, and if its session is lost. Otherwise it is told what is new, and nothing else.
"""

from __future__ import annotations

from openskelo import agent_settings
from openskelo.agents import sessions
from openskelo.agents.workspace import workspace
from openskelo.executors import api
from openskelo.executors.agent_turns import agent_task, talk
from openskelo.executors.ai import prompt, turn_prompt
from openskelo.executors.attempt import running_attempt
from openskelo.executors.kinds import agent
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.project import Project

#: What an agent is told about its turns.
_AGENT_MODE = (
    "Your current folder is a workspace of your own: change files there and nowhere else. You work in turns. What you "
    "say in a turn is your answer: people read it, and it is handed to the nodes after you, so say what you did, what "
    "you checked and what is open. If you have the tool `complete` of the MCP server `skelo`, you can end a turn with "
    "it: its `message` is then your answer, and it can say more for programs."
)
_WITHHELD = {
    "code": "You may not change code.",
    "docs": "You may not change documents.",
    "commands": "You may not run commands.",
}
_CUT = "Your last turn was stopped before its end. It was about this, and what has come since:"
_NO_WORDS = "(done, without a word)"


def prepare(node: definition.Node, services: api.Services, schema: JsonObject) -> api.Work:
    """Return the work of an agent that goes on with its conversation, in the node's own workspace."""
    settings = agent.settings_of(node)
    turn_talk = _TurnTalk(node, settings, talk.result_schema(schema), services.project)

    async def work(attempt: running_attempt.RunningAttempt) -> object:
        task = agent_task.AgentTask(node=node, agent=settings, talk=turn_talk, services=services, attempt=attempt)
        return await task.perform()

    return work


class _TurnTalk:
    """A turn of an agent: it is told what has come into the inbox, and what it says is the result."""

    max_turns = 1

    def __init__(
        self, node: definition.Node, settings: agent_settings.AgentSettings, schema: JsonObject, project: Project
    ) -> None:
        self.schema = schema
        self._node = node
        self._agent = settings
        self._project = project
        limits = "\n".join(_WITHHELD[word] for word in settings.withheld)
        tool = f"The tool takes {prompt.summarize(schema)}"
        self._template = prompt.PromptTemplate(node, schema, turn_prompt.join(_AGENT_MODE, limits, tool))

    async def write(
        self, attempt: running_attempt.RunningAttempt, session: sessions.Session, place: workspace.Workspace
    ) -> talk.Words:
        role = turn_prompt.read_role(self._project, self._node)
        earlier = turn_prompt.earlier_turns(attempt)
        inbox = turn_prompt.inbox_text(attempt.inputs)
        files: tuple[running_attempt.File, ...] = ()
        before = turn_prompt.history(earlier)
        if earlier and not session.knows_task and self._has_other_agent(attempt):
            base = place.mark_base(await place.snapshot())
            pack = turn_prompt.context_pack(attempt, self._agent.name, await place.diff(base, await place.snapshot()))
            files, before = (pack,), turn_prompt.handed_over(pack)
        blocks = prompt.assemble(
            role=turn_prompt.join(
                "" if role is None else role.text,
                self._template.write_role(attempt),
                talk.repository_guides(place.folder),
            ),
            mode=self._template.mode,
            task=turn_prompt.join(before, inbox),
            feedback=attempt.request.feedback,
            system=turn_prompt.SYSTEM,
        ).blocks
        return talk.Words(
            blocks=blocks,
            news=self._news(attempt, inbox, blocks["override"]),
            metadata=None if role is None else role.metadata(),
            files=files,
        )

    def _has_other_agent(self, attempt: running_attempt.RunningAttempt) -> bool:
        """True if another agent has taken the turns before."""
        last = attempt.request.session or {}
        return bool(last) and (last.get("agent"), last.get("provider")) != (self._agent.name, self._agent.provider)

    def _news(self, attempt: running_attempt.RunningAttempt, inbox: str, override: str) -> str:
        """Return what is new to an agent that remembers its conversation."""
        if override:
            return override
        return turn_prompt.join(_CUT, inbox) if talk.is_cut(attempt) else inbox

    def find_result(self, handed_in: JsonObject | None, said: str, *, is_last: bool) -> JsonObject | None:
        if handed_in is not None:
            return handed_in
        if is_last:
            return {"message": said or _NO_WORDS}
        return None  # something is to be told to the agent first, such as the reason of a denial

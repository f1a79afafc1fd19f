"""The questions of an attempt to a person: about calls that the policy asks about, and the agent's own.

This is the attempt as the permissions of its session see it (`rulings.Asker`). The program waits for the answer, and
its turn does not time out meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from openskelo import errors
from openskelo.agents.acp import acp_client
from openskelo.agents.permissions import policy, rulings
from openskelo.agents.workspace import workspace
from openskelo.executors.agent_turns import turn_record
from openskelo.executors.attempt import running_attempt
from openskelo.handlers import secrets
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

#: How much of a command or a path a question shows in its first line.
_MAX_PROMPT = 300


class CallQuestions:
    """Puts the questions of one attempt to persons, and remembers what they allow for longer than once."""

    def __init__(
        self,
        attempt: running_attempt.RunningAttempt,
        agent_name: str,
        place: workspace.Workspace,
        record: turn_record.TurnRecord,
        hidden: Sequence[str],
    ) -> None:
        self._attempt = attempt
        self._agent_name = agent_name
        self._place = place
        self._record = record
        self._hidden = hidden
        self._turn = acp_client.Turn()
        #: The calls that a person has allowed for this turn.
        self._turn_rules: list[JsonObject] = []
        self._run_rules: list[JsonObject] = []
        self._question_count = 0

    def begin_turn(self, turn: acp_client.Turn) -> None:
        """Ask for this turn from now on; what was allowed for the turn before is asked about again."""
        self._turn = turn
        self._turn_rules.clear()

    async def ask_about(self, question: rulings.Question) -> rulings.Ruling:
        """Ask a person about a call, and wait for the answer."""
        call = question.call
        bound_args: JsonObject = {
            "node": self._attempt.request.node.key,
            "tool": call.tool,
            "arguments": call.arguments,
            "tree": question.tree,
        }
        args: dict[str, Json] = {
            "tool": call.tool,
            "kind": call.kind,
            "arguments": call.arguments or {},
            "why": question.why,
            "folder": str(PurePosixPath(self._place.origin.folder, call.folder)),
            "agent": self._agent_name,
        }
        if call.arguments is None:
            args["unreadable"] = True
        if question.diff:
            args["diff"] = question.diff
        has_secret = secrets.mask_json(call.arguments, self._hidden) != call.arguments  # then it is shown masked
        rule = None if has_secret else policy.rule_of(call)
        if rule is not None:
            args["rule"] = rule
        answer = await self._ask(
            running_attempt.CallQuestion(
                call_id=self._record.call_id(str(question.call_id)),
                args=args,
                prompt=_describe_call(self._agent_name, call),
                digest=canonical.digest(bound_args),
                form=_arguments_form(call.arguments)
                if question.can_change and call.arguments and not has_secret
                else {},
            )
        )
        if answer.remember == "turn" and answer.rule is not None:
            self._turn_rules.append(answer.rule)
        if answer.remember == "run" and answer.rule is not None:
            self._run_rules.append(answer.rule)
        reason_text = f": {answer.reason}" if answer.reason else ""
        verb = {"approved": "allowed", "modified": "changed and allowed", "denied": "denied"}[answer.status]
        return rulings.Ruling(
            is_allowed=answer.status != "denied",
            why=f"{answer.by} has {verb} it{reason_text}",
            was_asked=True,
            arguments=answer.arguments,
        )

    async def ask_form(self, prompt: str, schema: JsonObject) -> rulings.FormAnswer:
        """Ask a person the agent's own question, and wait for the answer."""
        self._question_count += 1
        args: JsonObject = {"tool": "ask_human", "question": True, "arguments": {"question": prompt}, "why": "it asks"}
        node = self._attempt.request.node.key
        try:
            answer = await self._ask(
                running_attempt.CallQuestion(
                    call_id=self._record.call_id(f"question/{self._question_count}"),
                    args=args,
                    prompt=f"{self._agent_name} asks: {prompt}",
                    digest=canonical.digest({"node": node, "question": prompt, "form": schema}),
                    form=schema,
                )
            )
        except errors.Refused as refusal:  # the turn is over
            return rulings.FormAnswer(reason=refusal.message)
        if answer.status == "denied":
            return rulings.FormAnswer(reason=answer.reason or "")
        return rulings.FormAnswer(values=answer.arguments)

    async def _ask(self, question: running_attempt.CallQuestion) -> running_attempt.CallAnswer:
        if self._attempt.recorder is None:
            raise errors.Refused("there is no person to ask here", code="APPROVAL_CLOSED")
        self._turn.waits_for_person += 1
        try:
            return await self._attempt.recorder.ask(question)
        finally:
            self._turn.waits_for_person -= 1

    async def tree(self) -> str:
        """Return the id of the workspace's files as they are now."""
        return await self._place.snapshot()

    async def on_ruling(self, call_id: rulings.CallId, call: policy.Call, ruling: rulings.Ruling) -> None:
        """Put a call that was ruled on, durably, into the record."""
        await self._record.note_ruling(call_id, call, ruling)

    def remembered_rules(self) -> tuple[JsonObject, ...]:
        """Return the rules that approvals have made for this turn and this run."""
        return (*self._attempt.request.call_rules, *self._run_rules, *self._turn_rules)

    def spent_usd(self) -> float:
        """Return what the attempt has cost so far, as far as it is known."""
        return self._attempt.usage.total().cost_nanousd / definition.NANO_PER_USD


def _describe_call(agent: str, call: policy.Call) -> str:
    """Return what a person is asked, in one line."""
    if call.command is not None:
        return f"{agent} wants to run: {call.command[:_MAX_PROMPT]}"
    if call.kind == "edit" and call.paths:
        return f"{agent} wants to change {', '.join(call.paths)[:_MAX_PROMPT]}"
    return f"{agent} wants to call {call.tool[:_MAX_PROMPT]}"


def _arguments_form(arguments: JsonObject) -> JsonObject:
    """Return the JSON Schema of changed arguments: the same names, each with a value of the same type."""
    properties: dict[str, Json] = {}
    for name, value in arguments.items():
        properties[name] = {"type": _json_type(value), "default": value}
    return {
        "type": "object",
        "properties": properties,
        "required": list(arguments),
        "additionalProperties": False,
    }


def _json_type(value: Json) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case None:
            return "null"
        case Mapping():
            return "object"
        case _:
            return "array"

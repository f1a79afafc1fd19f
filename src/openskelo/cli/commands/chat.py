"""`skelo chat RUN NODE [MESSAGE]`: talk to a node of a live graph, and follow what it says and does.

With a message the command ends with the turn that reads it. Without one it shows the conversation so far and then takes
messages, one a line, from the terminal or from standard input. Questions of the node's agent are asked in place on a
terminal; elsewhere the command ends with exit code 3 when the node waits for a person.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import cast

import orjson

from openskelo import errors
from openskelo.cli import drive, exit_codes, inputs, json_fields, output, parsing, project_context
from openskelo.engine import api as engine_api
from openskelo.history import listing
from openskelo.kernel import commands
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.project import Project
from openskelo.values import suggestions
from openskelo.wire import wire_ids

#: How much of the arguments of a call is shown in its line.
_MAX_ARGUMENTS = 160
_TURN_ENDED = ("attempt.succeeded", "attempt.failed", "attempt.cancelled", "node.failed", "run.ended")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("node", metavar="NODE", help="the key or the id of the node")
    parser.add_argument("message", metavar="MESSAGE", nargs="?", help="what to say; else one message a line is read")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--interrupt", action="store_true", help="stop the turn under way; the next one reads the message")
    how.add_argument(
        "--steer", action="store_true", help="let the turn under way read it, if the agent can; else queue"
    )
    how.add_argument(
        "--reset", action="store_true", help="begin a new conversation, before the message if there is one"
    )
    how.add_argument("--restart", action="store_true", help="take the turn under way, or the last failed one, again")
    parser.add_argument("--no-wait", action="store_true", help="send the message and do not wait for the answer")
    parser.epilog = "With --json every line is one JSON document: a message, a call, or a question."


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_chat(args, project_context.from_args(args)))


async def _chat(args: argparse.Namespace, where: Project) -> int:
    async with drive.engine_at(where) as engine:
        async with project_context.reading(where) as log:
            run_id = (await listing.find_run(log, args.run_id)).run_id
        node = await _find_node(engine, run_id, args.node)
        chat = _Chat(engine, run_id, node, args)
        with contextlib.suppress(errors.Busy):  # another process drives it
            await engine.resume(run_id, by=project_context.current_user(), only=commands.SUSPENDED)
        with drive.Interrupts() as stop:
            try:
                return await stop.until(chat.talk())
            except drive.Interrupted:
                await engine.suspend(by=project_context.current_user())
                return exit_codes.UNFINISHED


async def _find_node(engine: engine_api.Engine, run_id: str, text: str) -> str:
    """Return the key of a node that is named by its key or its id (NotFound)."""
    keys = (await engine.show(run_id))["nodes"]
    for key in keys:
        if text in (key, wire_ids.node(run_id, key)):
            return key
    near = suggestions.name_like(text, keys)
    hint = f"did you mean {near}?" if near else f"its nodes: {', '.join(keys) or 'none'}"
    raise errors.NotFound(f"run {run_id} has no node {text}", code="NODE_NOT_FOUND", hint=hint)


class _Chat:
    """A conversation with one node. `seq` is the last event that was shown."""

    def __init__(self, engine: engine_api.Engine, run_id: str, node: str, args: argparse.Namespace) -> None:
        self._engine = engine
        self._run_id = run_id
        self._node = node
        self._args = args
        self._graph = engine.graph(run_id)
        self._is_interactive = inputs.is_interactive(as_json=args.json)
        self._lines = inputs.Lines()
        self._by = project_context.current_user()
        self._seq = 0

    async def talk(self) -> int:
        """Say what the arguments say, and return the exit code of the last turn."""
        code = await self._talk()
        if self._engine.is_driving(self._run_id):  # then the nodes after it may still be at work here
            await self._engine.wait(self._run_id)
        return code

    async def _talk(self) -> int:
        args = self._args
        if args.message is not None or args.reset or args.restart:
            self._seq = await drive.last_seq(self._engine, self._run_id)
            if args.reset:
                await self._graph.reset(self._node, by=self._by)
                output.note("the next turn begins a new conversation")
            if args.restart:
                await self._graph.retry(self._node, by=self._by)
                if args.no_wait:
                    return exit_codes.COMPLETED
                return await self._follow_turn()
            if args.message is None:
                return exit_codes.COMPLETED
            return await self._say(args.message)
        await self._show_past()
        code = exit_codes.COMPLETED
        async for line in self._typed():
            if line.strip():
                code = await self._say(line.strip())
        return code

    async def _typed(self) -> AsyncIterator[str]:
        """Yield the lines that the user types, or that stand in standard input."""
        while True:
            try:
                yield await self._lines.ask("> " if self._is_interactive else "")
            except EOFError:
                return

    async def _say(self, text: str) -> int:
        message = await self._graph.send(
            self._node, text, interrupt=self._args.interrupt, steer=self._args.steer, by=self._by
        )
        if message.reset:
            output.note("the next turn begins a new conversation")
            return exit_codes.COMPLETED
        if self._args.steer and not message.steers:
            output.note("queued: no turn is under way whose agent can take a word")
        if self._args.no_wait:
            return exit_codes.COMPLETED
        return await self._follow_turn()

    async def _show_past(self) -> None:
        async for envelope in self._engine.follow(self._run_id, until_end=False):
            await self._show(envelope)

    async def _follow_turn(self) -> int:
        """Show what the node does until it has nothing left to read; return the exit code of its last turn."""
        while True:
            approval_id: str | None = None
            async for envelope in self._engine.follow(self._run_id, after=self._seq):
                await self._show(envelope)
                if envelope["type"] == "run.paused" and await self._is_by_engine(envelope):
                    return exit_codes.UNFINISHED
                if not self._is_about_node(envelope) and envelope["type"] != "run.ended":
                    continue
                data = json_fields.object_at(envelope, "data")
                if envelope["type"] == "approval.requested":
                    approval_id = str(data["approvalId"])
                    break
                if envelope["type"] in _TURN_ENDED and (code := await self._exit_code()) is not None:
                    return code
            if approval_id is None:
                return await self._exit_code() or exit_codes.COMPLETED
            if not await self._answer(approval_id):
                return exit_codes.UNFINISHED

    async def _is_by_engine(self, envelope: JsonObject) -> bool:
        """True if the pause is one because something is missing; say what, and how to go on."""
        data = json_fields.object_at(envelope, "data")
        if data.get("by") != commands.ENGINE:
            return False
        output.note(f"the run is paused: {output.one_line(str(data.get('reason')))}")
        write_command = await drive.command_hint(self._engine, await self._engine.show(self._run_id))
        output.note(f"continue with: {write_command(f'skelo resume {self._run_id}')}")
        return True

    async def _exit_code(self) -> int | None:
        """Return the exit code of the node's last turn, None while it has another one to take."""
        node = (await self._engine.show(self._run_id))["nodes"][self._node]
        if node["status"] in ("running", "blocked") or node["outcome"] is None:
            return None
        if node["outcome"] == "succeeded":
            return exit_codes.COMPLETED
        return exit_codes.FAILED

    async def _answer(self, approval_id: str) -> bool:
        """Ask the user about an approval of the node; False if it stays open."""
        document = await self._engine.show(self._run_id)
        for approval in document["approvals"]:
            if approval["id"] == approval_id:
                if not self._is_interactive:
                    write_command = await drive.command_hint(self._engine, document)
                    output.note(f"the node waits for a person: {write_command(f'skelo approve {approval_id}')}")
                    return False
                return await drive.ask_one(self._engine, self._run_id, self._lines, approval)
        return True  # another person was faster

    # -- what is shown ------------------------------------------------------------------------------------------------

    def _is_about_node(self, envelope: JsonObject) -> bool:
        return json_fields.object_at(envelope, "data").get("node") == self._node

    async def _show(self, envelope: JsonObject) -> None:
        self._seq = int(str(envelope["seq"]))
        if not self._is_about_node(envelope):
            return
        document = await self._document(str(envelope["type"]), json_fields.object_at(envelope, "data"))
        if document is None:
            return
        if self._args.json:
            output.raw_line(orjson.dumps({"seq": self._seq, "at": envelope["ts"], **document}))
        elif words := _words(self._node, document):
            output.say(words)

    async def _document(self, event_type: str, data: JsonObject) -> JsonObject | None:
        """Return what an event says to a reader of the conversation, None if it says nothing."""
        match event_type:
            case "message.received":
                content = await self._load(data["content"])
                return {"type": "message", "role": "user", "by": data["by"], "content": content}
            case "attempt.succeeded":
                outputs = await self._load(data["outputs"])
                reply = outputs.get("message") if isinstance(outputs, dict) else None
                content = reply if isinstance(reply, str) else outputs
                return {"type": "message", "role": "assistant", "status": "final", "content": content}
            case "attempt.cancelled":
                return {
                    "type": "message",
                    "role": "assistant",
                    "status": "interrupted",
                    "content": data.get("said") or "",
                }
            case "attempt.failed" | "node.failed":
                error = json_fields.object_at(data, "error")
                return {"type": "message", "role": "assistant", "status": "failed", "error": error, "content": ""}
            case "session.reset":
                return {"type": "reset", "by": data["by"]}
            case "call.started":
                call = json_fields.object_at(data, "call")
                args = json_fields.object_at(data, "args")
                return {"type": "call", "id": call.get("id"), "tool": call.get("tool"), "arguments": args.get("value")}
            case "call.completed":
                return {"type": "callEnded", "id": data.get("callId"), "status": data.get("status")}
            case "approval.requested":
                return {"type": "question", "id": data["approvalId"], "prompt": data["prompt"]}
            case _:
                return None

    async def _load(self, stored: Json) -> Json:
        return await self._engine.history.load_value(cast("Stored", stored))


def _words(node: str, shown: JsonObject) -> str:
    """Return a document as a line for people; empty for what they do not need."""
    content = output.clean(str(shown.get("content", "")))
    match shown["type"], shown.get("role"), shown.get("status"):
        case "message", "user", _:
            return f"{output.one_line(str(shown['by']))}: {content}"
        case "message", _, "interrupted":
            return f"{node} (interrupted): {content}"
        case "message", _, "failed":
            error = json_fields.object_at(shown, "error")
            return f"{node} failed: {error.get('code')} {output.one_line(str(error.get('message')))}"
        case "message", _, _:
            return f"{node}: {content}"
        case "call", _, _:
            arguments = output.one_line(str(shown.get("arguments") or ""))[:_MAX_ARGUMENTS]
            return f"  calls {output.one_line(str(shown['tool']))} {arguments}".rstrip()
        case "callEnded", _, "failed":
            return "  the call failed"
        case "question", _, _:
            return f"  asks: {output.one_line(str(shown['prompt']))}"
        case "reset", _, _:
            return "  (a new conversation)"
        case _:
            return ""

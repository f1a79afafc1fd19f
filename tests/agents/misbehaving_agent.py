"""The scripted agent with bad manners: `python misbehaving_agent.py [--chatter]`. It knows the lines of `acp_agent` and

@halves TEXT      a message whose line comes in two parts, in the middle of a character
@half-exit        half a line, then it ends                @deep             JSON that is nested too deeply
@flood MEGABYTES  a message of this length, in pieces      @flood-line MB    the same in one line
@flood-calls MB   the output of a call, in pieces          @flood-stderr MB  the same on stderr
@twice            answers the prompt twice                 @repeat-call      two calls with the same id
@repeat-ask       two permissions with the same ids        @bare WORD        a permission that lacks something
@edit JSON        asks to edit; JSON is its path           @name JSON        writes a file; JSON has its name in hex
@wrong-types      updates whose fields have wrong types    @mine             writes into its own settings
@link TARGET      makes a symbolic link `link`             @fork             leaves a process in a session of its own
@no-answer        answers with an id that was not asked    @odd-error           answers with an error of odd form
@hook-as ID TOOL JSON   asks the hook with an id of its choice (`-`: without one)
@ask-as ID COMMAND      asks for permission over the protocol with an id of its choice
@tell-as ID STATUS COMMAND   tells of a call with an id of its choice

With `--chatter` it prints text before the first message.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import acp_agent

OPTIONS = [
    {"optionId": "once", "name": "once", "kind": "allow_once"},
    {"optionId": "no", "name": "no", "kind": "reject_once"},
]
MEGABYTE = 1024 * 1024


class MisbehavingAgent(acp_agent.Agent):
    def prompt(self, number: int, params: dict[str, Any]) -> None:
        text = params["prompt"][0]["text"]
        if "@no-answer" in text:
            acp_agent.send({"id": 987654, "result": {"stopReason": "end_turn"}})
        if "@odd-error" in text:
            for line in acp_agent.current_lines([text]):
                self.play(params["sessionId"], line)
            acp_agent.send({"id": number, "error": "out of order"})
            return
        super().prompt(number, params)
        if "@twice" in text:
            acp_agent.send({"id": number, "result": {"stopReason": "refusal"}})

    def play(self, session: str, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "@halves":
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": rest}}
            message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}
            data = json.dumps(message, ensure_ascii=False).encode() + b"\n"
            middle = data.index("é".encode()) + 1
            write(data[:middle])
            time.sleep(0.2)
            write(data[middle:])
        elif word == "@half-exit":
            write(b'{"jsonrpc": "2.0", "method": "sess')
            sys.exit(4)
        elif word == "@deep":
            write(b'{"jsonrpc": "2.0", "method": "session/update", "params": ' + b"[" * 100_000 + b"\n")
        elif word.startswith("@flood"):
            self.flood(session, word, int(rest))
        elif word == "@repeat-call":
            for status in ("in_progress", "completed", "in_progress", "failed"):
                fields = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "cat", "kind": "read"}
                acp_agent.update(session, {**fields, "status": status})
        elif word == "@repeat-ask":
            for _ in range(2):
                self.permit(
                    session, {"toolCallId": "1", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"}}
                )
        elif word in ("@hook-as", "@ask-as"):
            self.ask_as(session, word, *rest.split(" ", 1))
        elif word == "@tell-as":
            number, status, command = rest.split(" ", 2)
            call = {"toolCallId": number, "title": "Bash", "kind": "execute", "rawInput": {"command": command}}
            acp_agent.update(session, {"sessionUpdate": "tool_call_update", **call, "status": status})
        elif word == "@bare":
            self.permit(session, BARE[rest])
        elif word == "@edit":
            call = {"toolCallId": rest, "title": "edit", "kind": "edit", "rawInput": {"path": json.loads(rest)}}
            self.permit(session, call)
        elif word == "@name":
            Path(os.fsdecode(bytes.fromhex(rest))).write_text("named\n")
        elif word == "@wrong-types":
            for fields in WRONG:
                acp_agent.update(session, fields)
            acp_agent.send({"method": "session/update", "params": {"sessionId": 7, "update": None}})
        elif word == "@mine":
            for settings in Path(os.environ["HOME"]).glob(".*/settings.json"):
                settings.write_text("{}")
            Path(".claude").mkdir(exist_ok=True)
            Path(".claude/settings.json").write_text("{}")
        elif word == "@link":
            Path("link").symlink_to(rest)
        elif word == "@fork":
            command = [sys.executable, "-c", "import time; time.sleep(300)", "misbehaving_agent.py"]
            subprocess.Popen(command, start_new_session=True)
        else:
            super().play(session, line)

    def ask_as(self, session: str, word: str, number: str, rest: str) -> None:
        if word == "@ask-as":
            fields = {"toolCallId": number, "title": rest, "kind": "execute", "rawInput": {"command": rest}}
            self.permit(session, {**fields, "_meta": {"toolName": "Bash"}})
            return
        tool, arguments = rest.split(" ", 1)
        answer = acp_agent.ask_hook(tool, json.loads(arguments), None if number == "-" else number)
        changed = f" {json.dumps(answer['updatedInput'])}" if "updatedInput" in answer else ""
        acp_agent.say(session, f"[{answer['permissionDecision']}{changed}]")

    def flood(self, session: str, word: str, megabytes: int) -> None:
        if word == "@flood":
            for _ in range(megabytes):
                acp_agent.say(session, "x" * MEGABYTE)
        elif word == "@flood-line":
            acp_agent.say(session, "x" * MEGABYTE * megabytes)
        elif word == "@flood-calls":
            fields = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "cat", "kind": "read"}
            acp_agent.update(session, {**fields, "status": "in_progress"})
            for _ in range(megabytes):
                content = [{"type": "content", "content": {"type": "text", "text": "x" * MEGABYTE}}]
                acp_agent.update(session, {"sessionUpdate": "tool_call_update", "toolCallId": "1", "content": content})
            acp_agent.update(session, {"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"})
        elif word == "@flood-stderr":
            for _ in range(megabytes):
                sys.stderr.write("x" * MEGABYTE)

    def permit(self, session: str, call: Any) -> None:
        params = {"sessionId": session, "options": OPTIONS} if call is None else {"toolCall": call, "options": OPTIONS}
        acp_agent.send(
            {"id": "mine", "method": "session/request_permission", "params": {"sessionId": session, **params}}
        )
        answer = self.answer("mine")
        outcome = answer.get("result", {}).get("outcome", {})
        acp_agent.say(session, f"[{outcome.get('optionId', outcome.get('outcome'))}]")


BARE: dict[str, Any] = {
    "call": None,
    "arguments": {"toolCallId": "1", "title": "rm -rf /", "kind": "execute"},
    "id": {"title": "rm -rf /", "kind": "execute", "rawInput": {"command": "rm"}},
    "types": {"toolCallId": 7, "title": ["x"], "kind": {}, "rawInput": "rm", "locations": "x", "content": 3},
}
WRONG: list[dict[str, Any]] = [
    {},
    {"sessionUpdate": None},
    {"sessionUpdate": "agent_message_chunk"},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "AAAA"}},
    {"sessionUpdate": "tool_call", "toolCallId": None, "status": {"x": 1}, "content": {"a": 1}, "locations": [3]},
    {"sessionUpdate": "tool_call", "toolCallId": "n", "rawInput": 1e400, "status": "completed"},
    {"sessionUpdate": "tool_call_update", "toolCallId": "never seen", "status": "completed", "rawOutput": 7},
    {"sessionUpdate": "plan", "entries": "none"},
    {"sessionUpdate": "usage_update", "cost": {"amount": "much", "currency": "USD"}},
    {"sessionUpdate": "usage_update", "cost": {"amount": -1, "currency": "USD"}},
]


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    if "--chatter" in sys.argv:
        write("Welcome!\n{\n\n> npm warn é\n".encode() + b"\xff\xfe{}\n")
    MisbehavingAgent().run()

"""A program that speaks ACP and does what the lines of its prompt say. Run it with `python acp_agent.py`.

@say TEXT         a piece of its message            @json JSON        its message is this JSON
@write PATH TEXT  an edit, as a tool call           @delete PATH      a deletion, as a tool call
@ask TITLE        asks for permission first         @garbage          a line that is no JSON-RPC
@exit CODE        ends at once                      @hang             never answers
@calls N          makes N calls                     @late             an update after the end of the turn
@env PATH         writes its environment there      @cost USD         tells what the session has cost so far
@hook TOOL JSON   asks the hook in its settings     @question TEXT    asks a person a question of its own
@hooks N TOOL JSON    asks it N times, and says how long an answer took (median) and what was decided
@model PROMPT     asks its model, and says the status @error TEXT       fails the turn; so does a 402 of the model
@connect HOST:PORT    asks its proxy for a connection, and says how the proxy answers
@unknown          an update and a request of kinds that no client knows
@wait             works until it is cancelled, or steered (then it says the word); with --steering it can be
@complain TEXT    writes to stderr                  @run COMMAND      runs a command, as a tool call with output;
@think TEXT       a piece of its thoughts           @plan TEXT        a plan with one entry
                  with --asks it asks for permission first
@slow SECONDS     talks slowly                      @long CHARACTERS  a long message
@tool NAME JSON   calls a tool of an MCP server     @tell-tool NAME JSON  the same, and says what it returns
@form SCHEMA      asks a person to fill this form
@next             what follows answers the next prompt of the session, also if that has these lines again
@instead          what stands before it in the prompt is not played

%NAME% in a line stands for a variable of its environment.

It calls tools of MCP servers over HTTP with `--tools`, else by the pipes of a program that it starts. Its sessions are
files in its home folder: another process can continue them.
With `--loads` a session is continued by `session/load`, which repeats its updates.
With `--misses-first` the first prompt of all does not reach it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

#: Played at each prompt in the place of its own lines; a copy of this program may have some.
LINES: list[str] = []
SLOW_TEXT = "one two three four five six seven eight nine done"
#: The form of a question.
COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


class TurnFailed(Exception):
    """The turn ends with an error."""


class Cancelled(Exception):
    """The client has cancelled the turn."""


class Agent:
    def __init__(self) -> None:
        self.requests = 1000
        self.servers: list[dict[str, Any]] = []
        self.messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def read(self) -> None:
        for line in sys.stdin:
            self.messages.put(json.loads(line))
        self.messages.put(None)

    def run(self) -> None:
        threading.Thread(target=self.read, daemon=True).start()
        while (message := self.messages.get()) is not None:
            if "method" not in message:
                continue
            handler = {
                "initialize": self.initialize,
                "session/new": self.new,
                "session/resume": self.resume,
                "session/load": self.load,
                "session/prompt": self.prompt,
            }.get(message["method"])
            if handler is not None:
                handler(message.get("id", 0), message["params"])
            elif "id" in message:
                send({"id": message["id"], "error": {"code": -32601, "message": "unknown method"}})

    def answer(self, number: Any) -> dict[str, Any]:
        """Return the client's answer to a request; raise Cancelled if it cancels the turn instead."""
        while (message := self.messages.get()) is not None:
            if message.get("method") == "session/cancel":
                raise Cancelled
            if "method" not in message and message.get("id") == number:
                return message
        sys.exit(0)

    def pause(self, seconds: float) -> None:
        """Wait; raise Cancelled if the client cancels the turn meanwhile."""
        with contextlib.suppress(queue.Empty):
            message = self.messages.get(timeout=seconds)
            if message is None:
                sys.exit(0)
            if message.get("method") == "session/cancel":
                raise Cancelled

    def initialize(self, number: int, _params: dict[str, Any]) -> None:
        capabilities: dict[str, Any] = {
            "loadSession": "--loads" in sys.argv,
            "sessionCapabilities": {} if "--loads" in sys.argv else {"resume": {}},
            "mcpCapabilities": {"http": "--tools" in sys.argv},
        }
        about = {"name": "scripted", "version": "1.0"}
        version = int(os.environ.get("AGENT_PROTOCOL", "1"))
        result: dict[str, Any] = {
            "protocolVersion": version,
            "agentCapabilities": capabilities,
            "agentInfo": about,
            "_meta": {"steering": {"supported": "--steering" in sys.argv}},
        }
        send({"id": number, "result": result})

    def new(self, number: int, params: dict[str, Any]) -> None:
        self.servers = params["mcpServers"]
        session = str(uuid.uuid4())
        session_file(session).write_text(json.dumps([]))
        send({"id": number, "result": {"sessionId": session}})

    def resume(self, number: int, params: dict[str, Any]) -> None:
        self.servers = params["mcpServers"]
        if session_file(params["sessionId"]).exists():
            send({"id": number, "result": {}})
        else:
            send({"id": number, "error": {"code": -32000, "message": "no such session"}})

    def load(self, number: int, params: dict[str, Any]) -> None:
        session = params["sessionId"]
        if session_file(session).exists():
            for prompt in json.loads(session_file(session).read_text()):
                update(session, {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": prompt}})
                say(session, "said before")
                call(session, "edit", "write before.txt", {"path": "before.txt"}, lambda: None)
        self.resume(number, params)

    def prompt(self, number: int, params: dict[str, Any]) -> None:
        session, text = params["sessionId"], params["prompt"][0]["text"]
        file = session_file(session)
        missed = file.with_name("missed")
        if "--misses-first" in sys.argv and not missed.exists():
            missed.touch()
            return
        prompts = [*json.loads(file.read_text()), text]
        file.write_text(json.dumps(prompts))
        reason = "end_turn"
        try:
            for line in current_lines(prompts):
                self.play(session, re.sub(r"%(\w+)%", lambda found: os.environ.get(found[1], found[0]), line))
        except TurnFailed as failed:
            send({"id": number, "error": {"code": -32000, "message": str(failed)}})
            return
        except Cancelled:
            reason = "cancelled"
        send({"id": number, "result": {"stopReason": reason, "usage": {"inputTokens": 10, "outputTokens": 5}}})
        if "@late" in text:
            say(session, "too late")

    def play(self, session: str, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word in ("@say", "@json"):
            say(session, rest)
        elif word == "@write":
            path, _, content = rest.partition(" ")
            call(session, "edit", f"write {path}", {"path": path}, lambda: write(path, content))
        elif word in ("@slow", "@long", "@tool", "@tell-tool", "@hooks") or (word == "@run" and "--asks" in sys.argv):
            self.play_as_model(session, word, rest)
        elif word == "@delete":
            call(session, "edit", f"delete {rest}", {"path": rest}, lambda: Path(rest).unlink())
        elif word == "@env":
            Path(rest).write_text("".join(f"{name}={value}\n" for name, value in os.environ.items()))
        elif word == "@connect":
            say(session, f"[{connect(rest)}]")
        elif word == "@cost":
            cost = {"amount": float(rest), "currency": "USD"}
            update(session, {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost})
        elif word == "@model":
            status = ask_model(rest)
            say(session, f"[{status}]")
            if status == 402:
                raise TurnFailed("payment required")
        elif word == "@error":
            raise TurnFailed(rest)
        elif word == "@calls":
            for index in range(int(rest)):
                call(session, "read", f"read {index}", {"index": index}, lambda: None)
        elif word == "@ask":
            self.ask(session, rest)
        elif word == "@hook":
            tool, _, arguments = rest.partition(" ")
            self.hook(session, tool, json.loads(arguments))
        elif word in ("@question", "@form"):
            self.question(session, *((rest, COLOUR) if word == "@question" else ("Which colour?", json.loads(rest))))
        elif word == "@garbage":
            sys.stdout.write("this is not JSON\n[1, 2]\n")
            sys.stdout.flush()
        elif word == "@unknown":
            update(session, {"sessionUpdate": "of_the_future", "value": 1})
            send({"id": "mine-1", "method": "future/request", "params": {}})
            self.answer("mine-1")
        elif word == "@exit":
            sys.stderr.write("the agent gives up\n")
            sys.exit(int(rest))
        elif word == "@hang":
            time.sleep(600)
        elif word == "@wait":
            self.wait(session)
        else:
            tell(session, word, rest)

    def wait(self, session: str) -> None:
        """Work until the client cancels the turn, or gives a word."""
        while (message := self.messages.get()) is not None:
            if message.get("method") == "session/cancel":
                raise Cancelled
            if message.get("method") == "_session/steering":
                send({"id": message["id"], "result": {"outcome": "injected"}})
                say(session, f"[{message['params']['prompt'][0]['text']}]")
                return

    def play_as_model(self, session: str, word: str, rest: str) -> None:
        """Do what a scripted model would let an agent do."""
        if word == "@run" and self.ask(session, rest) == "once":
            subprocess.run(rest, shell=True, check=False, stdout=subprocess.DEVNULL)
        elif word == "@slow":
            for number in SLOW_TEXT.split(" "):
                self.pause(float(rest) / 10)
                say(session, number if number == "done" else f"{number} ")
        elif word == "@long":
            say(session, "x" * int(rest))
        elif word == "@hooks":
            count, tool, arguments = rest.split(" ", 2)
            say(session, json.dumps(time_hooks(int(count), tool, json.loads(arguments))))
        elif word in ("@tool", "@tell-tool"):
            name, _, arguments = rest.partition(" ")
            answer = self.tool(name, json.loads(arguments))
            if word == "@tell-tool":
                say(session, f"[{answer}]")

    def hook(self, session: str, tool: str, arguments: dict[str, Any]) -> None:
        """Ask before a call, as Claude Code does, and say what was answered."""
        number = f"toolu_{uuid.uuid4().hex}"
        fields = {"toolCallId": number, "title": tool, "kind": "execute", "rawInput": arguments}
        update(session, {"sessionUpdate": "tool_call", **fields, "status": "pending"})
        answer = ask_hook(tool, arguments, number)
        changed = f" {json.dumps(answer['updatedInput'])}" if "updatedInput" in answer else ""
        say(session, f"[{answer['permissionDecision']}{changed}: {answer['permissionDecisionReason']}]")
        status = "completed" if answer["permissionDecision"] == "allow" else "failed"
        update(session, {"sessionUpdate": "tool_call_update", "toolCallId": number, "status": status})

    def question(self, session: str, text: str, schema: dict[str, Any]) -> None:
        self.requests += 1
        params = {"sessionId": session, "mode": "form", "message": text, "requestedSchema": schema}
        send({"id": self.requests, "method": "elicitation/create", "params": params})
        answer = self.answer(self.requests)["result"]
        say(session, f"[{answer['action']} {answer.get('content', {}).get('colour')}]")

    def tool(self, name: str, arguments: dict[str, Any]) -> str:
        """Return the answer of a tool of the first MCP server that the client has named."""
        server = self.servers[0]
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        if "command" in server:
            return self.tool_by_pipe(server, body)
        headers = {header["name"]: header["value"] for header in server["headers"]}
        headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        request = urllib.request.Request(server["url"], json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return str(json.load(response)["result"]["content"][0]["text"])

    def tool_by_pipe(self, server: dict[str, Any], body: dict[str, Any]) -> str:
        """Start the server, shake hands, and return the answer to the message."""
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "scripted", "version": "1"},
        }
        messages = [
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            body,
        ]
        environment = {**os.environ, **{entry["name"]: entry["value"] for entry in server["env"]}}
        command = [server["command"], *server["args"]]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, text=True) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            answers: dict[Any, Any] = {}
            for message in messages:
                program.stdin.write(json.dumps(message) + "\n")
                program.stdin.flush()
                if "id" in message:
                    answers[message["id"]] = json.loads(program.stdout.readline())
            program.stdin.close()
        assert "result" in answers[0], answers
        return str(answers[1]["result"]["content"][0]["text"])

    def ask(self, session: str, title: str) -> str | None:
        self.requests += 1
        options = [
            {"optionId": "always", "name": "always", "kind": "allow_always"},
            {"optionId": "once", "name": "once", "kind": "allow_once"},
            {"optionId": "no", "name": "no", "kind": "reject_once"},
        ]
        asked = {"toolCallId": title, "title": title, "kind": "execute", "rawInput": {"command": title}}
        params = {"sessionId": session, "toolCall": asked, "options": options}
        send({"id": self.requests, "method": "session/request_permission", "params": params})
        answer = self.answer(self.requests)["result"]["outcome"]
        say(session, f"[{answer.get('optionId')}]")
        update(session, {"sessionUpdate": "tool_call_update", "toolCallId": title, "status": "completed"})
        return answer.get("optionId")


def ask_hook(tool: str, arguments: Any, number: str | None) -> dict[str, Any]:
    """Return what the hook in the agent's settings answers about a call."""
    settings = json.loads((Path(os.environ["HOME"]) / ".claude" / "settings.json").read_text())
    hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]
    body = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments, "tool_use_id": number}
    headers = {**hook["headers"], "Content-Type": "application/json"}
    request = urllib.request.Request(hook["url"], json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["hookSpecificOutput"]


def time_hooks(count: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what the hook decided about calls, and the median of the milliseconds until it did."""
    decisions: set[str] = set()
    taken: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        decisions.add(ask_hook(tool, arguments, f"toolu_{uuid.uuid4().hex}")["permissionDecision"])
        taken.append((time.perf_counter() - started) * 1000)
    return {"ms": statistics.median(taken), "decisions": sorted(decisions)}


def current_lines(prompts: list[str]) -> list[str]:
    """Return the lines for the last prompt: its own, or the next part of the last prompt that has any.

    A prompt that repeats the lines of an earlier one, because the agent has to go on, is answered by their next part.
    """
    scripts = [own_lines(prompt) for prompt in prompts]
    script = next((lines for lines in reversed(scripts) if lines), scripts[-1])
    parts = "\n".join(script).split("@next")
    since = scripts.index(script) if len(parts) > 1 else len(scripts) - 1 - scripts[::-1].index(script)
    played = len(scripts) - 1 - since
    return parts[played].split("\n") if played < len(parts) else []


def own_lines(prompt: str) -> list[str]:
    """Return the lines of a prompt that are to be played."""
    if LINES:
        return LINES
    lines = [line.strip() for line in prompt.splitlines() if line.strip().startswith("@")]
    return lines[lines.index("@instead") + 1 :] if "@instead" in lines else lines


def call(session: str, kind: str, title: str, arguments: dict[str, Any], act: Any) -> None:
    number = uuid.uuid4().hex
    fields = {"toolCallId": number, "title": title, "kind": kind, "rawInput": arguments}
    update(session, {"sessionUpdate": "tool_call", **fields, "status": "in_progress"})
    act()
    update(session, {"sessionUpdate": "tool_call_update", "toolCallId": number, "status": "completed"})


def ask_model(prompt: str) -> int:
    """Return the status of the model's answer, after all of it has come."""
    body = {
        "model": os.environ.get("OPENAI_MODEL", "m"),
        "stream": True,
        "max_tokens": int(os.environ.get("MAX_TOKENS", "50")),
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"type": "function", "function": {"name": "x"}}],
    }
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        data=json.dumps(body).encode(),
        headers={"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            answer.read()
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def tell(session: str, word: str, rest: str) -> None:
    """Play the lines that only tell something."""
    if word == "@complain":
        sys.stderr.write(f"{rest}\n")
        sys.stderr.flush()
    elif word == "@run":
        run(session, rest)
    elif word == "@think":
        update(session, {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": rest}})
    elif word == "@plan":
        entry = {"content": rest, "status": "in_progress", "priority": "high"}
        update(session, {"sessionUpdate": "plan", "entries": [entry]})


def run(session: str, command: str) -> None:
    number = uuid.uuid4().hex
    fields = {"toolCallId": number, "title": command, "kind": "execute", "rawInput": {"command": command}}
    update(session, {"sessionUpdate": "tool_call", **fields, "status": "in_progress"})
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    content = [{"type": "content", "content": {"type": "text", "text": done.stdout}}]
    status = "completed" if done.returncode == 0 else "failed"
    update(session, {"sessionUpdate": "tool_call_update", "toolCallId": number, "content": content})
    update(session, {"sessionUpdate": "tool_call_update", "toolCallId": number, "status": status})


def write(path: str, content: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(content.replace("\\n", "\n"))


def connect(target: str) -> str:
    proxy = urlsplit(os.environ["HTTPS_PROXY"])
    token = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    with socket.create_connection((proxy.hostname, proxy.port), 10) as connection:
        connection.sendall(f"CONNECT {target} HTTP/1.1\r\nProxy-Authorization: Basic {token}\r\n\r\n".encode())
        return connection.recv(4096).decode().split("\r\n")[0]


def session_file(session: str) -> Path:
    return Path(os.environ["HOME"]) / f"session-{session}.json"


def say(session: str, text: str) -> None:
    update(session, {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})


def update(session: str, fields: dict[str, Any]) -> None:
    send({"method": "session/update", "params": {"sessionId": session, "update": fields}})


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Agent().run()

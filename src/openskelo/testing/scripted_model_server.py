"""A model server that plays a script, in the protocols that coding agents speak. For tests and for trying agents out.

Any agent plays the same script, because the script stands in the prompt and the server sees which tools the agent
offers. Each request is answered with one line of it:

    @say TEXT              the model answers with this text and ends its turn
    @run COMMAND           the model calls the agent's shell tool
    @write PATH TEXT       the model calls the agent's tool that writes a file (`\\n` in TEXT is a line end)
    @tool NAME JSON        the model calls the tool whose name is, or ends with, NAME
    @slow SECONDS          the answer to this request is `SLOW_TEXT`, sent in pieces over this time
    @long CHARACTERS       the answer to this request is a text of this length
    @hang                  the answer never comes
    @fail STATUS           the request fails with this HTTP status
    @next                  the lines after it answer the next prompt of the same conversation

The number of tool results since the last prompt says which line is next; after the last line the model says "done".
Every request is kept in `requests`, so that a test can see what the model was really told. Endpoints: Anthropic
Messages, OpenAI Responses and Chat Completions, Gemini `generateContent` and `streamGenerateContent`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias, cast

from openskelo.structs import frozen, replace

_Object: TypeAlias = Mapping[str, Any]

#: The names under which agents offer a shell and a tool that writes files, and the argument each of them takes.
_SHELLS = {
    "Bash": "command",
    "run_shell_command": "command",
    "bash": "command",
    "shell": "command",
    "exec_command": "cmd",
}
_WRITERS = {"Write": ("file_path", "content"), "write_file": ("file_path", "content"), "write": ("filePath", "content")}
#: What each answer counts as used, unless the server is made with other figures.
TOKENS_IN, TOKENS_OUT = 100, 20
#: What the model says when it talks slowly.
SLOW_TEXT = "one two three four five six seven eight nine done"


@frozen
class Conversation:
    """The content of a request in any protocol: the texts of all prompts, the results since the last one, the tools."""

    prompts: Sequence[str]
    results: int
    tools: Sequence[str]
    #: The prefix that the agents of this protocol put before the names of our own tools, some of which they offer only
    #: after a search.
    tool_prefix: str = "mcp__skelo__"


@frozen
class Say:
    """The model answers with text."""

    text: str
    seconds: float = 0.0
    tokens_in: int = TOKENS_IN
    tokens_out: int = TOKENS_OUT


@frozen
class Call:
    """The model calls a tool."""

    tool: str
    arguments: Mapping[str, Any]
    tokens_in: int = TOKENS_IN
    tokens_out: int = TOKENS_OUT


@frozen
class Fail:
    """The request fails."""

    status: int


@frozen
class Hang:
    """The answer never comes."""


Reply: TypeAlias = Say | Call | Fail | Hang


def reply_to(conversation: Conversation) -> Reply:
    """Return the reply that the script in the conversation has for this request."""
    if not conversation.tools:  # a request of the agent's own: a title, a summary
        return Say(text="scripted")
    lines = _current_lines(conversation.prompts)
    if conversation.results >= len(lines):
        return Say(text="done")
    return _parse(lines[conversation.results], conversation)


def _current_lines(prompts: Sequence[str]) -> list[str]:
    """Return the script lines for the last prompt: its own, or the next part of the last prompt that has any."""
    for since, prompt in enumerate(reversed(prompts)):
        lines = _script_lines(prompt)
        if lines:
            parts: list[list[str]] = [[]]
            for line in lines:
                if line == "@next":
                    parts.append([])
                else:
                    parts[-1].append(line)
            return parts[since] if since < len(parts) else []
    return []


def _script_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("@")]


def _parse(line: str, conversation: Conversation) -> Reply:
    word, _, rest = line.partition(" ")
    tools = conversation.tools
    match word:
        case "@say":
            return Say(text=rest)
        case "@slow":
            return Say(text=SLOW_TEXT, seconds=float(rest or 1))
        case "@long":
            return Say(text=_long_text(int(rest)))
        case "@hang":
            return Hang()
        case "@fail":
            return Fail(status=int(rest))
        case "@run":
            return _shell_call(rest, tools)
        case "@write":
            path, _, text = rest.partition(" ")
            return _write_call(path, text.replace("\\n", "\n"), tools)
        case "@tool":
            name, _, arguments = rest.partition(" ")
            prefixed_name = f"{conversation.tool_prefix}{name}"
            tool_name = next((tool for tool in tools if tool == name or tool.endswith(name)), prefixed_name)
            return Call(tool=tool_name, arguments=json.loads(arguments or "{}"))
        case _:
            return Say(text=f"unknown line of the script: {line}")


def _long_text(characters: int) -> str:
    """Return a text in words of about a thousand characters that do not repeat: agents stop a model that does."""
    words = ("-".join(f"{number:06}" for number in range(start, start + 142)) for start in range(0, 10**6, 142))
    return " ".join(itertools.islice(words, max(1, characters // 994)))[:characters]


def _shell_call(command: str, tools: Sequence[str]) -> Reply:
    for name, argument in _SHELLS.items():
        if name in tools:
            arguments = {argument: command}
            if name in ("Bash", "run_shell_command", "bash"):
                arguments["description"] = "scripted"
            if name == "run_shell_command":
                return Call(tool=name, arguments={**arguments, "is_background": False})
            return Call(tool=name, arguments=arguments)
    return Say(text=f"no shell among {sorted(tools)}")


def _write_call(path: str, text: str, tools: Sequence[str]) -> Reply:
    for name, (path_argument, text_argument) in _WRITERS.items():
        if name in tools:
            return Call(tool=name, arguments={path_argument: path, text_argument: text})
    if "apply_patch" in tools:
        added_lines = "".join(f"+{line}\n" for line in text.splitlines())
        return Call(
            tool="apply_patch",
            arguments={"input": f"*** Begin Patch\n*** Add File: {path}\n{added_lines}*** End Patch"},
        )
    quoted_text = text.replace("'", "'\\''")
    return _shell_call(f"printf '%s' '{quoted_text}' > '{path}'", tools)


# -- the protocols ----------------------------------------------------------------------------------------------------


def _read_anthropic(body: _Object) -> Conversation:
    prompts: list[str] = []
    results = 0
    for message in body.get("messages", ()):
        if message["role"] != "user":
            continue
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        answers = sum(part["type"] == "tool_result" for part in parts)
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        if answers and not _script_lines(text):  # after an interruption, results and the next prompt come together
            results += answers
        else:
            prompts.append(text)
            results = 0
    return Conversation(prompts=prompts, results=results, tools=[tool["name"] for tool in body.get("tools", ())])


def _write_anthropic(reply: Say | Call, body: _Object) -> Iterator[tuple[str, _Object]]:
    usage = {"input_tokens": reply.tokens_in, "output_tokens": 1}
    message: _Object = {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield "message_start", {"type": "message_start", "message": message}
    if isinstance(reply, Say):
        yield "content_block_start", _block({"type": "text", "text": ""})
        for piece in _pieces(reply):
            yield "content_block_delta", _delta({"type": "text_delta", "text": piece})
    else:
        block: _Object = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": reply.tool, "input": {}}
        yield "content_block_start", _block(block)
        yield "content_block_delta", _delta({"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)})
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if isinstance(reply, Say) else "tool_use"
    yield (
        "message_delta",
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": reply.tokens_out},
        },
    )
    yield "message_stop", {"type": "message_stop"}


def _block(block: _Object) -> _Object:
    return {"type": "content_block_start", "index": 0, "content_block": block}


def _delta(delta: _Object) -> _Object:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def _read_responses(body: _Object) -> Conversation:
    prompts: list[str] = []
    results = 0
    for item in body.get("input", ()):
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") == "user":
            prompts.append("\n".join(part.get("text", "") for part in item["content"]))
            results = 0
        elif kind.endswith("_output"):
            results += 1
    tools: list[str] = []
    for tool in body.get("tools", ()):
        inner = tool.get("tools")
        if inner:  # the tools of one MCP server
            tools += [f"{tool['name']}/{part['name']}" for part in inner]
        else:
            tools.append(tool.get("name", tool["type"]))
    return Conversation(prompts=prompts, results=results, tools=tools, tool_prefix="mcp__skelo/")


def _write_responses(reply: Say | Call, body: _Object) -> Iterator[tuple[str, _Object]]:
    response: _Object = {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "model": body.get("model", ""),
        "output": [],
    }
    yield "response.created", {"type": "response.created", "response": {**response, "status": "in_progress"}}
    if isinstance(reply, Say):
        item: _Object = {
            "type": "message",
            "id": f"msg_{uuid.uuid4().hex}",
            "role": "assistant",
            "content": [{"type": "output_text", "text": reply.text}],
        }
        empty_item: _Object = {**item, "content": []}
        yield (
            "response.output_item.added",
            {"type": "response.output_item.added", "output_index": 0, "item": empty_item},
        )
        for piece in _pieces(reply):
            yield (
                "response.output_text.delta",
                {
                    "type": "response.output_text.delta",
                    "item_id": item["id"],
                    "output_index": 0,
                    "content_index": 0,
                    "delta": piece,
                },
            )
    else:
        item = _function_call(reply)
    yield "response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {
        "input_tokens": reply.tokens_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": reply.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.tokens_in + reply.tokens_out,
    }
    final_response = {**response, "status": "completed", "output": [item], "usage": usage}
    yield "response.completed", {"type": "response.completed", "response": final_response}


def _function_call(reply: Call) -> _Object:
    namespace, _, name = reply.tool.rpartition("/")
    if name == "apply_patch":
        return _patch_call(reply)
    call: _Object = {
        "type": "function_call",
        "id": f"fc_{uuid.uuid4().hex}",
        "call_id": f"call_{uuid.uuid4().hex[:20]}",
        "name": name,
        "arguments": json.dumps(reply.arguments),
    }
    if namespace:
        call["namespace"] = namespace
    return call


def _patch_call(reply: Call) -> _Object:
    """Return the call of the tool that takes a patch: its input is text, not JSON."""
    return {
        "type": "custom_tool_call",
        "id": f"ctc_{uuid.uuid4().hex}",
        "call_id": f"call_{uuid.uuid4().hex[:20]}",
        "name": reply.tool,
        "input": reply.arguments["input"],
    }


def _read_chat(body: _Object) -> Conversation:
    prompts: list[str] = []
    results = 0
    for message in body.get("messages", ()):
        if message["role"] == "user":
            content = message["content"]
            prompts.append(content if isinstance(content, str) else "\n".join(p.get("text", "") for p in content))
            results = 0
        elif message["role"] == "tool":
            results += 1
    tools = [tool["function"]["name"] for tool in body.get("tools", ())]
    return Conversation(prompts=prompts, results=results, tools=tools)


def _write_chat(reply: Say | Call, body: _Object) -> Iterator[tuple[str, _Object]]:
    base = {
        "id": f"chat-{uuid.uuid4().hex}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": body.get("model", ""),
    }
    usage = {
        "prompt_tokens": reply.tokens_in,
        "completion_tokens": reply.tokens_out,
        "total_tokens": reply.tokens_in + reply.tokens_out,
    }
    if isinstance(reply, Say):
        for piece in _pieces(reply):
            yield "", {**base, "choices": [{"index": 0, "delta": {"role": "assistant", "content": piece}}]}
        finish = "stop"
    else:
        function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
        call = {"index": 0, "id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}
        yield "", {**base, "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}]}
        finish = "tool_calls"
    yield "", {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}


def _read_gemini(body: _Object) -> Conversation:
    prompts: list[str] = []
    results = 0
    for content in body.get("contents", ()):
        parts = content.get("parts", ())
        answers = sum("functionResponse" in part for part in parts)
        if content.get("role") != "user" and not answers:
            continue
        if answers:
            results += answers
        else:
            prompts.append("\n".join(part.get("text", "") for part in parts))
            results = 0
    tools = [f["name"] for tool in body.get("tools", ()) for f in tool.get("functionDeclarations", ())]
    return Conversation(prompts=prompts, results=results, tools=tools, tool_prefix="mcp_skelo_")


def _write_gemini(reply: Say | Call, body: _Object) -> Iterator[tuple[str, _Object]]:
    del body
    usage = {
        "promptTokenCount": reply.tokens_in,
        "candidatesTokenCount": reply.tokens_out,
        "totalTokenCount": reply.tokens_in + reply.tokens_out,
    }
    parts: Iterator[_Object]
    if isinstance(reply, Say):
        parts = ({"text": piece} for piece in _pieces(reply))
    else:
        parts = iter([{"functionCall": {"name": reply.tool, "args": reply.arguments}}])
    part = next(parts)
    while part is not None:
        following = next(parts, None)
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": [part]}}
        if following is None:  # the last one says why the model stops
            candidate["finishReason"] = "STOP"
        yield "", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
        part = following


def _pieces(reply: Say) -> Iterator[str]:
    """Yield the text in pieces, spread over the time that the reply takes."""
    words = reply.text.split(" ")
    for index, word in enumerate(words):
        if reply.seconds:
            time.sleep(reply.seconds / len(words))
        yield word if index == len(words) - 1 else f"{word} "


@frozen
class _Protocol:
    read: Callable[[_Object], Conversation]
    write: Callable[[Say | Call, _Object], Iterator[tuple[str, _Object]]]
    ends_with_done: bool = False


_ANTHROPIC = _Protocol(read=_read_anthropic, write=_write_anthropic)
_RESPONSES = _Protocol(read=_read_responses, write=_write_responses)
_CHAT = _Protocol(read=_read_chat, write=_write_chat, ends_with_done=True)
_GEMINI = _Protocol(read=_read_gemini, write=_write_gemini)


def _protocol_of(path: str) -> _Protocol | None:
    if path.endswith("/messages"):
        return _ANTHROPIC
    if path.endswith("/responses"):
        return _RESPONSES
    if path.endswith("/chat/completions"):
        return _CHAT
    if path.endswith((":streamGenerateContent", ":generateContent")):
        return _GEMINI
    return None


# -- the server -------------------------------------------------------------------------------------------------------


class ScriptedModelServer:
    """Listens on a loopback port until it is closed."""

    def __init__(self, tokens_in: int = TOKENS_IN, tokens_out: int = TOKENS_OUT) -> None:
        self.requests: list[tuple[str, _Object]] = []
        self.headers: list[Mapping[str, str]] = []  # of the same requests, by names in lower case
        self.tokens_in, self.tokens_out = tokens_in, tokens_out
        self._closing = threading.Event()
        owner = self

        class Handler(_Handler):
            server_of = owner

        self._http = _HttpServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address without a path; each vendor's client adds its own."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def wait_closed(self) -> None:
        """Wait until the server is closed: for answers that never come."""
        self._closing.wait()

    def close(self) -> None:
        """Stop listening, and let go of every request that hangs."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    def texts(self) -> list[str]:
        """Return the bodies of all requests as JSON text, for tests that look for words."""
        return [json.dumps(body) for _, body in self.requests]


class _HttpServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that break off."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType] -- passed on as it is


@contextlib.contextmanager
def serve(tokens_in: int = TOKENS_IN, tokens_out: int = TOKENS_OUT) -> Generator[ScriptedModelServer]:
    """Yield a running server; each answer reports `tokens_in` and `tokens_out`."""
    server = ScriptedModelServer(tokens_in, tokens_out)
    try:
        yield server
    finally:
        server.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: ScriptedModelServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name of the base class
        """Log nothing: `requests` has it."""

    def do_GET(self) -> None:
        self._send_json({"data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        body = cast("_Object", json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}"))
        path = self.path.partition("?")[0]
        self.server_of.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.server_of.requests.append((path, body))
        protocol = _protocol_of(path)
        if protocol is None:
            self._send_json({"input_tokens": TOKENS_IN, "totalTokens": TOKENS_IN})
            return
        match reply_to(protocol.read(body)):
            case Fail(status=status):
                self._send_json({"error": {"type": "scripted", "message": "scripted failure"}}, status)
            case Hang():
                self.server_of.wait_closed()
            case (Say() | Call()) as scripted_reply:
                reply = replace(
                    scripted_reply, tokens_in=self.server_of.tokens_in, tokens_out=self.server_of.tokens_out
                )
                is_stream = body.get("stream", True) and not path.endswith(":generateContent")
                if is_stream:
                    self._send_stream(protocol, reply, body)
                else:
                    self._send_json(_whole(protocol, reply, body))

    def _send_stream(self, protocol: _Protocol, reply: Say | Call, body: _Object) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for name, data in protocol.write(reply, body):
                head = f"event: {name}\n" if name else ""
                self.wfile.write(f"{head}data: {json.dumps(data)}\n\n".encode())
                self.wfile.flush()
            if protocol.ends_with_done:
                self.wfile.write(b"data: [DONE]\n\n")

    def _send_json(self, data: _Object, status: int = 200) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)


def _whole(protocol: _Protocol, reply: Say | Call, body: _Object) -> _Object:
    """Return the answer to a request that does not stream; only the agents' own small questions come so."""
    text = reply.text if isinstance(reply, Say) else ""
    if protocol is _ANTHROPIC:
        return {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", ""),
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": reply.tokens_in, "output_tokens": reply.tokens_out},
        }
    if protocol is _CHAT:
        message = {"role": "assistant", "content": text}
        return {
            "id": "chat",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model", ""),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": reply.tokens_in,
                "completion_tokens": reply.tokens_out,
                "total_tokens": reply.tokens_in + reply.tokens_out,
            },
        }
    *_, (_, last) = protocol.write(reply, body)
    return last

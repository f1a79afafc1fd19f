"""The protocols in which agents ask models: their paths, their keys, their errors, and where an answer tells its usage.

    anthropic   POST /v1/messages, /v1/messages/count_tokens                     x-api-key
    responses   POST /v1/responses                                               Authorization: Bearer
    chat        POST /v1/chat/completions                                        Authorization: Bearer
    gemini      POST /v1beta/models/M:generateContent, :streamGenerateContent,   x-goog-api-key
                     :countTokens
    all         GET  …/models, …/models/M

`find` returns the route of a request, and None for everything else: only these paths are passed on. An `AnswerReader`
sees the bytes of one answer as they pass by, as server-sent events or as one JSON document. It counts what the answer
has used so far: by the figures in it, else by an estimate from the length of its text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import orjson

from openskelo.kernel.json import JsonObject
from openskelo.providers import protocol
from openskelo.structs import frozen, mutable

Vendor: TypeAlias = Literal["anthropic", "openai", "google"]
_Object: TypeAlias = Mapping[str, Any]

#: The public addresses, as the vendors document them.
UPSTREAMS: Mapping[Vendor, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "google": "https://generativelanguage.googleapis.com",
}
_MODEL = r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}"
_MODELS_PATH = re.compile(rf"/(?:v1|v1beta)/models(?:/{_MODEL})?\Z")
_GEMINI_PATH = re.compile(
    r"/(?:v1|v1beta)/models/(?P<model>[A-Za-z0-9][A-Za-z0-9._-]{0,199})"
    r":(?P<method>generateContent|streamGenerateContent|countTokens)\Z"
)
#: A server that reports more tokens than this for one answer is wrong.
_MAX_CREDIBLE_TOKENS = 2**30
#: An answer, or one event of it, that is longer than this is passed on and not read: its usage is estimated.
MAX_READ_BYTES = 32 * 1024 * 1024
#: What an image or another attachment counts in a request, in whose text it is a long word of base64.
_ATTACHMENT = re.compile(rb'"(?:data:[^",;]{0,100};base64,)?[A-Za-z0-9+/=_-]{4096,}"')
_TOKENS_OF_ATTACHMENT = 2_000


# -- requests ---------------------------------------------------------------------------------------------------------


@frozen
class ModelRequest:
    """The request of an agent to its model."""

    #: The bytes to send: those of the agent, or a copy that asks for the usage of a streamed answer.
    body: bytes
    model: str
    tokens_in: int
    #: None if the request does not limit its answer.
    max_tokens_out: int | None = None


@frozen
class ModelProtocol:
    """One protocol between an agent and its model."""

    name: str
    vendor: Vendor
    read_request: Callable[[_Object, bytes], ModelRequest]
    #: Adds one event, or the whole document of an answer, to an Answer.
    read_event: Callable[[Answer, _Object], None]


@frozen
class Route:
    """The destination of a request."""

    vendor: Vendor
    path: str
    #: None if it asks no model (a list of models, a count of tokens).
    protocol: ModelProtocol | None = None
    model: str = ""


def find(method: str, path: str, headers: Mapping[str, str]) -> Route | None:
    """Return the route of a request; None if it is not one of the four protocols, or not by their rules."""
    if method == "GET":
        return _find_models(path, headers)
    if method != "POST":
        return None
    match path:
        case "/v1/messages":
            return Route(vendor="anthropic", path=path, protocol=ANTHROPIC)
        case "/v1/messages/count_tokens":
            return Route(vendor="anthropic", path=path)
        case "/v1/responses":
            return Route(vendor="openai", path=path, protocol=RESPONSES)
        case "/v1/chat/completions":
            return Route(vendor="openai", path=path, protocol=CHAT)
        case _:
            return _find_gemini(path)


def _find_models(path: str, headers: Mapping[str, str]) -> Route | None:
    if not _MODELS_PATH.match(path):
        return None
    if path.startswith("/v1beta/") or "x-goog-api-key" in headers:
        return Route(vendor="google", path=path)
    return Route(vendor="anthropic" if "anthropic-version" in headers else "openai", path=path)


def _find_gemini(path: str) -> Route | None:
    match = _GEMINI_PATH.match(path)
    if match is None:
        return None
    is_call = match["method"] != "countTokens"
    return Route(vendor="google", path=path, protocol=GEMINI if is_call else None, model=match["model"])


def key_headers(vendor: Vendor, key: str) -> dict[str, str]:
    """Return the header in which a vendor takes its key."""
    match vendor:
        case "anthropic":
            return {"x-api-key": key}
        case "openai":
            return {"authorization": f"Bearer {key}"}
        case "google":
            return {"x-goog-api-key": key}


def error_document(vendor: Vendor, status: int, message: str) -> JsonObject:
    """Return an error as the vendor's own server would write it, so that the agent understands it."""
    match vendor:
        case "anthropic":
            kind = {400: "invalid_request_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error"}
            return {"type": "error", "error": {"type": kind.get(status, "api_error"), "message": message}}
        case "openai":
            codes = {402: "insufficient_quota", 404: "not_found"}
            kind = codes.get(status, "server_error" if status >= 500 else "invalid_request_error")
            return {"error": {"message": message, "type": kind, "param": None, "code": kind}}
        case "google":
            states = {402: "FAILED_PRECONDITION", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 504: "DEADLINE_EXCEEDED"}
            state = states.get(status, "UNAVAILABLE" if status >= 500 else "INVALID_ARGUMENT")
            return {"error": {"code": status, "message": message, "status": state}}


def _estimate_input(body: bytes) -> int:
    """Return at most how many tokens a request has: its bytes by a ratio on the safe side, attachments by a figure."""
    attachments = _ATTACHMENT.findall(body)
    length = len(body) - sum(map(len, attachments))
    return math.ceil(length / protocol.CHARACTERS_PER_TOKEN) + _TOKENS_OF_ATTACHMENT * len(attachments)


def _plain_request(document: _Object, body: bytes, *limits: Any) -> ModelRequest:
    """Return a request; the first of `limits` that is a count limits its answer."""
    counts = [limit for limit in limits if _is_count(limit)]
    return ModelRequest(
        body=body,
        model=_text(document.get("model")),
        tokens_in=_estimate_input(body),
        max_tokens_out=counts[0] if counts else None,
    )


def _read_anthropic_request(document: _Object, body: bytes) -> ModelRequest:
    return _plain_request(document, body, document.get("max_tokens"))


def _read_responses_request(document: _Object, body: bytes) -> ModelRequest:
    return _plain_request(document, body, document.get("max_output_tokens"))


def _read_chat_request(document: _Object, body: bytes) -> ModelRequest:
    """Return the request; a streamed answer has its usage only if the request asks for it."""
    options = _object(document.get("stream_options"))
    if document.get("stream") is True and options.get("include_usage") is not True:
        body = orjson.dumps({**document, "stream_options": {**options, "include_usage": True}})
    return _plain_request(document, body, document.get("max_completion_tokens"), document.get("max_tokens"))


def _read_gemini_request(document: _Object, body: bytes) -> ModelRequest:
    config = _object(document.get("generationConfig")) or _object(document.get("generation_config"))
    return _plain_request(document, body, config.get("maxOutputTokens"), config.get("max_output_tokens"))


# -- answers ----------------------------------------------------------------------------------------------------------


@mutable
class Answer:
    """One answer as far as it has arrived. A count is None as long as the answer has not reported it."""

    model: str = ""
    tokens_in: int | None = None
    cached_in: int = 0
    cache_written_in: int = 0
    tokens_out: int | None = None
    characters: int = 0
    #: The counts are those of the whole answer.
    is_final: bool = False
    #: The error that the answer reports in the middle.
    error: str = ""


class AnswerReader:
    """Reads the bytes of one answer as they pass by."""

    def __init__(self, protocol: ModelProtocol, request: ModelRequest, content_type: str) -> None:
        self.answer = Answer()
        self._protocol = protocol
        self._request = request
        self._is_stream = content_type.lower().startswith("text/event-stream")
        self._buffer = bytearray()
        self._searched = 0  # so far there is no end of an event in the buffer
        self._is_readable = True

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if not self._is_readable:
            return
        self._buffer += data
        if self._is_stream:
            for document in self._take_events():
                self._read(document)
        if len(self._buffer) > MAX_READ_BYTES:
            self._is_readable = False
            self._estimate_unread()

    def end(self) -> None:
        """Read what is left, after the last byte."""
        if not self._is_readable or not self._buffer:
            return
        if self._is_stream:
            self._buffer += b"\n\n"  # some servers leave out the end of the last event
            for document in self._take_events():
                self._read(document)
            return
        document = _parse(bytes(self._buffer))
        # A streamed answer of Gemini without `alt=sse` is an array of what the events would be.
        for part in cast("list[Any]", document) if isinstance(document, list) else [document]:
            self._read(part)
        if not self.answer.is_final:
            self._estimate_unread()

    @property
    def usage(self) -> protocol.Usage:
        """The usage of the answer so far; counts that it has not reported are estimated."""
        answer = self.answer
        tokens_in = self._request.tokens_in if answer.tokens_in is None else answer.tokens_in
        reported_tokens = answer.tokens_out or 0
        tokens_out = reported_tokens if answer.is_final else max(reported_tokens, self._estimated_output())
        return protocol.Usage(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cached_in=min(answer.cached_in, tokens_in),
            cache_written_in=min(answer.cache_written_in, tokens_in - min(answer.cached_in, tokens_in)),
        )

    @property
    def is_estimated(self) -> bool:
        """True if the answer has not told all of its usage."""
        return not self.answer.is_final or self.answer.tokens_in is None

    @property
    def least_tokens_out(self) -> int:
        """At least how many tokens have come so far: a token hardly ever has more than five characters."""
        return self.answer.characters // 5

    def _estimated_output(self) -> int:
        length = self.answer.characters if self._is_stream else max(self.answer.characters, len(self._buffer))
        return math.ceil(length / protocol.CHARACTERS_PER_TOKEN)

    def _estimate_unread(self) -> None:
        """Count the bytes of an answer that cannot be read as its text."""
        self.answer.characters = max(self.answer.characters, len(self._buffer))
        self._buffer.clear()

    def _read(self, document: Any) -> None:
        if isinstance(document, Mapping):
            self._protocol.read_event(self.answer, cast("_Object", document))

    def _take_events(self) -> Iterator[Any]:
        """Yield the JSON of each complete event, and remove it from the buffer."""
        while True:
            match = _EVENT_END.search(self._buffer, max(0, self._searched - 3))
            if match is None:
                self._searched = len(self._buffer)
                return
            event = bytes(self._buffer[: match.start()])
            del self._buffer[: match.end()]
            self._searched = 0
            lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
            if lines and lines != [b"[DONE]"]:
                yield _parse(b"\n".join(lines))


_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


def _read_anthropic(answer: Answer, event: _Object) -> None:
    match event.get("type"):
        case "message_start":
            message = _object(event.get("message"))
            answer.model = _text(message.get("model"))
            _add_anthropic_usage(answer, _object(message.get("usage")))
        case "content_block_start":
            answer.characters += _length(_object(event.get("content_block")), ("text", "thinking"))
        case "content_block_delta":
            answer.characters += _length(_object(event.get("delta")), ("text", "thinking", "partial_json"))
        case "message_delta":
            _add_anthropic_usage(answer, _object(event.get("usage")))
            answer.is_final = answer.tokens_out is not None
        case "message":
            answer.model = _text(event.get("model"))
            _add_anthropic_usage(answer, _object(event.get("usage")))
            answer.is_final = answer.tokens_out is not None
        case "error":
            answer.error = _describe(event)
        case _:
            pass


def _add_anthropic_usage(answer: Answer, usage: _Object) -> None:
    """Take the counts of a message; its `input_tokens` leave out what was read from the cache or written to it."""
    fresh, read, cache_written = (
        _count(usage.get(key)) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    if fresh is not None:
        answer.cached_in, answer.cache_written_in = read or 0, cache_written or 0
        answer.tokens_in = fresh + answer.cached_in + answer.cache_written_in
    tokens_out = _count(usage.get("output_tokens"))
    answer.tokens_out = answer.tokens_out if tokens_out is None else tokens_out


def _read_responses(answer: Answer, event: _Object) -> None:
    kind = _text(event.get("type"))
    if kind in ("response.completed", "response.incomplete", "response.failed"):
        event = _object(event.get("response"))
    elif kind.endswith(".delta"):
        answer.characters += _length(event, ("delta",))
        return
    elif kind == "error":
        answer.error = _describe(event)
        return
    if event.get("object") != "response" and "usage" not in event:
        return
    answer.model = _text(event.get("model")) or answer.model
    if _object(event.get("error")):
        answer.error = _describe(event)
    usage = _object(event.get("usage"))
    _take_openai_usage(answer, usage, ("input_tokens", "output_tokens"), "input_tokens_details")


def _read_chat(answer: Answer, event: _Object) -> None:
    answer.model = _text(event.get("model")) or answer.model
    if _object(event.get("error")):
        answer.error = _describe(event)
    for choice in _list(event.get("choices")):
        delta = _object(_object(choice).get("delta")) or _object(_object(choice).get("message"))
        answer.characters += _length(delta, ("content", "reasoning_content", "reasoning", "refusal"))
        for call in _list(delta.get("tool_calls")):
            answer.characters += _length(_object(_object(call).get("function")), ("name", "arguments"))
    usage = _object(event.get("usage"))
    _take_openai_usage(answer, usage, ("prompt_tokens", "completion_tokens"), "prompt_tokens_details")


def _take_openai_usage(answer: Answer, usage: _Object, names: tuple[str, str], details: str) -> None:
    """Take the counts of a whole answer: cached tokens are a part of the input, thoughts a part of the output."""
    tokens_in, tokens_out = (_count(usage.get(name)) for name in names)
    if tokens_in is None or tokens_out is None:
        return
    answer.tokens_in, answer.tokens_out = tokens_in, tokens_out
    answer.cached_in = _count(_object(usage.get(details)).get("cached_tokens")) or 0
    answer.is_final = True


def _read_gemini(answer: Answer, event: _Object) -> None:
    answer.model = _text(event.get("modelVersion")) or answer.model
    if _object(event.get("error")):
        answer.error = _describe(event)
    for candidate in _list(event.get("candidates")):
        for part in _list(_object(_object(candidate).get("content")).get("parts")):
            answer.characters += _length(_object(part), ("text",))
            call = _object(_object(part).get("functionCall"))
            answer.characters += len(orjson.dumps(call)) if call else 0
    usage = _object(event.get("usageMetadata"))
    prompt, tool_use, from_cache, candidates, thoughts = (
        _count(usage.get(key))
        for key in (
            "promptTokenCount",
            "toolUsePromptTokenCount",
            "cachedContentTokenCount",
            "candidatesTokenCount",
            "thoughtsTokenCount",
        )
    )
    if prompt is None:
        return
    answer.tokens_in = prompt + (tool_use or 0)
    answer.cached_in = from_cache or 0
    answer.tokens_out = (candidates or 0) + (thoughts or 0)
    answer.is_final = candidates is not None or thoughts is not None


ANTHROPIC = ModelProtocol(
    name="anthropic", vendor="anthropic", read_request=_read_anthropic_request, read_event=_read_anthropic
)
RESPONSES = ModelProtocol(
    name="responses", vendor="openai", read_request=_read_responses_request, read_event=_read_responses
)
CHAT = ModelProtocol(name="chat", vendor="openai", read_request=_read_chat_request, read_event=_read_chat)
GEMINI = ModelProtocol(name="gemini", vendor="google", read_request=_read_gemini_request, read_event=_read_gemini)


def describe_error(body: bytes) -> str:
    """Return what an error document of any vendor says, or the beginning of another text; empty without any."""
    document = _parse(body)
    if isinstance(document, list) and document:  # Gemini, when it streams
        document = cast("list[Any]", document)[0]
    if isinstance(document, Mapping):
        return _describe(cast("_Object", document))
    return body.decode("utf-8", "replace").strip()[:300]


def _describe(document: _Object) -> str:
    error = document.get("error")
    if isinstance(error, str):
        return error[:300]
    fields = _object(error) or document
    return (_text(fields.get("message")) or _text(fields.get("type")) or _text(fields.get("code")))[:300]


# -- JSON of others ---------------------------------------------------------------------------------------------------


def _parse(data: bytes) -> Any:
    """Return the JSON value in some bytes, None if there is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _object(value: Any) -> _Object:
    return cast("_Object", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _length(fields: _Object, keys: Sequence[str]) -> int:
    return sum(len(_text(fields.get(key))) for key in keys)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_CREDIBLE_TOKENS


def _count(value: Any) -> int | None:
    return value if _is_count(value) else None

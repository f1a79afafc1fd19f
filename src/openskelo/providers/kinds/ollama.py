"""The kind `ollama`: the chat API of an Ollama server (`POST /api/chat`), over plain HTTP.

The answer is a stream of JSON lines. Each line holds a piece of the text; the last one has `done: true`, the reason and
the counts of tokens. A schema is sent as `format`, and the server decodes by it. No client library is needed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, failure_codes, kinds, protocol, remote_api
from openskelo.structs import field, mutable
from openskelo.values import canonical

if TYPE_CHECKING:
    import httpx

_ADDRESS = "http://127.0.0.1:11434"
_CONNECT_SECONDS = 10.0
#: Parameters of a request that Ollama takes among its `options`, under the name it has for them.
_OPTIONS: Mapping[str, str] = {"temperature": "temperature", "top_p": "top_p", "seed": "seed", "stop": "stop"}
#: Keys of `model_params` that belong into the body; all others are options of the model.
_BODY_KEYS = frozenset({"keep_alive", "think"})
#: Statuses that the same request would meet again; 404 is an unknown model.
_FINAL_STATUSES = frozenset({400, 404, 405, 413, 422})


@mutable
class _Reading:
    """The part of an answer that has arrived."""

    pieces: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    model: str = ""
    finish_reason: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0


class Ollama:
    """One Ollama server. Its connections are opened at the first request and closed by `close`."""

    def __init__(self, settings: config.ProviderConfig, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._environment = environment
        self._client: httpx.AsyncClient | None = None

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        import asyncio  # noqa: PLC0415 -- reading skelo.yaml imports this module, and must stay fast

        import httpx  # noqa: PLC0415

        model = request.parameters.get("model") or self._settings.model
        if not isinstance(model, str):
            hint = "give the provider or the expert a `model` in skelo.yaml"
            message = f"{self._settings.name} needs the name of a model"
            raise failure_codes.final("PROVIDER_BAD_REQUEST", message, hint=hint)
        key = remote_api.resolve_key(self._settings, self._environment)
        reading = _Reading(model=model)
        try:
            async with asyncio.timeout(self._settings.timeout_ms / 1000):
                await self._chat(_body(request, model), key, reading, on_text)
        except TimeoutError:
            message = f"{self._settings.name} did not answer within {self._settings.timeout_ms / 1000:g} s"
            failure = failure_codes.transient("PROVIDER_TIMEOUT", message, hint="raise its timeout_ms")
            raise _interrupted(failure, request, reading) from None
        except httpx.HTTPError as error:
            raise _interrupted(failure_codes.not_connected(self._settings, error), request, reading) from None
        except errors.AttemptFailed as error:
            error.message = remote_api.mask_key(error.message, key)  # servers quote what they were sent
            error.args = (error.message,)
            raise _interrupted(error, request, reading) from None
        return failure_codes.require_usable(_answer(reading), request.schema)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _chat(self, body: JsonObject, key: str, reading: _Reading, on_text: protocol.OnText) -> None:
        """Send the request and read the answer into `reading` (AttemptFailed, httpx.HTTPError)."""
        headers = {"content-type": "application/json"}
        if self._settings.api_key is not None:
            headers["authorization"] = f"Bearer {key}"
        url = f"{_server(self._settings)}/api/chat"
        async with self._open().stream("POST", url, content=canonical.dumps(body), headers=headers) as response:
            if response.status_code != 200:
                raise self._refused(response, await response.aread())
            async for line in _lines(response):
                _read(line, reading, on_text, self._settings.name)
        if reading.finish_reason is None:
            message = f"the answer of {reading.model} broke off"
            raise failure_codes.transient("PROVIDER_UNAVAILABLE", message)

    def _open(self) -> httpx.AsyncClient:
        import httpx  # noqa: PLC0415 -- see `complete`

        if self._client is None:
            seconds = self._settings.timeout_ms / 1000
            timeout = httpx.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds))
            self._client = httpx.AsyncClient(timeout=timeout, trust_env=False)
        return self._client

    def _refused(self, response: httpx.Response, body: bytes) -> errors.AttemptFailed:
        status = response.status_code
        if response.has_redirect_location:
            target = response.request.url.join(response.headers["location"])
            port = "" if target.port is None else f":{target.port}"
            return failure_codes.redirected(response.request.url.host, f"{target.scheme}://{target.host}{port}")
        text = _error_text(body)
        if text:
            message = f"{self._settings.name}: {text} ({status})"
        else:
            message = f"{self._settings.name}: the server answered {status}"
        if status in (401, 403):
            hint = "check the provider's key, and what it may use"
            return failure_codes.final("PROVIDER_AUTH", message, hint=hint)
        if status == 429:
            wait_ms = _wait_ms(response.headers.get("retry-after"))
            return failure_codes.transient("PROVIDER_RATE_LIMITED", message, retry_after_ms=wait_ms)
        if status in _FINAL_STATUSES:
            hint = "check the model's name and the base_url" if status == 404 else None
            return failure_codes.final("PROVIDER_BAD_REQUEST", message, hint=hint)
        return failure_codes.transient("PROVIDER_UNAVAILABLE", message)


def _server(settings: config.ProviderConfig) -> str:
    """Return the server's address. Its OpenAI-compatible address, which ends in `/v1`, means the same server."""
    return (settings.base_url or _ADDRESS).rstrip("/").removesuffix("/v1")


def _body(request: protocol.Request, model: str) -> JsonObject:
    parameters = request.parameters
    extras = parameters.get("model_params")
    more: Mapping[str, Json] = extras if isinstance(extras, Mapping) else {}
    options: dict[str, Json] = {
        name: parameters[key] for key, name in _OPTIONS.items() if parameters.get(key) is not None
    }
    options |= {name: value for name, value in more.items() if name not in _BODY_KEYS}
    if isinstance(options.get("stop"), str):
        options["stop"] = [options["stop"]]
    if request.max_tokens is not None:
        options["num_predict"] = request.max_tokens
    body: dict[str, Json] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        "stream": True,
        **{name: value for name, value in more.items() if name in _BODY_KEYS},
    }
    if options:
        body["options"] = options
    if request.schema is not None:
        body["format"] = request.schema
    return body


async def _lines(response: httpx.Response) -> AsyncIterator[str]:
    async for line in response.aiter_lines():
        if line.strip():
            yield line


def _read(line: str, reading: _Reading, on_text: protocol.OnText, provider: str) -> None:
    """Add one line of the stream to `reading` (AttemptFailed PROVIDER_UNAVAILABLE)."""
    try:
        document = canonical.loads_untrusted(line.encode())
    except errors.InvalidInput:
        document = None
    if not isinstance(document, Mapping):
        message = f"{provider}: what the server sent is no answer of a model"
        hint = "check the base_url: something else may answer there"
        raise failure_codes.transient("PROVIDER_UNAVAILABLE", message, hint=hint)
    if isinstance(error := document.get("error"), str):
        raise failure_codes.transient("PROVIDER_UNAVAILABLE", f"{provider}: {error}")
    message = document.get("message")
    if isinstance(message, Mapping):
        if isinstance(thinking := message.get("thinking"), str) and thinking:
            reading.thoughts.append(thinking)
        if isinstance(piece := message.get("content"), str) and piece:
            reading.pieces.append(piece)
            on_text(piece)
    if isinstance(model := document.get("model"), str):
        reading.model = model
    if document.get("done") is True:
        reason = document.get("done_reason")
        reading.finish_reason = reason if isinstance(reason, str) else "stop"
        reading.tokens_in = _count(document.get("prompt_eval_count"))
        reading.tokens_out = _count(document.get("eval_count"))


def _count(value: Json) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return 0


def _wait_ms(retry_after: str | None) -> int | None:
    """Return the wait in a `Retry-After` header in milliseconds, at most a day; None without one."""
    if retry_after is None or not retry_after.strip().isdecimal():
        return None
    return min(int(retry_after.strip()[:9]), 86_400) * 1000


def _error_text(body: bytes) -> str | None:
    """Return the server's own message in the body of an error; None without one."""
    try:
        document = canonical.loads_untrusted(body)
    except errors.InvalidInput:
        return None
    return failure_codes.server_message(document)


def _interrupted(failure: errors.AttemptFailed, request: protocol.Request, reading: _Reading) -> errors.AttemptFailed:
    """Return the failure; if a part of the answer has arrived, as a BrokenAnswer with its estimated usage."""
    text_so_far = "".join([*reading.thoughts, *reading.pieces])
    if not text_so_far:
        return failure
    usage = protocol.estimate_usage(request, text_so_far)
    answer = protocol.Answer(text="", usage=usage, model=reading.model, finish_reason="error")
    return protocol.BrokenAnswer(failure, answer)


def _answer(reading: _Reading) -> protocol.Answer:
    return protocol.Answer(
        text=remote_api.without_thinking("".join(reading.pieces), "".join(reading.thoughts)),
        usage=protocol.Usage(tokens_in=reading.tokens_in, tokens_out=reading.tokens_out),
        model=reading.model,
        finish_reason=reading.finish_reason or "stop",
    )


def _make(settings: config.ProviderConfig, setup: kinds.Setup) -> protocol.Provider:
    return Ollama(settings, setup.environment)


def _missing(settings: config.ProviderConfig, setup: kinds.Setup) -> str | None:
    variable = remote_api.key_variable(settings)
    if variable is not None and not setup.environment.get(variable, "").strip():
        return f"its key is not set: set {variable}"
    return None


KIND = kinds.Kind(
    name="ollama",
    summary="The chat API of an Ollama server.",
    keys=kinds.REMOTE_KEYS,
    make=_make,
    missing=_missing,
    doc=kinds.REMOTE_DOC,
    free=True,
)

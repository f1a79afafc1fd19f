"""A model behind an HTTP API: one streamed request through its official client, without retries.

The official clients are used through pydantic-ai's model classes. Both are extras of this package and slow to import,
so they are imported at the first request. A `remote_api.Api` describes how one API differs from the others.

All text that arrives, thoughts included, is collected in `received`: if the answer breaks off, its usage is estimated
from that text, because the server has not sent its counts yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.providers import config, failure_codes, protocol, remote_api

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai import messages, models, settings

#: Keys of `model_params` that pydantic-ai knows; the others go into the body of the request unchanged.
_SETTINGS = frozenset({"top_k", "presence_penalty", "frequency_penalty"})


#: How long to wait for a connection; the answer itself may take as long as the provider's timeout says.
_CONNECT_SECONDS = 10.0


class Remote:
    """One API with one key. Its connections are opened at the first request and closed by `close`."""

    def __init__(self, settings: config.ProviderConfig, environment: Mapping[str, str], api: remote_api.Api) -> None:
        self._settings = settings
        self._api = api
        self._environment = environment
        self._client: httpx2.AsyncClient | None = None
        self._models: dict[str, models.Model] = {}
        self._make_lock = asyncio.Lock()

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        name = request.parameters.get("model") or self._settings.model
        if not isinstance(name, str):
            hint = "give the provider or the expert a `model` in skelo.yaml"
            raise failure_codes.final(
                "PROVIDER_BAD_REQUEST", f"{self._settings.name} needs the name of a model", hint=hint
            )
        key = remote_api.resolve_key(self._settings, self._environment)
        model = await self._model(name, key)
        from openskelo.providers import remote_failure  # noqa: PLC0415 -- imports an extra, and heavy

        pieces: list[str] = []
        try:
            async with asyncio.timeout(self._settings.timeout_ms / 1000):
                answer = await self._ask_with_schema(model, request, on_text, pieces)
        except TimeoutError:
            message = f"{self._settings.name} did not answer within {self._settings.timeout_ms / 1000:g} s"
            failure = failure_codes.transient("PROVIDER_TIMEOUT", message, hint="raise its timeout_ms")
            raise _with_usage(failure, request, name, pieces) from None
        except errors.OpenSkeloError:
            raise
        except Exception as error:  # the clients do not wrap every error that a stream can raise
            failure = remote_failure.to_failure(self._settings, error)
            # Servers quote what they were sent; the chain of causes would too.
            failure.message = remote_api.mask_key(failure.message, key)
            failure.args = (failure.message,)
            raise _with_usage(failure, request, name, pieces) from None
        return failure_codes.require_usable(answer, request.schema)

    async def _ask_with_schema(
        self, model: models.Model, request: protocol.Request, on_text: protocol.OnText, received: list[str]
    ) -> protocol.Answer:
        """Return the answer, with the API's structured output unless the API does not accept the schema."""
        from pydantic_ai import exceptions  # noqa: PLC0415 -- an extra, and heavy
        from pydantic_ai import models as model_classes  # noqa: PLC0415

        parameters = self._parameters(model, request)
        output = _structured_output(self._api, model, request)
        try:
            return await _ask(model, request, on_text, (parameters, output), received)
        except exceptions.ModelRequestRejectedError as error:
            if isinstance(error, exceptions.ModelHTTPError) or output.output_object is None:
                raise
        # The client has rejected the schema itself, and has sent nothing.
        return await _ask(model, request, on_text, (parameters, model_classes.ModelRequestParameters()), received)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        self._models.clear()
        if client is not None:
            await client.aclose()

    async def _model(self, name: str, key: str) -> models.Model:
        """Return the object for one model. It is made in a thread: importing the client takes a second or two."""
        async with self._make_lock:
            if name not in self._models:
                self._models[name] = await asyncio.to_thread(self._make, name, key)
        return self._models[name]

    def _make(self, name: str, key: str) -> models.Model:
        if self._client is None:
            self._client = _http_client(self._settings, self._api)
        try:
            return self._api.make_model(self._settings, name, key, self._client)
        except ImportError as error:
            raise _not_installed(self._settings, self._api) from error

    def _parameters(self, model: models.Model, request: protocol.Request) -> settings.ModelSettings:
        """Return the settings of the request, without settings that the API does not have (often the seed)."""
        parameters = request.parameters
        extras = parameters.get("model_params")
        more: Mapping[str, Json] = extras if isinstance(extras, Mapping) else {}
        if reserved := sorted(more.keys() & config.RESERVED_PARAMETERS):
            raise failure_codes.final(
                "PROVIDER_BAD_REQUEST",
                f"`model_params` cannot set {reserved[0]!r}",
                hint=config.RESERVED_HINT,
            )
        values: dict[str, object] = {
            "timeout": self._settings.timeout_ms / 1000,
            "max_retries": 0,
            "max_tokens": request.max_tokens,
            "stop_sequences": [stop] if isinstance(stop := parameters.get("stop"), str) else stop,
            **{name: parameters.get(name) for name in ("temperature", "top_p", "seed")},
            **{name: value for name, value in more.items() if name in _SETTINGS},
        }
        rest = {name: value for name, value in more.items() if name not in _SETTINGS}
        if rest:
            if "extra_body" in model.unsupported_settings:
                message = f"{self._settings.kind} does not know the parameter {next(iter(rest))!r}"
                hint = f"it knows {', '.join(sorted(_SETTINGS))}"
                raise failure_codes.final("PROVIDER_BAD_REQUEST", message, hint=hint)
            values["extra_body"] = rest
        model_parameters = {
            name: value
            for name, value in values.items()
            if value is not None and name not in model.unsupported_settings
        }
        from pydantic_ai import settings  # noqa: PLC0415 -- an extra, and heavy

        return settings.ModelSettings(**model_parameters)  # pyright: ignore[reportArgumentType] -- built by name


def _with_usage(
    failed: errors.AttemptFailed, request: protocol.Request, model: str, received: list[str]
) -> errors.AttemptFailed:
    """Return the failure; if a part of the answer has arrived, as a BrokenAnswer with its estimated usage."""
    if not received:
        return failed
    usage = protocol.estimate_usage(request, "".join(received))
    return protocol.BrokenAnswer(failed, protocol.Answer(text="", usage=usage, model=model, finish_reason="error"))


async def _ask(
    model: models.Model,
    request: protocol.Request,
    on_text: protocol.OnText,
    options: tuple[settings.ModelSettings, models.ModelRequestParameters],
    received: list[str],
) -> protocol.Answer:
    """Return the answer; append each piece of it to `received` as it arrives, thoughts included."""
    from pydantic_ai import messages  # noqa: PLC0415 -- an extra, and heavy

    async with model.request_stream(_conversation(request), *options) as stream:
        async for event in stream:
            match event:
                case messages.PartStartEvent(part=messages.TextPart(content=piece)) if piece:
                    received.append(piece)
                    on_text(piece)
                case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=piece)) if piece:
                    received.append(piece)
                    on_text(piece)
                case messages.PartStartEvent(part=messages.ThinkingPart(content=piece)) if piece:
                    received.append(piece)
                case messages.PartDeltaEvent(delta=messages.ThinkingPartDelta(content_delta=str() as piece)):
                    received.append(piece)
                case _:
                    pass
        response = stream.get()
        text = remote_api.without_thinking(
            _joined(response, messages.TextPart), _joined(response, messages.ThinkingPart)
        )
        reason = stream.finish_reason or _server_finish_reason(response)
        if reason is None or (stream.finish_reason is None and not text):
            how = "broke off" if reason is None else f"ended without any text ({reason})"
            failure = failure_codes.transient("PROVIDER_UNAVAILABLE", f"the answer of {model.model_name} {how}")
            raise _with_usage(failure, request, model.model_name, received)
    return protocol.Answer(
        text=text,
        usage=protocol.Usage(
            tokens_in=response.usage.input_tokens,
            tokens_out=response.usage.output_tokens or protocol.estimate_usage(request, "".join(received)).tokens_out,
        ),
        model=response.model_name or model.model_name,
        finish_reason=reason,
    )


def _joined(response: messages.ModelResponse, kind: type[messages.TextPart | messages.ThinkingPart]) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, kind))


def _server_finish_reason(response: messages.ModelResponse) -> str | None:
    """Return the reason that the server gave for the end of the answer, also one that the client does not know."""
    reason = (response.provider_details or {}).get("finish_reason")
    return reason if isinstance(reason, str) else None


def _conversation(request: protocol.Request) -> list[messages.ModelMessage]:
    from pydantic_ai import messages  # noqa: PLC0415 -- an extra, and heavy

    conversation: list[messages.ModelMessage] = []
    for message in request.messages:
        match message.role:
            case "assistant":
                conversation.append(messages.ModelResponse(parts=[messages.TextPart(content=message.text)]))
            case "system":
                conversation.append(messages.ModelRequest(parts=[messages.SystemPromptPart(content=message.text)]))
            case "user":
                attachments = [
                    messages.BinaryContent(data=attachment.data, media_type=attachment.media_type)
                    for attachment in message.attachments
                ]
                content = [message.text, *attachments] if attachments else message.text
                conversation.append(messages.ModelRequest(parts=[messages.UserPromptPart(content=content)]))
    return conversation


def _structured_output(
    api: remote_api.Api, model: models.Model, request: protocol.Request
) -> models.ModelRequestParameters:
    """Return the parameters of the API's structured output; without any if the API cannot follow the schema.

    The prompt holds the schema in any case.
    """
    from pydantic_ai import models, output  # noqa: PLC0415 -- an extra, and heavy

    prompt_only = models.ModelRequestParameters()
    if request.schema is None or not model.profile.get("supports_json_schema_output", False):
        return prompt_only
    schema = api.constrain(request.schema)
    if schema is None:
        return prompt_only
    definition = output.OutputObjectDefinition(json_schema=dict(schema), name="answer", strict=api.strict)
    parameters = models.ModelRequestParameters(output_mode="native", output_object=definition)
    try:
        model.customize_request_parameters(parameters)
    except ValueError:  # the client cannot translate this schema for its API
        return prompt_only
    return parameters


def _http_client(settings: config.ProviderConfig, api: remote_api.Api) -> httpx2.AsyncClient:
    """Return the HTTP client of one provider; the caller closes it (AttemptFailed PROVIDER_MISSING)."""
    try:
        import httpx2  # noqa: PLC0415 -- comes with the extras
    except ImportError as error:
        raise _not_installed(settings, api) from error
    seconds = settings.timeout_ms / 1000
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds)),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=settings.concurrency),
        follow_redirects=True,
        event_hooks={"response": [_stay_on_server]},
    )


async def _stay_on_server(response: httpx2.Response) -> None:
    """Raise for a redirect to another server: it must not get the key and the prompt."""
    if not response.has_redirect_location:
        return
    origin = response.request.url
    target = origin.join(response.headers["location"])
    upgrade = (origin.scheme, target.scheme) == ("http", "https")
    if origin.host == target.host and (upgrade or (origin.scheme, origin.port) == (target.scheme, target.port)):
        return
    port = "" if target.port is None else f":{target.port}"
    raise failure_codes.redirected(origin.host, f"{target.scheme}://{target.host}{port}")


def _not_installed(settings: config.ProviderConfig, api: remote_api.Api) -> errors.AttemptFailed:
    message = f"the client for {settings.kind} is not installed"
    return failure_codes.missing(message, hint=f"pip install 'openskelo[{api.extra}]'")

"""A model behind an HTTP API: one streamed request through its official client, no retries, no loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.providers import clients, config, failure, keys, seam, structured, thoughts

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai import messages, models, settings

#: What the author may say beside the parameters every model has; the rest goes to the server as it is.
_KNOWN = frozenset({"top_k", "presence_penalty", "frequency_penalty"})


class Remote:
    """One API with one key. Its connections are opened at the first request and closed by `close`."""

    def __init__(self, settings: config.ProviderConfig, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._environment = environment
        self._client: httpx2.AsyncClient | None = None
        self._models: dict[str, models.Model] = {}
        self._making = asyncio.Lock()

    async def complete(self, request: seam.Request, on_text: seam.OnText) -> seam.Answer:
        name = request.parameters.get("model") or self._settings.model
        if not isinstance(name, str):
            hint = "give the provider or the expert a `model` in skelo.yaml"
            raise failure.final("PROVIDER_BAD_REQUEST", f"{self._settings.name} needs the name of a model", hint=hint)
        key = keys.resolve(self._settings, self._environment)
        model = await self._model(name, key)
        from openskelo.providers import remote_failure  # noqa: PLC0415 -- imports an extra, and heavy

        heard: list[str] = []
        try:
            async with asyncio.timeout(self._settings.timeout_ms / 1000):
                answer = await self._held(model, request, on_text, heard)
        except TimeoutError:
            message = f"{self._settings.name} did not answer within {self._settings.timeout_ms / 1000:g} s"
            known = failure.transient("PROVIDER_TIMEOUT", message, hint="raise its timeout_ms")
            raise _begun(known, request, name, heard) from None
        except errors.OpenSkeloError:
            raise
        except Exception as error:  # the clients let through what they meet in a stream that nobody has foreseen
            known = remote_failure.failed(self._settings, error)
            # Servers quote what they were sent; the chain of causes would too.
            known.args = (keys.mask(known.message, key),)
            known.message = keys.mask(known.message, key)
            raise _begun(known, request, name, heard) from None
        return failure.usable(answer, request.schema)

    async def _held(
        self, model: models.Model, request: seam.Request, on_text: seam.OnText, heard: list[str]
    ) -> seam.Answer:
        """The answer, held to its schema by the API itself, unless the schema is too much for it."""
        from pydantic_ai import exceptions  # noqa: PLC0415 -- an extra, and heavy
        from pydantic_ai import models as model_classes  # noqa: PLC0415

        told = self._parameters(model, request)
        wanted = _output(self._settings.kind, model, request)
        try:
            return await _ask(model, request, on_text, (told, wanted), heard)
        except exceptions.ModelRequestRejectedError as error:
            if isinstance(error, exceptions.ModelHTTPError) or wanted.output_object is None:
                raise
        # The client knew that its API would not take the schema, and has sent nothing.
        return await _ask(model, request, on_text, (told, model_classes.ModelRequestParameters()), heard)

    async def close(self) -> None:
        """Let go of the connections."""
        client, self._client = self._client, None
        self._models.clear()
        if client is not None:
            await client.aclose()

    async def _model(self, name: str, key: str) -> models.Model:
        """The class for one model. Made in a thread: the first one imports its client, which takes a second or two."""
        async with self._making:
            if name not in self._models:
                self._models[name] = await asyncio.to_thread(self._make, name, key)
        return self._models[name]

    def _make(self, name: str, key: str) -> models.Model:
        if self._client is None:
            self._client = clients.http(self._settings)
        return clients.make(self._settings, name, key=key, client=self._client)

    def _parameters(self, model: models.Model, request: seam.Request) -> settings.ModelSettings:
        """What the model is told beside the messages; what its API does not have (a seed, mostly) is left out."""
        given = request.parameters
        extras = given.get("model_params")
        more: Mapping[str, Json] = extras if isinstance(extras, Mapping) else {}
        told: dict[str, object] = {
            "timeout": self._settings.timeout_ms / 1000,
            "max_retries": 0,
            "max_tokens": request.max_tokens,
            "stop_sequences": [stop] if isinstance(stop := given.get("stop"), str) else stop,
            **{name: given.get(name) for name in ("temperature", "top_p", "seed")},
            **{name: value for name, value in more.items() if name in _KNOWN},
        }
        rest = {name: value for name, value in more.items() if name not in _KNOWN}
        if rest:
            if "extra_body" in model.unsupported_settings:
                message = f"{self._settings.kind} does not know the parameter {next(iter(rest))!r}"
                hint = f"it knows {', '.join(sorted(_KNOWN))}"
                raise failure.final("PROVIDER_BAD_REQUEST", message, hint=hint)
            told["extra_body"] = rest
        usable = {
            name: value for name, value in told.items() if value is not None and name not in model.unsupported_settings
        }
        from pydantic_ai import settings  # noqa: PLC0415 -- an extra, and heavy

        return settings.ModelSettings(**usable)  # pyright: ignore[reportArgumentType] -- built by name


def _begun(failed: errors.AttemptFailed, request: seam.Request, model: str, heard: list[str]) -> errors.AttemptFailed:
    """The failure of an answer that may have begun: its thoughts are paid for, too, though nobody is told of them."""
    if not heard:
        return failed
    usage = seam.estimated(request, "".join(heard))
    return seam.Broken(failed, seam.Answer(text="", usage=usage, model=model, finish_reason="error"))


async def _ask(
    model: models.Model,
    request: seam.Request,
    on_text: seam.OnText,
    told: tuple[settings.ModelSettings, models.ModelRequestParameters],
    heard: list[str],
) -> seam.Answer:
    """The answer; all that comes of it, thoughts included, is `heard` as it comes."""
    from pydantic_ai import messages  # noqa: PLC0415 -- an extra, and heavy

    async with model.request_stream(_conversation(request), *told) as stream:
        async for event in stream:
            match event:
                case messages.PartStartEvent(part=messages.TextPart(content=piece)) if piece:
                    heard.append(piece)
                    on_text(piece)
                case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=piece)) if piece:
                    heard.append(piece)
                    on_text(piece)
                case messages.PartStartEvent(part=messages.ThinkingPart(content=piece)) if piece:
                    heard.append(piece)
                case messages.PartDeltaEvent(delta=messages.ThinkingPartDelta(content_delta=str() as piece)):
                    heard.append(piece)
                case _:
                    pass
        response = stream.get()
        text = thoughts.without(_joined(response, messages.TextPart), _joined(response, messages.ThinkingPart))
        ended = stream.finish_reason or _own_word(response)
        if ended is None or (stream.finish_reason is None and not text):
            how = "broke off" if ended is None else f"ended without a word ({ended})"
            broke = failure.transient("PROVIDER_UNAVAILABLE", f"the answer of {model.model_name} {how}")
            raise _begun(broke, request, model.model_name, heard)
    return seam.Answer(
        text=text,
        usage=seam.Usage(
            tokens_in=response.usage.input_tokens,
            tokens_out=response.usage.output_tokens or seam.estimated(request, "".join(heard)).tokens_out,
        ),
        model=response.model_name or model.model_name,
        finish_reason=ended,
    )


def _joined(response: messages.ModelResponse, kind: type[messages.TextPart | messages.ThinkingPart]) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, kind))


def _own_word(response: messages.ModelResponse) -> str | None:
    """Why an answer has ended, in a word of its server that the client does not know."""
    word = (response.provider_details or {}).get("finish_reason")
    return word if isinstance(word, str) else None


def _conversation(request: seam.Request) -> list[messages.ModelMessage]:
    from pydantic_ai import messages  # noqa: PLC0415 -- an extra, and heavy

    turns: list[messages.ModelMessage] = []
    for message in request.messages:
        match message.role:
            case "assistant":
                turns.append(messages.ModelResponse(parts=[messages.TextPart(content=message.text)]))
            case "system":
                turns.append(messages.ModelRequest(parts=[messages.SystemPromptPart(content=message.text)]))
            case "user":
                turns.append(messages.ModelRequest(parts=[messages.UserPromptPart(content=message.text)]))
    return turns


def _output(kind: config.Kind, model: models.Model, request: seam.Request) -> models.ModelRequestParameters:
    """The schema as the API's own structured output where it can hold it; the prompt has the schema in any case."""
    from pydantic_ai import models, output  # noqa: PLC0415 -- an extra, and heavy

    free = models.ModelRequestParameters()
    if request.schema is None or not model.profile.get("supports_json_schema_output", False):
        return free
    held = structured.held(kind, request.schema)
    if held is None:
        return free
    strict = True if kind == "anthropic" else None  # it holds nothing else; the others find out by themselves
    wanted = output.OutputObjectDefinition(json_schema=dict(held), name="answer", strict=strict)
    asked = models.ModelRequestParameters(output_mode="native", output_object=wanted)
    try:
        model.customize_request_parameters(asked)
    except ValueError:  # a schema that the client cannot put into the words of its API
        return free
    return asked

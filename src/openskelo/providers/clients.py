"""The official clients of remote models, behind pydantic-ai's model classes; imported when the first one is made."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

from openskelo.providers import config, failure

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai import models

_EXTRAS: Mapping[config.Kind, str] = {
    "openai": "openai",
    "ollama": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
}
_SDKS: Mapping[str, str] = {"openai": "openai", "anthropic": "anthropic", "google": "google.genai"}
#: How long to wait for a connection; the answer itself may take as long as the provider's timeout says.
_CONNECT_SECONDS = 10.0
#: Where Ollama listens when nobody says otherwise.
_OLLAMA = "http://127.0.0.1:11434/v1"


def extra_of(kind: config.Kind) -> str | None:
    """The extra of openskelo that a kind of provider needs; None when it needs none of these."""
    return _EXTRAS.get(kind)


def installed(kind: config.Kind) -> bool:
    """Whether what a kind of provider needs is there; nothing is imported."""
    name = _EXTRAS.get(kind)
    if name is None:
        return True
    try:
        return all(importlib.util.find_spec(module) is not None for module in ("pydantic_ai", _SDKS[name]))
    except ModuleNotFoundError:  # `google` itself is not there
        return False


def http(settings: config.ProviderConfig) -> httpx2.AsyncClient:
    """The connections of one provider; whoever makes them closes them."""
    try:
        import httpx2  # noqa: PLC0415 -- comes with the extras
    except ImportError as error:
        raise _missing(settings) from error
    seconds = settings.timeout_ms / 1000
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds)),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=settings.concurrency),
        follow_redirects=True,
        event_hooks={"response": [_stay]},
    )


async def _stay(response: httpx2.Response) -> None:
    """Follow redirects on the same server only: another one is not handed a key, or a prompt, that it was not given."""
    if not response.has_redirect_location:
        return
    here = response.request.url
    target = here.join(response.headers["location"])
    upgrade = (here.scheme, target.scheme) == ("http", "https")
    if here.host == target.host and (upgrade or (here.scheme, here.port) == (target.scheme, target.port)):
        return
    port = "" if target.port is None else f":{target.port}"
    raise failure.final(
        "PROVIDER_BAD_REQUEST",
        f"{here.host} sends its clients on to {target.scheme}://{target.host}{port}, and keys are not sent there",
        hint="make that the base_url, if you trust it",
    )


def make(settings: config.ProviderConfig, model: str, *, key: str, client: httpx2.AsyncClient) -> models.Model:
    """The model class for one model of a provider; AttemptFailed PROVIDER_MISSING names the extra that is missing."""
    try:
        return _make(settings, model, key=key, client=client)
    except ImportError as error:
        raise _missing(settings) from error


def _make(settings: config.ProviderConfig, model: str, *, key: str, client: httpx2.AsyncClient) -> models.Model:
    address = settings.base_url
    match settings.kind:
        case "openai":
            from pydantic_ai.models import openai  # noqa: PLC0415 -- an extra, and heavy
            from pydantic_ai.profiles import openai as openai_profile  # noqa: PLC0415
            from pydantic_ai.providers import openai as openai_provider  # noqa: PLC0415

            there = openai_provider.OpenAIProvider(base_url=address, api_key=key, http_client=client)
            # A stream that ends without a reason was cut.
            strict = openai_profile.OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
            return openai.OpenAIChatModel(model, provider=there, profile=strict)
        case "ollama":
            from pydantic_ai.models import ollama  # noqa: PLC0415 -- an extra, and heavy
            from pydantic_ai.profiles import openai as openai_profile  # noqa: PLC0415
            from pydantic_ai.providers import ollama as ollama_provider  # noqa: PLC0415

            own = ollama_provider.OllamaProvider(base_url=address or _OLLAMA, api_key=key, http_client=client)
            whole = openai_profile.OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
            return ollama.OllamaModel(model, provider=own, profile=whole)
        case "anthropic":
            from pydantic_ai.models import anthropic  # noqa: PLC0415 -- an extra, and heavy
            from pydantic_ai.providers import anthropic as anthropic_provider  # noqa: PLC0415

            maker = anthropic_provider.AnthropicProvider(base_url=address, api_key=key, http_client=client)
            return anthropic.AnthropicModel(model, provider=maker)
        case "gemini":
            from google.genai import types  # noqa: PLC0415 -- an extra, and heavy
            from pydantic_ai.models import google  # noqa: PLC0415
            from pydantic_ai.providers import google as google_provider  # noqa: PLC0415

            once = types.HttpRetryOptions(attempts=1)
            home = google_provider.GoogleProvider(base_url=address, api_key=key, http_client=client, retry_options=once)
            return google.GoogleModel(model, provider=home)
        case "local" | "recorded":
            raise failure.final("PROVIDER_UNKNOWN", f"{settings.name} is not a remote provider")
        case _ as never:
            assert_never(never)


def _missing(settings: config.ProviderConfig) -> Exception:
    name = _EXTRAS.get(settings.kind, "openai")
    return failure.missing(f"the client for {settings.kind} is not installed", hint=f"pip install 'openskelo[{name}]'")

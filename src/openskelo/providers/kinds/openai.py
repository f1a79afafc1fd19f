"""The kind `openai`: OpenAI's API, and servers that speak it (`base_url`), through the official client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openskelo.providers import config, kinds, protocol, remote_api, structured_output

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai import models


def _make_model(settings: config.ProviderConfig, model: str, key: str, client: httpx2.AsyncClient) -> models.Model:
    from pydantic_ai.models import openai  # noqa: PLC0415 -- an extra, and slow to import
    from pydantic_ai.profiles import openai as openai_profile  # noqa: PLC0415
    from pydantic_ai.providers import openai as openai_provider  # noqa: PLC0415

    provider = openai_provider.OpenAIProvider(base_url=settings.base_url, api_key=key, http_client=client)
    # A stream that ends without a reason was cut.
    profile = openai_profile.OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    return openai.OpenAIChatModel(model, provider=provider, profile=profile)


API = remote_api.Api(
    extra="openai",
    sdk="openai",
    make_model=_make_model,
    constrain=structured_output.explicitly_open,
)


def _make(settings: config.ProviderConfig, setup: kinds.Setup) -> protocol.Provider:
    from openskelo.providers import remote  # noqa: PLC0415 -- imports asyncio

    return remote.Remote(settings, setup.environment, API)


def _missing(settings: config.ProviderConfig, setup: kinds.Setup) -> str | None:
    return remote_api.missing(settings, setup, API)


KIND = kinds.Kind(
    name="openai",
    summary="OpenAI's API, and servers that speak it (`base_url`).",
    keys=kinds.REMOTE_KEYS,
    make=_make,
    missing=_missing,
    doc=kinds.REMOTE_DOC,
    price_list="openai",
    key_variable="OPENAI_API_KEY",
    media_types=protocol.IMAGES_AND_PDF,
)

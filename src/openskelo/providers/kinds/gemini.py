"""The kind `gemini`: Google's Gemini API, through the official client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openskelo.providers import config, kinds, protocol, remote_api, structured_output

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai import models


def _make_model(settings: config.ProviderConfig, model: str, key: str, client: httpx2.AsyncClient) -> models.Model:
    from google.genai import types  # noqa: PLC0415 -- an extra, and slow to import
    from pydantic_ai.models import google  # noqa: PLC0415
    from pydantic_ai.providers import google as google_provider  # noqa: PLC0415

    once = types.HttpRetryOptions(attempts=1)
    provider = google_provider.GoogleProvider(
        base_url=settings.base_url, api_key=key, http_client=client, retry_options=once
    )
    return google.GoogleModel(model, provider=provider)


API = remote_api.Api(
    extra="google",
    sdk="google.genai",
    make_model=_make_model,
    constrain=structured_output.unchanged,
)


def _make(settings: config.ProviderConfig, setup: kinds.Setup) -> protocol.Provider:
    from openskelo.providers import remote  # noqa: PLC0415 -- imports asyncio

    return remote.Remote(settings, setup.environment, API)


def _missing(settings: config.ProviderConfig, setup: kinds.Setup) -> str | None:
    return remote_api.missing(settings, setup, API)


KIND = kinds.Kind(
    name="gemini",
    summary="Google's Gemini API.",
    keys=kinds.REMOTE_KEYS,
    make=_make,
    missing=_missing,
    doc=kinds.REMOTE_DOC,
    price_list="google",
    key_variable="GEMINI_API_KEY",
    media_types=protocol.IMAGES_AND_PDF,
)

"""What went wrong with a remote model, in our words: each of the client's errors becomes a code and a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic_ai import exceptions

from openskelo import errors
from openskelo.providers import failure


def failed(name: str, error: exceptions.AgentRunError | exceptions.UserError) -> errors.AttemptFailed:
    """The failure of the provider `name` that the client's `error` stands for."""
    said = f"{name}: {_words(error)}"
    match error:
        case exceptions.ModelRateLimitError():
            return failure.transient("PROVIDER_RATE_LIMITED", said, retry_after_ms=_wait(error))
        case exceptions.ModelQuotaExceededError():
            return failure.final("PROVIDER_QUOTA", said, hint="the account's credit or quota is used up")
        case exceptions.ModelAuthenticationError():
            return failure.final("PROVIDER_AUTH", said, hint="check the provider's key, and what it may use")
        case exceptions.ModelTimeoutError() | exceptions.ModelRequestTimeout():
            return failure.transient("PROVIDER_TIMEOUT", said, hint="raise the provider's timeout_ms")
        case exceptions.ModelNotFoundError():
            return failure.final("PROVIDER_BAD_REQUEST", said, hint="check the model's name and the base_url")
        case exceptions.ModelRequestRejectedError():
            return failure.final("PROVIDER_BAD_REQUEST", said)
        case exceptions.ContentFilterError():
            return failure.final("PROVIDER_REFUSED", said, hint="change the prompt, or give the expert a fallback")
        case exceptions.ModelHTTPError() if 400 <= error.status_code < 500 and error.status_code not in (408, 409, 425):
            return failure.final("PROVIDER_BAD_REQUEST", said)
        case exceptions.ModelAPIError():
            return failure.transient("PROVIDER_UNAVAILABLE", said, retry_after_ms=_wait(error))
        case exceptions.UserError():
            return failure.final("PROVIDER_BAD_REQUEST", said)
        case _:
            return failure.transient("PROVIDER_UNAVAILABLE", said)


def _wait(error: exceptions.ModelAPIError) -> int | None:
    return None if error.retry_after is None else max(0, round(error.retry_after * 1000))


def _words(error: exceptions.AgentRunError | exceptions.UserError) -> str:
    """What the server said, where it said something; the client's own words are for its developers."""
    body = error.body if isinstance(error, exceptions.ModelAPIError) else None
    if isinstance(body, Mapping):
        document = cast("Mapping[str, object]", body)
        inner = document.get("error", document)
        if isinstance(inner, Mapping) and isinstance(said := cast("Mapping[str, object]", inner).get("message"), str):
            return f"{said} ({error.status_code})" if isinstance(error, exceptions.ModelHTTPError) else said
    if isinstance(error, exceptions.ModelHTTPError):
        return f"the server answered {error.status_code}"
    return error.message or type(error).__name__

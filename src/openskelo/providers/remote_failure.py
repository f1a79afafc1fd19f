"""Maps the errors of pydantic-ai's clients to failure codes, which say whether a retry may help.

This module imports pydantic-ai, an extra that is slow to import; `remote` imports it at the first request.
"""

from __future__ import annotations

import re
from typing import cast

from pydantic_ai import exceptions

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.providers import config, failure_codes

#: In seconds: a longer wait than a day in a server's response is a mistake.
_MAX_WAIT = 86_400
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_NOT_AN_ANSWER = "what the server sent is no answer of a model"


def to_failure(settings: config.ProviderConfig, error: Exception) -> errors.AttemptFailed:
    """Return the failure for an error of the client; an AttemptFailed among its causes is returned as it is."""
    failures = (cause for cause in errors.causes(error) if isinstance(cause, errors.AttemptFailed))
    failure = next(failures, None)
    if failure is not None:
        return failure
    message = f"{settings.name}: {_message(error)}"
    match error:
        case exceptions.ModelRateLimitError():
            return failure_codes.transient("PROVIDER_RATE_LIMITED", message, retry_after_ms=_wait_ms(error))
        case exceptions.ModelQuotaExceededError():
            return failure_codes.final("PROVIDER_QUOTA", message, hint="the account's credit or quota is used up")
        case exceptions.ModelAuthenticationError():
            return failure_codes.final("PROVIDER_AUTH", message, hint="check the provider's key, and what it may use")
        case exceptions.ModelTimeoutError() | exceptions.ModelRequestTimeout():
            return failure_codes.transient("PROVIDER_TIMEOUT", message, hint="raise the provider's timeout_ms")
        case exceptions.ModelNotFoundError():
            return failure_codes.final("PROVIDER_BAD_REQUEST", message, hint="check the model's name and the base_url")
        case exceptions.ModelRequestRejectedError():
            return failure_codes.final("PROVIDER_BAD_REQUEST", message)
        case exceptions.ContentFilterError():
            return failure_codes.final(
                "PROVIDER_REFUSED", message, hint="change the prompt, or give the expert a fallback"
            )
        case exceptions.ModelHTTPError() if 400 <= error.status_code < 500 and error.status_code not in (408, 409, 425):
            return failure_codes.final("PROVIDER_BAD_REQUEST", message)
        case exceptions.ModelConnectionError():
            return failure_codes.not_connected(settings, error)
        case exceptions.ModelAPIError():
            return failure_codes.transient("PROVIDER_UNAVAILABLE", message, retry_after_ms=_wait_ms(error))
        case exceptions.UserError():
            return failure_codes.final("PROVIDER_BAD_REQUEST", message)
        case exceptions.AgentRunError():
            hint = "check the base_url: something else may answer there"
            return failure_codes.transient("PROVIDER_UNAVAILABLE", f"{settings.name}: {_NOT_AN_ANSWER}", hint=hint)
        case _:
            message = f"{settings.name}: {_NOT_AN_ANSWER} ({type(error).__name__}: {error})"
            return failure_codes.transient("PROVIDER_UNAVAILABLE", message)


def _wait_ms(error: exceptions.ModelAPIError) -> int | None:
    """Return the wait that the server asks for in a header, or in the body as Google does; None without one."""
    if error.retry_after is not None:
        return max(0, round(min(error.retry_after, _MAX_WAIT) * 1000))
    match cast("Json", error.body):
        case {"error": {"details": [*details]}} | {"details": [*details]}:
            delays = [_delay_ms(detail) for detail in details]
            return max((delay for delay in delays if delay is not None), default=None)
        case _:
            return None


def _delay_ms(detail: Json) -> int | None:
    match detail:
        case {"retryDelay": str() as delay} if match := _SECONDS.fullmatch(delay):
            return round(float(match.group(1)) * 1000)
        case _:
            return None


def _message(error: Exception) -> str:
    """Return the server's message if there is one, else the client's, which is for developers."""
    message = None
    if isinstance(error, exceptions.ModelAPIError):
        message = failure_codes.server_message(cast("Json", error.body))
    if isinstance(error, exceptions.ModelHTTPError):
        if message:
            return f"{message} ({error.status_code})"
        return f"the server answered {error.status_code}"
    return message or str(error) or type(error).__name__

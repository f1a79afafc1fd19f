"""What went wrong with a remote model, in our words: each of the client's errors becomes a code and a verdict."""

from __future__ import annotations

import re
import socket
from collections.abc import Generator, Mapping
from typing import cast
from urllib import parse

from pydantic_ai import exceptions

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.providers import config, failure

#: Where servers put what they have to say, the most telling first.
_SAID_UNDER = ("error", "message", "detail", "details", "msg")
#: A longer way down than any server has.
_DEEPEST = 6
#: In seconds. A server may ask for anything, and none has asked for more in earnest.
_LONGEST_WAIT = 86_400
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_NO_STREAM = "what the server sent is no answer of a model"


def failed(settings: config.ProviderConfig, error: Exception) -> errors.AttemptFailed:
    """The failure of a provider that the client's `error` stands for."""
    own = next((one for one in _causes(error) if isinstance(one, errors.AttemptFailed)), None)
    if own is not None:
        return own
    said = f"{settings.name}: {_words(error)}"
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
        case exceptions.ModelConnectionError():
            return _unconnected(settings, error)
        case exceptions.ModelAPIError():
            return failure.transient("PROVIDER_UNAVAILABLE", said, retry_after_ms=_wait(error))
        case exceptions.UserError():
            return failure.final("PROVIDER_BAD_REQUEST", said)
        case exceptions.AgentRunError():
            hint = "check the base_url: something else may answer there"
            return failure.transient("PROVIDER_UNAVAILABLE", f"{settings.name}: {_NO_STREAM}", hint=hint)
        case _:
            said = f"{settings.name}: {_NO_STREAM} ({type(error).__name__}: {error})"
            return failure.transient("PROVIDER_UNAVAILABLE", said)


def _unconnected(settings: config.ProviderConfig, error: exceptions.ModelConnectionError) -> errors.AttemptFailed:
    """The client says that there is no connection; why, and to whom, is in what it met."""
    where = "" if settings.base_url is None else f" ({_server(settings.base_url)})"
    hint = "check the network" if settings.base_url is None else "check the base_url, and that a server runs there"
    return failure.transient("PROVIDER_UNAVAILABLE", f"{settings.name}{where}: {_reason(error)}", hint=hint)


def _server(address: str) -> str:
    """The server of an address, without the names and passwords that may stand in it."""
    found = parse.urlsplit(address)
    return f"{found.scheme}://{found.netloc.rpartition('@')[2]}"


def _reason(error: BaseException) -> str:
    met = list(_causes(error))
    for one in reversed(met):
        match one:
            case ConnectionRefusedError():
                return "the connection was refused"
            case socket.gaierror():
                return f"the host is not known: {one.strerror}"
            case OSError() if one.strerror:
                return one.strerror
            case _:
                pass
    return next((str(one) for one in reversed(met) if str(one)), type(error).__name__)


def _causes(error: BaseException) -> Generator[BaseException]:
    """The error and what led to it, nearest first."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _wait(error: exceptions.ModelAPIError) -> int | None:
    """How long the server asks us to wait: in its header, or where Google says it."""
    if error.retry_after is not None:
        return max(0, round(min(error.retry_after, _LONGEST_WAIT) * 1000))
    match cast("Json", error.body):
        case {"error": {"details": [*details]}} | {"details": [*details]}:
            told = [_delay(detail) for detail in details]
            return max((wait for wait in told if wait is not None), default=None)
        case _:
            return None


def _delay(detail: Json) -> int | None:
    match detail:
        case {"retryDelay": str() as delay} if found := _SECONDS.fullmatch(delay):
            return round(float(found.group(1)) * 1000)
        case _:
            return None


def _words(error: Exception) -> str:
    """What the server said, where it said something; the client's own words are for its developers."""
    said = _said(cast("Json", error.body)) if isinstance(error, exceptions.ModelAPIError) else None
    if isinstance(error, exceptions.ModelHTTPError):
        return f"{said} ({error.status_code})" if said else f"the server answered {error.status_code}"
    return said or str(error) or type(error).__name__


def _said(body: Json, depth: int = 0) -> str | None:
    """The words for people in the body of an error; a page for browsers has none."""
    match body:
        case str():
            text = body.strip()
            return None if not text or text.startswith("<") else text
        case Mapping() if depth < _DEEPEST:
            places = [body[name] for name in _SAID_UNDER if name in body]
        case [first, *_] if depth < _DEEPEST:
            places = [first]
        case _:
            return None
    return next((said for place in places if (said := _said(place, depth + 1))), None)

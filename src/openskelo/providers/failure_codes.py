"""Failures of a provider: each has a code, and says whether a retry may help.

PROVIDER_MISSING       not installed, no key, no model file  PROVIDER_RATE_LIMITED   retried after a wait
PROVIDER_AUTH          a wrong key                           PROVIDER_TIMEOUT        retried
PROVIDER_QUOTA         the account has no credit left        PROVIDER_UNAVAILABLE    retried
PROVIDER_BAD_REQUEST   the server rejects the request        PROVIDER_REFUSED        the model does not answer
PROVIDER_UNKNOWN       not in skelo.yaml                     PROVIDER_TRUNCATED      the answer hit its token limit
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from urllib import parse

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.providers import config, protocol

_MAX_MESSAGE = 400
#: The keys of the message in the body of an error, the most useful one first.
_MESSAGE_KEYS = ("error", "message", "detail", "details", "msg")
_MAX_DEPTH = 6


def transient(
    code: str, message: str, *, retry_after_ms: int | None = None, hint: str | None = None
) -> errors.AttemptFailed:
    """Return a failure that a retry may avoid: a rate limit, a timeout, a server that is down."""
    return errors.AttemptFailed(_short(message), code=code, hint=hint, retryable=True, retry_after_ms=retry_after_ms)


def final(code: str, message: str, *, hint: str | None = None) -> errors.AttemptFailed:
    """Return a failure that would repeat with the same request: a wrong key, an unknown model, a schema too large."""
    return errors.AttemptFailed(_short(message), code=code, hint=hint, retryable=False)


def missing(message: str, *, hint: str | None = None) -> errors.AttemptFailed:
    """Return the failure of a provider that has to be installed or set up first."""
    return errors.Missing(_short(message), code="PROVIDER_MISSING", hint=hint)


def not_set_up() -> errors.AttemptFailed:
    """Return the failure of work that needs a model where no provider is set up."""
    return missing("no model provider is set up")


def require_usable(answer: protocol.Answer, schema: object) -> protocol.Answer:
    """Return `answer`; raise `protocol.UnusableAnswer` for a refusal, and for JSON that was cut at its token limit."""
    if answer.finish_reason == "content_filter":
        raise protocol.UnusableAnswer(
            f"{answer.model} refused to answer",
            code="PROVIDER_REFUSED",
            hint="change the prompt, or give the expert a fallback",
            answer=answer,
        )
    if answer.finish_reason == "length" and schema is not None:
        raise protocol.UnusableAnswer(
            f"the answer of {answer.model} was cut after {answer.usage.tokens_out} tokens",
            code="PROVIDER_TRUNCATED",
            hint="raise max_tokens, or ask for less",
            answer=answer,
        )
    return answer


def redirected(origin: str, target: str) -> errors.AttemptFailed:
    """Return the failure of a redirect to another server, which must not get the key and the prompt."""
    return final(
        "PROVIDER_BAD_REQUEST",
        f"{origin} sends its clients on to {target}, and keys are not sent there",
        hint="make that the base_url, if you trust it",
    )


def not_connected(settings: config.ProviderConfig, error: Exception) -> errors.AttemptFailed:
    """Return the failure of a connection, with the operating system's reason and the server's address."""
    where = "" if settings.base_url is None else f" ({_server(settings.base_url)})"
    hint = "check the network" if settings.base_url is None else "check the base_url, and that a server runs there"
    return transient("PROVIDER_UNAVAILABLE", f"{settings.name}{where}: {_reason(error)}", hint=hint)


def _server(address: str) -> str:
    """Return the server of an address, without a user name and password."""
    parts = parse.urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _reason(error: BaseException) -> str:
    chain = list(errors.causes(error))
    for cause in reversed(chain):
        match cause:
            case ConnectionRefusedError():
                return "the connection was refused"
            case socket.gaierror():
                return f"the host is not known: {cause.strerror}"
            case OSError() if cause.strerror:
                return cause.strerror
            case _:
                pass
    return next((str(cause) for cause in reversed(chain) if str(cause)), type(error).__name__)


def server_message(body: Json, depth: int = 0) -> str | None:
    """Return the message in the body of an error; None without one, or for an HTML page."""
    match body:
        case str():
            text = body.strip()
            if not text or text.startswith("<"):
                return None
            return text
        case Mapping() if depth < _MAX_DEPTH:
            places = [body[name] for name in _MESSAGE_KEYS if name in body]
        case [first, *_] if depth < _MAX_DEPTH:
            places = [first]
        case _:
            return None
    return next((message for place in places if (message := server_message(place, depth + 1))), None)


def _short(message: str) -> str:
    if len(message) <= _MAX_MESSAGE:
        return message
    return message[: _MAX_MESSAGE - 1] + "…"

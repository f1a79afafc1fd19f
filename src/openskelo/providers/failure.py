"""Why a model gave no answer: each code with what it means for a second try."""

from __future__ import annotations

from openskelo import errors
from openskelo.providers import seam

_LONGEST = 400


def transient(
    code: str, message: str, *, retry_after_ms: int | None = None, hint: str | None = None
) -> errors.AttemptFailed:
    """Something that may be gone next time: a rate limit, a timeout, a server in trouble."""
    return errors.AttemptFailed(_short(message), code=code, hint=hint, retryable=True, retry_after_ms=retry_after_ms)


def final(code: str, message: str, *, hint: str | None = None) -> errors.AttemptFailed:
    """Something that the same request will always meet: a wrong key, an unknown model, a schema nobody takes."""
    return errors.AttemptFailed(_short(message), code=code, hint=hint, retryable=False)


def missing(what: str, *, hint: str) -> errors.AttemptFailed:
    """A part that has to be installed or set up first."""
    return final("PROVIDER_MISSING", what, hint=hint)


def usable(answer: seam.Answer, schema: object) -> seam.Answer:
    """`answer`, unless it is a refusal, or was cut so that it cannot keep its schema (then `seam.Unusable`)."""
    if answer.finish_reason == "content_filter":
        raise seam.Unusable(
            f"{answer.model} refused to answer",
            code="PROVIDER_REFUSED",
            hint="change the prompt, or give the expert a fallback",
            answer=answer,
        )
    if answer.finish_reason == "length" and schema is not None:
        raise seam.Unusable(
            f"the answer of {answer.model} was cut after {answer.usage.tokens_out} tokens",
            code="PROVIDER_TRUNCATED",
            hint="raise max_tokens, or ask for less",
            answer=answer,
        )
    return answer


def _short(message: str) -> str:
    return message if len(message) <= _LONGEST else message[: _LONGEST - 1] + "…"

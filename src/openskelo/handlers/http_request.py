"""`builtin:http-request`: one request to the outside, with a time limit, a size limit and an idempotency key.

Codes: DET_CONFIG_INVALID, HTTP_STATUS, TIMEOUT, and those of `exchange`.
"""

from __future__ import annotations

import asyncio
import codecs
import email.utils
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from openskelo import errors
from openskelo.handlers import catalog, context, exchange, header, place, secret
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical, outside, template

_TIMEOUT_MS = 30_000
_MAX_BYTES = 1024 * 1024
#: How much of an answer that fails the attempt is kept in its log.
_SHOWN = 1024
_MAX_WAIT_MS = 24 * 3600 * 1000
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: Where the body may come from: one of them at most (`workflows.builtin` says so before a run).
_BODIES = ("json_from", "json", "body_from", "body")
#: Encodings that servers still name for text. Others, and none, are read as UTF-8.
_CHARSET = re.compile(
    r"iso-8859-\d{1,2}|windows-125\d|us-ascii|utf-16(le|be)?|shift_jis|euc-(jp|kr)|gb(k|2312|18030)|big5|koi8-[ru]"
)
#: Trying again changes nothing about these answers of a server; every other error status may be temporary.
_FINAL = frozenset({400, 401, 402, 403, 405, 406, 410, 411, 413, 414, 415, 422, 431, 451})


async def http_request(ctx: context.Context, where: place.Place) -> JsonObject:
    """Send the request; a status outside 200-299 fails the attempt unless `accept_status` names it.

    The beginning of an answer that fails the attempt is kept in its log.
    """
    catalog.check_config("builtin:http-request", ctx.config)
    asked = _asked(ctx, where)
    timeout_ms = catalog.number(ctx.config, "timeout_ms", _TIMEOUT_MS)
    progress = exchange.Progress()
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            answered = await exchange.exchange(asked, progress)
    except TimeoutError as error:
        message = f"no complete answer within {timeout_ms} ms"
        raise errors.AttemptFailed(message, code="TIMEOUT", happened=progress.happened) from error
    accepted = ctx.config.get("accept_status")
    ok = 200 <= answered.status < 300
    if not ok and not (isinstance(accepted, list | tuple) and answered.status in accepted):
        _log(ctx, answered)
        raise errors.AttemptFailed(
            f"the server answered with status {answered.status}",
            code="HTTP_STATUS",
            retryable=answered.status not in _FINAL,
            retry_after_ms=_retry_after(answered.headers.get("retry-after")),
            happened=progress.happened,
        )
    return {"status": answered.status, "ok": ok, "body": _body(answered), "headers": dict(answered.headers)}


def _log(ctx: context.Context, answered: exchange.Answered) -> None:
    """Keep what a refusal says for people, without what the request's headers held in secret."""
    headers = ctx.config.get("headers")
    written = [text for text in headers.values() if isinstance(text, str)] if isinstance(headers, Mapping) else []
    used = (ctx.expand_secrets(name) for text in written for name in secret.named(text))
    hidden = secret.spellings(filter(None, used))
    text = secret.mask(answered.body.decode("utf-8", "replace"), hidden)
    more = f" … {len(text) - _SHOWN} more characters" if len(text) > _SHOWN else ""
    kind = secret.mask(answered.headers.get("content-type", "no content type"), hidden)
    ctx.log(f"status {answered.status}, {kind}\n{text[:_SHOWN]}{more}")


def _asked(ctx: context.Context, where: place.Place) -> exchange.Asked:
    config = ctx.config
    method = catalog.text(config, "method") or "GET"
    headers, sensitive = _headers(ctx)
    body = _payload(ctx, headers)
    if method not in _SAFE and config.get("idempotency_key", True) is True:
        headers.setdefault("idempotency-key", ctx.idempotency_key)
    return exchange.Asked(
        method=method,
        url=_url(ctx),
        headers=headers,
        body=body,
        sensitive=sensitive,
        allow_private=where.allow_private_addresses,
        follow=config.get("follow_redirects", True) is True,
        max_bytes=catalog.number(config, "max_bytes", _MAX_BYTES),
    )


def _url(ctx: context.Context) -> str:
    port = catalog.text(ctx.config, "url_from")
    named: Json = ctx.inputs.get(port) if port is not None else None
    if isinstance(named, str) and named:
        return named
    text = catalog.text(ctx.config, "url")
    if text is None:
        raise errors.AttemptFailed(
            f"there is no URL: the input {port!r} is unset and no `url` is given",
            code="HTTP_URL_INVALID",
            retryable=False,
        )
    return _render(text, ctx)


def _headers(ctx: context.Context) -> tuple[dict[str, str], frozenset[str]]:
    """All headers by lower-case name, and which of them hold a secret. Only the author's text may name one."""
    found: dict[str, str] = {}
    sensitive: set[str] = set()
    port = catalog.text(ctx.config, "headers_from")
    for source, trusted in ((ctx.inputs.get(port) if port else None, False), (ctx.config.get("headers"), True)):
        if not isinstance(source, Mapping):
            continue
        for name, value in source.items():
            lower = name.lower()
            text = value if isinstance(value, str) else ""
            if trusted and secret.references(text):
                sensitive.add(lower)
                text = ctx.expand_secrets(text)
            if not header.can_be_set(name, text):
                raise errors.AttemptFailed(
                    f"the header {name[:60]!r} cannot be set",
                    code="DET_CONFIG_INVALID",
                    hint=header.HINT,
                    retryable=False,
                )
            found[lower] = text
    return found, frozenset(sensitive)


def _payload(ctx: context.Context, headers: dict[str, str]) -> bytes | None:
    """The body: JSON (`json_from`, `json`) or text (`body_from`, `body`); JSON brings its content type along."""
    config = ctx.config
    if len(several := [key for key in _BODIES if key in config]) > 1:
        raise errors.AttemptFailed(
            f"a request has one body, not {' and '.join(several)}", code="DET_CONFIG_INVALID", retryable=False
        )
    if (port := catalog.text(config, "json_from")) is not None or "json" in config:
        headers.setdefault("content-type", "application/json")
        return canonical.dumps(ctx.inputs.get(port) if port is not None else _rendered(config["json"], ctx))
    value: Json = None
    if (port := catalog.text(config, "body_from")) is not None:
        value = ctx.inputs.get(port)
    elif (text := catalog.text(config, "body")) is not None:
        value = _render(text, ctx)
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else canonical.dumps(value)


def _rendered(value: Json, ctx: context.Context) -> Json:
    """JSON of the author with its texts rendered; keys stay as they are."""
    match value:
        case str():
            return _render(value, ctx)
        case Mapping():
            return {key: _rendered(part, ctx) for key, part in value.items()}
        case list() | tuple():
            return [_rendered(part, ctx) for part in value]
        case _:
            return value


def _render(text: str, ctx: context.Context) -> str:
    values: dict[str, Json] = {"inputs": ctx.inputs}
    seen: dict[str, JsonObject | None] = {"inputs": {"type": "object"}}
    if ctx.item_index is not None:
        for name in ("item", ctx.item_name):
            values[name], seen[name] = ctx.item, None
    return template.compile(text, seen).render(values)


def _body(answered: exchange.Answered) -> Json:
    """JSON where the server says that it is, else text."""
    kind, _, parameters = answered.headers.get("content-type", "").lower().partition(";")
    kind = kind.strip()
    if kind == "application/json" or kind.endswith("+json"):
        if not answered.body:
            return None
        try:
            return outside.loads(answered.body)
        except errors.InvalidInput as error:
            what = "the server's answer is not the JSON it says it is"
            raise canonical.failed(error, what, code="HTTP_BODY_INVALID") from error
    return answered.body.decode(_charset(parameters), "replace")


def _charset(parameters: str) -> str:
    found = re.search(r"\bcharset\s*=\s*\"?([a-z0-9_-]+)", parameters)
    if found is None or not _CHARSET.fullmatch(found[1]):
        return "utf-8"
    try:
        return codecs.lookup(found[1]).name
    except LookupError:  # such as iso-8859-12, which never came to be
        return "utf-8"


def _retry_after(value: str | None) -> int | None:
    """The server's wish in milliseconds, given in seconds or as a date; at most a day."""
    if value is None:
        return None
    if (seconds := value.strip()).isdecimal():
        return _MAX_WAIT_MS if len(seconds) > 9 else min(int(seconds) * 1000, _MAX_WAIT_MS)
    try:
        moment = email.utils.parsedate_to_datetime(value)
        left = (moment - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0, min(int(left * 1000), _MAX_WAIT_MS))

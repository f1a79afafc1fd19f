"""`builtin:http-request`: one HTTP request, with a time limit, a size limit and an idempotency key.

Codes: DET_CONFIG_INVALID, HTTP_STATUS, HTTP_BODY_INVALID, TIMEOUT, and those of `http_exchange.exchange`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from openskelo import errors
from openskelo.extensions import Position
from openskelo.handlers import builtin, context, file_access, http_syntax, secrets
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical, template

if TYPE_CHECKING:
    from openskelo.handlers import http_exchange

_TIMEOUT_MS = 30_000
_MAX_BYTES = 1024 * 1024
#: How much of a response that fails the attempt is kept in its log.
_LOGGED_CHARACTERS = 1024
_MAX_WAIT_MS = 24 * 3600 * 1000
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
#: Where the body may come from: at most one of them.
_BODIES = ("json_from", "json", "body_from", "body")
#: Encodings that servers still name for text. Others, and none, are read as UTF-8.
_CHARSET = re.compile(
    r"iso-8859-\d{1,2}|windows-125\d|us-ascii|utf-16(le|be)?|shift_jis|euc-(jp|kr)|gb(k|2312|18030)|big5|koi8-[ru]"
)
#: Statuses that a retry does not change; every other error status may be temporary.
_FINAL_STATUSES = frozenset({400, 401, 402, 403, 405, 406, 410, 411, 413, 414, 415, 422, 431, 451})


async def run(ctx: context.Context, access: file_access.Access) -> JsonObject:
    """Send the request; a status outside 200-299 fails the attempt unless `accept_status` lists it."""
    import asyncio  # noqa: PLC0415 -- loading a workflow must not import asyncio and httpx

    from openskelo.handlers import http_exchange  # noqa: PLC0415

    builtin.check_config(HANDLER, ctx.config)
    request = _request(ctx, access)
    timeout_ms = builtin.number(ctx.config, "timeout_ms", _TIMEOUT_MS)
    progress = http_exchange.Progress()
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            response = await http_exchange.exchange(request, progress)
    except TimeoutError as error:
        message = f"no complete answer within {timeout_ms} ms"
        raise errors.AttemptFailed(message, code="TIMEOUT", happened=progress.happened) from error
    accept_status = ctx.config.get("accept_status")
    ok = 200 <= response.status < 300
    if not ok and not (isinstance(accept_status, list | tuple) and response.status in accept_status):
        _log(ctx, response)
        raise errors.AttemptFailed(
            f"the server answered with status {response.status}",
            code="HTTP_STATUS",
            retryable=response.status not in _FINAL_STATUSES,
            retry_after_ms=_retry_after(response.headers.get("retry-after")),
            happened=progress.happened,
        )
    return {"status": response.status, "ok": ok, "body": _body(response), "headers": dict(response.headers)}


def _log(ctx: context.Context, response: http_exchange.Response) -> None:
    """Add the start of an error response to the log, with the secrets of the request's headers masked."""
    headers = ctx.config.get("headers")
    texts = [text for text in headers.values() if isinstance(text, str)] if isinstance(headers, Mapping) else []
    values = (ctx.expand_secrets(reference) for text in texts for reference in secrets.named(text))
    secret_values = secrets.spellings(value for value in values if value)
    text = secrets.mask(response.body.decode("utf-8", "replace"), secret_values)
    more = f" … {len(text) - _LOGGED_CHARACTERS} more characters" if len(text) > _LOGGED_CHARACTERS else ""
    kind = secrets.mask(response.headers.get("content-type", "no content type"), secret_values)
    ctx.log(f"status {response.status}, {kind}\n{text[:_LOGGED_CHARACTERS]}{more}")


def _request(ctx: context.Context, access: file_access.Access) -> http_exchange.Request:
    from openskelo.handlers import http_exchange  # noqa: PLC0415 -- see `run`

    config = ctx.config
    method = builtin.text(config, "method") or "GET"
    headers, sensitive = _headers(ctx)
    body = _payload(ctx, headers)
    if method not in _SAFE_METHODS and config.get("idempotency_key", True) is True:
        headers.setdefault("idempotency-key", ctx.idempotency_key)
    return http_exchange.Request(
        method=method,
        url=_url(ctx),
        headers=headers,
        body=body,
        sensitive=sensitive,
        allow_private=access.allow_private_addresses,
        follow=config.get("follow_redirects", True) is True,
        max_bytes=builtin.number(config, "max_bytes", _MAX_BYTES),
    )


def _url(ctx: context.Context) -> str:
    port = builtin.text(ctx.config, "url_from")
    url: Json = ctx.inputs.get(port) if port is not None else None
    if isinstance(url, str) and url:
        return url
    text = builtin.text(ctx.config, "url")
    if text is None:
        raise errors.AttemptFailed(
            f"there is no URL: the input {port!r} is unset and no `url` is given",
            code="HTTP_URL_INVALID",
            retryable=False,
        )
    return _render(text, ctx)


def _headers(ctx: context.Context) -> tuple[dict[str, str], frozenset[str]]:
    """Return all headers by lower-case name, and the names of those with a secret. Only the author may name one."""
    headers: dict[str, str] = {}
    sensitive: set[str] = set()
    port = builtin.text(ctx.config, "headers_from")
    for source, is_trusted in ((ctx.inputs.get(port) if port else None, False), (ctx.config.get("headers"), True)):
        if not isinstance(source, Mapping):
            continue
        for name, value in source.items():
            lower = name.lower()
            text = value if isinstance(value, str) else ""
            if is_trusted and secrets.references(text):
                sensitive.add(lower)
                text = ctx.expand_secrets(text)
            if not http_syntax.is_header(name, text):
                raise errors.AttemptFailed(
                    f"the header {name[:60]!r} cannot be set",
                    code="DET_CONFIG_INVALID",
                    hint=http_syntax.HEADER_HINT,
                    retryable=False,
                )
            headers[lower] = text
    return headers, frozenset(sensitive)


def _payload(ctx: context.Context, headers: dict[str, str]) -> bytes | None:
    """Return the body: JSON (`json_from`, `json`), which sets the content type, or text (`body_from`, `body`)."""
    config = ctx.config
    bodies = [key for key in _BODIES if key in config]
    if len(bodies) > 1:
        raise errors.AttemptFailed(
            f"a request has one body, not {' and '.join(bodies)}", code="DET_CONFIG_INVALID", retryable=False
        )
    value: Json = None
    if (port := builtin.text(config, "json_from")) is not None or "json" in config:
        if port is not None:
            value = ctx.inputs.get(port)
        else:
            value = template.change_texts(config["json"], lambda text: _render(text, ctx))
        headers.setdefault("content-type", "application/json")
        return canonical.dumps_for_programs(value)
    if (port := builtin.text(config, "body_from")) is not None:
        value = ctx.inputs.get(port)
    elif (text := builtin.text(config, "body")) is not None:
        value = _render(text, ctx)
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    return canonical.dumps_for_programs(value)


def _render(text: str, ctx: context.Context) -> str:
    values: dict[str, Json] = {"inputs": ctx.inputs}
    types: dict[str, JsonObject | None] = {"inputs": {"type": "object"}}
    if ctx.item_index is not None:
        for name in ("item", ctx.item_name):
            values[name], types[name] = ctx.item, None
    return template.compile(text, types).render(values)


def _body(response: http_exchange.Response) -> Json:
    """Return the body as JSON where the server's content type says so, else as text."""
    kind, _, parameters = response.headers.get("content-type", "").lower().partition(";")
    kind = kind.strip()
    if kind == "application/json" or kind.endswith("+json"):
        if not response.body:
            return None
        try:
            return canonical.loads_untrusted(response.body)
        except errors.InvalidInput as error:
            complaint = "the server's answer is not the JSON it says it is"
            raise canonical.attempt_failure(error, complaint, code="HTTP_BODY_INVALID") from error
    return response.body.decode(_charset(parameters), "replace")


def _charset(parameters: str) -> str:
    charset = re.search(r"\bcharset\s*=\s*\"?([a-z0-9_-]+)", parameters)
    if charset is None or not _CHARSET.fullmatch(charset[1]):
        return "utf-8"
    try:
        return codecs.lookup(charset[1]).name
    except LookupError:  # such as iso-8859-12, which never came to be
        return "utf-8"


def _retry_after(value: str | None) -> int | None:
    """Return the wait that a `Retry-After` header asks for, in milliseconds, at most a day.

    The header holds seconds or a date.
    """
    import email.utils  # noqa: PLC0415 -- slow to import, and seldom needed

    if value is None:
        return None
    if (seconds := value.strip()).isdecimal():
        if len(seconds) > 9:
            return _MAX_WAIT_MS
        return min(int(seconds) * 1000, _MAX_WAIT_MS)
    try:
        moment = email.utils.parsedate_to_datetime(value)
        seconds_left = (moment - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0, min(int(seconds_left * 1000), _MAX_WAIT_MS))


def _effect(config: JsonObject) -> definition.Effect:
    has_key = config.get("idempotency_key") is True
    if has_key or config.get("method", "GET") in _SAFE_METHODS:
        return "idempotent"
    return "once"


def _check(block: builtin.BlockCheck) -> None:
    """Report more than one body, an unusable URL, headers that cannot be sent, and texts that do not compile."""
    config = block.node.config
    bodies = [key for key in _BODIES if key in config]
    for key in bodies[1:]:
        message = f"the body is given by `{bodies[0]}` already"
        block.config.at(key, None).key_problem("CONFLICT", message, hint="leave one out")
    _check_url(block.config.at("url", config.get("url")))
    _check_headers(block.config.at("headers", config.get("headers")))
    for key in ("url", "body", "json"):
        _check_texts(block, block.config.at(key, config.get(key)))


def _check_url(position: Position) -> None:
    url = position.value
    if not isinstance(url, str) or "{{" in url:  # what is filled in may be all that is missing
        return
    if (fault := http_syntax.url_fault(url)) is not None:
        position.problem("URL_INVALID", f"the URL is not usable: {fault}")


def _check_headers(position: Position) -> None:
    headers: JsonObject = position.value if isinstance(position.value, Mapping) else {}
    names: set[str] = set()
    for name, text in headers.items():
        header = position.at(name, text)
        if name.lower() in names:
            message = f"the header {name[:60]!r} is there already"
            header.key_problem("CONFLICT", message, hint="case makes no difference")
        names.add(name.lower())
        if not isinstance(text, str):
            continue
        if not http_syntax.is_header(name, secrets.mask(text, secrets.named(text))):
            message = f"the header {name[:60]!r} cannot be set"
            header.key_problem("DET_CONFIG_INVALID", message, hint=http_syntax.HEADER_HINT)
        elif "{{" in text:
            hint = "give headers that come from data by `headers_from`"
            header.warn("NOT_FILLED_IN", "`{{ … }}` is not filled in here, and sent as it stands", hint=hint)


def _check_texts(block: builtin.BlockCheck, position: Position) -> None:
    """Report every text in the JSON at `position` that does not compile as a template, or names a secret."""
    match position.value:
        case str() as text:
            block.check_template(position)
            if secrets.references(text):
                message = f"`{secrets.named(text)[0]}` is not filled in here, and sent as it stands"
                hint = "secrets belong into `headers`, where nothing keeps them"
                position.warn("NOT_FILLED_IN", message, hint=hint)
        case Mapping() as entries:
            for key, value in entries.items():
                _check_texts(block, position.at(key, value))
        case list() as items:
            for index, value in enumerate(items):
                _check_texts(block, position.at(index, value))
        case _:
            pass


#: More of the reference, after the table of its keys.
_DOC = """\
Effect: `idempotent` for GET, HEAD and OPTIONS and when `idempotency_key` is `true` in the config, else `once`.

One of `url` and `url_from` is needed, and at most one of `body`, `body_from`, `json` and `json_from`. Names are
resolved once and only checked addresses are connected to: private, loopback and special ones are refused unless the
project allows them. No proxies, no `~/.netrc`, no compression. The first 1,024 characters of an answer that fails the
attempt are kept in its log (`skelo show RUN --logs`), without secrets.

Outputs: `status`, `ok`, `body` (JSON where the server says so, else text in the `charset` that it names, or UTF-8),
`headers` (names in lower case).
Codes: `DET_CONFIG_INVALID`, `HTTP_URL_INVALID`, `HTTP_ADDRESS_REFUSED`, `HTTP_REDIRECTS`, `HTTP_TOO_LARGE`,
`HTTP_FAILED`, `HTTP_STATUS`, `HTTP_BODY_INVALID`, `TIMEOUT`, `SECRET_MISSING`. `Retry-After` is respected by `retry`.
"""

HANDLER = builtin.Handler(
    name="builtin:http-request",
    summary="Sends one HTTP request and returns the response.",
    templates=("url", "body", "json"),
    secret_texts=("headers",),
    sees_item_index=False,
    config=builtin.config_schema(
        {
            "url": builtin.key("http or https, without user and password", builtin.TEXT),
            "url_from": builtin.key("the same from data; when unset, `url` counts", builtin.TEXT),
            "method": builtin.key(
                "the method of the request",
                {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
                default="GET",
            ),
            "headers": builtin.key(
                "may hold `${secret:NAME}` and `${env:NAME}`, which are filled in nowhere else", builtin.TEXTS
            ),
            "headers_from": builtin.key(
                "a map from data; `headers` wins; secrets are not resolved in it", builtin.TEXT
            ),
            "body": builtin.key("the body as text", {"type": "string"}),
            "body_from": builtin.key("text as it is, other values as JSON", builtin.TEXT),
            "json": builtin.key("the body as JSON, with its content type", {}),
            "json_from": builtin.key("the same from data", builtin.TEXT),
            "timeout_ms": builtin.key("for the whole exchange", builtin.COUNT, default=_TIMEOUT_MS),
            "max_bytes": builtin.key("the largest answer", builtin.COUNT, default=_MAX_BYTES),
            "accept_status": builtin.key(
                "statuses outside 200 to 299 that are no failure",
                {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 100, "maximum": 599},
                    "minItems": 1,
                },
            ),
            "idempotency_key": builtin.key(
                (
                    "for other methods than GET, HEAD and OPTIONS: `Idempotency-Key`, the same in every "
                    "attempt; `true` also declares the effect idempotent, `false` sends none"
                ),
                builtin.FLAG,
            ),
            "follow_redirects": builtin.key(
                "at most 5, each hop checked anew; to another origin no credentials go along",
                builtin.FLAG,
                default=True,
            ),
        },
        anyOf=[{"required": ["url"]}, {"required": ["url_from"]}],
    ),
    run=run,
    outputs={
        "status": {"type": "integer"},
        "ok": {"type": "boolean"},
        "body": {},
        "headers": {"type": "object"},
    },
    effect_by=_effect,
    check=_check,
    doc=_DOC,
)

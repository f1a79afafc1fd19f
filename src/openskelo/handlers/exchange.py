"""One HTTP exchange with the outside: checked addresses, redirects followed by hand, and a limit on what comes back."""

from __future__ import annotations

import functools
import os
import ssl
from collections.abc import Mapping

import httpx

from openskelo import errors
from openskelo.frozen import field, frozen, mutable, replace
from openskelo.handlers import address
from openskelo.handlers import url as urls

_MAX_REDIRECTS = 5
_NEVER = httpx.Timeout(None)  # the caller's limit holds for the whole exchange, not for each read
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Never sent on to another origin.
_PRIVATE = frozenset({"authorization", "proxy-authorization", "cookie"})


@frozen
class Asked:
    """A request. `sensitive` names (in lower case) headers that must not follow a redirect to another origin."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    sensitive: frozenset[str] = frozenset()
    allow_private: bool = False
    follow: bool = True
    max_bytes: int = 1024 * 1024


@frozen
class Answered:
    """A response, read whole. Header names are in lower case, repeated ones joined by commas."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@mutable
class Progress:
    """How far an exchange has come. `sent`: (part of) a request has gone out, and its answer has not come.

    `passed`: a redirect has made another request of it, as a server does that has acted upon the first.
    """

    sent: bool = False
    passed: bool = False

    @property
    def happened(self) -> errors.Happened:
        """Whether what was asked for has happened, if no more is heard of it."""
        return "unknown" if self.sent or self.passed else "no"


async def exchange(asked: Asked, progress: Progress | None = None) -> Answered:
    """The final answer, redirects followed; the caller sets the time limit, and sees in `progress` what it has cut.

    AttemptFailed: HTTP_URL_INVALID, HTTP_ADDRESS_REFUSED, HTTP_REDIRECTS, HTTP_TOO_LARGE, HTTP_FAILED.
    """
    progress = progress or Progress()
    try:
        return await _followed(asked, progress)
    except errors.AttemptFailed as error:
        if progress.passed and error.happened == "no":
            error.happened = "unknown"
        raise


async def _followed(asked: Asked, progress: Progress) -> Answered:
    for _ in range(_MAX_REDIRECTS + 1):
        url = _parse(asked.url)
        answered = await _once(asked, url, progress)
        progress.sent = False
        location = answered.headers.get("location")
        if not asked.follow or answered.status not in _REDIRECTS or location is None:
            return answered
        following = _redirected(asked, url, answered.status, location)
        progress.passed |= following.method != asked.method
        asked = following
    raise errors.AttemptFailed(f"more than {_MAX_REDIRECTS} redirects", code="HTTP_REDIRECTS", retryable=False)


def _parse(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise _invalid("it cannot be read") from error
    if (why := urls.fault_of(url.scheme, url.host, url.port, userinfo=bool(url.userinfo))) is not None:
        raise _invalid(why)
    return url


def _invalid(reason: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(f"the URL is not usable: {reason}", code="HTTP_URL_INVALID", retryable=False)


async def _once(asked: Asked, url: httpx.URL, progress: Progress) -> Answered:
    """One request to the first of the host's checked addresses that answers."""
    port = url.port or (443 if url.scheme == "https" else 80)
    addresses = await address.resolve(url.host, port, allow_private=asked.allow_private)
    refused: httpx.HTTPError | None = None
    async with _client(url.scheme) as client:
        for chosen in addresses:
            try:
                return await _send(client, asked, url, chosen, progress)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                refused = error
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
                raise _failed(url, error, progress) from error
            except (ValueError, UnicodeError) as error:
                raise _invalid(f"the request cannot be sent ({type(error).__name__})") from error
    raise _failed(url, refused, progress) from refused


def _client(scheme: str) -> httpx.AsyncClient:
    # No proxies and no ~/.netrc: where the request goes is decided here. No redirects: each hop is checked.
    verify = trusted() if scheme == "https" else False
    return httpx.AsyncClient(verify=verify, trust_env=False, follow_redirects=False, timeout=_NEVER)


@functools.cache
def trusted() -> ssl.SSLContext:
    """Whom TLS trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` count); read once, as that takes longer than a request."""
    return httpx.create_ssl_context()


async def _send(client: httpx.AsyncClient, asked: Asked, url: httpx.URL, chosen: str, progress: Progress) -> Answered:
    async def notice(event: str, _: object) -> None:
        if event.endswith("send_request_headers.started"):
            progress.sent = True

    headers = {
        "accept": "*/*",
        "accept-encoding": "identity",  # a compressed answer could unfold to any size
        "user-agent": "openskelo",
        **{name.lower(): value for name, value in asked.headers.items()},
        "host": url.netloc.decode("ascii"),
    }
    request = client.build_request(
        asked.method,
        url.copy_with(host=chosen),
        headers=headers,
        content=asked.body,
        extensions={"sni_hostname": url.raw_host.decode("ascii"), "trace": notice},
    )
    response = await client.send(request, stream=True)
    done: errors.Happened = "yes" if response.is_success else "no"
    try:
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > asked.max_bytes:
                raise errors.AttemptFailed(
                    f"the answer has more than {asked.max_bytes} bytes",
                    code="HTTP_TOO_LARGE",
                    hint="raise `max_bytes`",
                    retryable=False,
                    happened=done,
                )
    finally:
        await response.aclose()
        response.stream = httpx.ByteStream(b"")  # its own one refers to it: a cycle, with the body of the request in it
    if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        what = "the answer is compressed although that was not asked for"
        raise errors.AttemptFailed(what, code="HTTP_FAILED", happened=done)
    return Answered(status=response.status_code, headers=dict(response.headers.items()), body=bytes(body))


def _redirected(asked: Asked, url: httpx.URL, status: int, location: str) -> Asked:
    """The next request. To another origin nothing private goes along; 303, and 301/302 of a POST, become a GET."""
    try:
        target = url.join(location)
    except (httpx.InvalidURL, ValueError) as error:
        raise _invalid("a redirect leads to no usable address") from error
    headers = dict(asked.headers)
    if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
        private = _PRIVATE | asked.sensitive
        headers = {name: value for name, value in headers.items() if name.lower() not in private}
    method, body = asked.method, asked.body
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, body = "GET", None
        headers = {name: value for name, value in headers.items() if not name.lower().startswith("content-")}
    return replace(asked, url=str(target), headers=headers, method=method, body=body)


def _failed(url: httpx.URL, error: Exception | None, progress: Progress) -> errors.AttemptFailed:
    message = f"no answer from {url.netloc.decode('ascii')} ({_reason(error)})"
    return errors.AttemptFailed(message, code="HTTP_FAILED", happened=progress.happened)


def _reason(error: BaseException | None) -> str:
    """What the system says about a connection, where it is at the bottom of it; else what kind of error it was."""
    reason = "no address" if error is None else type(error).__name__
    if isinstance(error, httpx.RemoteProtocolError):
        reason = "it broke off, or does not speak HTTP"
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"certificate: {error.verify_message}"
        if isinstance(error, OSError) and error.errno is not None:
            reason = os.strerror(error.errno)
        error = error.__cause__ or error.__context__
    return reason

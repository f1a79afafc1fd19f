"""One HTTP exchange: a request, its redirects, and the response, read whole within a size limit.

A URL may come from data, so the exchange decides where a request goes. The host is resolved here, every address is
checked (`resolve`), and the connection is made to a checked address and not to the name, which may resolve to another
address a moment later. Redirects are followed here, one at a time, so that each target is checked too; headers that
hold secrets do not follow to another origin. There are no proxies, and no compressed responses, whose size is unknown.
"""

from __future__ import annotations

import functools
import ipaddress
import os
import socket
import ssl
from collections.abc import Mapping

import httpx

from openskelo import errors
from openskelo.handlers import blocking_call, http_syntax
from openskelo.structs import field, frozen, mutable, replace

_MAX_REDIRECTS = 5
_NO_TIMEOUT = httpx.Timeout(None)  # the caller limits the whole exchange, not each read
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Headers that never follow a redirect to another origin.
_PRIVATE_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})


@frozen
class Request:
    """A request."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    #: The names (in lower case) of headers that must not follow to another origin.
    sensitive: frozenset[str] = frozenset()
    allow_private: bool = False
    follow: bool = True
    max_bytes: int = 1024 * 1024


@frozen
class Response:
    """A response, read whole. Header names are in lower case, repeated ones joined by commas."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@mutable
class Progress:
    """The progress of an exchange."""

    #: A request, or a part of it, has been sent, and its response has not arrived.
    sent: bool = False
    #: A redirect has changed the method; a server does that after it has acted on the first request.
    redirected: bool = False

    @property
    def happened(self) -> errors.Happened:
        """`unknown` if the request may have taken effect although no response came, else `no`."""
        return "unknown" if self.sent or self.redirected else "no"


async def exchange(request: Request, progress: Progress | None = None) -> Response:
    """Return the final response after redirects. The caller sets the time limit; after it cancels the exchange,
    `progress` says how far it got.

    AttemptFailed: HTTP_URL_INVALID, HTTP_ADDRESS_REFUSED, HTTP_REDIRECTS, HTTP_TOO_LARGE, HTTP_FAILED.
    """
    progress = progress or Progress()
    try:
        return await _follow(request, progress)
    except errors.AttemptFailed as error:
        if progress.redirected and error.happened == "no":
            error.happened = "unknown"
        raise


async def _follow(request: Request, progress: Progress) -> Response:
    for _ in range(_MAX_REDIRECTS + 1):
        url = _parse(request.url)
        response = await _send_to_host(request, url, progress)
        progress.sent = False
        location = response.headers.get("location")
        if not request.follow or response.status not in _REDIRECTS or location is None:
            return response
        next_request = _redirected(request, url, response.status, location)
        progress.redirected |= next_request.method != request.method
        request = next_request
    raise errors.AttemptFailed(f"more than {_MAX_REDIRECTS} redirects", code="HTTP_REDIRECTS", retryable=False)


def _parse(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise _invalid("it cannot be read") from error
    fault = http_syntax.parts_fault(url.scheme, url.host, url.port, userinfo=bool(url.userinfo))
    if fault is not None:
        raise _invalid(fault)
    return url


def _invalid(reason: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(f"the URL is not usable: {reason}", code="HTTP_URL_INVALID", retryable=False)


async def _send_to_host(request: Request, url: httpx.URL, progress: Progress) -> Response:
    """Send one request to the first of the host's addresses that accepts a connection."""
    port = url.port or (443 if url.scheme == "https" else 80)
    addresses = await resolve(url.host, port, allow_private=request.allow_private)
    connect_error: httpx.HTTPError | None = None
    async with _client(url.scheme) as client:
        for address in addresses:
            try:
                return await _send(client, request, url, address, progress)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                connect_error = error
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
                raise _failed(url, error, progress) from error
            except (ValueError, UnicodeError) as error:
                raise _invalid(f"the request cannot be sent ({type(error).__name__})") from error
    raise _failed(url, connect_error, progress) from connect_error


def _client(scheme: str) -> httpx.AsyncClient:
    # No proxies and no ~/.netrc: where the request goes is decided here. No redirects: each hop is checked.
    verify = tls_context() if scheme == "https" else False
    return httpx.AsyncClient(verify=verify, trust_env=False, follow_redirects=False, timeout=_NO_TIMEOUT)


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Return the certificate authorities that TLS trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` count).

    Cached: loading them takes longer than a request.
    """
    return httpx.create_ssl_context()


async def _send(
    client: httpx.AsyncClient, request: Request, url: httpx.URL, address: str, progress: Progress
) -> Response:
    async def trace(event: str, _: object) -> None:
        if event.endswith("send_request_headers.started"):
            progress.sent = True

    headers = {
        "accept": "*/*",
        "accept-encoding": "identity",  # a compressed body could decompress to any size
        "user-agent": "openskelo",
        **{name.lower(): value for name, value in request.headers.items()},
        "host": url.netloc.decode("ascii"),
    }
    outgoing = client.build_request(
        request.method,
        url.copy_with(host=address),
        headers=headers,
        content=request.body,
        extensions={"sni_hostname": url.raw_host.decode("ascii"), "trace": trace},
    )
    incoming = await client.send(outgoing, stream=True)
    effect_happened: errors.Happened = "yes" if incoming.is_success else "no"
    try:
        body = bytearray()
        async for chunk in incoming.aiter_raw():
            body += chunk
            if len(body) > request.max_bytes:
                raise errors.AttemptFailed(
                    f"the answer has more than {request.max_bytes} bytes",
                    code="HTTP_TOO_LARGE",
                    hint="raise `max_bytes`",
                    retryable=False,
                    happened=effect_happened,
                )
    finally:
        await incoming.aclose()
        incoming.stream = httpx.ByteStream(b"")  # breaks a reference cycle that holds the bodies
    if incoming.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        complaint = "the answer is compressed although that was not asked for"
        raise errors.AttemptFailed(complaint, code="HTTP_FAILED", happened=effect_happened)
    return Response(status=incoming.status_code, headers=dict(incoming.headers.items()), body=bytes(body))


def _redirected(request: Request, url: httpx.URL, status: int, location: str) -> Request:
    """Return the next request: no private headers to another origin; 303, and 301/302 of a POST, become a GET."""
    try:
        target = url.join(location)
    except (httpx.InvalidURL, ValueError) as error:
        raise _invalid("a redirect leads to no usable address") from error
    headers = dict(request.headers)
    if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
        private = _PRIVATE_HEADERS | request.sensitive
        headers = {name: value for name, value in headers.items() if name.lower() not in private}
    method, body = request.method, request.body
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, body = "GET", None
        headers = {name: value for name, value in headers.items() if not name.lower().startswith("content-")}
    return replace(request, url=str(target), headers=headers, method=method, body=body)


def _failed(url: httpx.URL, error: Exception | None, progress: Progress) -> errors.AttemptFailed:
    message = f"no answer from {url.netloc.decode('ascii')} ({_reason(error)})"
    return errors.AttemptFailed(message, code="HTTP_FAILED", happened=progress.happened)


def _reason(error: BaseException | None) -> str:
    """Return the operating system's reason at the root of the error; else the kind of the error."""
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


async def resolve(host: str, port: int, *, allow_private: bool) -> tuple[str, ...]:
    """Return the addresses of `host`, all of them allowed (AttemptFailed HTTP_ADDRESS_REFUSED, HTTP_FAILED)."""
    try:
        entries = await blocking_call.run(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError) as error:
        raise errors.AttemptFailed(f"the host {host!r} cannot be resolved", code="HTTP_FAILED") from error
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))
    if not allow_private and not all(is_public(address) for address in addresses):
        raise errors.AttemptFailed(
            f"the host {host!r} has a private, loopback or otherwise special address",
            code="HTTP_ADDRESS_REFUSED",
            hint="write `allow: {private_addresses: true}` into skelo.yaml if that is wanted",
            retryable=False,
        )
    return addresses


def is_public(address: str) -> bool:
    """True if this is an ordinary address of the internet, also when it is wrapped in another address."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            ip = inner
        elif ip.teredo is not None or ip.is_site_local:
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved

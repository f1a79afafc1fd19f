"""The gateway between an agent and its model: it has the key, counts what is used, and refuses what is too much.

    agent ── http://…/PATH/model, a token ──> gateway ── the model's server, the real key ──> model
                                                 │
                                                 ├ claim    before each call: what it may use, from the budget (402)
                                                 ├ forward  bytes pass both ways as they come, and are read on the way
                                                 └ settle   after it: what it has really used

The agent has the address of the gateway and a token that opens nothing else, so that the key is in none of its
variables and files. Only the paths of the model protocols are passed on (`model_protocols`). What the model's server
answers is passed on as it is, errors included: retries are the agent's. The gateway keeps the last trouble in words,
because agents often do not say what their model answered.

A call belongs to a turn. Calls outside of a turn are refused, and a call that is open when its turn ends is cut: no
budget would pay for it. A call that is cut has used what has passed so far.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson

from openskelo import agent_settings, errors
from openskelo.agents.gateway import call_prices, model_protocols
from openskelo.agents.server import session_server
from openskelo.handlers import secrets
from openskelo.kernel.json import JsonObject
from openskelo.providers import protocol

if TYPE_CHECKING:
    import httpx

#: How long the model's server may take to accept a connection, and to send its next bytes.
_CONNECT_SECONDS = 30.0
_SILENT_SECONDS = 300.0
_MAX_REQUEST_BYTES = 64 * 1024 * 1024
#: How many tokens an answer is expected to have at most, if its request does not say.
_DEFAULT_TOKENS_OUT = 32_000
#: How much of an error is read before it is passed on, and how many paths that are not passed on are noted.
_MAX_ERROR_BYTES = 64 * 1024
_MAX_NOTED_PATHS = 20
#: Headers that belong to one connection, or that the gateway sets itself.
_NOT_SENT = frozenset(
    {"host", "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"}
    | {"trailer", "transfer-encoding", "upgrade", "expect", "content-length", "accept-encoding", "cookie"}
    | {"authorization", "x-api-key", "x-goog-api-key", "api-key"}
)
_NOT_RETURNED = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade"}
    | {"set-cookie", "date", "server", "alt-svc", "strict-transport-security"}
)


class Call:
    """One request to a model, from its claim to what it has used."""

    def __init__(
        self,
        number: int,
        agent: agent_settings.AgentSettings,
        route: model_protocols.Route,
        request: model_protocols.ModelRequest,
    ) -> None:
        assert route.protocol is not None  # noqa: S101 -- other routes ask no model
        self.number = number
        self.protocol = route.protocol
        self.request = request
        self.model = request.model or route.model
        #: The most tokens of its answer that are claimed, and the granted ones.
        self.wanted_tokens_out = request.max_tokens_out or _DEFAULT_TOKENS_OUT
        self.granted_tokens_out: int | None = None
        self.status: int | None = None
        self.was_sent = False
        self.is_settled = False
        self.started = time.perf_counter()
        self._agent = agent
        self._reader: model_protocols.AnswerReader | None = None

    def begin_answer(self, status: int, headers: Mapping[str, str]) -> model_protocols.AnswerReader | None:
        """Return the reader of the answer; None if it is an error, which costs nothing."""
        self.status = status
        if status < 400:
            # An answer that is compressed although it should not be is not read: its bytes count as its text.
            is_plain = headers.get("content-encoding", "identity") == "identity"
            content_type = headers.get("content-type", "") if is_plain else ""
            self._reader = model_protocols.AnswerReader(self.protocol, self.request, content_type)
        return self._reader

    @property
    def usage(self) -> protocol.Usage:
        """The usage of the call so far."""
        if self._reader is not None:
            return self._reader.usage
        if self.status is None and self.was_sent:
            return protocol.Usage(tokens_in=self.request.tokens_in)  # the model may be at work
        return protocol.Usage()

    @property
    def is_estimated(self) -> bool:
        """True if the model has not told all of what the call has used."""
        if self._reader is None:
            return self.status is None and self.was_sent
        return self._reader.is_estimated

    @property
    def is_beyond_grant(self) -> bool:
        """True if the answer is longer than what was granted; its server keeps to a limit that the request has."""
        grant = self.granted_tokens_out
        if grant is None or self._reader is None or grant == self.request.max_tokens_out:
            return False
        is_over = self._reader.answer.is_final  # then cutting it would save nothing
        return not is_over and self._reader.least_tokens_out > grant

    def cost(self, usage: protocol.Usage) -> int | None:
        """Return what this usage costs in billionths of a dollar; None if the price is unknown."""
        answer_model = "" if self._reader is None else self._reader.answer.model
        for model in dict.fromkeys((answer_model, self.model)):  # the answer may name a dated version that no list has
            nanousd = call_prices.cost(self._agent, self.protocol.vendor, model, usage) if model else None
            if nanousd is not None:
                return nanousd
        return call_prices.cost(self._agent, self.protocol.vendor, self.model, usage)

    def document(self) -> JsonObject:
        """Return the call for the record."""
        usage = self.usage
        nanousd = self.cost(usage)
        return {
            "protocol": self.protocol.name,
            "model": self.model,
            "status": self.status,
            "tokensIn": usage.tokens_in,
            "cachedIn": usage.cached_in,
            "tokensOut": usage.tokens_out,
            "costUsd": None if nanousd is None else nanousd / 1e9,
            "estimated": self.is_estimated,
            "ms": int((time.perf_counter() - self.started) * 1000),
        }


class Meter(Protocol):
    """Reserves budget for the model calls of a turn, and counts what they have used."""

    async def claim(self, call: Call) -> None:
        """Reserve what the call may use and set what it is granted; raise OverBudget if too little is left."""
        ...

    def settle(self, call: Call) -> None:
        """Replace the reservation of the call by what it has used."""
        ...

    def on_sign(self) -> None:
        """Record that the model has sent something, so that the turn does not count as idle."""
        ...

    def stop(self, failure: errors.AttemptFailed) -> None:
        """Make the turn fail with `failure`."""
        ...

    def note(self, line: str) -> None:
        """Append a line to the log of the attempt."""
        ...


class Gateway:
    """The way of one session to its model. `handle` is a handler of the session server."""

    def __init__(self, agent: agent_settings.AgentSettings, key: str | None) -> None:
        self._agent = agent
        self._key = key
        self._client: httpx.AsyncClient | None = None
        self._meter: Meter | None = None
        self._numbers = itertools.count(1)
        self._open: dict[Call, asyncio.Task[None]] = {}
        self._trouble: str | None = None
        self._trouble_status: int | None = None
        self._noted_paths: set[str] = set()

    # -- turns --------------------------------------------------------------------------------------------------------

    def begin_turn(self, meter: Meter) -> None:
        """Let calls through from now on, and count them with this meter."""
        self._meter = meter
        self._trouble = self._trouble_status = None
        self._noted_paths.clear()

    def end_turn(self) -> None:
        """Let no calls through any more; open ones are cut, and what they have used so far counts."""
        for call, task in tuple(self._open.items()):
            self._settle(call)
            task.cancel()
        self._meter = None

    def open_calls(self) -> tuple[Call, ...]:
        """Return the calls that are not settled yet."""
        return tuple(call for call in self._open if not call.is_settled)

    @property
    def trouble(self) -> str | None:
        """The last failure between gateway and model, if no call has gone well since."""
        if self._trouble is not None:
            return self._trouble
        silent = [call for call in self.open_calls() if call.was_sent and call.status is None]
        if not silent:
            return None
        return f"the model has not answered for {time.perf_counter() - silent[0].started:.0f} s"

    @property
    def is_locked_out(self) -> bool:
        """True if the model's server takes our key for no key: trying again cannot help."""
        return self._trouble_status in (401, 403)

    async def close(self) -> None:
        """Close the connections to the model's server."""
        self.end_turn()
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    # -- requests -----------------------------------------------------------------------------------------------------

    async def handle(
        self, scope: session_server.Scope, receive: session_server.Receive, send: session_server.Send
    ) -> None:
        """Answer one request of the agent."""
        exchange = _Exchange(scope, receive, send)
        route = model_protocols.find(scope["method"], scope["path"], exchange.headers)
        if route is None:
            self._note_path(f"{scope['method']} {scope['path']}")
            await exchange.refuse("openai", 404, "the gateway passes on requests to a model, and nothing else")
            return
        body = await exchange.read_body()
        if body is None:
            await exchange.refuse(route.vendor, 413, f"the request has more than {_MAX_REQUEST_BYTES} bytes")
            return
        work = self._pass_on(exchange, route, body) if route.protocol is None else self._call(exchange, route, body)
        task = asyncio.ensure_future(work)
        disconnect_task = asyncio.ensure_future(exchange.wait_disconnect())
        try:
            await asyncio.wait({task, disconnect_task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for running in (task, disconnect_task):
                running.cancel()
            result, _ = await asyncio.gather(task, disconnect_task, return_exceptions=True)
        if isinstance(result, Exception):  # a defect: the turn goes on, and its record says what happened
            await self._fail(exchange, route, 500, f"the gateway failed: {type(result).__name__}: {result}")

    async def _pass_on(self, exchange: _Exchange, route: model_protocols.Route, body: bytes) -> None:
        """Pass on a request that asks no model and costs nothing."""
        await self._forward(exchange, route, body, None)

    async def _call(self, exchange: _Exchange, route: model_protocols.Route, body: bytes) -> None:
        """Claim what the call may use, pass it on, and settle."""
        meter, document = self._meter, _parse_object(body)
        if meter is None:
            await exchange.refuse(route.vendor, 403, "no turn is under way")
            return
        if document is None or route.protocol is None:
            await exchange.refuse(route.vendor, 400, "the request is not a JSON object")
            return
        call = Call(next(self._numbers), self._agent, route, route.protocol.read_request(document, body))
        self._open[call] = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            await meter.claim(call)
            await self._forward(exchange, route, call.request.body, call)
        except errors.OverBudget as refusal:
            await exchange.refuse(route.vendor, 402, refusal.message)
            meter.stop(refusal)
        except errors.AttemptFailed as refusal:
            await exchange.refuse(route.vendor, 403, refusal.message)
            meter.stop(refusal)
        finally:
            self._settle(call)
            del self._open[call]

    def _settle(self, call: Call) -> None:
        if not call.is_settled and self._meter is not None:
            call.is_settled = True
            self._meter.settle(call)

    async def _forward(self, exchange: _Exchange, route: model_protocols.Route, body: bytes, call: Call | None) -> None:
        """Send the request to the model's server and pass its answer on; raise OverBudget if the answer is cut."""
        import httpx  # noqa: PLC0415 -- only runs with agents need it

        address = self._address(route, exchange)
        try:
            if call is not None:
                call.was_sent = True
            async with self._send(exchange, route, address, body) as response:
                await self._return(exchange, response, call)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            if call is not None:
                call.was_sent = False
            await self._fail(exchange, route, 502, f"no connection to the model at {_host(address)}: {error}")
        except httpx.TimeoutException:
            await self._fail(exchange, route, 504, f"the model gave no sign for {self._silent_seconds:g} s")
        except (httpx.HTTPError, httpx.StreamError) as error:
            await self._fail(
                exchange, route, 502, f"the answer of the model broke off: {error or type(error).__name__}"
            )

    async def _return(self, exchange: _Exchange, response: httpx.Response, call: Call | None) -> None:
        """Pass the answer on as it comes."""
        status = response.status_code
        if status >= 400:
            await self._return_error(exchange, response, call)
            return
        reader = None if call is None else call.begin_answer(status, response.headers)
        await exchange.start(status, response.headers.raw)
        async for data in response.aiter_raw():
            await exchange.send_piece(data)
            if self._meter is not None:
                self._meter.on_sign()
            if reader is not None:
                reader.feed(data)
            if call is not None and call.is_beyond_grant:
                raise self._over_grant(call)
        await exchange.end()
        self._trouble = self._trouble_status = None
        if reader is not None:
            reader.end()
            if reader.answer.error:
                self._trouble = self._masked(f"the model said: {reader.answer.error}")

    async def _return_error(self, exchange: _Exchange, response: httpx.Response, call: Call | None) -> None:
        """Pass an error on. It is noted first: an agent may end its turn as soon as it sees the status."""
        status = response.status_code
        if call is not None:
            call.begin_answer(status, response.headers)
        pieces = response.aiter_raw()
        beginning = bytearray()
        async for data in pieces:
            beginning += data
            if len(beginning) >= _MAX_ERROR_BYTES:
                break
        description = model_protocols.describe_error(bytes(beginning))
        self._trouble = self._masked(f"{status} from the model{': ' + description if description else ''}")
        self._trouble_status = status
        await exchange.start(status, response.headers.raw)
        await exchange.send_piece(self._without_key(bytes(beginning)))
        async for data in pieces:
            await exchange.send_piece(self._without_key(data))
        await exchange.end()

    def _over_grant(self, call: Call) -> errors.OverBudget:
        usage = call.usage
        return errors.OverBudget(
            f"the answer of {call.model} was cut after {usage.tokens_out} tokens: the budget has no room for more",
            tokens=usage.tokens_in + usage.tokens_out,
            cost_nanousd=call.cost(usage) or 0,
        )

    async def _fail(self, exchange: _Exchange, route: model_protocols.Route, status: int, message: str) -> None:
        """Tell the agent that the model's server failed; an answer that has begun can only break off."""
        self._trouble, self._trouble_status = self._masked(message), None
        if not exchange.has_started:
            await exchange.refuse(route.vendor, status, self._masked(message))

    def _note_path(self, path: str) -> None:
        if self._meter is not None and path not in self._noted_paths and len(self._noted_paths) < _MAX_NOTED_PATHS:
            self._noted_paths.add(path)
            self._meter.note(f"the agent asked for {path[:200]}, which the gateway does not pass on")

    # -- the model's server -------------------------------------------------------------------------------------------

    @property
    def _silent_seconds(self) -> float:
        return min(_SILENT_SECONDS, self._agent.idle_ms / 1000)

    def _address(self, route: model_protocols.Route, exchange: _Exchange) -> str:
        base = (self._agent.base_url or model_protocols.UPSTREAMS[route.vendor]).rstrip("/")
        version = "/" + route.path.split("/")[1]
        query = urlencode([(name, value) for name, value in exchange.query if name != "key"])
        return base.removesuffix(version) + route.path + (f"?{query}" if query else "")

    @contextlib.asynccontextmanager
    async def _send(
        self, exchange: _Exchange, route: model_protocols.Route, address: str, body: bytes
    ) -> AsyncGenerator[httpx.Response]:
        import httpx  # noqa: PLC0415 -- see `_forward`

        if self._client is None:
            self._client = httpx.AsyncClient(follow_redirects=False)
        headers = {name: value for name, value in exchange.headers.items() if name not in _NOT_SENT}
        headers["accept-encoding"] = "identity"  # the bytes are read on their way, and passed on as they are
        if self._key is not None:
            headers |= model_protocols.key_headers(route.vendor, self._key)
        timeout = httpx.Timeout(self._silent_seconds, connect=min(_CONNECT_SECONDS, self._silent_seconds))
        request = httpx.Request(
            exchange.method, address, headers=headers, content=body or None, extensions={"timeout": timeout.as_dict()}
        )
        response = await self._client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    def _without_key(self, data: bytes) -> bytes:
        """Return an error with our key blotted out; its length stays the same."""
        if self._key is None or len(self._key) < 4:
            return data
        key = self._key.encode()
        return data.replace(key, b"*" * len(key))

    def _masked(self, message: str) -> str:
        if self._key is None or len(self._key) < 4:
            return message
        return secrets.mask(message, secrets.spellings([self._key]))


class _Exchange:
    """One HTTP request of the agent, and its answer."""

    def __init__(self, scope: session_server.Scope, receive: session_server.Receive, send: session_server.Send) -> None:
        self._receive, self._send = receive, send
        self.method: str = scope["method"]
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self.query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        self.has_started = False

    async def read_body(self) -> bytes | None:
        """Return the body, None if it is too long."""
        body = bytearray()
        while True:
            message = await self._receive()
            body += message.get("body", b"")
            if len(body) > _MAX_REQUEST_BYTES:
                return None
            if not message.get("more_body", False):
                return bytes(body)

    async def wait_disconnect(self) -> None:
        """Return when the agent has closed the connection."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Begin the answer."""
        self.has_started = True
        kept_headers = [(name.lower(), value) for name, value in headers if name.lower().decode() not in _NOT_RETURNED]
        await self._send({"type": "http.response.start", "status": status, "headers": kept_headers})

    async def send_piece(self, data: bytes) -> None:
        """Send the next bytes of the answer at once."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """End the answer; without this the connection breaks off."""
        await self._send({"type": "http.response.body", "body": b""})

    async def refuse(self, vendor: model_protocols.Vendor, status: int, message: str) -> None:
        """Answer with an error of the gateway's own, unless an answer has begun."""
        if self.has_started:
            return
        data = orjson.dumps(model_protocols.error_document(vendor, status, message))
        await self.start(status, [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())])
        await self.send_piece(data)
        await self.end()


def _parse_object(body: bytes) -> dict[str, object] | None:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if isinstance(document, dict):
        return cast("dict[str, object]", document)
    return None


def _host(address: str) -> str:
    parts = urlsplit(address)
    return parts.netloc.rpartition("@")[2]

"""`HEAD`: what `GET` would answer, without its body, on every path that has a `GET`."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Head:
    """ASGI middleware that asks for the whole and hands on its beginning. A stream is over once it has begun."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on; what comes with HEAD goes on as GET."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        answered = asyncio.Event()
        asked = False

        async def once() -> Message:
            """The request, then, when it is answered, that nobody is there any more: a stream would not end else."""
            nonlocal asked
            if not asked:
                asked = True
                return await receive()
            await answered.wait()
            return {"type": "http.disconnect"}

        async def beginning(message: Message) -> None:
            if answered.is_set():
                return
            if message["type"] == "http.response.start":
                await send(message)
                return
            await send({"type": "http.response.body", "body": b""})
            answered.set()

        # A range is one of GET only (RFC 9110): the answer is about the whole.
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        await self._app({**scope, "method": "GET", "headers": headers}, once, beginning)

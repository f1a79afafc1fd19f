"""`Idempotency-Key`: the same request with the same key is done once, and answered alike however often it comes.

What was answered is kept in the data dir, so that this holds over restarts. A run that such a request begins has an id
that follows from the key: a request that was cut between beginning and answering finds its own run. A request that was
refused did nothing, and leaves its key free for the one that is put right.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
import weakref
from collections.abc import Awaitable, Callable
from typing import cast

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from openskelo import errors
from openskelo.engine import clock
from openskelo.frozen import frozen
from openskelo.kernel import ids
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import identity, problems
from openskelo.stores import log

HEADER = "idempotency-key"
#: So long an answer is kept.
KEPT_MS = 24 * 3600 * 1000
#: So often what is older is dropped, beside the start of a server.
FORGET_MS = 3600 * 1000
#: So long another server that began with a request may take; after that it counts as gone.
PATIENCE_MS = 60_000
_PREFIX = "idempotency:"
_NAMESPACE = "6f9d1c1e-0c0b-5c59-9a3e-3b1f6f1c2d4e"
_LONGEST = 255
_STATE = "openskelo.idempotency"


@frozen
class _Asked:
    """A request: where its answer is kept, and what it was."""

    note: str
    fingerprint: str


class Idempotency:
    """Remembers answers in a store."""

    def __init__(self, store: log.Log) -> None:
        self._store = store
        self._me = uuid.uuid4().hex
        self._forget_at = 0
        # A lock is there for as long as anybody holds it or waits for it.
        self._under_way: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    async def forget_old(self) -> None:
        """Drop answers that nobody has to get again."""
        self._forget_at = clock.wall_ms() + FORGET_MS
        await self._store.drop_notes(_PREFIX, before=clock.wall_ms() - KEPT_MS)

    async def once(self, request: Request, key: str, handle: Callable[[], Awaitable[Response]]) -> Response:
        """The answer to a request with this key: the one it got before, or what `handle` gives now."""
        asked = await _asked(request, key)
        if clock.wall_ms() >= self._forget_at:
            await self.forget_old()
        lock = self._under_way.setdefault(asked.note, asyncio.Lock())
        async with lock:
            return await self._once(request, asked, handle)

    async def _once(self, request: Request, asked: _Asked, handle: Callable[[], Awaitable[Response]]) -> Response:
        begun: JsonObject = {"fingerprint": asked.fingerprint, "owner": self._me, "at": clock.wall_ms()}
        if not await self._store.note(asked.note, begun, at=clock.wall_ms(), first=True):
            known = await self._store.noted(asked.note)
            if known is not None:
                if (answer := self._known(known, asked)) is not None:
                    return answer
                await self._store.note(asked.note, begun, at=clock.wall_ms())
        request.scope[_STATE] = ids.derive(_NAMESPACE, f"{asked.note}/{asked.fingerprint}")
        try:
            answer = await handle()
        except (errors.OpenSkeloError, problems.Problem) as error:
            answer = problems.response(error)
        except RequestValidationError:
            await self._free(asked)
            raise
        if 400 <= answer.status_code < 500:
            await self._free(asked)
        elif answer.status_code < 400:
            await self._store.note(asked.note, {**begun, "answer": _kept(answer)}, at=clock.wall_ms())
        return answer

    async def _free(self, asked: _Asked) -> None:
        """Nothing was done under this key."""
        await self._store.drop_notes(asked.note, before=2**53)  # whatever the clock says

    def _known(self, known: JsonObject, asked: _Asked) -> Response | None:
        """What was answered before; None when whoever began with it is gone. Another request is a Problem."""
        if known["fingerprint"] != asked.fingerprint:
            raise problems.Problem(
                409, "IDEMPOTENCY_CONFLICT", "this Idempotency-Key was used for another request", hint="use a new key"
            )
        answer = known.get("answer")
        if answer is not None:
            return _again(cast("dict[str, Json]", answer))
        if known["owner"] != self._me and cast("int", known["at"]) > clock.wall_ms() - PATIENCE_MS:
            raise problems.Problem(
                409,
                "IDEMPOTENCY_RUNNING",
                "another server is working on this request",
                headers={"retry-after": "1"},
                hint="ask again in a moment",
            )
        return None


def run_id(request: Request) -> str | None:
    """The id of the run that the request begins, if it has a key."""
    return request.scope.get(_STATE)


async def _asked(request: Request, key: str) -> _Asked:
    if not 1 <= len(key) <= _LONGEST or not key.isascii() or not key.isprintable():
        raise problems.Problem(
            422, "IDEMPOTENCY_KEY", f"an Idempotency-Key has 1 to {_LONGEST} visible ASCII characters"
        )
    who = identity.of(request.scope)
    fingerprint = hashlib.sha256()
    for part in (request.method.encode(), str(request.url.path).encode(), request.url.query.encode()):
        fingerprint.update(hashlib.sha256(part).digest())
    fingerprint.update(await request.body())
    note = hashlib.sha256(f"{who.name}\n{key}".encode()).hexdigest()
    return _Asked(note=f"{_PREFIX}{note}", fingerprint=fingerprint.hexdigest())


def _kept(answer: Response) -> JsonObject:
    headers = {name: answer.headers[name] for name in ("location", "content-type") if name in answer.headers}
    return {"status": answer.status_code, "headers": headers, "body": bytes(answer.body).decode()}


def _again(answer: dict[str, Json]) -> Response:
    headers = {**cast("dict[str, str]", answer["headers"]), "idempotent-replayed": "true"}
    return Response(cast("str", answer["body"]), cast("int", answer["status"]), headers=headers)

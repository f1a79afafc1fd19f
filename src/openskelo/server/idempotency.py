"""`Idempotency-Key`: a request that is sent again with the same key is carried out once and gets the same answer.

Answers are stored, so this also holds after a restart. If the request starts a run, the run's id follows from the key:
a request that was cut off between starting the run and answering finds its own run when it is repeated. A request that
was refused has changed nothing, and leaves its key free for the corrected one.

A server that works on a request is known by a lock which the operating system drops when its process ends. So the
request of a server that was killed can be repeated at once, and one of another living server has to wait.
"""

from __future__ import annotations

import asyncio
import hashlib
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from openskelo import clock, errors
from openskelo.kernel import ids
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import problems
from openskelo.server.auth import guard
from openskelo.stores import api, process_locks
from openskelo.structs import frozen

HEADER = "idempotency-key"
#: An answer is kept this long.
KEPT_MS = 24 * 3600 * 1000
#: Older answers are deleted this often, and when a server starts.
CLEANUP_MS = 3600 * 1000
#: A request that another living server works on may be taken over after this long.
OWNER_TIMEOUT_MS = 60_000
_PREFIX = "idempotency:"
_NAMESPACE = "6f9d1c1e-0c0b-5c59-9a3e-3b1f6f1c2d4e"
_MAX_KEY_CHARACTERS = 255
_RUN_ID_KEY = "openskelo.idempotency"


@frozen
class _KeyedRequest:
    """A request with a key: the note that holds its answer, and the fingerprint of its method, path, query and body."""

    note: str
    fingerprint: str


class Idempotency:
    """Stores answers by key, until `close`."""

    def __init__(self, store: api.Notes, data_dir: Path) -> None:
        self._store = store
        self._servers = process_locks.ProcessLocks(data_dir / "servers")
        self._owner = self._servers.own_id()
        for server_id in self._servers.dead_ids():
            self._servers.delete(server_id)
        self._cleanup_at = 0
        # A lock exists while a request holds it or waits for it.
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    def close(self) -> None:
        """Leave the requests that were cut off to other servers."""
        self._servers.release()

    async def delete_old(self) -> None:
        """Delete answers that are older than a day."""
        self._cleanup_at = clock.wall_ms() + CLEANUP_MS
        await self._store.delete_notes(_PREFIX, before=clock.wall_ms() - KEPT_MS)

    async def answer_once(self, request: Request, key: str, handle: Callable[[], Awaitable[Response]]) -> Response:
        """Return the stored answer to the request with this key, else the answer of `handle`, which is then stored."""
        keyed_request = await _read_key(request, key)
        if clock.wall_ms() >= self._cleanup_at:
            await self.delete_old()
        lock = self._locks.setdefault(keyed_request.note, asyncio.Lock())
        async with lock:
            return await self._answer(request, keyed_request, handle)

    async def _answer(
        self, request: Request, keyed: _KeyedRequest, handle: Callable[[], Awaitable[Response]]
    ) -> Response:
        start_note: JsonObject = {"fingerprint": keyed.fingerprint, "owner": self._owner, "at": clock.wall_ms()}
        if not await self._store.save_note(keyed.note, start_note, at=clock.wall_ms(), first=True):
            note = await self._store.read_note(keyed.note)
            if note is not None:
                stored_answer = self._read_stored_answer(note, keyed)
                if stored_answer is not None:
                    return stored_answer
                await self._store.save_note(keyed.note, start_note, at=clock.wall_ms())
        request.scope[_RUN_ID_KEY] = ids.derive(_NAMESPACE, f"{keyed.note}/{keyed.fingerprint}")
        try:
            answer = await handle()
        except (errors.OpenSkeloError, problems.Problem) as error:
            answer = problems.response(error)
        except RequestValidationError:
            await self._release(keyed)
            raise
        if 400 <= answer.status_code < 500:
            await self._release(keyed)
        elif answer.status_code < 400:
            await self._store.save_note(keyed.note, {**start_note, "answer": _store_answer(answer)}, at=clock.wall_ms())
        return answer

    async def _release(self, keyed: _KeyedRequest) -> None:
        """Delete the note: nothing was done under this key."""
        await self._store.delete_notes(keyed.note, before=2**53)  # at any time

    def _read_stored_answer(self, note: JsonObject, keyed: _KeyedRequest) -> Response | None:
        """Return the answer of an earlier request; None if the server that worked on it is gone.

        Raise a 409 if the key was used for another request, or if another server is still working on this one.
        """
        if note["fingerprint"] != keyed.fingerprint:
            raise problems.Problem(
                409, "IDEMPOTENCY_CONFLICT", "this Idempotency-Key was used for another request", hint="use a new key"
            )
        answer = note.get("answer")
        if answer is not None:
            return _repeat_answer(cast("dict[str, Json]", answer))
        is_recent = cast("int", note["at"]) > clock.wall_ms() - OWNER_TIMEOUT_MS
        owner = cast("str", note["owner"])
        if is_recent and owner != self._owner and self._servers.is_alive(owner):
            raise problems.Problem(
                409,
                "IDEMPOTENCY_RUNNING",
                "another server is working on this request",
                headers={"retry-after": "1"},
                hint="try again in a moment",
            )
        return None


def run_id(request: Request) -> str | None:
    """Return the id of the run that the request starts; None if the request has no key."""
    return request.scope.get(_RUN_ID_KEY)


async def _read_key(request: Request, key: str) -> _KeyedRequest:
    if not 1 <= len(key) <= _MAX_KEY_CHARACTERS or not key.isascii() or not key.isprintable():
        raise problems.Problem(
            422, "IDEMPOTENCY_KEY", f"an Idempotency-Key has 1 to {_MAX_KEY_CHARACTERS} visible ASCII characters"
        )
    caller = guard.get_identity(request.scope)
    fingerprint = hashlib.sha256()
    for part in (request.method.encode(), str(request.url.path).encode(), request.url.query.encode()):
        fingerprint.update(hashlib.sha256(part).digest())
    fingerprint.update(await request.body())
    note = hashlib.sha256(f"{caller.name}\n{key}".encode()).hexdigest()
    return _KeyedRequest(note=f"{_PREFIX}{note}", fingerprint=fingerprint.hexdigest())


def _store_answer(answer: Response) -> JsonObject:
    headers = {name: answer.headers[name] for name in ("location", "content-type") if name in answer.headers}
    return {"status": answer.status_code, "headers": headers, "body": bytes(answer.body).decode()}


def _repeat_answer(answer: dict[str, Json]) -> Response:
    headers = {**cast("dict[str, str]", answer["headers"]), "idempotent-replayed": "true"}
    return Response(cast("str", answer["body"]), cast("int", answer["status"]), headers=headers)

"""The program of a mate, which drives the runs that its engine gives it.

Standard input is the socket to the engine. A mate ends when the socket does, and not by a signal that the system sends
to all processes of a service: the engine gets the same one, and lets its mates stop their runs cleanly.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, TypeAlias, assert_never

import orjson

from openskelo import errors
from openskelo.engine import keeper, local
from openskelo.engine.fleet import channel
from openskelo.executors import mortal, task
from openskelo.frozen import replace

#: How long a store that was in trouble is left alone.
_AGAIN_SECONDS = 0.2
#: What is told of something that was logged, beside its text: who, when and where.
_TOLD = (
    *("name", "levelno", "levelname", "created", "msecs", "process", "threadName"),
    *("pathname", "filename", "module", "lineno", "funcName", "stack_info"),
)
#: What is under way for a request: bytes come of it where a document was asked for, else nothing.
_Doing: TypeAlias = asyncio.Future[Any]


def main(parent: int) -> None:
    """Serve until the engine, a process of that number, is gone."""
    bind = mortal.bound_to(parent)
    if bind is not None:
        bind()
    for number in (signal.SIGTERM, signal.SIGINT):  # not SIG_IGN, which whatever is started here would inherit
        signal.signal(number, lambda _number, _frame: None)
    asyncio.run(_Mate().serve(socket.socket(fileno=_standard_input())))


def _standard_input() -> int:
    """The socket; whoever reads standard input from now on finds nothing."""
    taken = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return taken


class _Driving(local.Engine):
    """An engine whose runs are begun by another one, which also wants to know when it drives them no more."""

    def begin(self, request: channel.Begin) -> asyncio.Future[None]:
        """Begin a run; it is durable then (Conflict, or Refused, when another process has begun it)."""
        self._driver.reach(request.command.at)  # the engine's clock may have been ahead of the system's
        pin = self._pins.named(request.command.definition, request.definition)
        if pin.blobs:
            return self._beginning.order(pin, request.command, request.run_id)
        return asyncio.create_task(self._beginning.begin(pin, request.command, request.run_id))

    def refusal(self, run_id: str) -> errors.Refused:
        """What a Conflict of `begin` means."""
        return self._beginning.refusal(run_id)

    async def document(self, run_id: str) -> bytes:
        """What `wait` gives, in JSON."""
        return orjson.dumps(await self.wait(run_id))

    def on_leave(self, tell: Callable[[str, bool], None]) -> None:
        """Let `tell` know of every run that ends, is put aside, or has to be let go."""
        self._driver.roster.on_leave = tell

    def had_to_let_go(self, run_id: str) -> bool:
        """Whether trouble took a run that was driven here."""
        return self._driver.roster.failure(run_id) is not None

    async def give_up(self, run_id: str) -> None:
        """Leave a run that is not driven here to others (StoreError)."""
        if await self.store.row(run_id) is None or self.holding.is_driving(run_id):
            return  # it was never begun, and a claim would be all there is of it; or it is driven here again
        if await self.store.claim(run_id):
            await self.store.release(run_id)


class _Mate:
    """Does what it hears, one thing beside the other, and says what each came to."""

    def __init__(self) -> None:
        self._gone = asyncio.Event()
        self._doing: dict[int, _Doing] = {}  # by the number of the request
        self._engine: _Driving | None = None
        self._keeper: keeper.Keeper | None = None
        self._let_go: set[str] = set()  # runs that trouble took from here, and that are claimed here still
        self._giving_up: asyncio.Task[None] | None = None

    async def serve(self, end: socket.socket) -> None:
        """Until the engine is gone."""
        self._channel = channel.Channel(self._hear, self._gone.set)
        await self._channel.open(end)
        forwarding = _Forwarding(self._channel)
        logging.getLogger().addHandler(forwarding)
        await self._gone.wait()
        logging.getLogger().removeHandler(forwarding)
        tasks = [*self._doing.values(), *([] if self._giving_up is None else [self._giving_up])]
        for doing in tasks:
            doing.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(errors.StoreError):  # nobody is left to hear of it; the log has every line
            await self._end()

    async def _end(self) -> None:
        """Stop keeping, and close the engine."""
        try:
            await self._stop_keeping()
        finally:
            if self._engine is not None:
                await self._engine.close()

    async def _stop_keeping(self) -> bool:
        """Whether it kept runs going until now: it has stopped them, for the next keeper to go on with."""
        keeping, self._keeper = self._keeper, None
        if keeping is not None:
            await keeping.stop()
        return keeping is not None

    def _hear(self, word: channel.Request | channel.Reply) -> None:
        if isinstance(word, channel.Forget):
            doing = self._doing.get(word.number)
            if doing is not None:
                doing.cancel()
        elif isinstance(word, channel.Asked):
            try:
                doing = self._doing[word.number] = self._do(word)
            except Exception as error:  # whoever asked is told, whatever it is
                self._fail(word, error)
            else:
                doing.add_done_callback(functools.partial(self._over, word))

    def _over(self, request: channel.Asked, doing: _Doing) -> None:
        del self._doing[request.number]
        if doing.cancelled():
            self._tell_unbegun(request)
        elif (error := doing.exception()) is not None:
            self._fail(request, error)
        else:
            self._channel.say(channel.Done(request.number, doing.result()))

    def _fail(self, request: channel.Asked, error: BaseException) -> None:
        if isinstance(request, channel.Begin) and isinstance(error, errors.Conflict) and self._engine is not None:
            error = self._engine.refusal(request.run_id)
        self._tell_unbegun(request)
        self._channel.say(channel.Done(request.number, error=_sendable(error)))

    def _do(self, request: channel.Asked) -> _Doing:
        """What it will come to. A run that is begun needs no task of its own: there may be a thousand at once."""
        if isinstance(request, channel.Setup):
            return asyncio.create_task(self._set_up(request))
        if self._engine is None:
            raise errors.OpenSkeloError("a mate was asked before it was set up", code="INTERNAL")
        match request:
            case channel.Begin():
                return self._engine.begin(request)
            case channel.Wait():
                return asyncio.create_task(self._engine.document(request.run_id))
            case channel.Keep():
                return asyncio.create_task(self._keep(self._engine))
            case channel.Suspend():
                return asyncio.create_task(self._suspend(self._engine, request.by))
            case channel.Hello():
                return asyncio.create_task(asyncio.sleep(0))
            case _:
                assert_never(request)

    async def _set_up(self, request: channel.Setup) -> None:
        kit = channel.unpack(request.packed)
        logging.getLogger().setLevel(kit.log_level)
        self._engine = await _Driving.open(kit.project, handlers=kit.handlers, on_text=self._tell_said, cache=kit.cache)
        self._engine.on_leave(self._tell_left)

    async def _keep(self, engine: _Driving) -> None:
        self._keeper = keeper.Keeper(engine)
        await self._keeper.start()

    async def _suspend(self, engine: _Driving, by: str) -> None:
        if not await self._stop_keeping():
            await engine.suspend(by=by)

    def _tell_unbegun(self, request: channel.Asked) -> None:
        """The run that was to be begun is not driven here."""
        if isinstance(request, channel.Begin) and not (
            self._engine and self._engine.holding.is_driving(request.run_id)
        ):
            self._tell_left(request.run_id, ended=False)

    def _tell_left(self, run_id: str, ended: bool) -> None:
        self._channel.say(channel.Left(run_id, ended))
        if self._keeper is None and self._engine is not None and self._engine.had_to_let_go(run_id):
            self._let_go.add(run_id)
            if self._giving_up is None or self._giving_up.done():
                self._giving_up = asyncio.create_task(self._give_up(self._engine))

    async def _give_up(self, engine: _Driving) -> None:
        """Leave runs to who resumes them: a keeper would take them up again here, but there is none."""
        while self._let_go and self._keeper is None:
            await asyncio.sleep(_AGAIN_SECONDS)
            with contextlib.suppress(errors.StoreError):  # it is still in trouble
                for run_id in tuple(self._let_go):
                    await engine.give_up(run_id)
                    self._let_go.discard(run_id)

    def _tell_said(self, of: task.Task, text: str) -> None:
        bare = replace(of, inputs={}, run_inputs={}, item=None, shared=None, feedback=None, purse=None, done=None)
        self._channel.say(channel.Said(of=bare, text=text))


class _Forwarding(logging.Handler):
    """What is logged here, in any thread, is for the program that the engine is part of."""

    def __init__(self, to: channel.Channel) -> None:
        super().__init__()
        self._to = to
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Say it there."""
        try:
            told = {name: getattr(record, name) for name in _TOLD}
            error = logging.Formatter().formatException(record.exc_info) if record.exc_info else record.exc_text
            word = channel.Logged(record={**told, "msg": record.getMessage(), "exc_text": error})
            if threading.get_ident() == self._thread:
                self._to.say(word)
            else:
                self._loop.call_soon_threadsafe(self._to.say, word)
        except Exception:  # as every handler does: whoever logs is not to fail over it
            self.handleError(record)


def _sendable(error: BaseException) -> errors.OpenSkeloError:
    """The error as it can be sent: ours as it is, any other as what it says."""
    if isinstance(error, errors.OpenSkeloError):
        return error
    return errors.OpenSkeloError(f"a process that drives runs failed: {error!r}", code="INTERNAL")

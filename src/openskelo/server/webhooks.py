"""Telling webhooks: facts are taken from the feed into a durable list, and sent until they arrive or time is up.

    async with webhooks.telling(engine.project, engine.store): ...

At least once, each under an id that stays the same; not always in order. Runs never wait for any of it, and what
happens while no server runs is told by the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import cast

import orjson

from openskelo import errors
from openskelo.contract import webhook
from openskelo.engine import clock
from openskelo.executors import task
from openskelo.frozen import frozen
from openskelo.handlers import secret
from openskelo.kernel.json import JsonObject
from openskelo.stores import deliveries, log

_LOG = logging.getLogger("openskelo.server.webhooks")
_READER = "webhooks"
_CHUNK = 256
_GONE = 410


@frozen
class Pace:
    """How soon and how often, in seconds: the first retry, the longest wait between two, and when it is given up."""

    look: float = 0.25
    first: float = 1.0
    longest: float = 600.0
    give_up: float = 3 * 86_400.0
    timeout: float = 10.0
    at_once: int = 4  # to one hook

    def wait(self, attempts: int) -> float:
        """How long to wait after so many attempts: twice as long each time, and never the same for all."""
        return min(self.longest, self.first * 2.0 ** min(attempts - 1, 40)) * random.uniform(0.8, 1.2)  # noqa: S311 -- no secret


@contextlib.asynccontextmanager
async def telling(project: task.Project, store: log.Log, pace: Pace | None = None) -> AsyncGenerator[Teller | None]:
    """Tell the project's webhooks what happens for as long as this is open; nothing is done where there are none."""
    if not project.webhooks:
        yield None
        return
    teller = Teller(project, store, pace or Pace())
    telling = asyncio.create_task(teller.run(), name="webhooks")
    try:
        yield teller
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        teller.close()


class Teller:
    """Takes facts in and sends them. One process of a data dir does so at a time; others stand by."""

    def __init__(
        self, project: task.Project, store: log.Log, pace: Pace, now: Callable[[], int] = clock.wall_ms
    ) -> None:
        self._project = project
        self._store = store
        self._pace = pace
        self._now = now
        self._owed = deliveries.Deliveries(project.data_dir)
        self._turn = deliveries.Turn(project.data_dir)
        self._ours = False
        self._sending: dict[str, set[asyncio.Task[None]]] = {hook.id: set() for hook in project.webhooks}
        self._more: set[str] = set()  # hooks to which more may be due than could be sent at once
        self._free = asyncio.Event()  # one of these can be told more
        self._unnoted: list[Callable[[], None]] = []  # what came of deliveries and could not be written down yet

    async def run(self) -> None:
        """Go on until cancelled. Trouble with the disk is told to the log of the program, and tried again."""
        try:
            while True:
                self._free.clear()
                try:
                    if self._is_our_turn():
                        self._note_again()
                        await self._take_in()
                        self._send_due()
                except errors.StoreError as error:
                    _LOG.warning("webhooks wait: %s %s", error.code, error.message)
                    await asyncio.sleep(self._pace.first)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._pace.look):
                        await self._free.wait()
        finally:
            every = [sending for hook in self._sending.values() for sending in hook]
            for sending in every:
                sending.cancel()
            await asyncio.gather(*every, return_exceptions=True)

    def close(self) -> None:
        """Let another process go on."""
        self._owed.close()
        self._turn.leave()

    @property
    def hooks(self) -> Sequence[webhook.Webhook]:
        """Whom this tells."""
        return self._project.webhooks

    @property
    def position(self) -> int | None:
        """How far the feed was read; None before the first look."""
        return self._owed.position(_READER)

    def backlog(self) -> dict[str, deliveries.Backlog]:
        """What is owed, by the id of the hook."""
        return {found.hook: found for found in self._owed.backlog()}

    def _is_our_turn(self) -> bool:
        if not self._turn.take():
            return False
        if not self._ours:
            self._owed.reclaim()
            for hook in self._project.webhooks:
                self._owed.revive(hook.id, self._now())  # whoever starts a server anew may have mended something
            self._ours = True
        return True

    async def _take_in(self) -> None:
        """What the feed has since the last time becomes deliveries; a project's first look begins at the end."""
        position = self.position
        if position is None:
            self._owed.take(_READER, await self._store.position(), ())
            return
        while fed := await self._store.feed(after=position, limit=_CHUNK):
            position = fed[-1].position
            self._owed.take(_READER, position, [one for added in fed for one in self._deliveries(added)])
            await asyncio.sleep(0)

    def _deliveries(self, added: log.Added) -> list[deliveries.Delivery]:
        found: list[deliveries.Delivery] = []
        for seq, line in enumerate(added.lines, start=added.seq - len(added.lines) + 1):
            kind = _type_of(line)
            if kind is None:
                continue
            found += [
                deliveries.Delivery(
                    id=webhook.delivery_id(hook.id, added.run_id, seq),
                    hook=hook.id,
                    run_id=added.run_id,
                    seq=seq,
                    type=kind,
                    taken_at=self._now(),
                )
                for hook in self._project.webhooks
                if kind in hook.events
            ]
        return found

    def _send_due(self) -> None:
        for hook in self._project.webhooks:
            sending = self._sending[hook.id]
            free = self._pace.at_once - len(sending)
            if free <= 0:
                continue
            lent = self._owed.lend(hook.id, now=self._now(), limit=free)
            for one in lent:
                sent = asyncio.create_task(self._send(hook, one))
                sending.add(sent)
                sent.add_done_callback(functools.partial(self._sent, hook.id))
            if len(lent) == free:
                self._more.add(hook.id)
            else:
                self._more.discard(hook.id)

    def _sent(self, hook: str, sent: asyncio.Task[None]) -> None:
        self._sending[hook].discard(sent)
        if hook in self._more:
            self._free.set()

    async def _send(self, hook: webhook.Webhook, one: deliveries.Delivery) -> None:
        try:
            data = await self._body(one)
            if data is not None:  # else the run was deleted
                async with asyncio.timeout(self._pace.timeout):
                    await self._post(hook, one, data)
        except asyncio.CancelledError:
            with contextlib.suppress(errors.StoreError):  # whoever has the next turn takes it back
                self._owed.give_back(one.id)
            raise
        except TimeoutError:
            self._failed(hook, one, f"no answer within {self._pace.timeout:g} s")
        except errors.OpenSkeloError as error:
            self._failed(hook, one, f"{error.code} {error.message}", for_good=error.code == "WEBHOOK_GONE")
        except Exception as error:  # a defect, or a log that was damaged: the delivery stays owed, and the others go on
            _LOG.exception("webhook %s: %s of run %s failed", hook.label, one.type, one.run_id)
            self._failed(hook, one, f"INTERNAL {type(error).__name__}")
        else:
            self._note(functools.partial(self._owed.done, one.id))

    def _note(self, noting: Callable[[], None]) -> None:
        """Write down what came of a delivery: now or, where there is no room, as soon as there is."""
        try:
            noting()
        except errors.StoreError as error:
            _LOG.warning("webhooks wait: %s %s", error.code, error.message)
            self._unnoted.append(noting)

    def _note_again(self) -> None:
        while self._unnoted:
            self._unnoted[0]()
            del self._unnoted[0]

    async def _body(self, one: deliveries.Delivery) -> bytes | None:
        row = await self._store.row(one.run_id)
        async for lines in self._store.read(one.run_id, after=one.seq - 1):
            opened = cast("JsonObject", orjson.loads(lines[0]))
            return webhook.body(one.id, opened, "" if row is None else row.name)
        return None

    async def _post(self, hook: webhook.Webhook, one: deliveries.Delivery, data: bytes) -> None:
        """Send it once (AttemptFailed). Where it goes and what signs it are looked up now and kept nowhere."""
        from openskelo.handlers import exchange  # noqa: PLC0415  heavy, and most projects tell nobody

        secrets = self._project.secrets
        at = self._now() // 1000
        answered = await exchange.exchange(
            exchange.Asked(
                method="POST",
                url=secret.resolve(hook.url, secrets),
                headers={
                    "content-type": "application/json",
                    "openskelo-delivery": one.id,
                    "openskelo-event": one.type,
                    webhook.SIGNATURE: webhook.signature(secret.resolve(hook.secret, secrets), at, data),
                },
                body=data,
                allow_private=self._project.allow_private_addresses,
                follow=False,
                max_bytes=256 * 1024,
            )
        )
        if answered.status == _GONE:
            raise errors.AttemptFailed("the receiver wants no more of it", code="WEBHOOK_GONE", retryable=False)
        if not 200 <= answered.status < 300:
            raise errors.AttemptFailed(f"the receiver answered {answered.status}", code="WEBHOOK_REFUSED")

    def _failed(self, hook: webhook.Webhook, one: deliveries.Delivery, error: str, *, for_good: bool = False) -> None:
        now = self._now()
        due = now + round(self._pace.wait(one.attempts + 1) * 1000)
        given_up = for_good or due > one.taken_at + self._pace.give_up * 1000
        self._note(functools.partial(self._owed.failed, one.id, error, None if given_up else due))
        level = logging.ERROR if given_up else logging.WARNING
        word = "given up" if given_up else "tried again later"
        _LOG.log(level, "webhook %s: %s of run %s is %s: %s", hook.label, one.type, one.run_id, word, error)


def _type_of(line: bytes) -> str | None:
    """The type of a line that somebody may want to hear of; it is the last member of every line."""
    for kind in webhook.EVENTS:
        if line.endswith(b'"type":"%b"}' % kind.encode()):
            return kind
    return None

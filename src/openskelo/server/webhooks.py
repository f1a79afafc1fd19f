"""Webhook deliveries: facts become entries of a durable queue, and are sent until they arrive or time is up.

    feed of the log ──> delivery queue (on disk) ──> POST to the receiver ──> deleted, or tried again later

    async with webhooks.delivering(engine.project, store): ...

A delivery is sent at least once, with the same id each time, and not always in order. One process of a data dir sends
at a time, and the others stand by. Runs never wait for deliveries; what happens while no server runs is sent by the
next server.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Protocol, cast

import orjson

from openskelo import clock, errors
from openskelo.handlers import secrets as handlers_secrets
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.stores import api, delivery_queue
from openskelo.structs import frozen
from openskelo.wire import webhook

_LOG = logging.getLogger("openskelo.server.webhooks")
_READER = "webhooks"
_CHUNK = 256
_STATUS_GONE = 410


class _Store(api.EventLog, api.Listings, Protocol):
    """The part of a store that deliveries need."""


@frozen
class Pace:
    """The intervals of webhook delivery in seconds: reading the feed, retrying, giving up."""

    poll: float = 0.25
    first_retry: float = 1.0
    max_wait: float = 600.0
    give_up: float = 3 * 86_400.0
    timeout: float = 10.0
    #: The number of deliveries that are sent to one webhook at a time.
    concurrent: int = 4

    def wait(self, attempts: int) -> float:
        """Return the wait after a number of attempts: it doubles each time, with a random part against bursts."""
        wait = min(self.max_wait, self.first_retry * 2.0 ** min(attempts - 1, 40))
        return wait * random.uniform(0.8, 1.2)  # noqa: S311 - not a secret


@contextlib.asynccontextmanager
async def delivering(project: Project, store: _Store, pace: Pace | None = None) -> AsyncGenerator[Sender | None]:
    """Send the project's webhook deliveries while this is open; does nothing if the project has no webhooks."""
    if not project.webhooks:
        yield None
        return
    sender = Sender(project, store, pace or Pace())
    task = asyncio.create_task(sender.run(), name="webhooks")
    try:
        yield sender
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        sender.close()


class Sender:
    """Queues facts and sends them, while this process holds the sender lock of the data dir."""

    def __init__(self, project: Project, store: _Store, pace: Pace, now: Callable[[], int] = clock.wall_ms) -> None:
        self._project = project
        self._store = store
        self._pace = pace
        self._now = now
        self._queue = delivery_queue.DeliveryQueue(project.data_dir)
        self._lock = delivery_queue.SenderLock(project.data_dir)
        self._is_sender = False
        self._sending: dict[str, set[asyncio.Task[None]]] = {hook.id: set() for hook in project.webhooks}
        self._has_more: set[str] = set()  # hooks with more due deliveries than may be sent at a time
        self._can_send = asyncio.Event()  # set when one of these may be sent more
        self._unsaved: list[Callable[[], None]] = []  # results of deliveries that could not be stored yet

    async def run(self) -> None:
        """Send until cancelled. Errors of the store are logged, and tried again."""
        try:
            while True:
                self._can_send.clear()
                try:
                    if self._become_sender():
                        self._save_results()
                        await self._queue_new_facts()
                        self._send_due()
                except errors.StoreError as error:
                    _LOG.warning("webhook deliveries wait: %s %s", error.code, error.message)
                    await asyncio.sleep(self._pace.first_retry)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._pace.poll):
                        await self._can_send.wait()
        finally:
            tasks = [task for hook_tasks in self._sending.values() for task in hook_tasks]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """Close the queue, and let another process send."""
        self._queue.close()
        self._lock.release()

    @property
    def hooks(self) -> Sequence[webhook.Webhook]:
        """The project's webhooks."""
        return self._project.webhooks

    @property
    def position(self) -> int | None:
        """The position up to which the feed was read; None before the first time."""
        return self._queue.position(_READER)

    def backlog(self) -> dict[str, delivery_queue.Backlog]:
        """Return what waits and what was given up, by the id of the hook."""
        return {backlog.hook: backlog for backlog in self._queue.backlog()}

    def _become_sender(self) -> bool:
        """True if this process holds the sender lock; at the first time, end old leases and retry dead deliveries."""
        if not self._lock.acquire():
            return False
        if not self._is_sender:
            self._queue.end_leases()
            for hook in self._project.webhooks:
                self._queue.revive(hook.id, self._now())  # a restart may have fixed the cause
            self._is_sender = True
        return True

    async def _queue_new_facts(self) -> None:
        """Queue deliveries for what is new in the feed; a project's first server starts at the end of the feed."""
        position = self.position
        if position is None:
            self._queue.add(_READER, await self._store.last_position(), ())
            return
        while entries := await self._store.read_feed(after=position, limit=_CHUNK):
            position = entries[-1].position
            self._queue.add(_READER, position, [item for entry in entries for item in self._deliveries_of(entry)])
            await asyncio.sleep(0)

    def _deliveries_of(self, entry: api.FeedEntry) -> list[delivery_queue.Delivery]:
        deliveries: list[delivery_queue.Delivery] = []
        for seq, line in enumerate(entry.lines, start=entry.seq - len(entry.lines) + 1):
            event_type = _deliverable_type(line)
            if event_type is None:
                continue
            deliveries += [
                delivery_queue.Delivery(
                    id=webhook.delivery_id(hook.id, entry.run_id, seq),
                    hook=hook.id,
                    run_id=entry.run_id,
                    seq=seq,
                    type=event_type,
                    queued_at=self._now(),
                )
                for hook in self._project.webhooks
                if event_type in hook.events
            ]
        return deliveries

    def _send_due(self) -> None:
        for hook in self._project.webhooks:
            sending = self._sending[hook.id]
            free = self._pace.concurrent - len(sending)
            if free <= 0:
                continue
            deliveries = self._queue.lease(hook.id, now=self._now(), limit=free)
            for delivery in deliveries:
                task = asyncio.create_task(self._send(hook, delivery))
                sending.add(task)
                task.add_done_callback(functools.partial(self._on_sent, hook.id))
            if len(deliveries) == free:
                self._has_more.add(hook.id)
            else:
                self._has_more.discard(hook.id)

    def _on_sent(self, hook: str, task: asyncio.Task[None]) -> None:
        self._sending[hook].discard(task)
        if hook in self._has_more:
            self._can_send.set()

    async def _send(self, hook: webhook.Webhook, delivery: delivery_queue.Delivery) -> None:
        try:
            data = await self._read_body(delivery)
            if data is not None:  # None: the run was deleted
                async with asyncio.timeout(self._pace.timeout):
                    await self._post(hook, delivery, data)
        except asyncio.CancelledError:
            with contextlib.suppress(errors.StoreError):  # the next sender ends the lease
                self._queue.end_lease(delivery.id)
            raise
        except TimeoutError:
            self._record_failure(hook, delivery, f"no answer within {self._pace.timeout:g} s")
        except errors.OpenSkeloError as error:
            self._record_failure(
                hook, delivery, f"{error.code} {error.message}", permanent=error.code == "WEBHOOK_GONE"
            )
        except Exception as error:  # a defect, or a damaged log: the delivery is tried again, and the others go on
            _LOG.exception("webhook %s: %s of run %s failed", hook.label, delivery.type, delivery.run_id)
            self._record_failure(hook, delivery, f"INTERNAL {type(error).__name__}")
        else:
            self._save_result(functools.partial(self._queue.delete, delivery.id))

    def _save_result(self, save: Callable[[], None]) -> None:
        """Store the result of a delivery now; if the store cannot, as soon as it can."""
        try:
            save()
        except errors.StoreError as error:
            _LOG.warning("webhook deliveries wait: %s %s", error.code, error.message)
            self._unsaved.append(save)

    def _save_results(self) -> None:
        while self._unsaved:
            self._unsaved[0]()
            del self._unsaved[0]

    async def _read_body(self, delivery: delivery_queue.Delivery) -> bytes | None:
        row = await self._store.find_run(delivery.run_id)
        async for lines in self._store.read_events(delivery.run_id, after=delivery.seq - 1):
            fact = cast("JsonObject", orjson.loads(lines[0]))
            return webhook.body(delivery.id, fact, "" if row is None else row.name)
        return None

    async def _post(self, hook: webhook.Webhook, delivery: delivery_queue.Delivery, data: bytes) -> None:
        """Send a delivery once. Raise AttemptFailed if the receiver does not accept it.

        Address and secret are resolved here, and stored nowhere.
        """
        from openskelo.handlers import http_exchange  # noqa: PLC0415 - slow to import, and most projects have no webhooks

        secrets = self._project.secrets
        at = self._now() // 1000
        response = await http_exchange.exchange(
            http_exchange.Request(
                method="POST",
                url=handlers_secrets.resolve(hook.url, secrets),
                headers={
                    "content-type": "application/json",
                    "openskelo-delivery": delivery.id,
                    "openskelo-event": delivery.type,
                    webhook.SIGNATURE: webhook.signature(handlers_secrets.resolve(hook.secret, secrets), at, data),
                },
                body=data,
                allow_private=self._project.allow_private_addresses,
                follow=False,
                max_bytes=256 * 1024,
            )
        )
        if response.status == _STATUS_GONE:
            raise errors.AttemptFailed(
                "the receiver has answered that it is gone", code="WEBHOOK_GONE", retryable=False
            )
        if not 200 <= response.status < 300:
            raise errors.AttemptFailed(f"the receiver answered {response.status}", code="WEBHOOK_REFUSED")

    def _record_failure(
        self, hook: webhook.Webhook, delivery: delivery_queue.Delivery, error: str, *, permanent: bool = False
    ) -> None:
        now = self._now()
        due = now + round(self._pace.wait(delivery.attempts + 1) * 1000)
        given_up = permanent or due > delivery.queued_at + self._pace.give_up * 1000
        self._save_result(functools.partial(self._queue.fail, delivery.id, error, None if given_up else due))
        level = logging.ERROR if given_up else logging.WARNING
        fate = "given up" if given_up else "tried again later"
        _LOG.log(level, "webhook %s: %s of run %s is %s: %s", hook.label, delivery.type, delivery.run_id, fate, error)


def _deliverable_type(line: bytes) -> str | None:
    """Return the event type of a line if a webhook can be sent for it. It is the last member of every line."""
    for event_type in webhook.EVENTS:
        if line.endswith(b'"type":"%b"}' % event_type.encode()):
            return event_type
    return None

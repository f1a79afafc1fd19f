"""What other processes leave in the store for the runs that this one drives, and those who wait for such a thing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from openskelo.engine import actor as actors
from openskelo.engine import mail
from openskelo.stores import log


class Hearing:
    """Listens for `driven` runs, and hands each letter to `send`."""

    def __init__(
        self,
        store: log.Log,
        driven: Mapping[str, actors.Actor],
        send: Callable[[actors.Actor, actors.Letter], None],
        now: Callable[[], int],
    ) -> None:
        self._store = store
        self._driven = driven
        self._send = send
        self._now = now
        self._elsewhere: asyncio.Event | None = None  # while somebody waits for another process
        self._unheard = False  # something was posted that is in no mailbox yet

    async def listen(self) -> None:
        """Take in what other processes have posted, and wake those who follow runs driven elsewhere (StoreError)."""
        if await self._store.changed():
            self._unheard = True
            self.announce()
        if self._unheard:
            await self.take_posted(tuple(self._driven))
            self._unheard = False

    def announce(self) -> None:
        """Wake those who wait for another process: something has changed that they may not see otherwise."""
        if self._elsewhere is not None:
            self._elsewhere.set()
            self._elsewhere = None

    async def elsewhere(self) -> None:
        """Wait until another process has changed the store."""
        if self._elsewhere is None:
            self._elsewhere = asyncio.Event()
        await self._elsewhere.wait()

    async def take_posted(self, run_ids: Sequence[str]) -> bool:
        """Put what was posted for these runs into their mailboxes; gives whether there was anything."""
        posts = await self._store.posted(run_ids) if run_ids else ()
        for posted in posts:
            actor = self._driven.get(posted.run_id)
            if actor is None or posted.id in actor.heard:
                continue
            letter = await mail.open_posted(self._store, actor, posted, self._now())
            if posted.id not in actor.heard:  # somebody else may have opened it meanwhile
                actor.heard.add(posted.id)
                self._send(actor, letter)
        return bool(posts)

"""What every store must do with the lines of all runs together: one order, that of commits, for every reader."""

from __future__ import annotations

from openskelo import errors
from openskelo.stores import log
from openskelo.stores.conformance import rig


async def the_feed_is_in_the_order_of_commits(open_log: rig.Open) -> None:
    """Over all runs, one entry for each Append that had lines; those of one batch in the order of the batch."""
    async with rig.opened(open_log) as store:
        rig.same((await store.position(), list(await store.feed(after=0))), (0, list[log.Added]()))
        await store.append([rig.append(0, b"a1", b"a2"), rig.append(0, b"b1", run_id=rig.OTHER)])
        await store.append([rig.append(1, b"b2", run_id=rig.OTHER, row=rig.row(rig.OTHER, 1))])
        await store.append([rig.append(2, row=rig.row(rig.RUN, 1))])
        await store.append([rig.append(2, b"a3")])
        fed = await store.feed(after=0)
        rig.same(
            [(added.run_id, added.seq, added.lines) for added in fed],
            [
                (rig.RUN, 2, (b"a1", b"a2")),
                (rig.OTHER, 1, (b"b1",)),
                (rig.OTHER, 2, (b"b2",)),
                (rig.RUN, 3, (b"a3",)),
            ],
        )
        positions = [added.position for added in fed]
        rig.same(positions, sorted(set(positions)))
        rig.same(await store.position(), positions[-1])


async def the_feed_goes_on_anywhere(open_log: rig.Open) -> None:
    """After any position, at most so many at a time, and with nothing beyond the end."""
    async with rig.opened(open_log) as store:
        for seq in range(40):
            await store.append([rig.append(seq, b"%d" % seq)])
        fed = await store.feed(after=0)
        rig.same([added.lines for added in fed], [(b"%d" % seq,) for seq in range(40)])
        for at, added in enumerate(fed):
            rig.same(await store.feed(after=added.position), fed[at + 1 :])
            rig.same(await store.feed(after=added.position, limit=3), fed[at + 1 : at + 4])
        rig.same(await store.feed(after=fed[-1].position + 1000), [])


async def the_feed_has_what_other_stores_commit(open_log: rig.Open) -> None:
    """At once, in one order that all see, whoever wrote; also the runs begun meanwhile."""
    async with rig.opened(open_log) as one, rig.opened(open_log) as two:
        await one.append([rig.append(0, b"a1")])
        at = await two.position()
        await two.append([rig.append(0, b"b1", run_id=rig.OTHER)])
        await one.append([rig.append(1, b"a2")])
        await two.append([rig.append(1, b"b2", run_id=rig.OTHER)])
        seen = await one.feed(after=at)
        rig.same(
            [(added.run_id, added.lines) for added in seen],
            [
                (rig.OTHER, (b"b1",)),
                (rig.RUN, (b"a2",)),
                (rig.OTHER, (b"b2",)),
            ],
        )
        rig.same(await two.feed(after=at), seen)


async def the_feed_has_nothing_of_an_append_that_failed(open_log: rig.Open) -> None:
    """A batch that is refused leaves no gap that a reader would wait for."""
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"1")])
        await rig.raises(errors.Conflict, store.append([rig.append(1, b"x"), rig.append(7, b"y")]))
        await store.append([rig.append(1, b"2")])
        rig.same([added.lines for added in await store.feed(after=0)], [(b"1",), (b"2",)])


async def the_feed_survives_reopening(open_log: rig.Open) -> None:
    """With the same positions, so that a reader may go on where it was."""
    async with rig.opened(open_log) as store:
        await store.append([rig.append(seq, b"%d" % seq) for seq in range(700)])
        before: list[log.Added] = list(await store.feed(after=0, limit=1000))
    async with rig.opened(open_log) as store:
        rig.same(await store.feed(after=0, limit=1000), before)
        await store.append([rig.append(700, b"700")])
        (added,) = await store.feed(after=before[-1].position)
        rig.same((added.seq, added.lines), (701, (b"700",)))


CHECKS: tuple[rig.Check, ...] = (
    the_feed_is_in_the_order_of_commits,
    the_feed_goes_on_anywhere,
    the_feed_has_what_other_stores_commit,
    the_feed_has_nothing_of_an_append_that_failed,
    the_feed_survives_reopening,
)

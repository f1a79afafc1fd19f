"""What every store must do when something is taken out: what stays is as it was, for every reader."""

from __future__ import annotations

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.stores import blobs, log
from openskelo.stores.conformance import rig

_SMALL = b"a small value"


def _shorter(line: bytes) -> bytes:
    return line[:2]


def _naming(*names: str) -> bytes:
    return b'{"data":{"blobs":"%b"}}' % " ".join(names).encode()


async def lines_are_rewritten_in_place(open_log: rig.Open) -> None:
    """With the same seqs and positions, for other stores too; other runs keep theirs."""
    async with rig.opened(open_log) as store, rig.opened(open_log) as other:
        await store.append([rig.append(0, b"a1 long", b"a2 long"), rig.append(0, b"b1 long", run_id=rig.OTHER)])
        await store.append([rig.append(2, *(b"%d long" % seq for seq in range(10, 99)))])
        await store.append([rig.append(91, b"zz long", row=rig.row(rig.RUN, 1, status="completed", ending="ok"))])
        before = await other.feed(after=0)
        await store.rewrite(rig.RUN, _shorter)
        wanted = [b"a1", b"a2", *(b"%d" % seq for seq in range(10, 99)), b"zz"]
        rig.same(await rig.lines(other, rig.RUN), wanted)
        rig.same(await rig.lines(other, rig.RUN, after=91), [b"zz"])
        rig.same(await rig.lines(other, rig.OTHER), [b"b1 long"])
        after = await other.feed(after=0)
        rig.same([(added.position, added.run_id, added.seq) for added in after], [
            (added.position, added.run_id, added.seq) for added in before
        ])  # fmt: skip
        await store.rewrite(rig.RUN, _shorter)
        rig.same(await rig.lines(store, rig.RUN), wanted)
        await store.append([rig.append(1, b"b2", run_id=rig.OTHER)])
        rig.same((await other.row(rig.RUN) or rig.row("", 0)).ending, "ok")


async def a_line_that_cannot_be_shortened_stops_it(open_log: rig.Open) -> None:
    """The error comes through, and the first line is as it was."""

    def refusing(line: bytes) -> bytes:
        if line == b"bad line":
            raise errors.Corrupt("bad")
        return _shorter(line)

    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"a1 long"), rig.append(1, b"bad line")])
        await rig.raises(errors.Corrupt, store.rewrite(rig.RUN, refusing))
        rig.same(await rig.lines(store, rig.RUN), [b"a1 long", b"bad line"])


async def an_erased_run_is_gone(open_log: rig.Open) -> None:
    """With everything of its own, and nothing of others'; positions are never given away again."""
    async with rig.opened(open_log) as store, rig.opened(open_log) as other:
        await store.append([rig.append(0, b"b1", run_id=rig.OTHER, row=rig.row(rig.OTHER, 1))])
        await store.append([rig.append(0, b"a1", row=rig.row(rig.RUN, 2), opened=(rig.approval("a"),))])
        await store.append([rig.append(1, b"a2", row=rig.row(rig.RUN, 2, status="failed", ending="failed"))])
        await store.post(rig.RUN, {"type": "cancel"})
        newest = await other.position()
        await store.erase(rig.RUN)
        for each in (store, other):
            rig.same((await each.row(rig.RUN), len(await rig.lines(each, rig.RUN))), (None, 0))
            rig.same([row.run_id for row in await each.rows()], [rig.OTHER])
            rig.same((len(await each.approvals()), await each.asker("a"), len(await each.posted(None))), (0, None, 0))
            rig.same([added.run_id for added in await each.feed(after=0)], [rig.OTHER])
        await rig.raises(errors.NotFound, other.post(rig.RUN, {"type": "cancel"}))
        await other.append([rig.append(1, b"b2", run_id=rig.OTHER)])
        rig.same([added.lines for added in await store.feed(after=newest)], [(b"b2",)])
        await store.append([rig.append(2, b"b3", run_id=rig.OTHER), rig.append(0, b"new", row=rig.row(rig.RUN, 3))])
        rig.same([added.lines for added in await other.feed(after=newest)], [(b"b2",), (b"b3",), (b"new",)])
        await store.erase("33333333-3333-4333-8333-333333333333")


async def runs_may_be_erased_one_after_the_other(open_log: rig.Open) -> None:
    """However many, and whatever came between: what is appended later finds its place."""
    async with rig.opened(open_log) as store:
        for number in range(4):
            name = f"{number:08d}-0000-4000-8000-00000000000b"
            await store.append(
                [rig.append(0, b"1", run_id=name, row=rig.row(name, 1, status="failed", ending="failed"))]
            )
            await store.erase(name)
        await store.append([rig.append(seq, b"%d" % seq) for seq in range(600)])
        await store.append([rig.append(600, b"600")])
        rig.same(await rig.lines(store, rig.RUN), [b"%d" % seq for seq in range(601)])


async def a_sweep_removes_what_nothing_names(open_log: rig.Open) -> None:
    """Values that a line, an approval, a command, a note or the cache names stay."""
    kept = {blobs.name_of(data): data for data in (b"line", b"asked", b"posted", b"noted", b"cached", b"forgotten")}
    line, asked, posted, noted, cached, forgotten = kept
    async with rig.opened(open_log) as store, rig.opened(open_log) as other:
        question = log.ApprovalRow(approval_id="a", run_id=rig.RUN, node="n", document={"stored": {"blob": asked}})
        entries: dict[str, JsonObject] = {
            "k": {"outputs": {"blob": cached}, "source": {"runId": rig.RUN}},
            "l": {"outputs": {"blob": forgotten}, "source": {"runId": rig.OTHER}},
        }
        every = {**kept, blobs.name_of(_SMALL): _SMALL}
        await store.append([rig.append(0, _naming(line), blobs=every, opened=(question,), cached=entries)])
        await store.post(rig.RUN, {"blob": posted})
        await store.note("n", {"blob": noted}, at=1)
        rig.same(await store.sweep(forget=[rig.OTHER]), log.Swept(blobs=1, bytes=len(_SMALL)))
        rig.same([await other.cached("k"), await other.cached("l")], [entries["k"], None])
        await rig.raises(errors.NotFound, other.blob(blobs.name_of(_SMALL)))
        # What was just dropped from the cache may be on its way into a run; the next sweep takes it.
        rig.same(await other.sweep(), log.Swept(blobs=1, bytes=len(b"forgotten")))
        rig.same([await other.blob(name) for name in kept if name != forgotten], [
            data for name, data in kept.items() if name != forgotten
        ])  # fmt: skip


async def a_value_that_was_swept_can_be_kept_again(open_log: rig.Open) -> None:
    """By a later Append that brings it along."""
    name = blobs.name_of(_SMALL)
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"1", blobs={name: _SMALL})])
        rig.same((await store.sweep()).blobs, 1)
        await store.append([rig.append(1, _naming(name), blobs={name: _SMALL})])
        rig.same((await store.sweep()).blobs, 0)
        rig.same(await store.blob(name), _SMALL)
        await store.compact()
        rig.same([await store.blob(name), len(await rig.lines(store, rig.RUN))], [_SMALL, 2])


async def everything_is_counted(open_log: rig.Open) -> None:
    """Runs by status and ending, what waits for people and since when, and what waits for drivers."""
    async with rig.opened(open_log) as store:
        rig.same(await store.tally(), log.Tally(runs={}))
        waiting = rig.row(rig.RUN, 5, status="paused", updated_at=7)
        ended = rig.row(rig.OTHER, 1, status="failed", ending="denied")
        asked = (rig.approval("a"), rig.approval("b"))
        await store.append([rig.append(0, b"1", row=waiting, opened=asked)])
        await store.append([rig.append(0, b"1", run_id=rig.OTHER, row=ended)])
        await store.post(rig.RUN, {"type": "cancel"})
        rig.same(
            await store.tally(),
            log.Tally(runs={("paused", None): 1, ("failed", "denied"): 1}, approvals=2, waiting_since=7, commands=1),
        )


CHECKS: tuple[rig.Check, ...] = (
    everything_is_counted,
    lines_are_rewritten_in_place,
    a_line_that_cannot_be_shortened_stops_it,
    an_erased_run_is_gone,
    runs_may_be_erased_one_after_the_other,
    a_sweep_removes_what_nothing_names,
    a_value_that_was_swept_can_be_kept_again,
)

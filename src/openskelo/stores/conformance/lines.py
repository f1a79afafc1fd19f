"""What every store must do with lines: order, atomicity, conflicts."""

from __future__ import annotations

from openskelo import errors
from openskelo.stores import blobs, log
from openskelo.stores.conformance import rig


async def lines_come_back_in_order(open_log: rig.Open) -> None:
    """All lines of several Appends, in one chunk or many."""
    async with rig.opened(open_log) as store:
        written = [b"%d" % number for number in range(1, 3001)]
        await store.append([rig.append(0, *written[:1])])
        await store.append([rig.append(1, *written[1:2500])])
        for seq in range(2500, 2520):
            await store.append([rig.append(seq, written[seq])])
        await store.append([rig.append(seq, written[seq]) for seq in range(2520, 3000)])
        rig.same(await rig.lines(store, rig.RUN), written)


async def reading_starts_after_a_seq(open_log: rig.Open) -> None:
    """Also when that seq is in the middle of an Append, at the end, or beyond it."""
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"1", b"2", b"3")])
        await store.append([rig.append(3, b"4", b"5")])
        for after in range(7):
            rig.same(await rig.lines(store, rig.RUN, after=after), [b"1", b"2", b"3", b"4", b"5"][after:])


async def lines_added_while_reading_are_no_harm(open_log: rig.Open) -> None:
    """A reader sees a beginning of the log, at least what was there when it began, and comes to an end."""
    async with rig.opened(open_log) as store:
        written = [b"%d" % number for number in range(2000)]
        await store.append([rig.append(at, *written[at : at + 2]) for at in range(0, 1000, 2)])
        await store.append([rig.append(at, *written[at : at + 2]) for at in range(1000, 2000, 2)])
        seen: list[bytes] = []
        async for chunk in store.read(rig.RUN):
            seen += chunk
            await store.append([rig.append(len(written), b"more")])
            written.append(b"more")
            rig.same(len(written) < 3000, True)
        rig.same(seen, written[: len(seen)])
        rig.same(len(seen) >= 2000, True)


async def runs_do_not_mix(open_log: rig.Open) -> None:
    """Appends of two runs, one after the other and in one batch."""
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"a1"), rig.append(0, b"b1", run_id=rig.OTHER)])
        await store.append([rig.append(1, b"b2", run_id=rig.OTHER)])
        await store.append([rig.append(1, b"a2", b"a3"), rig.append(2, b"b3", run_id=rig.OTHER), rig.append(3, b"a4")])
        rig.same(await rig.lines(store, rig.RUN), [b"a1", b"a2", b"a3", b"a4"])
        rig.same(await rig.lines(store, rig.OTHER), [b"b1", b"b2", b"b3"])


async def many_runs_share_a_commit(open_log: rig.Open) -> None:
    """Two hundred runs in one batch, several times, found again one by one."""
    async with rig.opened(open_log) as store:
        names = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(200)]
        for step in range(3):
            await store.append([rig.append(step, b"%s %d" % (name.encode(), step), run_id=name) for name in names])
        for name in names[::19]:
            rig.same(await rig.lines(store, name), [b"%s %d" % (name.encode(), step) for step in range(3)])


async def a_wrong_seq_is_a_conflict(open_log: rig.Open) -> None:
    """Behind the head, beyond it, and for a run that does not exist."""
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"1", b"2")])
        for seq in (0, 1, 3, 100):
            await rig.raises(errors.Conflict, store.append([rig.append(seq, b"x")]))
        await rig.raises(errors.Conflict, store.append([rig.append(1, b"x", run_id=rig.OTHER)]))
        await store.append([rig.append(2, b"3")])
        rig.same(await rig.lines(store, rig.RUN), [b"1", b"2", b"3"])
        rig.same(await rig.lines(store, rig.OTHER), [])


async def a_batch_is_kept_whole_or_not_at_all(open_log: rig.Open) -> None:
    """One Append that does not fit takes everything with it: lines, listings, approvals, blobs, commands, cache."""
    small = b"small"
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"1", row=rig.row(rig.RUN, 1))])
        command = await store.post(rig.RUN, {"type": "cancel"})
        good = log.Append(
            run_id=rig.RUN,
            expected_seq=1,
            lines=(b"2",),
            row=rig.row(rig.RUN, 1, status="completed", ending="ok"),
            opened=(rig.approval("a"),),
            blobs={blobs.name_of(small): small},
            consumed=(command,),
            cached={"key": {"value": 1}},
        )
        await rig.raises(
            errors.Conflict, store.append([good, rig.append(7, b"x", run_id=rig.OTHER, row=rig.row(rig.OTHER, 2))])
        )
        rig.same(await rig.lines(store, rig.RUN), [b"1"])
        rig.same(await store.rows(), [rig.row(rig.RUN, 1)])
        rig.same(await store.approvals(), [])
        rig.same([waiting.id for waiting in await store.posted([rig.RUN])], [command])
        rig.same(await store.cached("key"), None)
        await rig.raises(errors.NotFound, store.blob(blobs.name_of(small)))
        await store.append([good])
        rig.same(await rig.lines(store, rig.RUN), [b"1", b"2"])
        rig.same(await store.blob(blobs.name_of(small)), small)


async def of_two_writers_one_wins(open_log: rig.Open) -> None:
    """Two stores over the same data that both believe to be at the head."""
    async with rig.opened(open_log) as one, rig.opened(open_log) as two:
        await one.append([rig.append(0, b"1")])
        await two.append([rig.append(1, b"2")])
        await rig.raises(errors.Conflict, one.append([rig.append(1, b"lost")]))
        await one.append([rig.append(2, b"3")])
        await two.append([rig.append(0, b"other", run_id=rig.OTHER)])
        await one.append([rig.append(3, b"4")])
        await two.append([rig.append(4, b"5")])
        rig.same(await rig.lines(one, rig.RUN), [b"1", b"2", b"3", b"4", b"5"])
        rig.same(await rig.lines(two, rig.RUN), [b"1", b"2", b"3", b"4", b"5"])


async def an_append_may_have_no_lines(open_log: rig.Open) -> None:
    """It still checks the seq and keeps the rest."""
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"1", row=rig.row(rig.RUN, 1))])
        await store.append([rig.append(1, row=rig.row(rig.RUN, 1, status="paused"))])
        await rig.raises(errors.Conflict, store.append([rig.append(0, row=rig.row(rig.RUN, 1, status="failed"))]))
        rig.same(await store.row(rig.RUN), rig.row(rig.RUN, 1, status="paused"))
        rig.same(await rig.lines(store, rig.RUN), [b"1"])


async def an_empty_batch_is_nothing(open_log: rig.Open) -> None:
    """It neither fails nor changes anything."""
    async with rig.opened(open_log) as store:
        await store.append([])
        rig.same(await store.rows(), [])


async def any_bytes_but_line_ends_come_back(open_log: rig.Open) -> None:
    """Unicode of every width, control characters, an empty line, a line of a megabyte."""
    odd = "é😀\u2028\x00\x7f\ud7ff".encode()
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, odd, b"", b"x" * 1_000_000)])
        await store.append([rig.append(3, b"")])
        rig.same(await rig.lines(store, rig.RUN), [odd, b"", b"x" * 1_000_000, b""])


async def a_line_end_in_a_line_is_refused(open_log: rig.Open) -> None:
    """It would be two lines when read; nothing of the batch is kept."""
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"1")])
        await rig.raises(errors.InvalidInput, store.append([rig.append(1, b"2\n3")]))
        await rig.raises(errors.InvalidInput, store.append([rig.append(1, b"2"), rig.append(2, b"\n")]))
        await store.append([rig.append(1, b"2")])
        rig.same(await rig.lines(store, rig.RUN), [b"1", b"2"])


CHECKS: tuple[rig.Check, ...] = (
    lines_come_back_in_order,
    reading_starts_after_a_seq,
    lines_added_while_reading_are_no_harm,
    runs_do_not_mix,
    many_runs_share_a_commit,
    a_wrong_seq_is_a_conflict,
    a_batch_is_kept_whole_or_not_at_all,
    of_two_writers_one_wins,
    an_append_may_have_no_lines,
    an_empty_batch_is_nothing,
    any_bytes_but_line_ends_come_back,
    a_line_end_in_a_line_is_refused,
)

"""Checks of EventLog: order, atomicity, conflicts, the feed over all runs."""

from __future__ import annotations

from openskelo import errors
from openskelo.stores import api, blobs
from openskelo.stores.conformance import fixtures


async def lines_come_back_in_order(open_store: fixtures.Open) -> None:
    """All lines of several Appends come back in order, in one chunk or many."""
    async with fixtures.opened(open_store) as store:
        lines_written = [b"%d" % number for number in range(1, 3001)]
        await store.append([fixtures.append(0, *lines_written[:1])])
        await store.append([fixtures.append(1, *lines_written[1:2500])])
        for seq in range(2500, 2520):
            await store.append([fixtures.append(seq, lines_written[seq])])
        await store.append([fixtures.append(seq, lines_written[seq]) for seq in range(2520, 3000)])
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), lines_written)


async def reading_starts_after_a_seq(open_store: fixtures.Open) -> None:
    """Reading after a seq works in the middle of an Append, at the end of the log, and beyond it."""
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1", b"2", b"3")])
        await store.append([fixtures.append(3, b"4", b"5")])
        for after in range(7):
            fixtures.assert_equal(
                await fixtures.lines(store, fixtures.RUN, after=after), [b"1", b"2", b"3", b"4", b"5"][after:]
            )


async def lines_added_while_reading_are_no_harm(open_store: fixtures.Open) -> None:
    """A reader gets at least the lines that were there at its start, in order and without gaps, and comes to an end."""
    async with fixtures.opened(open_store) as store:
        lines_written = [b"%d" % number for number in range(2000)]
        await store.append([fixtures.append(at, *lines_written[at : at + 2]) for at in range(0, 1000, 2)])
        await store.append([fixtures.append(at, *lines_written[at : at + 2]) for at in range(1000, 2000, 2)])
        lines_read: list[bytes] = []
        async for chunk in store.read_events(fixtures.RUN):
            lines_read += chunk
            await store.append([fixtures.append(len(lines_written), b"more")])
            lines_written.append(b"more")
            fixtures.assert_equal(len(lines_written) < 3000, True)
        fixtures.assert_equal(lines_read, lines_written[: len(lines_read)])
        fixtures.assert_equal(len(lines_read) >= 2000, True)


async def runs_do_not_mix(open_store: fixtures.Open) -> None:
    """Appends of two runs stay separate, one after the other and in one batch."""
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"a1"), fixtures.append(0, b"b1", run_id=fixtures.OTHER)])
        await store.append([fixtures.append(1, b"b2", run_id=fixtures.OTHER)])
        await store.append(
            [
                fixtures.append(1, b"a2", b"a3"),
                fixtures.append(2, b"b3", run_id=fixtures.OTHER),
                fixtures.append(3, b"a4"),
            ]
        )
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"a1", b"a2", b"a3", b"a4"])
        fixtures.assert_equal(await fixtures.lines(store, fixtures.OTHER), [b"b1", b"b2", b"b3"])


async def many_runs_share_a_commit(open_store: fixtures.Open) -> None:
    """Each of two hundred runs that were appended in the same batches has its own lines."""
    async with fixtures.opened(open_store) as store:
        names = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(200)]
        for step in range(3):
            await store.append([fixtures.append(step, b"%s %d" % (name.encode(), step), run_id=name) for name in names])
        for name in names[::19]:
            fixtures.assert_equal(
                await fixtures.lines(store, name), [b"%s %d" % (name.encode(), step) for step in range(3)]
            )


async def a_wrong_seq_is_a_conflict(open_store: fixtures.Open) -> None:
    """An Append behind the head, beyond it, or for a run that does not exist raises Conflict."""
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1", b"2")])
        for seq in (0, 1, 3, 100):
            await fixtures.assert_raises(errors.Conflict, store.append([fixtures.append(seq, b"x")]))
        await fixtures.assert_raises(errors.Conflict, store.append([fixtures.append(1, b"x", run_id=fixtures.OTHER)]))
        await store.append([fixtures.append(2, b"3")])
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"1", b"2", b"3"])
        fixtures.assert_equal(await fixtures.lines(store, fixtures.OTHER), [])


async def a_batch_is_kept_whole_or_not_at_all(open_store: fixtures.Open) -> None:
    """An Append that raises Conflict undoes its whole batch: lines, rows, approvals, blobs, commands, cache."""
    small = b"small"
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1", row=fixtures.row(fixtures.RUN, 1))])
        command = await fixtures.queue_command(store, fixtures.RUN, {"type": "cancel"})
        good = api.Append(
            run_id=fixtures.RUN,
            expected_seq=1,
            lines=(b"2",),
            row=fixtures.row(fixtures.RUN, 1, status="completed", ending="ok"),
            opened=(fixtures.approval("a"),),
            blobs={blobs.name_of(small): small},
            consumed=(command,),
            cached={"key": {"value": 1}},
        )
        await fixtures.assert_raises(
            errors.Conflict,
            store.append([good, fixtures.append(7, b"x", run_id=fixtures.OTHER, row=fixtures.row(fixtures.OTHER, 2))]),
        )
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"1"])
        fixtures.assert_equal(await store.list_runs(), [fixtures.row(fixtures.RUN, 1)])
        fixtures.assert_equal(await store.list_approvals(), [])
        fixtures.assert_equal([waiting.id for waiting in await store.list_commands([fixtures.RUN])], [command])
        fixtures.assert_equal(await store.read_cached_outputs("key"), None)
        await fixtures.assert_raises(errors.NotFound, store.read_blob(blobs.name_of(small)))
        await store.append([good])
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"1", b"2"])
        fixtures.assert_equal(await store.read_blob(blobs.name_of(small)), small)


async def of_two_writers_one_wins(open_store: fixtures.Open) -> None:
    """Of two stores that append at the same seq, the second one raises Conflict."""
    async with fixtures.opened(open_store) as first, fixtures.opened(open_store) as second:
        await first.append([fixtures.append(0, b"1")])
        await second.append([fixtures.append(1, b"2")])
        await fixtures.assert_raises(errors.Conflict, first.append([fixtures.append(1, b"lost")]))
        await first.append([fixtures.append(2, b"3")])
        await second.append([fixtures.append(0, b"other", run_id=fixtures.OTHER)])
        await first.append([fixtures.append(3, b"4")])
        await second.append([fixtures.append(4, b"5")])
        fixtures.assert_equal(await fixtures.lines(first, fixtures.RUN), [b"1", b"2", b"3", b"4", b"5"])
        fixtures.assert_equal(await fixtures.lines(second, fixtures.RUN), [b"1", b"2", b"3", b"4", b"5"])


async def an_append_may_have_no_lines(open_store: fixtures.Open) -> None:
    """An Append without lines still checks the seq and saves its other parts."""
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1", row=fixtures.row(fixtures.RUN, 1))])
        await store.append([fixtures.append(1, row=fixtures.row(fixtures.RUN, 1, status="paused"))])
        await fixtures.assert_raises(
            errors.Conflict, store.append([fixtures.append(0, row=fixtures.row(fixtures.RUN, 1, status="failed"))])
        )
        fixtures.assert_equal(await store.find_run(fixtures.RUN), fixtures.row(fixtures.RUN, 1, status="paused"))
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"1"])


async def an_empty_batch_is_nothing(open_store: fixtures.Open) -> None:
    """An empty batch neither fails nor changes anything."""
    async with fixtures.opened(open_store) as store:
        await store.append([])
        fixtures.assert_equal(await store.list_runs(), [])


async def any_bytes_but_line_ends_come_back(open_store: fixtures.Open) -> None:
    """Unicode of every width, control characters, an empty line and a line of a megabyte come back unchanged."""
    odd = "é😀\u2028\x00\x7f\ud7ff".encode()
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, odd, b"", b"x" * 1_000_000)])
        await store.append([fixtures.append(3, b"")])
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [odd, b"", b"x" * 1_000_000, b""])


async def a_line_end_in_a_line_is_refused(open_store: fixtures.Open) -> None:
    """A line with a line end raises InvalidInput, because it would be read as two; nothing of the batch is saved."""
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1")])
        await fixtures.assert_raises(errors.InvalidInput, store.append([fixtures.append(1, b"2\n3")]))
        await fixtures.assert_raises(
            errors.InvalidInput, store.append([fixtures.append(1, b"2"), fixtures.append(2, b"\n")])
        )
        await store.append([fixtures.append(1, b"2")])
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"1", b"2"])


async def the_feed_is_in_the_order_of_commits(open_store: fixtures.Open) -> None:
    """The feed has one entry for each Append with lines, over all runs, in the order of commits and batches."""
    async with fixtures.opened(open_store) as store:
        fixtures.assert_equal(
            (await store.last_position(), list(await store.read_feed(after=0))), (0, list[api.FeedEntry]())
        )
        await store.append([fixtures.append(0, b"a1", b"a2"), fixtures.append(0, b"b1", run_id=fixtures.OTHER)])
        await store.append([fixtures.append(1, b"b2", run_id=fixtures.OTHER, row=fixtures.row(fixtures.OTHER, 1))])
        await store.append([fixtures.append(2, row=fixtures.row(fixtures.RUN, 1))])
        await store.append([fixtures.append(2, b"a3")])
        feed = await store.read_feed(after=0)
        fixtures.assert_equal(
            [(entry.run_id, entry.seq, entry.lines) for entry in feed],
            [
                (fixtures.RUN, 2, (b"a1", b"a2")),
                (fixtures.OTHER, 1, (b"b1",)),
                (fixtures.OTHER, 2, (b"b2",)),
                (fixtures.RUN, 3, (b"a3",)),
            ],
        )
        positions = [entry.position for entry in feed]
        fixtures.assert_equal(positions, sorted(set(positions)))
        fixtures.assert_equal(await store.last_position(), positions[-1])


async def the_feed_goes_on_anywhere(open_store: fixtures.Open) -> None:
    """The feed can be read after any position, with a limit; it is empty beyond the end."""
    async with fixtures.opened(open_store) as store:
        for seq in range(40):
            await store.append([fixtures.append(seq, b"%d" % seq)])
        feed = await store.read_feed(after=0)
        fixtures.assert_equal([entry.lines for entry in feed], [(b"%d" % seq,) for seq in range(40)])
        for at, entry in enumerate(feed):
            fixtures.assert_equal(await store.read_feed(after=entry.position), feed[at + 1 :])
            fixtures.assert_equal(await store.read_feed(after=entry.position, limit=3), feed[at + 1 : at + 4])
        fixtures.assert_equal(await store.read_feed(after=feed[-1].position + 1000), [])


async def the_feed_has_what_other_stores_commit(open_store: fixtures.Open) -> None:
    """The feed shows the commits of other stores at once, in the same order for all, new runs included."""
    async with fixtures.opened(open_store) as first, fixtures.opened(open_store) as second:
        await first.append([fixtures.append(0, b"a1")])
        at = await second.last_position()
        await second.append([fixtures.append(0, b"b1", run_id=fixtures.OTHER)])
        await first.append([fixtures.append(1, b"a2")])
        await second.append([fixtures.append(1, b"b2", run_id=fixtures.OTHER)])
        feed = await first.read_feed(after=at)
        fixtures.assert_equal(
            [(entry.run_id, entry.lines) for entry in feed],
            [
                (fixtures.OTHER, (b"b1",)),
                (fixtures.RUN, (b"a2",)),
                (fixtures.OTHER, (b"b2",)),
            ],
        )
        fixtures.assert_equal(await second.read_feed(after=at), feed)


async def the_feed_has_nothing_of_an_append_that_failed(open_store: fixtures.Open) -> None:
    """A batch that raised Conflict leaves neither lines nor a gap in the feed."""
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1")])
        await fixtures.assert_raises(
            errors.Conflict, store.append([fixtures.append(1, b"x"), fixtures.append(7, b"y")])
        )
        await store.append([fixtures.append(1, b"2")])
        fixtures.assert_equal([entry.lines for entry in await store.read_feed(after=0)], [(b"1",), (b"2",)])


async def the_feed_survives_reopening(open_store: fixtures.Open) -> None:
    """Positions are the same after reopening, so that a reader can continue where it stopped."""
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(seq, b"%d" % seq) for seq in range(700)])
        before: list[api.FeedEntry] = list(await store.read_feed(after=0, limit=1000))
    async with fixtures.opened(open_store) as store:
        fixtures.assert_equal(await store.read_feed(after=0, limit=1000), before)
        await store.append([fixtures.append(700, b"700")])
        (entry,) = await store.read_feed(after=before[-1].position)
        fixtures.assert_equal((entry.seq, entry.lines), (701, (b"700",)))


async def others_changes_are_noticed(open_store: fixtures.Open) -> None:
    """`has_changed` is True once after a change by another store, and never for changes by the store itself."""
    async with fixtures.opened(open_store) as first, fixtures.opened(open_store) as second:
        await first.append([fixtures.append(0, b"1")])
        await first.has_changed()
        await second.has_changed()
        await first.append([fixtures.append(1, b"2")])
        fixtures.assert_equal(
            [await first.has_changed(), await second.has_changed(), await second.has_changed()], [False, True, False]
        )
        await second.queue_command(fixtures.RUN, {"type": "cancel"})
        fixtures.assert_equal(
            [await second.has_changed(), await first.has_changed(), await first.has_changed()], [False, True, False]
        )


async def unknown_ids_have_nothing(open_store: fixtures.Open) -> None:
    """Reading an unknown id is no error; writing with an invalid id raises InvalidInput."""
    async with fixtures.opened(open_store) as store:
        for run_id in (fixtures.RUN, "", "../up", "a/b", "é", "x" * 1000, "\x00"):
            fixtures.assert_equal(await fixtures.lines(store, run_id), [])
            fixtures.assert_equal(await store.find_run(run_id), None)
            fixtures.assert_equal(await store.list_approvals(run_id), [])
            fixtures.assert_equal(await store.list_commands([run_id]), [])
            fixtures.assert_equal(await store.is_driver_alive(run_id), False)
            await store.release_run(run_id)
        fixtures.assert_equal(await store.find_approval("nothing"), None)
        for run_id in ("", "..", "../up", "a/b", "é", "x" * 65, "\x00", "a\n"):
            await fixtures.assert_raises(errors.InvalidInput, store.append([fixtures.append(0, b"1", run_id=run_id)]))
            await fixtures.assert_raises(errors.InvalidInput, store.claim_run(run_id))
        fixtures.assert_equal(await store.list_runs(), [])


async def everything_is_there_after_reopening(open_store: fixtures.Open) -> None:
    """Lines, rows, approvals, commands, blobs and cache survive reopening; claims of a closed store do not."""
    small, large = b"small", b"large" * 20_000
    async with fixtures.opened(open_store) as store:
        name = await store.put_blob(large)
        await store.append(
            [
                fixtures.append(
                    0,
                    b"1",
                    b"2",
                    row=fixtures.row(fixtures.RUN, 7),
                    opened=(fixtures.approval("a"),),
                    blobs={blobs.name_of(small): small},
                    cached={"key": {"value": 1}},
                )
            ]
        )
        await store.append([fixtures.append(seq, b"%d" % (seq + 1)) for seq in range(2, 600)])
        await store.append([fixtures.append(seq, b"%d" % (seq + 1)) for seq in range(600, 700)])
        command = await fixtures.queue_command(store, fixtures.RUN, {"type": "cancel"})
        await store.save_note("large", {"blob": name}, at=1)
    async with fixtures.opened(open_store) as store:
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"%d" % number for number in range(1, 701)])
        fixtures.assert_equal(await store.list_runs(), [fixtures.row(fixtures.RUN, 7)])
        fixtures.assert_equal(await store.list_approvals(), [fixtures.approval("a")])
        fixtures.assert_equal(
            await store.list_commands([fixtures.RUN]),
            [api.QueuedCommand(id=command, run_id=fixtures.RUN, body={"type": "cancel"})],
        )
        fixtures.assert_equal(await store.read_blob(blobs.name_of(small)), small)
        fixtures.assert_equal(await store.read_blob(name), large)
        fixtures.assert_equal(await store.read_cached_outputs("key"), {"value": 1})
        fixtures.assert_equal(
            [await store.is_driver_alive(fixtures.RUN), await store.claim_run(fixtures.RUN)], [False, True]
        )
        await store.append([fixtures.append(700, b"701", consumed=(command,))])
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN, after=699), [b"700", b"701"])


CHECKS: tuple[fixtures.Check, ...] = (
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
    the_feed_is_in_the_order_of_commits,
    the_feed_goes_on_anywhere,
    the_feed_has_what_other_stores_commit,
    the_feed_has_nothing_of_an_append_that_failed,
    the_feed_survives_reopening,
    others_changes_are_noticed,
    unknown_ids_have_nothing,
    everything_is_there_after_reopening,
)

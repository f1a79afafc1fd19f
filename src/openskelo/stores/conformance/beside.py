"""What every store must do with what stands beside the lines: listings, approvals, commands, claims, blobs, cache."""

from __future__ import annotations

from openskelo import errors
from openskelo.frozen import replace
from openskelo.stores import blobs, log
from openskelo.stores.conformance import rig


async def listings_are_newest_first(open_log: rig.Open) -> None:
    """With limit, offset and status; the first `created_at` stays; a run without a row is not listed."""
    async with rig.opened(open_log) as store:
        names = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(6)]
        created = [10, 30, 20, 30, 5, 40]
        for name, at in zip(names, created, strict=True):
            await store.append([rig.append(0, b"1", run_id=name, row=rig.row(name, at))])
        await store.append([rig.append(0, b"1", run_id=rig.OTHER)])
        await store.append([rig.append(1, b"2", run_id=names[0], row=rig.row(names[0], 99, status="failed"))])
        newest = [names[index] for index in (5, 3, 1, 2, 0, 4)]
        rig.same([found.run_id for found in await store.rows()], newest)
        rig.same([found.run_id for found in await store.rows(limit=2, offset=1)], newest[1:3])
        rig.same(await store.rows(status="failed"), [rig.row(names[0], 10, status="failed", updated_at=99)])
        rig.same(await store.rows(status="paused"), [])
        rig.same(await store.rows(offset=100), [])
        rig.same([found.run_id for found in await store.rows_named("0000000")], newest)
        rig.same([found.run_id for found in await store.rows_named("00000003-")], [names[3]])
        rig.same([len(await store.rows_named(prefix)) for prefix in ("1", "00000003_", "é", rig.OTHER)], [0] * 4)
        rig.same(await store.row(names[5]), rig.row(names[5], 40))
        rig.same(await store.row(rig.OTHER), None)


async def listings_are_searched_and_paged(open_log: rig.Open) -> None:
    """By a text in their name or id, after a run, or both; nothing comes after a run that is not listed."""
    async with rig.opened(open_log) as store:
        names = [f"{number:08d}-0000-4000-8000-00000000000a" for number in range(5)]
        for number, name in enumerate(names):
            found = replace(rig.row(name, 7), name=("Draft %_é", "PUBLISH")[number % 2], status="paused")
            await store.append([rig.append(0, b"1", run_id=name, row=found)])
        newest = names[::-1]
        pages: list[str] = []
        while page := await store.rows(limit=2, status="paused", before=pages[-1] if pages else None):
            pages += [row.run_id for row in page]
        rig.same(pages, newest)
        rig.same([row.run_id for row in await store.rows(text="raft %_")], newest[::2])
        rig.same([row.run_id for row in await store.rows(text="publish", before=newest[1])], [newest[3]])
        rig.same([row.run_id for row in await store.rows(text="00000003-0000-4000-8000-00000000000A")], [newest[1]])
        rig.same(await store.rows(text="É"), [])
        rig.same(await store.rows(status="completed", text="draft"), [])
        rig.same([row.run_id for row in await store.rows(before=newest[3])], [newest[4]])
        rig.same(await store.rows(before=rig.OTHER), [])


async def a_listing_may_come_later(open_log: rig.Open) -> None:
    """A run that was claimed or begun without one gets it with a later Append."""
    async with rig.opened(open_log) as store:
        rig.same(await store.claim(rig.RUN), True)
        await store.append([rig.append(0, b"1", row=rig.row(rig.RUN, 1))])
        await store.append([rig.append(0, b"1", run_id=rig.OTHER)])
        await store.append([rig.append(1, b"2", run_id=rig.OTHER, row=rig.row(rig.OTHER, 2))])
        rig.same(await store.rows(), [rig.row(rig.OTHER, 2), rig.row(rig.RUN, 1)])


async def approvals_are_listed_while_open(open_log: rig.Open) -> None:
    """In the order of asking, of one run or all; closing is for good."""
    first, second, third = rig.approval("a"), rig.approval("b", run_id=rig.OTHER), rig.approval("c")
    async with rig.opened(open_log) as store:
        await store.append(
            [rig.append(0, b"1", opened=(first,)), rig.append(0, b"1", run_id=rig.OTHER, opened=(second,))]
        )
        await store.append([rig.append(1, b"2", opened=(third,))])
        rig.same(await store.approvals(), [first, second, third])
        rig.same(await store.approvals(rig.RUN), [first, third])
        rig.same(await store.approval("b"), second)
        await store.append([rig.append(2, b"3", closed=("a", "unknown"))])
        rig.same(await store.approvals(), [second, third])
        rig.same(await store.approval("a"), None)
        rig.same(await store.approvals(limit=1), [second])
        rig.same(await store.approvals(after="a"), [second, third])
        rig.same(await store.approvals(rig.RUN, after="b", limit=5), [third])
        rig.same(await store.approvals(after="unknown"), [])
        rig.same([await store.asker(asked) for asked in ("a", "b", "unknown")], [rig.RUN, rig.OTHER, None])
        await store.append([rig.append(1, b"2", run_id=rig.OTHER, closed=("b",))])
        rig.same(await store.closed(limit=5), [("b", rig.OTHER), ("a", rig.RUN)])
        rig.same(await store.closed(limit=1), [("b", rig.OTHER)])
        rig.same(await store.closed(limit=5, before="b"), [("a", rig.RUN)])
        rig.same(await store.closed(limit=5, before="unknown"), [])


async def commands_wait_until_consumed(open_log: rig.Open) -> None:
    """In the order of posting, for the runs asked about, seen by another store, taken by one Append only."""
    async with rig.opened(open_log) as driver, rig.opened(open_log) as other:
        await driver.append([rig.append(0, b"1"), rig.append(0, b"1", run_id=rig.OTHER)])
        one = await other.post(rig.RUN, {"type": "answer", "text": "é😀", "deep": {"list": [1, 2.5, None, True]}})
        two = await other.post(rig.OTHER, {"type": "cancel"})
        three = await other.post(rig.RUN, {"type": "cancel"})
        waiting = await driver.posted([rig.RUN])
        rig.same(
            waiting,
            [
                log.PostedCommand(
                    id=one,
                    run_id=rig.RUN,
                    body={"type": "answer", "text": "é😀", "deep": {"list": [1, 2.5, None, True]}},
                ),
                log.PostedCommand(id=three, run_id=rig.RUN, body={"type": "cancel"}),
            ],
        )
        rig.same([command.id for command in await driver.posted([rig.OTHER, rig.RUN])], [one, two, three])
        rig.same([command.id for command in await driver.posted(None)], [one, two, three])
        rig.same(await driver.posted([]), [])
        await driver.append([rig.append(1, b"2", consumed=(one,))])
        await rig.raises(errors.Conflict, driver.append([rig.append(2, b"3", consumed=(one,))]))
        await rig.raises(errors.Conflict, driver.append([rig.append(2, b"3", consumed=(three, three))]))
        await rig.raises(errors.Conflict, driver.append([rig.append(2, b"3", consumed=(two,))]))
        rig.same([command.id for command in await other.posted([rig.RUN, rig.OTHER])], [two, three])
        rig.same([await other.waits(each) for each in (one, two, three, three + 1)], [False, True, True, False])
        await other.withdraw([two])
        await other.withdraw([two, three + 1])
        rig.same([command.id for command in await driver.posted(None)], [three])
        rig.same(await rig.lines(driver, rig.RUN), [b"1", b"2"])
        await driver.append([rig.append(2, b"3", consumed=(three,))])
        later = await other.post(rig.RUN, {"type": "cancel"})
        rig.same(later > three, True)


async def a_command_for_an_unknown_run_is_refused(open_log: rig.Open) -> None:
    """Nobody would ever take it."""
    async with rig.opened(open_log) as store:
        await rig.raises(errors.NotFound, store.post(rig.RUN, {"type": "cancel"}))
        rig.same(await store.posted([rig.RUN]), [])


async def others_changes_are_noticed(open_log: rig.Open) -> None:
    """Once for each look, and never for one's own."""
    async with rig.opened(open_log) as one, rig.opened(open_log) as two:
        await one.append([rig.append(0, b"1")])
        await one.changed()
        await two.changed()
        await one.append([rig.append(1, b"2")])
        rig.same([await one.changed(), await two.changed(), await two.changed()], [False, True, False])
        await two.post(rig.RUN, {"type": "cancel"})
        rig.same([await two.changed(), await one.changed(), await one.changed()], [False, True, False])


async def one_store_at_a_time_drives_a_run(open_log: rig.Open) -> None:
    """Claims hold until they are released or the store is closed."""
    async with rig.opened(open_log) as one:
        async with rig.opened(open_log) as two:
            rig.same(
                [await one.driver_alive(rig.RUN), await one.claim(rig.RUN), await one.claim(rig.RUN)],
                [False, True, True],
            )
            rig.same(
                [await two.claim(rig.RUN), await two.driver_alive(rig.RUN), await one.driver_alive(rig.RUN)],
                [False, True, True],
            )
            found = [await each.driver_alive(rig.RUN, elsewhere=True) for each in (one, two)]
            rig.same(found, [False, True])
            await two.release(rig.RUN)
            rig.same(await two.claim(rig.RUN), False)
            await one.release(rig.RUN)
            rig.same(
                [await two.driver_alive(rig.RUN), await two.claim(rig.RUN), await one.claim(rig.RUN)],
                [False, True, False],
            )
        rig.same([await one.driver_alive(rig.RUN), await one.claim(rig.RUN)], [False, True])


async def beginning_a_run_claims_it_and_its_end_releases_it(open_log: rig.Open) -> None:
    """So that neither costs a commit of its own."""
    async with rig.opened(open_log) as one, rig.opened(open_log) as two:
        await one.append([rig.append(0, b"1", row=rig.row(rig.RUN, 1))])
        rig.same(
            [await two.claim(rig.RUN), await one.claim(rig.RUN), await two.driver_alive(rig.RUN)], [False, True, True]
        )
        await one.append([rig.append(1, b"2", row=rig.row(rig.RUN, 1, status="completed", ending="ok"))])
        rig.same(
            [await one.driver_alive(rig.RUN), await two.claim(rig.RUN), await one.claim(rig.RUN)], [False, True, False]
        )
        await two.append(
            [rig.append(0, b"1", run_id=rig.OTHER, row=rig.row(rig.OTHER, 1, status="failed", ending="failed"))]
        )
        rig.same([await one.driver_alive(rig.OTHER), await one.claim(rig.OTHER)], [False, True])


async def blobs_come_back_by_name(open_log: rig.Open) -> None:
    """Large and small, written twice, by another store too; other names are not found or not names."""
    large, small = b"\x00\xff" * 50_000, b"small"
    async with rig.opened(open_log) as store, rig.opened(open_log) as other:
        name = await store.put_blob(large)
        rig.same(name, blobs.name_of(large))
        rig.same(await other.put_blob(large), name)
        await store.append([rig.append(0, b"1", blobs={blobs.name_of(small): small, blobs.name_of(b""): b""})])
        await store.append([rig.append(1, b"2", blobs={blobs.name_of(small): small})])
        rig.same(await other.blob(name), large)
        rig.same(await other.blob(blobs.name_of(small)), small)
        rig.same(await store.blob(blobs.name_of(b"")), b"")
        await rig.raises(errors.NotFound, store.blob(blobs.name_of(b"never written")))
        for bad in ("", "sha256:", "sha256:../../etc/passwd", "sha256:" + "A" * 64, "md5:" + "0" * 64, name + "\n"):
            await rig.raises(errors.InvalidInput, store.blob(bad))
        await rig.raises(errors.InvalidInput, store.append([rig.append(2, b"3", blobs={"../x": b""})]))
        rig.same(await rig.lines(store, rig.RUN), [b"1", b"2"])


async def wrong_bytes_behind_a_name_are_noticed(open_log: rig.Open) -> None:
    """A small value that was kept under a name that is not its own."""
    name = blobs.name_of(b"what was meant")
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"1", blobs={name: b"what was written"})])
        await rig.raises(errors.Corrupt, store.blob(name))


async def the_cache_keeps_the_newest(open_log: rig.Open) -> None:
    """For each key; unknown keys have nothing."""
    async with rig.opened(open_log) as store:
        await store.append([rig.append(0, b"1", cached={"a": {"value": 1}, "b": {"value": "é"}})])
        await store.append([rig.append(1, b"2", cached={"a": {"blob": "sha256:0", "bytes": 5}})])
        rig.same(await store.cached("a"), {"blob": "sha256:0", "bytes": 5})
        rig.same(await store.cached("b"), {"value": "é"})
        rig.same(await store.cached("c"), None)


async def notes_are_kept_by_key(open_log: rig.Open) -> None:
    """The newest wins unless the first was wanted; old ones of a prefix are dropped; other stores see them."""
    async with rig.opened(open_log) as store, rig.opened(open_log) as other:
        rig.same(await store.noted("a:1"), None)
        rig.same(await store.note("a:1", {"value": "é"}, at=10, first=True), True)
        rig.same(await other.note("a:1", {"value": 2}, at=20, first=True), False)
        rig.same(await other.noted("a:1"), {"value": "é"})
        rig.same(await other.note("a:1", {"value": 3}, at=30), True)
        rig.same(await other.note("a:2", {"value": 4}, at=10), True)
        rig.same(await other.note("b:1", {"value": 5}, at=10), True)
        rig.same(list((await store.notes("a:")).items()), [("a:1", {"value": 3}), ("a:2", {"value": 4})])
        rig.same(await store.notes("c:"), {})
        await store.note_all({"d:1": {"value": 7}, "d:2": {"value": 8}}, at=50)
        await store.note_all({"d:2": {"value": 9}}, at=60)
        await store.note_all({}, at=60)
        rig.same(await store.notes("d:"), {"d:1": {"value": 7}, "d:2": {"value": 9}})
        rig.same(await store.drop_notes("a:", before=30), 1)
        rig.same([await store.noted(key) for key in ("a:1", "a:2", "b:1")], [{"value": 3}, None, {"value": 5}])


async def unknown_ids_have_nothing(open_log: rig.Open) -> None:
    """Reading them is no error; ids that could never be a run's are refused when written."""
    async with rig.opened(open_log) as store:
        for run_id in (rig.RUN, "", "../up", "a/b", "é", "x" * 1000, "\x00"):
            rig.same(await rig.lines(store, run_id), [])
            rig.same(await store.row(run_id), None)
            rig.same(await store.approvals(run_id), [])
            rig.same(await store.posted([run_id]), [])
            rig.same(await store.driver_alive(run_id), False)
            await store.release(run_id)
        rig.same(await store.approval("nothing"), None)
        for run_id in ("", "..", "../up", "a/b", "é", "x" * 65, "\x00", "a\n"):
            await rig.raises(errors.InvalidInput, store.append([rig.append(0, b"1", run_id=run_id)]))
            await rig.raises(errors.InvalidInput, store.claim(run_id))
        rig.same(await store.rows(), [])


async def everything_is_there_after_reopening(open_log: rig.Open) -> None:
    """All that was appended, posted and kept; claims of a closed store are gone."""
    small, large = b"small", b"large" * 20_000
    async with rig.opened(open_log) as store:
        name = await store.put_blob(large)
        await store.append(
            [
                rig.append(
                    0,
                    b"1",
                    b"2",
                    row=rig.row(rig.RUN, 7),
                    opened=(rig.approval("a"),),
                    blobs={blobs.name_of(small): small},
                    cached={"key": {"value": 1}},
                )
            ]
        )
        await store.append([rig.append(seq, b"%d" % (seq + 1)) for seq in range(2, 600)])
        await store.append([rig.append(seq, b"%d" % (seq + 1)) for seq in range(600, 700)])
        command = await store.post(rig.RUN, {"type": "cancel"})
    async with rig.opened(open_log) as store:
        rig.same(await rig.lines(store, rig.RUN), [b"%d" % number for number in range(1, 701)])
        rig.same(await store.rows(), [rig.row(rig.RUN, 7)])
        rig.same(await store.approvals(), [rig.approval("a")])
        rig.same(
            await store.posted([rig.RUN]), [log.PostedCommand(id=command, run_id=rig.RUN, body={"type": "cancel"})]
        )
        rig.same(await store.blob(blobs.name_of(small)), small)
        rig.same(await store.blob(name), large)
        rig.same(await store.cached("key"), {"value": 1})
        rig.same([await store.driver_alive(rig.RUN), await store.claim(rig.RUN)], [False, True])
        await store.append([rig.append(700, b"701", consumed=(command,))])
        rig.same(await rig.lines(store, rig.RUN, after=699), [b"700", b"701"])


CHECKS: tuple[rig.Check, ...] = (
    listings_are_newest_first,
    listings_are_searched_and_paged,
    a_listing_may_come_later,
    approvals_are_listed_while_open,
    commands_wait_until_consumed,
    a_command_for_an_unknown_run_is_refused,
    others_changes_are_noticed,
    one_store_at_a_time_drives_a_run,
    beginning_a_run_claims_it_and_its_end_releases_it,
    blobs_come_back_by_name,
    wrong_bytes_behind_a_name_are_noticed,
    the_cache_keeps_the_newest,
    notes_are_kept_by_key,
    unknown_ids_have_nothing,
    everything_is_there_after_reopening,
)

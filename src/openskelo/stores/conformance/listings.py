"""Checks of Listings and Approvals: order, pages, search, totals."""

from __future__ import annotations

from openskelo.stores import api
from openskelo.stores.conformance import fixtures
from openskelo.structs import replace


async def listings_are_newest_first(open_store: fixtures.Open) -> None:
    """Runs with a row are listed newest first, by limit, offset and status; their `created_at` never changes."""
    async with fixtures.opened(open_store) as store:
        names = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(6)]
        creation_times = [10, 30, 20, 30, 5, 40]
        for name, at in zip(names, creation_times, strict=True):
            await store.append([fixtures.append(0, b"1", run_id=name, row=fixtures.row(name, at))])
        await store.append([fixtures.append(0, b"1", run_id=fixtures.OTHER)])
        await store.append([fixtures.append(1, b"2", run_id=names[0], row=fixtures.row(names[0], 99, status="failed"))])
        newest = [names[index] for index in (5, 3, 1, 2, 0, 4)]
        fixtures.assert_equal([row.run_id for row in await store.list_runs()], newest)
        fixtures.assert_equal([row.run_id for row in await store.list_runs(limit=2, offset=1)], newest[1:3])
        fixtures.assert_equal(
            await store.list_runs(status="failed"), [fixtures.row(names[0], 10, status="failed", updated_at=99)]
        )
        fixtures.assert_equal(await store.list_runs(status="paused"), [])
        fixtures.assert_equal(await store.list_runs(offset=100), [])
        fixtures.assert_equal([row.run_id for row in await store.list_runs_by_prefix("0000000")], newest)
        fixtures.assert_equal([row.run_id for row in await store.list_runs_by_prefix("00000003-")], [names[3]])
        fixtures.assert_equal(
            [len(await store.list_runs_by_prefix(prefix)) for prefix in ("1", "00000003_", "é", fixtures.OTHER)],
            [0] * 4,
        )
        fixtures.assert_equal(await store.find_run(names[5]), fixtures.row(names[5], 40))
        fixtures.assert_equal(await store.find_run(fixtures.OTHER), None)


async def listings_are_searched_and_paged(open_store: fixtures.Open) -> None:
    """Runs are searched by a text in their name or id, and paged after a run; after an unknown run nothing comes."""
    async with fixtures.opened(open_store) as store:
        names = [f"{number:08d}-0000-4000-8000-00000000000a" for number in range(5)]
        for number, name in enumerate(names):
            row = replace(fixtures.row(name, 7), name=("Draft %_é", "PUBLISH")[number % 2], status="paused")
            await store.append([fixtures.append(0, b"1", run_id=name, row=row)])
        newest = names[::-1]
        pages: list[str] = []
        while page := await store.list_runs(limit=2, status="paused", before=pages[-1] if pages else None):
            pages += [row.run_id for row in page]
        fixtures.assert_equal(pages, newest)
        fixtures.assert_equal([row.run_id for row in await store.list_runs(text="raft %_")], newest[::2])
        fixtures.assert_equal(
            [row.run_id for row in await store.list_runs(text="publish", before=newest[1])], [newest[3]]
        )
        fixtures.assert_equal(
            [row.run_id for row in await store.list_runs(text="00000003-0000-4000-8000-00000000000A")], [newest[1]]
        )
        fixtures.assert_equal(await store.list_runs(text="É"), [])
        fixtures.assert_equal(await store.list_runs(status="completed", text="draft"), [])
        fixtures.assert_equal([row.run_id for row in await store.list_runs(before=newest[3])], [newest[4]])
        fixtures.assert_equal(await store.list_runs(before=fixtures.OTHER), [])


async def a_listing_may_come_later(open_store: fixtures.Open) -> None:
    """A run that was claimed or started without a row gets one with a later Append."""
    async with fixtures.opened(open_store) as store:
        fixtures.assert_equal(await store.claim_run(fixtures.RUN), True)
        await store.append([fixtures.append(0, b"1", row=fixtures.row(fixtures.RUN, 1))])
        await store.append([fixtures.append(0, b"1", run_id=fixtures.OTHER)])
        await store.append([fixtures.append(1, b"2", run_id=fixtures.OTHER, row=fixtures.row(fixtures.OTHER, 2))])
        fixtures.assert_equal(await store.list_runs(), [fixtures.row(fixtures.OTHER, 2), fixtures.row(fixtures.RUN, 1)])


async def everything_is_counted(open_store: fixtures.Open) -> None:
    """The totals count runs by status and ending, open approvals with the oldest wait, and queued commands."""
    async with fixtures.opened(open_store) as store:
        fixtures.assert_equal(await store.count_totals(), api.Totals(runs={}))
        waiting = fixtures.row(fixtures.RUN, 5, status="paused", updated_at=7)
        ended_row = fixtures.row(fixtures.OTHER, 1, status="failed", ending="denied")
        approvals = (fixtures.approval("a"), fixtures.approval("b"))
        await store.append([fixtures.append(0, b"1", row=waiting, opened=approvals)])
        await store.append([fixtures.append(0, b"1", run_id=fixtures.OTHER, row=ended_row)])
        await store.queue_command(fixtures.RUN, {"type": "cancel"})
        fixtures.assert_equal(
            await store.count_totals(),
            api.Totals(runs={("paused", None): 1, ("failed", "denied"): 1}, approvals=2, waiting_since=7, commands=1),
        )


async def approvals_are_listed_while_open(open_store: fixtures.Open) -> None:
    """Open approvals are listed in order, of one run or all; a closed approval does not open again."""
    first, second, third = fixtures.approval("a"), fixtures.approval("b", run_id=fixtures.OTHER), fixtures.approval("c")
    async with fixtures.opened(open_store) as store:
        await store.append(
            [
                fixtures.append(0, b"1", opened=(first,)),
                fixtures.append(0, b"1", run_id=fixtures.OTHER, opened=(second,)),
            ]
        )
        await store.append([fixtures.append(1, b"2", opened=(third,))])
        fixtures.assert_equal(await store.list_approvals(), [first, second, third])
        fixtures.assert_equal(await store.list_approvals(fixtures.RUN), [first, third])
        fixtures.assert_equal(await store.find_approval("b"), second)
        await store.append([fixtures.append(2, b"3", closed=("a", "unknown"))])
        fixtures.assert_equal(await store.list_approvals(), [second, third])
        fixtures.assert_equal(await store.find_approval("a"), None)
        fixtures.assert_equal(await store.list_approvals(limit=1), [second])
        fixtures.assert_equal(await store.list_approvals(after="a"), [second, third])
        fixtures.assert_equal(await store.list_approvals(fixtures.RUN, after="b", limit=5), [third])
        fixtures.assert_equal(await store.list_approvals(after="unknown"), [])
        fixtures.assert_equal(
            [await store.find_approval_run(approval_id) for approval_id in ("a", "b", "unknown")],
            [fixtures.RUN, fixtures.OTHER, None],
        )
        await store.append([fixtures.append(1, b"2", run_id=fixtures.OTHER, closed=("b",))])
        fixtures.assert_equal(await store.list_closed_approvals(limit=5), [("b", fixtures.OTHER), ("a", fixtures.RUN)])
        fixtures.assert_equal(await store.list_closed_approvals(limit=1), [("b", fixtures.OTHER)])
        fixtures.assert_equal(await store.list_closed_approvals(limit=5, before="b"), [("a", fixtures.RUN)])
        fixtures.assert_equal(await store.list_closed_approvals(limit=5, before="unknown"), [])


async def closed_approvals_are_newest_first(open_store: fixtures.Open) -> None:
    """Closed approvals are listed in the order in which they were opened, also if none was open in between."""
    names = ("a", "b", "c")
    async with fixtures.opened(open_store) as store:
        for index, name in enumerate(names):
            await store.append([fixtures.append(2 * index, b"1", opened=(fixtures.approval(name),))])
            await store.append([fixtures.append(2 * index + 1, b"2", closed=(name,))])
        newest_first = [(name, fixtures.RUN) for name in reversed(names)]
        fixtures.assert_equal(await store.list_closed_approvals(limit=5), newest_first)
        fixtures.assert_equal(await store.list_closed_approvals(limit=5, before="c"), newest_first[1:])


CHECKS: tuple[fixtures.Check, ...] = (
    listings_are_newest_first,
    listings_are_searched_and_paged,
    a_listing_may_come_later,
    everything_is_counted,
    approvals_are_listed_while_open,
    closed_approvals_are_newest_first,
)

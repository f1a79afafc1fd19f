"""Checks of Retention: lines are shortened, runs deleted, blobs swept."""

from __future__ import annotations

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.stores import api, blobs
from openskelo.stores.conformance import fixtures

_SMALL = b"a small value"


def _shorter(line: bytes) -> bytes:
    return line[:2]


def _naming(*names: str) -> bytes:
    return b'{"data":{"blobs":"%b"}}' % " ".join(names).encode()


async def lines_are_rewritten_in_place(open_store: fixtures.Open) -> None:
    """Rewritten lines keep their seqs and positions, in all stores; other runs do not change."""
    async with fixtures.opened(open_store) as store, fixtures.opened(open_store) as other:
        await store.append(
            [fixtures.append(0, b"a1 long", b"a2 long"), fixtures.append(0, b"b1 long", run_id=fixtures.OTHER)]
        )
        await store.append([fixtures.append(2, *(b"%d long" % seq for seq in range(10, 99)))])
        await store.append(
            [fixtures.append(91, b"zz long", row=fixtures.row(fixtures.RUN, 1, status="completed", ending="ok"))]
        )
        before = await other.read_feed(after=0)
        await store.rewrite_events(fixtures.RUN, _shorter)
        new_lines = [b"a1", b"a2", *(b"%d" % seq for seq in range(10, 99)), b"zz"]
        fixtures.assert_equal(await fixtures.lines(other, fixtures.RUN), new_lines)
        fixtures.assert_equal(await fixtures.lines(other, fixtures.RUN, after=91), [b"zz"])
        fixtures.assert_equal(await fixtures.lines(other, fixtures.OTHER), [b"b1 long"])
        after = await other.read_feed(after=0)
        fixtures.assert_equal([(entry.position, entry.run_id, entry.seq) for entry in after], [
            (entry.position, entry.run_id, entry.seq) for entry in before
        ])  # fmt: skip
        await store.rewrite_events(fixtures.RUN, _shorter)
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), new_lines)
        await store.append([fixtures.append(1, b"b2", run_id=fixtures.OTHER)])
        fixtures.assert_equal((await other.find_run(fixtures.RUN) or fixtures.row("", 0)).ending, "ok")


async def a_line_that_cannot_be_shortened_stops_it(open_store: fixtures.Open) -> None:
    """An error of the rewriting function is raised, and no line has changed."""

    def refusing(line: bytes) -> bytes:
        if line == b"bad line":
            raise errors.Corrupt("bad")
        return _shorter(line)

    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"a1 long"), fixtures.append(1, b"bad line")])
        await fixtures.assert_raises(errors.Corrupt, store.rewrite_events(fixtures.RUN, refusing))
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"a1 long", b"bad line"])


async def an_erased_run_is_gone(open_store: fixtures.Open) -> None:
    """A deleted run loses all its data and no other run loses any; positions in the feed are not used again."""
    async with fixtures.opened(open_store) as store, fixtures.opened(open_store) as other:
        await store.append([fixtures.append(0, b"b1", run_id=fixtures.OTHER, row=fixtures.row(fixtures.OTHER, 1))])
        await store.append(
            [fixtures.append(0, b"a1", row=fixtures.row(fixtures.RUN, 2), opened=(fixtures.approval("a"),))]
        )
        await store.append(
            [fixtures.append(1, b"a2", row=fixtures.row(fixtures.RUN, 2, status="failed", ending="failed"))]
        )
        await store.queue_command(fixtures.RUN, {"type": "cancel"})
        newest = await other.last_position()
        await store.delete_run(fixtures.RUN)
        for reader in (store, other):
            fixtures.assert_equal(
                (await reader.find_run(fixtures.RUN), len(await fixtures.lines(reader, fixtures.RUN))), (None, 0)
            )
            fixtures.assert_equal([row.run_id for row in await reader.list_runs()], [fixtures.OTHER])
            fixtures.assert_equal(
                (
                    len(await reader.list_approvals()),
                    await reader.find_approval_run("a"),
                    len(await reader.list_commands(None)),
                ),
                (0, None, 0),
            )
            fixtures.assert_equal([entry.run_id for entry in await reader.read_feed(after=0)], [fixtures.OTHER])
        fixtures.assert_equal(await other.queue_command(fixtures.RUN, {"type": "cancel"}), None)
        await other.append([fixtures.append(1, b"b2", run_id=fixtures.OTHER)])
        fixtures.assert_equal([entry.lines for entry in await store.read_feed(after=newest)], [(b"b2",)])
        await store.append(
            [
                fixtures.append(2, b"b3", run_id=fixtures.OTHER),
                fixtures.append(0, b"new", row=fixtures.row(fixtures.RUN, 3)),
            ]
        )
        fixtures.assert_equal(
            [entry.lines for entry in await other.read_feed(after=newest)], [(b"b2",), (b"b3",), (b"new",)]
        )
        await store.delete_run("33333333-3333-4333-8333-333333333333")


async def runs_may_be_erased_one_after_the_other(open_store: fixtures.Open) -> None:
    """Runs are deleted with Appends in between, and later Appends continue the feed."""
    async with fixtures.opened(open_store) as store:
        for number in range(4):
            name = f"{number:08d}-0000-4000-8000-00000000000b"
            await store.append(
                [fixtures.append(0, b"1", run_id=name, row=fixtures.row(name, 1, status="failed", ending="failed"))]
            )
            await store.delete_run(name)
        await store.append([fixtures.append(seq, b"%d" % seq) for seq in range(600)])
        await store.append([fixtures.append(600, b"600")])
        fixtures.assert_equal(await fixtures.lines(store, fixtures.RUN), [b"%d" % seq for seq in range(601)])


async def a_sweep_removes_what_nothing_names(open_store: fixtures.Open) -> None:
    """A sweep keeps the blobs that a line, an approval, a command, a note or the cache names."""
    kept_blobs = {
        blobs.name_of(data): data for data in (b"line", b"asked", b"posted", b"noted", b"cached", b"forgotten")
    }
    line, approval, command, note, cached_name, forgotten_name = kept_blobs
    async with fixtures.opened(open_store) as store, fixtures.opened(open_store) as other:
        row = api.ApprovalRow(approval_id="a", run_id=fixtures.RUN, node="n", document={"stored": {"blob": approval}})
        entries: dict[str, JsonObject] = {
            "k": {"outputs": {"blob": cached_name}, "source": {"runId": fixtures.RUN}},
            "l": {"outputs": {"blob": forgotten_name}, "source": {"runId": fixtures.OTHER}},
        }
        every = {**kept_blobs, blobs.name_of(_SMALL): _SMALL}
        await store.append([fixtures.append(0, _naming(line), blobs=every, opened=(row,), cached=entries)])
        await store.queue_command(fixtures.RUN, {"blob": command})
        await store.save_note("n", {"blob": note}, at=1)
        fixtures.assert_equal(
            await store.sweep_blobs(forget=[fixtures.OTHER]), api.SweepResult(blobs=1, bytes=len(_SMALL))
        )
        fixtures.assert_equal(
            [await other.read_cached_outputs("k"), await other.read_cached_outputs("l")], [entries["k"], None]
        )
        await fixtures.assert_raises(errors.NotFound, other.read_blob(blobs.name_of(_SMALL)))
        # What was just dropped from the cache may be on its way into a run; the next sweep takes it.
        fixtures.assert_equal(await other.sweep_blobs(), api.SweepResult(blobs=1, bytes=len(b"forgotten")))
        fixtures.assert_equal([await other.read_blob(name) for name in kept_blobs if name != forgotten_name], [
            data for name, data in kept_blobs.items() if name != forgotten_name
        ])  # fmt: skip


async def a_value_that_was_swept_can_be_kept_again(open_store: fixtures.Open) -> None:
    """A later Append can save a blob again that a sweep has removed."""
    name = blobs.name_of(_SMALL)
    async with fixtures.opened(open_store) as store:
        await store.append([fixtures.append(0, b"1", blobs={name: _SMALL})])
        fixtures.assert_equal((await store.sweep_blobs()).blobs, 1)
        await store.append([fixtures.append(1, _naming(name), blobs={name: _SMALL})])
        fixtures.assert_equal((await store.sweep_blobs()).blobs, 0)
        fixtures.assert_equal(await store.read_blob(name), _SMALL)
        await store.compact()
        fixtures.assert_equal(
            [await store.read_blob(name), len(await fixtures.lines(store, fixtures.RUN))], [_SMALL, 2]
        )


CHECKS: tuple[fixtures.Check, ...] = (
    lines_are_rewritten_in_place,
    a_line_that_cannot_be_shortened_stops_it,
    an_erased_run_is_gone,
    runs_may_be_erased_one_after_the_other,
    a_sweep_removes_what_nothing_names,
    a_value_that_was_swept_can_be_kept_again,
)

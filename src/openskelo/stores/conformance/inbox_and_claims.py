"""Checks of CommandInbox and Claims: commands wait for the driver of a run, and one store at a time drives it."""

from __future__ import annotations

from openskelo import errors
from openskelo.stores import api
from openskelo.stores.conformance import fixtures


async def commands_wait_until_consumed(open_store: fixtures.Open) -> None:
    """Queued commands are listed in order, for some runs or all, by every store; only one Append consumes each."""
    async with fixtures.opened(open_store) as driver, fixtures.opened(open_store) as other:
        await driver.append([fixtures.append(0, b"1"), fixtures.append(0, b"1", run_id=fixtures.OTHER)])
        answer = await fixtures.queue_command(
            other, fixtures.RUN, {"type": "answer", "text": "é😀", "deep": {"list": [1, 2.5, None, True]}}
        )
        cancel_other = await fixtures.queue_command(other, fixtures.OTHER, {"type": "cancel"})
        cancel = await fixtures.queue_command(other, fixtures.RUN, {"type": "cancel"})
        waiting = await driver.list_commands([fixtures.RUN])
        fixtures.assert_equal(
            waiting,
            [
                api.QueuedCommand(
                    id=answer,
                    run_id=fixtures.RUN,
                    body={"type": "answer", "text": "é😀", "deep": {"list": [1, 2.5, None, True]}},
                ),
                api.QueuedCommand(id=cancel, run_id=fixtures.RUN, body={"type": "cancel"}),
            ],
        )
        fixtures.assert_equal(
            [command.id for command in await driver.list_commands([fixtures.OTHER, fixtures.RUN])],
            [answer, cancel_other, cancel],
        )
        fixtures.assert_equal(
            [command.id for command in await driver.list_commands(None)], [answer, cancel_other, cancel]
        )
        fixtures.assert_equal(await driver.list_commands([]), [])
        await driver.append([fixtures.append(1, b"2", consumed=(answer,))])
        await fixtures.assert_raises(errors.Conflict, driver.append([fixtures.append(2, b"3", consumed=(answer,))]))
        await fixtures.assert_raises(
            errors.Conflict, driver.append([fixtures.append(2, b"3", consumed=(cancel, cancel))])
        )
        await fixtures.assert_raises(
            errors.Conflict, driver.append([fixtures.append(2, b"3", consumed=(cancel_other,))])
        )
        fixtures.assert_equal(
            [command.id for command in await other.list_commands([fixtures.RUN, fixtures.OTHER])],
            [cancel_other, cancel],
        )
        fixtures.assert_equal(
            [await other.is_command_queued(command) for command in (answer, cancel_other, cancel, cancel + 1)],
            [False, True, True, False],
        )
        await other.withdraw_commands([cancel_other])
        await other.withdraw_commands([cancel_other, cancel + 1])
        fixtures.assert_equal([command.id for command in await driver.list_commands(None)], [cancel])
        fixtures.assert_equal(await fixtures.lines(driver, fixtures.RUN), [b"1", b"2"])
        await driver.append([fixtures.append(2, b"3", consumed=(cancel,))])
        later = await fixtures.queue_command(other, fixtures.RUN, {"type": "cancel"})
        fixtures.assert_equal(later > cancel, True)


async def a_command_for_an_unknown_run_is_not_queued(open_store: fixtures.Open) -> None:
    """A command for an unknown run is not queued, because no driver would ever consume it."""
    async with fixtures.opened(open_store) as store:
        fixtures.assert_equal(await store.queue_command(fixtures.RUN, {"type": "cancel"}), None)
        fixtures.assert_equal(await store.list_commands([fixtures.RUN]), [])


async def one_store_at_a_time_drives_a_run(open_store: fixtures.Open) -> None:
    """A claim lasts until it is released or its store is closed."""
    async with fixtures.opened(open_store) as first:
        async with fixtures.opened(open_store) as second:
            fixtures.assert_equal(
                [
                    await first.is_driver_alive(fixtures.RUN),
                    await first.claim_run(fixtures.RUN),
                    await first.claim_run(fixtures.RUN),
                ],
                [False, True, True],
            )
            fixtures.assert_equal(
                [
                    await second.claim_run(fixtures.RUN),
                    await second.is_driver_alive(fixtures.RUN),
                    await first.is_driver_alive(fixtures.RUN),
                ],
                [False, True, True],
            )
            alive = [await store.is_driver_alive(fixtures.RUN, elsewhere=True) for store in (first, second)]
            fixtures.assert_equal(alive, [False, True])
            await second.release_run(fixtures.RUN)
            fixtures.assert_equal(await second.claim_run(fixtures.RUN), False)
            await first.release_run(fixtures.RUN)
            fixtures.assert_equal(
                [
                    await second.is_driver_alive(fixtures.RUN),
                    await second.claim_run(fixtures.RUN),
                    await first.claim_run(fixtures.RUN),
                ],
                [False, True, False],
            )
        fixtures.assert_equal(
            [await first.is_driver_alive(fixtures.RUN), await first.claim_run(fixtures.RUN)], [False, True]
        )


async def beginning_a_run_claims_it_and_its_end_releases_it(open_store: fixtures.Open) -> None:
    """The first Append of a run claims it and the Append of its end releases it, without commits of their own."""
    async with fixtures.opened(open_store) as first, fixtures.opened(open_store) as second:
        await first.append([fixtures.append(0, b"1", row=fixtures.row(fixtures.RUN, 1))])
        fixtures.assert_equal(
            [
                await second.claim_run(fixtures.RUN),
                await first.claim_run(fixtures.RUN),
                await second.is_driver_alive(fixtures.RUN),
            ],
            [False, True, True],
        )
        await first.append(
            [fixtures.append(1, b"2", row=fixtures.row(fixtures.RUN, 1, status="completed", ending="ok"))]
        )
        fixtures.assert_equal(
            [
                await first.is_driver_alive(fixtures.RUN),
                await second.claim_run(fixtures.RUN),
                await first.claim_run(fixtures.RUN),
            ],
            [False, True, False],
        )
        await second.append(
            [
                fixtures.append(
                    0,
                    b"1",
                    run_id=fixtures.OTHER,
                    row=fixtures.row(fixtures.OTHER, 1, status="failed", ending="failed"),
                )
            ]
        )
        fixtures.assert_equal(
            [await first.is_driver_alive(fixtures.OTHER), await first.claim_run(fixtures.OTHER)], [False, True]
        )


async def a_run_may_begin_unclaimed(open_store: fixtures.Open) -> None:
    """An Append that does not claim leaves the run to the first store that does."""
    async with fixtures.opened(open_store) as first, fixtures.opened(open_store) as second:
        await first.append([fixtures.append(0, b"1", row=fixtures.row(fixtures.RUN, 1), claim=False)])
        fixtures.assert_equal(
            [
                await first.is_driver_alive(fixtures.RUN),
                await second.claim_run(fixtures.RUN),
                await first.claim_run(fixtures.RUN),
            ],
            [False, True, False],
        )
        await second.append([fixtures.append(1, b"2")])
        fixtures.assert_equal(await fixtures.lines(first, fixtures.RUN), [b"1", b"2"])


CHECKS: tuple[fixtures.Check, ...] = (
    commands_wait_until_consumed,
    a_command_for_an_unknown_run_is_not_queued,
    one_store_at_a_time_drives_a_run,
    beginning_a_run_claims_it_and_its_end_releases_it,
    a_run_may_begin_unclaimed,
)

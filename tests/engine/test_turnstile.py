"""One at a time, in the order they came, and nobody is left waiting."""

from __future__ import annotations

import asyncio

import pytest

from openskelo.engine.turnstile import Turnstile


def test_those_who_wait_come_through_one_by_one_in_their_order() -> None:
    async def run() -> list[str]:
        turnstile, said = Turnstile(), list[str]()

        async def come(name: str) -> None:
            async with turnstile:
                said.append(f"{name} in")
                await asyncio.sleep(0)
                said.append(f"{name} out")

        turnstile.take()
        coming = [asyncio.create_task(come(name)) for name in "abc"]
        await asyncio.sleep(0)
        assert said == []
        turnstile.give()
        await asyncio.gather(*coming)
        assert not turnstile.taken
        return said

    assert asyncio.run(run()) == ["a in", "a out", "b in", "b out", "c in", "c out"]


def test_it_is_not_taken_twice() -> None:
    turnstile = Turnstile()
    turnstile.take()
    with pytest.raises(AssertionError):
        turnstile.take()
    turnstile.give()
    turnstile.take()
    assert turnstile.taken


@pytest.mark.parametrize("given", [False, True])
def test_who_is_cancelled_while_waiting_lets_the_next_one_in(given: bool) -> None:
    """Also when the turnstile was handed to it at the very moment it was cancelled."""

    async def run() -> list[str]:
        turnstile, said = Turnstile(), list[str]()

        async def come(name: str) -> None:
            async with turnstile:
                said.append(name)

        turnstile.take()
        first, second = (asyncio.create_task(come(name)) for name in "ab")
        await asyncio.sleep(0)
        if given:
            turnstile.give()
        first.cancel()
        if not given:
            await asyncio.sleep(0)
            turnstile.give()
        await asyncio.gather(first, second, return_exceptions=True)
        assert first.cancelled()
        assert not turnstile.taken
        return said

    assert asyncio.run(run()) == ["b"]

"""A process killed at any boundary of its work: after it is resumed nothing is lost and no finished step repeated."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections.abc import Callable

import pytest

from tests.crash import witness
from tests.crash.site import Request
from tests.crash.world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

NewWorld = Callable[[], World]
#: Nodes that work alone are cut for sure, of those that work side by side whichever the clock chooses. How many reports
#: share an append is the clock's choice, too: so the last append of one world may be the last but one of another.
FIRST = {"draft", "judge"}
LAST = {"save"}
TOGETHER = {"flaky", "each", "fetch", "note", "order"}


def kill_everywhere(new_world: NewWorld, point: str) -> tuple[int, set[str]]:
    """Kill at the first time of a point, then at the second, and so on, each in a world of its own, until it is never.

    Gives how often that was, and the nodes whose work was cut.
    """
    cut: set[str] = set()
    for count in itertools.count(1):
        world = new_world()
        if world.play(point, count):
            witness.confirm(world)
            return count - 1, cut
        assert world.play()
        events = witness.confirm(world)
        cut |= {node for node, _, _ in witness.pieces(events, "attempt.interrupted")}
    raise AssertionError("not reached")


def test_killed_before_any_append(new_world: NewWorld) -> None:
    times, cut = kill_everywhere(new_world, "before append")
    assert times >= 12
    assert cut >= FIRST
    assert len(cut & TOGETHER) >= 3


def test_killed_after_any_append(new_world: NewWorld) -> None:
    times, cut = kill_everywhere(new_world, "after append")
    assert times >= 12
    assert cut >= FIRST
    assert len(cut & TOGETHER) >= 3


@pytest.mark.parametrize("seed", range(6))
def test_killed_over_a_store_that_fails_anywhere(new_world: NewWorld, seed: int) -> None:
    world = new_world()
    world.play("after append" if seed % 2 else "before append", 2 + 2 * seed, faults=seed)
    world.play(faults=seed + 100)
    witness.confirm(world)


def test_killed_before_any_effect(new_world: NewWorld) -> None:
    times, cut = kill_everywhere(new_world, "before effect")
    assert times == 16
    assert cut >= FIRST | LAST
    assert len(cut & TOGETHER) >= 3


def test_killed_after_any_effect_and_before_its_report(new_world: NewWorld) -> None:
    times, cut = kill_everywhere(new_world, "after effect")
    assert times == 16
    assert cut >= FIRST | LAST
    assert len(cut & TOGETHER) >= 3


def test_killed_by_a_handler_in_the_middle_of_its_work(new_world: NewWorld) -> None:
    times, cut = kill_everywhere(new_world, "after line")
    assert times == 6
    assert cut >= {"draft", "flaky", "note", "pay"}


@pytest.mark.parametrize(("method", "node"), [("GET", "fetch"), ("POST", "order")])
def test_killed_while_the_server_answers(new_world: NewWorld, method: str, node: str) -> None:
    world = new_world()
    pid: list[int] = []

    def kill(request: Request) -> None:
        if request.method == method and pid:
            os.kill(pid.pop(), signal.SIGKILL)

    world.site.before_answer = kill
    try:
        pid.append(world.start())
        assert not world.ended()
        assert pid == []
    finally:
        world.site.before_answer = None
    assert world.play()
    events = witness.confirm(world)
    assert witness.pieces(events, "attempt.interrupted")[node, 1, None] == 1
    gets = [request for request in world.site.requests(world.name) if request.method == "GET"]
    assert len(gets) == (2 if method == "GET" else 1)


def test_killed_again_while_it_recovers(new_world: NewWorld) -> None:
    chance = random.Random(20)
    for first, second in itertools.product(("before append", "after effect"), ("before append", "after append")):
        world = new_world()
        assert not world.play(first, chance.randint(3, 12))
        for count in (1, 2, chance.randint(3, 6)):  # the first append of a recovery, the second, a later one
            if world.play(second, count):
                break
        else:
            assert world.play()
        witness.confirm(world)


def test_killed_from_outside_at_any_moment(new_world: NewWorld) -> None:
    chance = random.Random(7)
    kills = 0
    while kills < 30:
        world = new_world()
        for _ in range(chance.randint(2, 6)):
            world.start()
            time.sleep(chance.uniform(0.02, 0.7))
            if world.kill():
                break
            kills += 1
        else:
            assert world.play()
        witness.confirm(world)

"""Looking for a message: until it is there, no longer than was said, and never while others need the core."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time

import pytest

from openskelo.executors import frames, lookout


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def test_it_is_asked_until_it_says_yes() -> None:
    answers = iter([False, False, True, False])
    assert lookout.Lookout(60).sees(lambda: next(answers))
    assert list(answers) == [False]


def test_it_gives_up_after_its_time() -> None:
    asked: list[int] = []
    assert not lookout.Lookout(0.002).sees(lambda: asked.append(1) is not None)
    assert asked


def _unlooked() -> bool:
    raise AssertionError("it looked")


def test_nobody_looks_again_at_once_when_others_had_the_core() -> None:
    one = lookout.Lookout(0.01)
    assert not one.sees(lambda: time.sleep(0.02) is not None)  # asleep, so the core was somebody else's
    assert not one.sees(_unlooked)


def test_it_is_left_to_others_for_longer_each_time_that_they_need_it() -> None:
    one = lookout.Lookout(0.01)
    asked: list[float] = []

    def look() -> bool:
        asked.append(time.perf_counter())
        time.sleep(0.02)
        return False

    while len(asked) < 7:
        assert not one.sees(look)
    left = [after - before for before, after in itertools.pairwise(asked)]
    assert [waited >= 2**number * lookout.LEAST_SECONDS for number, waited in enumerate(left)] == [True] * 6


def test_nobody_looks_on_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    asked: list[int] = []
    assert not lookout.Lookout(60).sees(lambda: asked.append(1) is None)
    assert asked == []


def test_messages_arrive_whole_however_they_come() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        inbox = frames.Inbox(theirs)
        for body in (b"one", b"", b"soon"):
            ours.sendall(frames.pack(body))
            assert inbox.receive() == body
        large = b"x" * 300_000  # more than a socket holds
        sender = threading.Thread(target=ours.sendall, args=(frames.pack(large),))
        sender.start()
        assert inbox.receive() == large
        sender.join()
        ours.close()
        assert inbox.receive() is None


def test_a_message_that_takes_long_is_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        inbox = frames.Inbox(theirs)
        ours.sendall(frames.pack(b"first"))
        assert inbox.receive() == b"first"
        later = threading.Timer(0.05, ours.sendall, (frames.pack(b"second"),))
        later.start()
        assert inbox.receive() == b"second"
        later.join()

"""The parts that every crash test needs, made once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.crash import site
from tests.crash import world as worlds


@pytest.fixture(scope="package")
def outside() -> Generator[site.Site]:
    """The server that the runs speak to."""
    with site.serving() as serving:
        yield serving


@pytest.fixture(scope="package")
def nursery() -> Generator[worlds.Nursery]:
    """Where the processes come from."""
    with worlds.nursery() as made:
        yield made


@pytest.fixture
def new_world(tmp_path: Path, outside: site.Site, nursery: worlds.Nursery) -> Callable[[], worlds.World]:
    """Makes worlds in which nothing has happened yet."""
    made: list[worlds.World] = []

    def make() -> worlds.World:
        made.append(worlds.World.make(tmp_path / f"world-{len(made)}", outside, nursery))
        return made[-1]

    return make

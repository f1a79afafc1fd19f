"""Long runs to read: whoever asks for one, others are answered meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import httpx
import pytest

from openskelo.server import views
from openskelo.server.stream import run_tracks
from tests.server import house

#: So many attempts, each of two events.
_ITEMS = 1500


@pytest.fixture(scope="module")
def long_run(home: house.House) -> str:
    with home.client() as client:
        run_id: str = house.start(client, "each.yaml", words=[str(at) for at in range(_ITEMS)])["id"]
        house.until(client, run_id, lambda found: found["ending"] is not None)
    return run_id


async def _turns(doing: Coroutine[Any, Any, object]) -> int:
    """How often others had their turn until it was done."""
    task = asyncio.create_task(doing)
    turns = 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    await task
    return turns


def test_others_have_their_turn_while_a_long_run_is_read(
    home: house.House, client: httpx.Client, long_run: str
) -> None:
    shown = views.Views(run_tracks.RunTracks(home.engine.store))
    (node,) = client.get(f"/api/runs/{long_run}").json()["nodes"]
    found = {
        name: home.run(_turns(doing))
        for name, doing in (
            ("snapshot", shown.snapshot(long_run)),
            ("whole", shown.run_with_values(long_run)),
            ("node", shown.node(long_run, node)),
            ("items", shown.items(long_run, node, -1, 10)),
            ("events", shown.events(long_run, 0, 2000)),
            ("verify", home.engine.verify(long_run)),
        )
    }
    # Once in 256 events, of which 2,000 and more are read each time.
    few = {name: turns for name, turns in found.items() if turns < 2000 // 256}
    assert few == {}, found

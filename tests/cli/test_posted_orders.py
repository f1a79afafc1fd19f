"""Orders for a run that another process drives, which is stopped: they stay posted, or whoever gave them goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Generator

import pytest

from openskelo.stores.sqlite import data_dir, sqlite_store
from tests import forked_skelo
from tests.cli.conftest import Skelo, clean_environment

ASK = """\
name: ask
blocks:
  - id: ask
    mode: approval
    approval: {prompt: Go on?}
"""


def pause(skelo: Skelo) -> tuple[str, str]:
    """A run that waits for a person: its id, and that of its question."""
    skelo.write("ask.yaml", ASK)
    paused = skelo("run", "ask.yaml", "--json").document
    return paused["runId"], paused["approvals"][0]["id"]


@contextlib.contextmanager
def sleeper(skelo: Skelo, *run_ids: str) -> Generator[sqlite_store.SqliteStore]:
    """A driver of runs that lives and does nothing, as a stopped process; until `close`, as one that is killed."""
    store = data_dir.open_store(skelo.folder / ".skelo")
    try:
        for run_id in run_ids:
            assert asyncio.run(store.claim_run(run_id))
        yield store
    finally:
        asyncio.run(store.close())


def begin(skelo: Skelo, *words: str) -> forked_skelo.ForkedProcess:
    return forked_skelo.start(words, folder=skelo.folder, env=clean_environment())


@pytest.mark.slow
def test_an_order_that_is_not_taken_stays_posted_and_is_done_later(skelo: Skelo) -> None:
    (answered, asked), (cancelled, _) = pause(skelo), pause(skelo)
    with sleeper(skelo, answered, cancelled):
        approving, cancelling = begin(skelo, "approve", asked), begin(skelo, "cancel", cancelled, "--json")
        (_, told), (out, _) = approving.communicate(timeout=60), cancelling.communicate(timeout=60)
    assert (approving.returncode, told.splitlines()) == (
        3,
        [
            f"error: COMMAND_WAITING the process that drives run {answered} has not taken this yet; "
            "it stays queued, and is done as soon as that process, or another one, goes on with the run",
            f"  there is no need to send it again; `skelo show {answered[:8]}` shows its result",
        ],
    )
    assert (cancelling.returncode, json.loads(out)["error"]["code"]) == (3, "COMMAND_WAITING")
    assert skelo("resume", answered).code == 0
    assert skelo("resume", cancelled).code == 130


def test_an_answer_to_a_driver_that_dies_over_it_goes_on_with_the_run(skelo: Skelo) -> None:
    run_id, asked = pause(skelo)
    with sleeper(skelo, run_id) as driver:
        approving = begin(skelo, "approve", asked, "--json")
        end = time.monotonic() + 100
        while not asyncio.run(driver.list_commands([run_id])):
            assert time.monotonic() < end, "nothing was posted"
            time.sleep(0.01)
    out, _ = approving.communicate(timeout=60)
    document = json.loads(out)
    assert (approving.returncode, document["status"], document["ending"]) == (0, "completed", "ok")

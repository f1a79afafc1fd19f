"""Webhooks are told what happens: signed, under one id, until it arrives, and without any run waiting for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import openskelo
from openskelo.history import prune
from openskelo.project import Project
from openskelo.server import webhooks
from openskelo.stores import delivery_queue
from openskelo.wire import webhook
from tests.crash import disk as disks
from tests.engine import stage
from tests.repo import documents
from tests.server import receiver, webhook_child

ROOT = Path(__file__).parents[2]
SECRET = "correct horse battery staple"
ASKS = stage.workflow({"id": "ask", "mode": "approval", "approval": {"prompt": "Fine?"}})


def is_genuine(*arguments: object, **options: object) -> bool:
    """The function that the guide gives to receivers."""
    page = (ROOT / "docs" / "guide" / "webhooks.md").read_text("utf-8")
    files = {step.name: step.text for step in documents.steps(page) if isinstance(step, documents.File)}
    names: dict[str, Callable[..., bool]] = {}
    exec(files["signed.py"], names)
    return names["is_genuine"](*arguments, **options)


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)


def hooked(root: Path, *urls: str, private: bool = True, events: tuple[str, ...] = webhook.EVENTS) -> Project:
    hooks = tuple(webhook.Webhook(url=url, secret=webhook_child.SECRET, events=events) for url in urls)
    return Project(root=root, data_dir=root / ".skelo", allow_private_addresses=private, webhooks=hooks)


async def asked_and_answered(engine: openskelo.Engine) -> str:
    """A run that asks, is answered, and ends."""
    run_id = await engine.start(ASKS)
    await engine.wait(run_id)
    (asked,) = await engine.store.list_approvals(run_id)
    await engine.answer(asked.approval_id, status="approved")
    assert (await engine.wait(run_id))["ending"] == "ok"
    return run_id


async def until(true: Callable[[], bool], seconds: float = 100.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def ready(teller: webhooks.Sender | None) -> webhooks.Sender:
    """The teller, once it has noted where the feed ends."""
    assert teller is not None
    await until(lambda: teller.position is not None)
    return teller


def test_a_question_and_the_end_are_told_signed_and_once_each(tmp_path: Path) -> None:
    async def story(to: receiver.Receiver) -> str:
        async with stage.engine(tmp_path) as engine:
            await asked_and_answered(engine)  # before anybody listens: not told
            async with webhooks.delivering(hooked(tmp_path, to.url), engine.store, webhook_child.PACE) as teller:
                await ready(teller)
                run_id = await asked_and_answered(engine)
                await until(lambda: teller is not None and len(to.got) == 2 and teller.backlog() == {})
                await asyncio.sleep(0.2)
                return run_id

    with receiver.receiving() as to:
        run_id = stage.play(lambda: story(to))
    assert len(to.got) == 2
    by_type = {got.document["type"]: got for got in to.got}
    ended = by_type["run.ended"]
    assert {key: ended.document[key] for key in ("runId", "workflow", "type")} == {
        "runId": run_id,
        "workflow": "staged",
        "type": "run.ended",
    }
    assert ended.document["data"]["ending"] == "ok"
    assert by_type["approval.requested"].document["data"]["prompt"] == "Fine?"
    for got in to.got:
        assert (got.headers["openskelo-delivery"], got.headers["openskelo-event"]) == (
            got.document["id"],
            got.document["type"],
        )
        assert SECRET.encode() not in got.body
        header = got.headers["openskelo-signature"]
        assert is_genuine(SECRET, header, got.body)
        assert not is_genuine(SECRET, header, got.body + b" ")
        assert not is_genuine("another secret", header, got.body)
        assert not is_genuine(SECRET, header, got.body, tolerance=-1)
    assert SECRET.encode() not in (tmp_path / ".skelo" / delivery_queue.FILE).read_bytes()


def test_a_hook_is_told_only_what_it_asked_for(tmp_path: Path) -> None:
    async def story(to: receiver.Receiver) -> None:
        async with stage.engine(tmp_path) as engine:
            project = hooked(tmp_path, to.url, events=("run.ended",))
            async with webhooks.delivering(project, engine.store, webhook_child.PACE) as teller:
                await ready(teller)
                await asked_and_answered(engine)
                await until(lambda: len(to.got) == 1)
                await asyncio.sleep(0.2)

    with receiver.receiving() as to:
        stage.play(lambda: story(to))
    assert [got.document["type"] for got in to.got] == ["run.ended"]


def test_a_receiver_in_trouble_is_told_again_under_the_same_id(tmp_path: Path) -> None:
    async def story(to: receiver.Receiver) -> None:
        async with stage.engine(tmp_path) as engine:
            project = hooked(tmp_path, to.url, events=("run.ended",))
            async with webhooks.delivering(project, engine.store, webhook_child.PACE) as teller:
                await ready(teller)
                await asked_and_answered(engine)
                await until(lambda: teller is not None and len(to.got) == 6 and teller.backlog() == {})

    with receiver.receiving() as to:
        to.answers = [500, 0, 301, 404, 3.0]
        stage.play(lambda: story(to))
    assert len({got.headers["openskelo-delivery"] for got in to.got}) == 1
    assert len({got.body for got in to.got}) == 1


def test_no_run_waits_for_a_receiver_in_trouble(tmp_path: Path) -> None:
    async def story(to: receiver.Receiver) -> None:
        async with stage.engine(tmp_path) as engine:
            project = hooked(tmp_path, to.url)
            async with webhooks.delivering(project, engine.store, webhook_child.PACE) as told:
                teller = await ready(told)
                await asked_and_answered(engine)
                await until(lambda: len(to.got) > 0)
                await asked_and_answered(engine)  # ends while nothing was taken yet
                await until(lambda: sum(found.waiting for found in teller.backlog().values()) == 4)
                to.usual = 204
                await until(lambda: teller.backlog() == {})

    with receiver.receiving() as to:
        to.usual = 500
        stage.play(lambda: story(to))
    assert len({got.headers["openskelo-delivery"] for got in to.got}) == 4


def test_what_cannot_be_read_stays_owed_and_is_told_once_it_can(tmp_path: Path) -> None:
    def swap(old: bytes, new: bytes) -> None:
        with contextlib.closing(sqlite3.connect(tmp_path / ".skelo" / "log.db")) as found, found:
            rows: list[tuple[int, bytes]] = found.execute("SELECT position, lines FROM log").fetchall()
            changed = [(lines.replace(old, new), position) for position, lines in rows if old in lines]
            assert len(changed) == 1
            found.executemany("UPDATE log SET lines = ? WHERE position = ?", changed)

    async def story(to: receiver.Receiver) -> None:
        async with stage.engine(tmp_path) as engine:
            project = hooked(tmp_path, to.url, events=("run.ended",))
            async with webhooks.delivering(project, engine.store, webhook_child.PACE) as teller:
                found = await ready(teller)
                await asked_and_answered(engine)
                await until(lambda: len(to.got) == 1)
                swap(b'"type":"run.ended"}', b'"type";"run.ended"}')
                await until(lambda: any("INTERNAL" in (one.error or "") for one in found.backlog().values()))
                swap(b'"type";"run.ended"}', b'"type":"run.ended"}')
                await until(lambda: len(to.got) == 2 and found.backlog() == {})

    with receiver.receiving() as to:
        to.answers = [500]
        stage.play(lambda: story(to))


def test_a_slow_receiver_does_not_hold_up_another(tmp_path: Path) -> None:
    async def story(slow: receiver.Receiver, quick: receiver.Receiver) -> None:
        async with stage.engine(tmp_path) as engine:
            project = hooked(tmp_path, slow.url, quick.url, events=("run.ended",))
            async with webhooks.delivering(project, engine.store, webhook_child.PACE) as teller:
                await ready(teller)
                for _ in range(12):
                    await asked_and_answered(engine)
                await until(lambda: len(quick.got) == 12, seconds=1.5)
                assert len(slow.got) <= 4

    with receiver.receiving() as slow, receiver.receiving() as quick:
        slow.answers = [1.5] * 12
        stage.play(lambda: story(slow, quick))


@pytest.mark.parametrize(("answer", "error"), [(410, "WEBHOOK_GONE"), (500, "WEBHOOK_REFUSED")])
def test_what_is_given_up_stays_visible_and_is_tried_once_more_by_the_next_server(
    tmp_path: Path, answer: int, error: str
) -> None:
    pace = webhooks.Pace(poll=0.02, first_retry=0.1, max_wait=0.2, give_up=0.3, timeout=1.0)

    async def story(to: receiver.Receiver) -> None:
        async with stage.engine(tmp_path) as engine:
            project = hooked(tmp_path, to.url, events=("run.ended",))
            async with webhooks.delivering(project, engine.store, pace) as told:
                teller = await ready(told)
                await asked_and_answered(engine)
                hook = project.webhooks[0].id
                await until(lambda: hook in teller.backlog() and teller.backlog()[hook].dead == 1)
                found = teller.backlog()[hook]
                assert (found.waiting, found.oldest) == (0, None)
                assert error in (found.error or "")
            to.usual = 200
            async with webhooks.delivering(project, engine.store, pace) as told:
                teller = await ready(told)
                await until(lambda: teller.backlog() == {})

    with receiver.receiving() as to:
        to.usual = answer
        stage.play(lambda: story(to))


def test_private_addresses_and_missing_secrets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(project: Project, code: str) -> None:
        async with (
            stage.engine(project.root) as engine,
            webhooks.delivering(project, engine.store, webhook_child.PACE) as told,
        ):
            teller = await ready(told)
            await asked_and_answered(engine)
            await until(lambda: any(code in (found.error or "") for found in teller.backlog().values()))

    with receiver.receiving() as to:
        stage.play(lambda: story(hooked(tmp_path / "a", to.url, private=False), "HTTP_ADDRESS_REFUSED"))
        monkeypatch.delenv("HOOK_SECRET")
        stage.play(lambda: story(hooked(tmp_path / "b", to.url), "SECRET_MISSING"))
    assert to.got == []


def test_pruned_and_deleted_runs_are_told_as_far_as_they_are_there(tmp_path: Path) -> None:
    async def story(to: receiver.Receiver) -> None:
        async with stage.engine(tmp_path) as engine:
            project = hooked(tmp_path, to.url)
            async with webhooks.delivering(project, engine.store, webhook_child.PACE) as told:
                teller = await ready(told)
                to.usual = 500
                pruned, deleted = await asked_and_answered(engine), await asked_and_answered(engine)
                await until(lambda: len(to.got) > 4)
                await prune.prune_run(engine.store, pruned)
                await prune.delete_run(engine.store, deleted)
                before = len(to.got)
                await until(lambda: len(to.got) > before + 4)  # none that was under way before is left
                to.got.clear()
                to.usual = 200
                await until(lambda: teller.backlog() == {})
        assert {(got.document["runId"], got.document["type"], "data" in got.document) for got in to.got} == {
            (pruned, "approval.requested", False),
            (pruned, "run.ended", True),
        }

    with receiver.receiving() as to:
        stage.play(lambda: story(to))


def test_one_process_tells_and_another_takes_over_when_it_stops(tmp_path: Path) -> None:
    async def story(to: receiver.Receiver) -> None:
        project = hooked(tmp_path, to.url, events=("run.ended",))
        async with stage.engine(tmp_path) as engine, contextlib.AsyncExitStack() as first:
            one = await first.enter_async_context(webhooks.delivering(project, engine.store, webhook_child.PACE))
            await ready(one)
            async with webhooks.delivering(project, engine.store, webhook_child.PACE):
                await asked_and_answered(engine)
                # Stopped before it has noted what it told, it would leave that to be told again.
                await until(lambda: len(to.got) == 1 and one is not None and one.backlog() == {})
                await first.aclose()
                await asked_and_answered(engine)
                await until(lambda: len(to.got) == 2)

    with receiver.receiving() as to:
        stage.play(lambda: story(to))
    assert len({got.document["runId"] for got in to.got}) == 2


@contextlib.contextmanager
def telling_process(root: Path, url: str) -> Generator[subprocess.Popen[str]]:
    environment = os.environ | {"HOOK_SECRET": SECRET, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.server.webhook_child", str(root), url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def test_a_sender_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    """Runs happen all the while, also when nobody tells; in the end every one of them was told."""
    runs: list[str] = []

    async def some(count: int) -> None:
        async with stage.engine(tmp_path) as engine:
            for _ in range(count):
                runs.append(await asked_and_answered(engine))  # noqa: PERF401 -- one after the other

    with receiver.receiving() as to:
        owed = delivery_queue.DeliveryQueue(_made(tmp_path))
        owed.add("webhooks", 0, ())
        owed.close()
        for lost in range(4):
            to.answers = [0.2, 500, 0][: lost + 1]
            with telling_process(tmp_path, to.url) as process:
                stage.play(lambda: some(3))
                time.sleep(0.15 * lost)
                process.kill()
            stage.play(lambda: some(1))
        with telling_process(tmp_path, to.url):
            to.until(lambda: len({got.headers["openskelo-delivery"] for got in to.got}) == 2 * len(runs))
            time.sleep(0.3)
    told = {(got.document["runId"], got.document["type"]) for got in to.got}
    assert told == {(run_id, kind) for run_id in runs for kind in ("approval.requested", "run.ended")}
    assert len(runs) == 16


def _made(root: Path) -> Path:
    (root / ".skelo").mkdir()
    return root / ".skelo"


def test_a_project_without_webhooks_tells_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine, webhooks.delivering(hooked(tmp_path), engine.store) as teller:
            assert teller is None

    stage.play(story)
    assert not (tmp_path / ".skelo" / delivery_queue.FILE).exists()


def test_waits_grow_to_a_cap(tmp_path: Path) -> None:
    pace = webhooks.Pace()
    waits = [pace.wait(attempts) for attempts in range(1, 2000)]
    assert 0.8 <= waits[0] <= 1.2
    assert all(480 <= wait <= 720 for wait in waits[20:])


@pytest.mark.slow
def test_what_is_owed_goes_out_without_waiting_for_the_next_look(tmp_path: Path) -> None:
    """A few at once, the next as soon as one has arrived: else a hook is told so many a second and no more."""
    once = webhooks.Pace(poll=60.0)

    async def story(to: receiver.Receiver) -> None:
        async with stage.engine(tmp_path) as engine:
            project = hooked(tmp_path, to.url)
            async with webhooks.delivering(project, engine.store, webhook_child.PACE) as teller:
                await ready(teller)
            for _ in range(10):
                await asked_and_answered(engine)
            async with webhooks.delivering(project, engine.store, once) as teller:
                await until(lambda: teller is not None and len(to.got) == 20 and teller.backlog() == {})

    with receiver.receiving() as to:
        stage.play(lambda: story(to))
    assert len({got.headers["openskelo-delivery"] for got in to.got}) == 20


@pytest.mark.slow
def test_what_could_not_be_noted_on_a_full_disk_is_noted_when_there_is_room(tmp_path: Path) -> None:
    """It has arrived, and is neither sent again nor owed until the next start of the server."""

    async def story(to: receiver.Receiver, disk: disks.Disk) -> None:
        async with stage.engine(disk.folder) as engine:
            project = hooked(disk.folder, to.url, events=("run.ended",))
            async with webhooks.delivering(project, engine.store, webhook_child.PACE) as told:
                teller = await ready(told)
                await asked_and_answered(engine)
                await until(lambda: len(to.got) == 1)
                disk.fill()
                await asyncio.sleep(1.5)  # its answer comes meanwhile
                assert [found.waiting for found in teller.backlog().values()] == [1]
                disk.free()
                await until(lambda: teller.backlog() == {})
                await asyncio.sleep(0.3)

    with receiver.receiving() as to, disks.small(tmp_path / "disk") as disk:
        to.answers = [0.5]
        stage.play(lambda: story(to, disk))
    assert len(to.got) == 1

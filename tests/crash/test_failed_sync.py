"""A sync that fails: nothing is acknowledged that a power cut could take, and the store goes on when the disk does."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from openskelo.stores import api
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import data_dir
from tests.server import house, test_serve

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD is a matter of Linux")
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The disk of `failing_sync.c`, compiled."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.fail("this test needs a C compiler (Debian: apt install gcc libc6-dev)")
    built = tmp_path_factory.mktemp("library") / "failing_sync.so"
    argv = [compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(built), str(HERE / "failing_sync.c"), "-ldl"]
    subprocess.run(argv, check=True)
    return built


class Disk:
    """A data dir on a disk whose syncs fail on demand, and what a power cut leaves of it."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.data_dir = folder / "data"
        self.fails = folder / "fails"
        self._disk = folder / "disk"
        self._disk.mkdir()
        self.environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "SYNC_DISK": str(self._disk),
            "SYNC_FAILS": str(self.fails),
        }

    def run(self, *argv: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python on this disk, in a folder."""
        return subprocess.run(
            [sys.executable, *argv], env=self.environment, cwd=folder, capture_output=True, text=True, check=False
        )

    def after_power_cut(self) -> Path:
        """Return a data dir with what has reached the disk."""
        left = self.data_dir.with_name("left")
        shutil.copytree(self.data_dir, left, ignore=shutil.ignore_patterns("log.db*"))
        for name in ("log.db", "log.db-wal"):
            if (self._disk / name).exists():
                shutil.copyfile(self._disk / name, left / name)
        return left


async def _read(folder: Path, run_ids: set[str]) -> tuple[dict[str, list[bytes]], object]:
    store = data_dir.open_store(folder)
    try:
        return {run_id: await fixtures.lines(store, run_id) for run_id in run_ids}, await store.read_note("note")
    finally:
        await store.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_what_was_acknowledged_survives_a_power_cut_after_failed_syncs(
    seed: int, tmp_path: Path, library: Path
) -> None:
    disk = Disk(tmp_path, library)
    refused: list[str] = []
    for life in range(3):
        done = disk.run(str(HERE / "sync_child.py"), str(disk.data_dir), str(100 * seed + life))
        assert (done.returncode, done.stderr) == (0, "")
        refused += json.loads(done.stdout)
        disk.fails.unlink(missing_ok=True)
    assert set(refused) == {"STORE_SYNC"}
    entries = [json.loads(line) for line in (tmp_path / "acknowledged.jsonl").read_text().splitlines()]
    run_ids = {run_id for run_id, *_ in entries if run_id != "note"}
    logs, note = asyncio.run(_read(disk.after_power_cut(), run_ids))
    lost = [
        entry
        for entry in entries
        if entry[0] != "note" and logs[entry[0]][entry[1] : entry[1] + 1] != [entry[2].encode()]
    ]
    assert (lost, len(entries) > 10) == ([], True)
    notes = [number for name, number, _ in entries if name == "note"]
    assert note is not None or not notes


#: Two stores take turns in driving a run. What is told is the answer, or the code of the error.
CLAIMING = """
import asyncio, os, sys
from pathlib import Path
from openskelo import errors
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import data_dir

async def told(call, *, fails=False):
    failing = Path(os.environ["SYNC_FAILS"])
    if fails:
        failing.touch()
    try:
        answer = await call
    except errors.StoreError as error:
        answer = error.code
    failing.unlink(missing_ok=True)
    print(answer, flush=True)

async def main():
    one, other = (data_dir.open_store(Path(sys.argv[1])) for _ in range(2))
    await told(one.claim_run("run-0"), fails=True)
    await told(other.is_driver_alive("run-0"))
    await told(other.claim_run("run-0"))
    await told(one.claim_run("run-0"))
    await told(other.release_run("run-0"), fails=True)
    await told(one.claim_run("run-0"))
    await told(other.append([fixtures.append(0, b"driven", run_id="run-0", row=fixtures.row("run-0", 1))]))
    await told(other.release_run("run-0"))
    await told(one.claim_run("run-0"))
    os._exit(0)

asyncio.run(main())
"""


def test_claims_and_releases_are_as_durable_as_what_depends_on_them(tmp_path: Path, library: Path) -> None:
    disk = Disk(tmp_path, library)
    done = disk.run("-c", CLAIMING, str(disk.data_dir))
    assert (done.returncode, done.stderr) == (0, "")
    claimed = ["STORE_SYNC", "False", "True", "False"]  # a claim that failed is nobody's; the next one's is
    released = ["STORE_SYNC", "False", "None", "None", "True"]  # a release that failed leaves the driver to go on
    assert done.stdout.split() == [*claimed, *released]
    alive, logs, taken = asyncio.run(_take_up(disk.after_power_cut(), "run-0"))
    assert (alive, logs, taken) == (False, [b"driven"], True)


async def _take_up(folder: Path, run_id: str) -> tuple[bool, list[bytes], bool]:
    """Whether the run has a driver, its lines, and whether a store can become its driver."""
    store = data_dir.open_store(folder)
    try:
        is_alive = await store.is_driver_alive(run_id)
        return is_alive, await fixtures.lines(store, run_id), await store.claim_run(run_id)
    finally:
        await store.close()


FLOW = """
name: one
blocks:
  - id: first
    mode: deterministic
    deterministic: {handler: handlers/steps.py}
    inputs: {fails: string}
    outputs: {n: integer}
"""
STEPS = """
from pathlib import Path

def handler(ctx):
    if ctx.attempt == 1:
        Path(ctx.inputs["fails"]).touch()
    return {"n": ctx.attempt}
"""
#: A server's engine: its supervisor goes on with the run when syncs succeed again.
SERVING = """
import asyncio, os, sys
from pathlib import Path
import openskelo

async def main():
    failing = Path(os.environ["SYNC_FAILS"])
    async def first(ctx):
        if ctx.attempt == 1:
            failing.touch()
        return {"n": ctx.attempt}
    flow = openskelo.from_document({"name": "one", "blocks": [{"id": "first", "mode": "deterministic",
        "deterministic": {"handler": "local:first"}, "outputs": {"n": "integer"}}]})
    project = openskelo.Project(root=Path(sys.argv[1]), data_dir=Path(sys.argv[1]) / "data")
    async with await openskelo.Engine.open(project, handlers={"first": first}) as engine:
        run_id = await engine.start(flow)
        told = []
        for call in (engine.wait(run_id), engine.start(flow), engine.cancel(run_id)):
            try:
                await call
            except openskelo.StoreError as error:
                told.append(error.code)
        failing.unlink()
        keeping = engine.supervisor()
        await keeping.start()
        while (await engine.store.find_run(run_id)).ending is None:
            await asyncio.sleep(0.05)
        document = await engine.show(run_id)
        print(*told, document["ending"], document["outputs"]["n"], len(await engine.store.list_runs()))
        await keeping.stop()

asyncio.run(main())
"""


def test_a_run_stops_at_a_failed_sync_and_goes_on_when_the_disk_does(tmp_path: Path, library: Path) -> None:
    disk = Disk(tmp_path, library)
    done = disk.run("-c", SERVING, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["STORE_SYNC", "STORE_SYNC", "STORE_SYNC", "ok", "2", "1"]
    assert not (disk.data_dir / "sync-failed").exists()


#: Wants a large value that a reader's copy, which is not synced, has left in a file.
WANTING = """
import os, sys
from pathlib import Path
from openskelo import errors
from openskelo.stores import blobs

failing, kept, data = Path(os.environ["SYNC_FAILS"]), blobs.BlobFiles(Path(sys.argv[1]) / "blobs"), b"value" * 9
(Path(sys.argv[1]) / "blobs").mkdir()
path = Path(kept.locate(blobs.name_of(data), data))
failing.touch()
before = path.stat().st_ino
try:
    kept.put(data)
except errors.StoreError as error:
    print(error.code)
failing.unlink()
print(kept.put(data) == blobs.name_of(data), path.read_bytes() == data, path.stat().st_ino != before)
"""


def test_a_large_value_that_is_there_is_kept_only_once_it_is_synced(tmp_path: Path, library: Path) -> None:
    done = Disk(tmp_path, library).run("-c", WANTING, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["STORE_SYNC", "True", "True", "True"]


def test_a_command_ends_with_75_and_the_run_can_be_resumed(tmp_path: Path, library: Path) -> None:
    project = tmp_path / "project"
    (project / "handlers").mkdir(parents=True)
    (project / "skelo.yaml").write_text("{}\n")
    (project / "flow.yaml").write_text(FLOW)
    (project / "handlers" / "steps.py").write_text(STEPS)
    disk = Disk(tmp_path, library)
    skelo = ("-m", "openskelo.cli.main", "--json", "--data-dir", str(disk.data_dir))
    failed = disk.run(*skelo, "run", "flow.yaml", "--input", f"fails={disk.fails}", folder=project)
    assert (failed.returncode, json.loads(failed.stdout)["error"]["code"]) == (75, "STORE_SYNC")
    assert (disk.data_dir / "sync-failed").exists()
    shown = disk.run(*skelo, "show", "last", folder=project)
    assert (shown.returncode, json.loads(shown.stdout)["error"]["code"]) == (75, "STORE_SYNC")
    disk.fails.unlink()
    resumed = disk.run(*skelo, "resume", "last", folder=project)
    # The commit that failed may be in the log or not: another process reads what the first one had written.
    assert (resumed.returncode, json.loads(resumed.stdout)["outputs"]["n"] in (1, 2)) == (0, True)
    assert not (disk.data_dir / "sync-failed").exists()


def test_a_server_acknowledges_nothing_while_syncs_fail_and_goes_on_when_they_succeed(
    tmp_path: Path, library: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "skelo.yaml").write_text("{}\n")
    disk = Disk(tmp_path, library)
    variables = [f"{name}={disk.environment[name]}" for name in ("LD_PRELOAD", "SYNC_DISK", "SYNC_FAILS")]
    block = {"id": "a", "mode": "deterministic", "inputs": {"text": "string"}, "outputs": {"text": "string"}}
    flow = {"name": "one", "blocks": [{**block, "deterministic": {"handler": "builtin:pass"}}]}
    with test_serve.served(project, "--data-dir", str(disk.data_dir), launcher=("env", *variables)) as (_, client):
        for text in ("small", "large" * 500_000):  # the large one is a file of its own
            body = {"document": flow, "inputs": {"text": text}}
            disk.fails.touch()
            refused = client.post("/api/runs", json=body, headers={"idempotency-key": text[:5]})
            assert (refused.status_code, refused.json()["code"]) == (503, "STORE_SYNC")
            disk.fails.unlink()
            started = client.post("/api/runs", json=body, headers={"idempotency-key": text[:5]})
            assert started.status_code == 201
            house.until(client, started.json()["id"], lambda found: found["ending"] == "ok")
        runs = {run["id"] for run in client.get("/api/runs").json()["runs"]}
    left = disk.after_power_cut()
    assert runs == {row.run_id for row in asyncio.run(_rows(left))}


async def _rows(folder: Path) -> Sequence[api.RunRow]:
    store = data_dir.open_store(folder)
    try:
        return await store.list_runs()
    finally:
        await store.close()

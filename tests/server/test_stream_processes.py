"""The stream over several processes: a run in a terminal is told live, and a killed server's clients miss nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import httpx
import pytest
from websockets import exceptions

from openskelo.kernel.json import Json
from tests import forked_skelo
from tests.server import streaming
from tests.wire import patching

ROOT = Path(__file__).resolve().parent.parent.parent
HANDLER = "import asyncio\n\n\nasync def handler(ctx):\n    await asyncio.sleep(0.05)\n    return dict(ctx.inputs)\n"


def _project(root: Path, steps: int) -> Path:
    (root / "handlers").mkdir()
    (root / "handlers" / "slow.py").write_text(HANDLER, "utf-8")
    (root / "skelo.yaml").write_text("{}\n", "utf-8")
    blocks: list[Json] = []
    source = "inputs"
    for number in range(steps):
        blocks.append(
            {
                "id": f"s{number}",
                "mode": "deterministic",
                "inputs": {"n": {"type": "integer", "from": f"{source}.n"}},
                "outputs": {"n": "integer"},
                "deterministic": {"handler": "handlers/slow.py"},
            }
        )
        source = f"s{number}"
    flow = root / "flow.json"
    flow.write_text(json.dumps({"name": "slow", "inputs": {"n": "integer"}, "blocks": blocks}), "utf-8")
    return flow


class Server:
    """A server process, and the socket that outlives it: whoever comes while it is dead waits for the next one."""

    def __init__(self, data_dir: Path, listening: socket.socket) -> None:
        self._data_dir = data_dir
        self._listening = listening
        self.host = f"127.0.0.1:{listening.getsockname()[1]}"
        self.start()

    def start(self) -> None:
        """Begin to serve."""
        descriptor = self._listening.fileno()
        command = [sys.executable, "-m", "tests.server.stream_child", str(self._data_dir), str(descriptor)]
        self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[descriptor])

    def kill(self) -> None:
        """With SIGKILL: nothing is said to anybody."""
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def _serving(data_dir: Path) -> Generator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Server(data_dir, listening)
        try:
            yield server
        finally:
            server.kill()


@pytest.mark.slow
def test_clients_of_a_server_that_is_killed_again_and_again_miss_nothing(tmp_path: Path) -> None:
    """A run in another process; three clients over WebSocket and SSE, of one run and of all."""
    flow = _project(tmp_path, 100)
    data_dir = tmp_path / ".skelo"

    async def story() -> None:
        with _serving(data_dir) as server:
            command = ["run", str(flow), "--input", "n=1", "--json"]
            every: list[streaming.Message] = []
            following = asyncio.create_task(_follow_all(server.host, every))
            await _come(lambda: bool(every))  # the stream of all runs is open before the run begins
            with (tmp_path / "log").open("wb") as log:
                running = forked_skelo.start(command, folder=tmp_path, log=log)
            try:
                await _come(lambda: bool(streaming.facts(every)))
                run_id = streaming.facts(every)[0]["runId"]
                one: list[streaming.Message] = []
                sse: list[streaming.Message] = []
                tasks = [
                    following,
                    asyncio.create_task(_follow_run(server.host, run_id, one)),
                    asyncio.create_task(_follow_sse(server.host, run_id, sse)),
                ]
                for _ in range(3):
                    more = len(one) + 4
                    await _come(lambda: len(one) >= more or _is_over(one))  # noqa: B023 -- it is over before the next
                    server.kill()
                    await asyncio.sleep(0.1)
                    server.start()
                await asyncio.gather(*tasks)
                assert await asyncio.to_thread(running.wait) == 0
            finally:
                running.kill()
            async with streaming.opened(server.host, f"?runId={run_id}") as fresh:
                last = (await streaming.until(streaming.messages(fresh), lambda found: "run" in found))[-1]
        assert last["run"]["status"] == "completed"
        whole = streaming.facts(every)
        assert patching.fold(patching.empty(run_id), whole) == last["run"]
        assert [(event["seq"], event["index"]) for event in whole] == sorted(
            {(event["seq"], event["index"]) for event in whole}
        )
        for found in (one, sse):
            assert streaming.facts(found) == whole

    asyncio.run(asyncio.wait_for(story(), 280))  # many processes start here: a busy machine takes its time


async def _come(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 -- it is other processes that bring it about
        await asyncio.sleep(0.01)


async def _follow_all(host: str, got: list[streaming.Message]) -> None:
    await _follow(host, got, "?since={cursor}", "position")


async def _follow_run(host: str, run_id: str, got: list[streaming.Message]) -> None:
    await _follow(host, got, f"?runId={run_id}&since={{cursor}}", "seq")


async def _follow(host: str, got: list[streaming.Message], query: str, field: str) -> None:
    """A client that comes back whenever it is cut off, with the place where it was."""
    cursor = 0
    while not _is_over(got):
        with contextlib.suppress(OSError, exceptions.WebSocketException, EOFError):
            async with streaming.opened(host, query.format(cursor=cursor)) as opened:
                async for message in streaming.messages(opened):
                    got.append(message)
                    cursor = message.get(field, cursor)
                    if _is_over([message]):
                        return


async def _follow_sse(host: str, run_id: str, got: list[streaming.Message]) -> None:
    """The same as a browser does it, with `Last-Event-ID`."""
    last = "0"
    while not _is_over(got):
        with contextlib.suppress(httpx.HTTPError):
            async with contextlib.aclosing(streaming.sse(host, f"?runId={run_id}", **{"last-event-id": last})) as told:
                async for name, message in told:
                    got.append(message)
                    last = name or last
                    if _is_over([message]):
                        return


def _is_over(got: list[streaming.Message]) -> bool:
    return any(
        event["type"] == "run.patch" and event["patch"].get("phase") == "DONE" for event in streaming.events(got[-1:])
    )

"""Tools of real MCP servers: a process over stdio, and one over streamable HTTP on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import mcp
import pytest
from mcp.client import stdio, streamable_http

from openskelo import errors
from openskelo.executors import mcp_servers
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from tests.executors import descriptors, workshop
from tests.executors.ops import bench
from tests.handlers import web

_T = TypeVar("_T")
PROGRAM = str(Path(__file__).with_name("mcp_demo.py"))
STDIO = project_registry.McpServer(name="demo", command=(sys.executable, PROGRAM))
#: The server imports the SDK, which takes seconds, and far more on a busy machine.
PATIENT_MS = 110_000


def with_servers(
    root: Path,
    work: Callable[[mcp_servers.ServerPool], Awaitable[_T]],
    *servers: project_registry.McpServer,
    **project: Any,
) -> _T:
    """What `work` gives with the servers of a project, all of them ended afterwards."""

    async def run() -> _T:
        known = project_registry.Registry(mcp={one.name: one for one in servers})
        all_of_them = mcp_servers.ServerPool(workshop.project(root, registry=known, **project))
        try:
            return await work(all_of_them)
        finally:
            await all_of_them.close()

    return asyncio.run(run())


async def code_of(call: Awaitable[Json]) -> str:
    try:
        await call
    except errors.AttemptFailed as error:
        return error.code
    return ""


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def ends(pid: int) -> bool:
    """Whether the process is gone within a few seconds."""
    for _ in range(500):
        if not is_running(pid):
            return True
        time.sleep(0.01)
    return False


def started(root: Path) -> int:
    """The process that a call of `slow` runs in, once it does."""
    for _ in range(1500):
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((root / "slow.pid").read_text())
        time.sleep(0.02)
    raise AssertionError("the call has not begun")


@pytest.mark.slow
def test_tools_over_stdio(tmp_path: Path) -> None:
    pids: list[int] = []

    async def work(servers: mcp_servers.ServerPool) -> list[object]:
        def call(tool: str, **args: Json) -> Awaitable[Json]:
            return servers.call("demo", tool, args, timeout_ms=30_000)

        pids.extend([await _pid(servers), await _pid(servers)])
        return [
            await call("add", a=1, b=2),
            await call("shout", text="hey"),
            await code_of(call("add", a=1)),
            await code_of(call("add", a="x", b=2)),
            await code_of(call("fail", text="x")),
            await code_of(call("nothing")),
            await code_of(servers.call("other", "add", {}, timeout_ms=1000)),
        ]

    added, shouted, *codes = with_servers(tmp_path, work, STDIO)
    assert (added, shouted) == ({"result": 3}, "HEY")
    assert pids[0] == pids[1]  # one process for all calls
    assert codes == ["ARGS_INVALID", "ARGS_INVALID", "TOOL_FAILED", "TOOL_UNKNOWN", "MCP_UNKNOWN"]
    assert ends(pids[0])


async def _pid(servers: mcp_servers.ServerPool) -> int:
    found = await servers.call("demo", "who", {}, timeout_ms=30_000)
    assert isinstance(found, dict)
    return int(str(found["pid"]))


@pytest.mark.slow
def test_a_call_that_takes_too_long_costs_the_program_its_life_and_the_next_starts_another(tmp_path: Path) -> None:
    async def work(servers: mcp_servers.ServerPool) -> tuple[str, int]:
        await servers.call("demo", "add", {"a": 1, "b": 1}, timeout_ms=30_000)
        code = await code_of(servers.call("demo", "slow", {"seconds": 60}, timeout_ms=1000))
        return code, await _pid(servers)

    code, after = with_servers(tmp_path, work, STDIO_HERE(tmp_path))
    slow = int((tmp_path / "slow.pid").read_text())
    assert (code, slow != after) == ("TIMEOUT", True)
    assert ends(slow)
    assert ends(after)


def STDIO_HERE(root: Path) -> project_registry.McpServer:  # noqa: N802 -- the same, in a folder
    return project_registry.McpServer(name="demo", command=(sys.executable, PROGRAM), folder=str(root))


@pytest.mark.slow
def test_a_call_that_is_cancelled_costs_the_program_its_life(tmp_path: Path) -> None:
    async def work(servers: mcp_servers.ServerPool) -> int:
        calling = asyncio.ensure_future(servers.call("demo", "slow", {"seconds": 60}, timeout_ms=None))
        slow = await asyncio.to_thread(started, tmp_path)
        calling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await calling
        assert calling.cancelled()
        return slow

    assert ends(with_servers(tmp_path, work, STDIO_HERE(tmp_path)))


@pytest.mark.slow
def test_a_server_that_dies_is_named_with_its_last_words_and_replaced(tmp_path: Path) -> None:
    async def work(servers: mcp_servers.ServerPool) -> errors.AttemptFailed:
        with pytest.raises(errors.AttemptFailed) as raised:
            await servers.call("demo", "die", {}, timeout_ms=30_000)
        assert await servers.call("demo", "add", {"a": 2, "b": 2}, timeout_ms=30_000) == {"result": 4}
        return raised.value

    error = with_servers(tmp_path, work, STDIO)
    assert (error.code, error.hint, error.retryable) == ("MCP_FAILED", "about to die", True)
    assert error.happened == "unknown"


@pytest.mark.slow
def test_what_is_no_message_is_quoted_in_the_failure_and_shown_nowhere_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def work(servers: mcp_servers.ServerPool) -> errors.AttemptFailed:
        with pytest.raises(errors.AttemptFailed) as raised:
            await servers.call("demo", "add", {}, timeout_ms=8000)
        return raised.value

    chatty = project_registry.McpServer(name="demo", command=("sh", "-c", "echo welcome to sums; exec sleep 60"))
    error = with_servers(tmp_path, work, chatty)
    assert (error.code, error.message, error.hint) == (
        "TIMEOUT",
        "the MCP server 'demo' was not ready in time; it wrote 'welcome to sums' to its standard output, "
        "which is not an MCP message",
        "the server must write everything but MCP messages to standard error",
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_banner_before_the_first_message_does_no_harm(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def work(servers: mcp_servers.ServerPool) -> Json:
        return await servers.call("demo", "add", {"a": 2, "b": 2}, timeout_ms=30_000)

    command = ("sh", "-c", 'echo welcome; exec "$@"', "sh", sys.executable, PROGRAM)
    assert with_servers(tmp_path, work, project_registry.McpServer(name="demo", command=command)) == {"result": 4}
    assert capfd.readouterr() == ("", "")


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def work(servers: mcp_servers.ServerPool) -> errors.AttemptFailed:
        with pytest.raises(errors.AttemptFailed) as raised:
            await servers.call("demo", "add", {}, timeout_ms=30_000)
        return raised.value

    error = with_servers(tmp_path, work, project_registry.McpServer(name="demo", command=("no-such-program",)))
    assert (error.code, error.hint) == ("MCP_FAILED", "no-such-program: No such file or directory")
    assert error.happened == "no"


@pytest.mark.slow
def test_a_server_sees_what_it_is_given_of_the_environment_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hush-hush-hush")
    monkeypatch.setenv("OTHER_KEY", "not for you")
    given = project_registry.McpServer(
        name="demo", command=(sys.executable, PROGRAM), env={"DEMO_TOKEN": "${secret:TOKEN}"}
    )

    async def work(servers: mcp_servers.ServerPool) -> Json:
        return await servers.call("demo", "who", {}, timeout_ms=30_000)

    found = with_servers(tmp_path, work, given, secrets={"TOKEN": "${env:SOME_TOKEN}"})
    assert isinstance(found, dict)
    assert (found["token"], found["key"]) == ("hush-hush-hush", "")

    async def without(servers: mcp_servers.ServerPool) -> str:
        return await code_of(servers.call("demo", "who", {}, timeout_ms=30_000))

    assert with_servers(tmp_path, without, given) == "SECRET_MISSING"


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["DEMO_ARGS", "DEMO_RETURNS"])
@pytest.mark.parametrize("keyword", ["$schema", "$ref", "$dynamicRef"])
def test_a_schema_that_names_an_address_fails_before_the_call_and_sends_no_request(
    variable: str, keyword: str, tmp_path: Path
) -> None:
    async def work(servers: mcp_servers.ServerPool) -> errors.AttemptFailed:
        with pytest.raises(errors.AttemptFailed) as raised:
            await servers.call("demo", "slow", {"seconds": 0}, timeout_ms=30_000)
        return raised.value

    with web.serving() as site:
        schema = json.dumps({"type": "object", keyword: site.url})
        command = (sys.executable, PROGRAM)
        server = project_registry.McpServer(name="demo", command=command, folder=str(tmp_path), env={variable: schema})
        error = with_servers(tmp_path, work, server)
        assert (error.code, site.seen) == ("MCP_SCHEMA", [])
    assert not (tmp_path / "slow.pid").exists()


@pytest.mark.slow
def test_a_server_dies_with_the_engine(tmp_path: Path) -> None:
    code = f"""
import asyncio, os, signal, sys
from pathlib import Path
from openskelo.executors import mcp_servers
from openskelo.handlers import project_registry as registry
from openskelo.project import Project

async def main():
    root = Path({str(tmp_path)!r})
    known = registry.Registry(mcp={{"demo": registry.McpServer(name="demo", command=(sys.executable, {PROGRAM!r}))}})
    servers = mcp_servers.ServerPool(Project(root=root, data_dir=root / ".skelo", registry=known))
    asyncio.ensure_future(servers.call("demo", "slow", {{"seconds": 60}}, timeout_ms=None))
    while not (root / "slow.pid").exists() or not (root / "slow.pid").read_text():
        await asyncio.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False, timeout=60)
    assert ended.returncode == -9
    assert ends(int((tmp_path / "slow.pid").read_text()))


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server over HTTP, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (tmp_path / "server.log").open("wb") as noise:
        child = subprocess.Popen(
            [sys.executable, PROGRAM, str(port)], cwd=tmp_path, stdout=noise, stderr=noise, env={**os.environ}
        )
    try:
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.kill()
        child.wait()


@pytest.mark.slow
def test_tools_over_http(tmp_path: Path, address: str) -> None:
    async def work(servers: mcp_servers.ServerPool) -> list[object]:
        def call(tool: str, timeout_ms: int = 30_000, **args: Json) -> Awaitable[Json]:
            return servers.call("demo", tool, args, timeout_ms=timeout_ms)

        return [
            await asyncio.gather(call("add", a=1, b=2), call("shout", text="hey")),
            await code_of(call("fail", text="x")),
            await code_of(call("nothing")),
            await code_of(call("slow", timeout_ms=300, seconds=3)),
            await call("add", a=2, b=2),
        ]

    server = project_registry.McpServer(name="demo", url=address, headers={"x-who": "us"})
    both, *rest = with_servers(tmp_path, work, server)
    assert both == [{"result": 3}, "HEY"]
    assert rest == ["TOOL_FAILED", "TOOL_UNKNOWN", "TIMEOUT", {"result": 4}]


def test_an_address_where_nobody_answers_is_a_failure(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"

    async def work(servers: mcp_servers.ServerPool) -> str:
        return await code_of(servers.call("demo", "add", {}, timeout_ms=20_000))

    assert with_servers(tmp_path, work, project_registry.McpServer(name="demo", url=url)) == "MCP_FAILED"


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_server_that_lacks_descriptors_at_its_start_can_be_started_later(tmp_path: Path, left: int) -> None:
    """At its temporary file, at its first pipe or at its second."""

    async def work(servers: mcp_servers.ServerPool) -> tuple[str, bool, errors.Happened, Json]:
        tempfile.gettempdir()  # as the performer does before it needs one
        with descriptors.left(left), pytest.raises(errors.AttemptFailed) as lacking:
            await servers.call("demo", "add", {"a": 1, "b": 2}, timeout_ms=PATIENT_MS)
        error = lacking.value
        later = await servers.call("demo", "add", {"a": 1, "b": 2}, timeout_ms=PATIENT_MS)
        return error.code, errors.is_out_of_descriptors(error), error.happened, later

    assert mcp.Client  # what is loaded later takes open files, too
    assert all((stdio, streamable_http))
    assert with_servers(tmp_path, work, STDIO) == ("MCP_FAILED", True, "no", {"result": 3})


def call_step(root: Path, given: Json, *, mode: definition.PlanMode = "normal", **tool: Any) -> bench.Done:
    own = project_registry.Tool(name="sum", kind="mcp", target="demo", tool="add", timeout_ms=PATIENT_MS, **tool)
    server = project_registry.McpServer(name="demo", command=STDIO.command, timeout_ms=PATIENT_MS)
    known = project_registry.Registry(tools={"sum": own}, mcp={"demo": server})
    where = workshop.project(root, registry=known)
    return bench.perform(where, "tool_call", {"tool_id": "sum", "args": given}, mode=mode)


@pytest.mark.slow
def test_a_step_calls_a_tool_of_a_server_under_the_projects_limits(tmp_path: Path) -> None:
    done = call_step(tmp_path, {"a": 1}, config={"b": 5}, cost_nanousd=7)
    assert (done.failure, done.value, done.whole.outcome.metrics.tool_nanousd) == (None, {"result": 6}, 7)
    narrow: JsonObject = {"type": "object", "properties": {"a": {"maximum": 10}}}
    assert call_step(tmp_path, {"a": 11, "b": 1}, args=narrow).code == "ARGS_INVALID"
    denied = call_step(tmp_path, {"a": 1, "b": 1}, mode="offline", network=True)
    assert denied.failure is not None
    assert (denied.code, denied.failure.denied) == ("MODE_DENIED", True)


def test_without_the_extra_the_message_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = call_step(tmp_path, {"a": 1, "b": 1})
    assert done.failure is not None
    assert (done.code, done.failure.missing) == ("EXTRA_MISSING", True)
    assert done.failure.message == "MCP servers need the extra `mcp` (pip install 'openskelo[mcp]')"

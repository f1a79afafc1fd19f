"""Handlers that a project brings along: Python in a worker or in the loop, and executables, all with real processes."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from openskelo import errors
from openskelo.executors.attempt import descriptor_wait, running_attempt
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json
from tests.executors import workshop

SYNC = "def handler(ctx):\n    "
ASYNC = "async def handler(ctx):\n    "


def node(handler: str = "handlers/it.py", timeout_ms: int | None = None) -> definition.Node:
    return definition.Node(
        key="it",
        mode="deterministic",
        handler=handler,
        inputs=(workshop.port("x"),),
        outputs=(workshop.port("y"),),
        config={"c": 1},
        timeout_ms=timeout_ms,
    )


def write(root: Path, source: str, name: str = "handlers/it.py") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path


def perform(
    root: Path, source: str, one: definition.Node | None = None, secrets: dict[str, str] | None = None
) -> attempt_performer.AttemptResult:
    write(root, source)
    where = workshop.project(root, secrets=secrets or {})
    (found,) = workshop.perform(where, workshop.task_of(one or node(), {"x": 2}))
    return found


def failure_of(found: attempt_performer.AttemptResult) -> outcome.Failure:
    assert found.outcome.failure is not None
    return found.outcome.failure


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(condition: Callable[[], bool], seconds: float = 100.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


@pytest.mark.parametrize("begin", [SYNC, ASYNC])
def test_the_context_is_complete(tmp_path: Path, begin: str) -> None:
    found = perform(
        tmp_path,
        begin + "return {'y': [ctx.inputs, ctx.config, ctx.block_id, ctx.run_id, ctx.idempotency_key,"
        " ctx.now.isoformat(), ctx.attempt, ctx.feedback, ctx.item]}\n",
    )
    now = "2023-11-14T22:13:20.123000+00:00"
    told = [{"x": 2}, {"c": 1}, "it", workshop.RUN_ID, workshop.key("it"), now, 1, None, None]
    assert found.outcome.outputs == {"value": {"y": told}}


def test_another_function_can_be_named(tmp_path: Path) -> None:
    found = perform(tmp_path, "def other(ctx):\n    return {'y': 'other'}\n", node("handlers/it.py:other"))
    assert found.outcome.outputs == {"value": {"y": "other"}}


def test_a_sync_handler_runs_in_another_process_and_an_async_one_here(tmp_path: Path) -> None:
    here = perform(tmp_path, "import os\n" + ASYNC + "return {'y': os.getpid()}\n").outcome.outputs
    there = perform(tmp_path, "import os\n" + SYNC + "return {'y': os.getpid()}\n").outcome.outputs
    assert here == {"value": {"y": os.getpid()}}
    assert there is not None
    assert there != here


def test_the_worker_stays_warm_between_calls(tmp_path: Path) -> None:
    write(tmp_path, "import os\n" + SYNC + "return {'y': os.getpid()}\n")
    tasks = [workshop.task_of(node(), {"x": number}) for number in range(3)]
    found = {str(one.outcome.outputs) for one in workshop.perform(workshop.project(tmp_path), *tasks)}
    assert len(found) == 1


@pytest.mark.parametrize("begin", [SYNC, ASYNC])
@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("raise ValueError('no')", "HANDLER_RAISED", "ValueError: no"),
        ("raise type('Panic', (BaseException,), {})('in Rust')", "HANDLER_RAISED", "Panic: in Rust"),
        ("import sys; sys.exit(3)", "HANDLER_EXITED", "the handler called sys.exit(3)"),
        ("return [1]", "HANDLER_RETURN", "the handler returned list, not a dict of outputs"),
        ("return None", "HANDLER_RETURN", "the handler returned NoneType, not a dict of outputs"),
        ("return {'y': {1}}", "HANDLER_RETURN", "the outputs are not JSON: a value of type set is not JSON"),
        (
            "return {'y': 2**60 + 1}",
            "NUMBER_RANGE",
            "the outputs are not JSON: an integer beyond 2**53 equals no double, so JSON readers",
        ),
        ("return {'y': float('nan')}", "HANDLER_RETURN", "the outputs are not JSON: NaN and infinity are not JSON"),
        ("return {'z': 1}", "OUTPUT_CONTRACT", "output 'y' is required and missing; output 'z' is not declared"),
        (f"return {{'y': {'[' * 70}{']' * 70}}}", "HANDLER_RETURN", "the outputs are not JSON: the value nests"),
        (
            "x = 'x' * 70_000_000; return {'y': x}",
            "HANDLER_RETURN",
            "the outputs take 70000008 bytes, more than 67108864",
        ),
        ("raise Exception('\\ud800')", "HANDLER_RAISED", "Exception: ?"),
        ("ctx.secret('NONE')", "SECRET_MISSING", "no secret named 'NONE' is declared"),
    ],
)
def test_whatever_a_handler_does_is_a_failed_attempt_with_its_code(
    tmp_path: Path, begin: str, body: str, code: str, message: str
) -> None:
    failure = failure_of(perform(tmp_path, begin + body))
    assert failure.code == code
    assert failure.message.startswith(message)


def test_the_traceback_is_in_the_log(tmp_path: Path) -> None:
    found = perform(tmp_path, SYNC + "ctx.log('hello', n=1)\n    print('printed')\n    raise ValueError('no')\n")
    log = workshop.log_of(found)
    assert 'hello {"n":1}' in log
    assert "printed" in log
    assert 'handlers/it.py", line 4, in handler' in log
    assert "worker.py" not in log


def test_the_log_is_in_the_order_of_time_and_is_kept_when_the_process_is_killed(tmp_path: Path) -> None:
    body = "ctx.log('one')\n    print('two')\n    ctx.log('three')\n    __import__('time').sleep(60)\n"
    found = perform(tmp_path, SYNC + body, node(timeout_ms=1500))
    assert (failure_of(found).code, workshop.log_of(found)) == ("TIMEOUT", "one\ntwo\nthree\n")


def test_a_long_log_of_a_worker_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    write(tmp_path, SYNC + "[ctx.log(f'line {n}') for n in range(40_000)]\n    return {'y': 1}\n")
    blobs = workshop.MemoryBlobs()
    (found,) = workshop.perform(workshop.project(tmp_path), workshop.task_of(node(), {"x": 2}), blobs=blobs)
    (note,) = found.outcome.artifacts
    log = blobs.kept[note.hash].decode()
    assert (log[:7], "bytes left out" in log, log[-11:]) == ("line 0\n", True, "line 39999\n")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        (
            "handlers/it.py",
            SYNC
            + "ctx.log('key ' + ctx.secret('KEY'))\n    print('half', end='', flush=True)\n"
            + "    import os, time\n    while not os.path.exists('go'): time.sleep(0.01)\n"
            + "    return {'y': 1}\n",
        ),
        (
            "it.sh",
            "#!/bin/sh\necho 'key secret-value' >&2; printf half >&2\n"
            "while [ ! -e go ]; do sleep 0.01; done; echo '{\"y\": 1}'\n",
        ),
    ],
)
def test_the_log_of_running_work_can_be_read_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, source: str
) -> None:
    monkeypatch.setenv("KEY", "secret-value")
    write(tmp_path, source, name).chmod(0o755)

    async def scenario() -> tuple[str, str]:
        where = workshop.project(tmp_path, secrets={"KEY": "${env:KEY}"})
        performer = attempt_performer.Performer(project=where, blobs=workshop.MemoryBlobs())
        try:
            attempt = workshop.job_of(node(name), {"x": 2})
            work = asyncio.create_task(performer.perform(attempt))
            async with asyncio.timeout(30):
                while not (so_far := performer.log_so_far(attempt)):  # noqa: ASYNC110 - nothing tells of a line
                    await asyncio.sleep(0.01)
            (tmp_path / "go").touch()
            return so_far, workshop.log_of(await work)
        finally:
            await performer.close()

    assert asyncio.run(scenario()) == ("key [secret]\n", "key [secret]\nhalf\n")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def handler(ctx)\n", "it.py: SyntaxError: expected ':' (it.py, line 1)"),
        ("import nothing_like_this\n", "it.py: ModuleNotFoundError: No module named 'nothing_like_this'"),
        ("raise SystemExit(1)\n", "it.py: SystemExit: 1"),
        ("raise type('Skipped', (BaseException,), {})('no')\n", "it.py: Skipped: no"),
        ("raise type('Skipped', (BaseException,), {})('no')\n" + ASYNC + "return {}\n", "it.py: Skipped: no"),
        ("x = 1\n", "it.py has no function 'handler' (name another as `file.py:function`)"),
        ("handler = 3\n", "it.py has no function 'handler' (name another as `file.py:function`)"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why(tmp_path: Path, source: str, message: str) -> None:
    failure = failure_of(perform(tmp_path, source))
    assert (failure.code, failure.message) == ("HANDLER_LOAD", message)


@pytest.mark.parametrize("source", ["def handler(ctx)\n", "import nothing_like_this\n", ASYNC + "return {}\n1 / 0\n"])
def test_the_traceback_of_a_file_that_cannot_be_loaded_begins_in_that_file(tmp_path: Path, source: str) -> None:
    log = workshop.log_of(perform(tmp_path, source))
    assert 'handlers/it.py", line ' in log
    assert "openskelo/executors" not in log


def test_an_async_file_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    found = perform(tmp_path, "import nothing_like_this\n" + ASYNC + "return {}\n")
    assert failure_of(found).message == "it.py: ModuleNotFoundError: No module named 'nothing_like_this'"
    assert 'handlers/it.py", line 1' in workshop.log_of(found)


@pytest.mark.parametrize("begin", [SYNC, ASYNC])
def test_what_a_handler_prints_is_kept_in_its_log_without_secrets(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, begin: str
) -> None:
    monkeypatch.setenv("TOKEN", "swordfish99")
    body = "print('a', ctx.secret('T'), sep='-')\n    print('.', end='')\n    print('.\\n')\n    return {'y': 1}\n"
    found = perform(tmp_path, begin + body, secrets={"T": "${env:TOKEN}"})
    assert workshop.log_of(found) == "a-[secret]\n..\n\n"
    assert capfd.readouterr() == ("", "")


def test_what_an_imported_module_prints_is_kept_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers" / "beside.py").write_text("def tell():\n    print('beside')\n")
    found = perform(tmp_path, "import beside\n" + ASYNC + "beside.tell()\n    return {'y': 1}\n")
    assert workshop.log_of(found) == "beside\n"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("begin", [SYNC, ASYNC])
def test_what_a_handler_writes_to_a_standard_stream_or_logs_is_kept_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, begin: str
) -> None:
    monkeypatch.setenv("TOKEN", "swordfish99")
    body = (
        "sys.stdout.write(ctx.secret('T') + '\\n')\n    sys.stderr.writelines(['b', '\\n'])\n"
        "    logging.lastResort.emit(logging.makeLogRecord({'msg': ctx.secret('T')}))\n    return {'y': 1}\n"
    )
    before = sys.stdout, sys.stderr
    found = perform(tmp_path, "import logging, sys\n" + begin + body, secrets={"T": "${env:TOKEN}"})
    assert workshop.log_of(found) == "[secret]\nb\n[secret]\n"
    assert capfd.readouterr() == ("", "")
    assert (sys.stdout, sys.stderr) == before


def test_what_is_printed_to_a_file_goes_there(tmp_path: Path) -> None:
    body = "import io\n    to = io.StringIO()\n    print('x', file=to)\n    return {'y': to.getvalue()}\n"
    found = perform(tmp_path, ASYNC + body)
    assert found.outcome.outputs == {"value": {"y": "x\n"}}


def test_async_work_that_blocks_beyond_its_time_has_not_succeeded(tmp_path: Path) -> None:
    blocking = "import time\n" + ASYNC + "time.sleep(0.5)\n    return {'y': 1}\n"
    failure = failure_of(perform(tmp_path, blocking, node(timeout_ms=50)))
    assert failure.code == "TIMEOUT"
    assert re.fullmatch(
        r"took \d+ ms, and had 50 ms \(an `async def` that blocks cannot be stopped, a plain function can\)",
        failure.message,
    )


@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python"])
def test_a_worker_that_cannot_start_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str) -> None:
    monkeypatch.setattr(sys, "executable", python)
    assert failure_of(perform(tmp_path, SYNC + "return {'y': 1}\n")).code == "WORKER_FAILED"


def test_executables_end_where_the_system_cannot_watch_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    write(tmp_path, "#!/bin/sh\nsleep 0.05\necho '{\"y\": 1}'\n", "tool").chmod(0o755)
    found = workshop.outcome_of(workshop.project(tmp_path), workshop.task_of(node("tool"), {"x": 2}))
    assert found.outputs == {"value": {"y": 1}}


def test_a_process_that_ends_is_replaced(tmp_path: Path) -> None:
    write(
        tmp_path,
        "import os, signal\n" + SYNC + "if ctx.inputs['x'] is None: return {'y': 'fine'}\n"
        "    print('last words', flush=True)\n    if ctx.inputs['x']: os.kill(os.getpid(), ctx.inputs['x'])\n"
        "    os._exit(7)\n",
    )
    one = [workshop.task_of(node(), {"x": value}) for value in (0, int(signal.SIGKILL), None)]
    found = workshop.perform(workshop.project(tmp_path), *one)
    message = "the handler's process ended during the call"
    assert [one.outcome.failure for one in found] == [
        outcome.Failure(code="HANDLER_EXITED", message=f"{message} (exit code 7)", happened="unknown"),
        outcome.Failure(code="HANDLER_EXITED", message=f"{message} (signal SIGKILL)", happened="unknown"),
        None,
    ]
    assert workshop.log_of(found[0]) == "last words\n"
    assert found[2].outcome.outputs == {"value": {"y": "fine"}}


@pytest.mark.parametrize(
    ("script", "code", "happened"),
    [
        ("exit 3", "HANDLER_EXITED", "no"),
        ("kill -9 $$", "HANDLER_EXITED", "unknown"),
        ("echo done", "HANDLER_RETURN", "yes"),
        ("head -c 9000000 /dev/zero; sleep 60", "OUTPUT_TOO_LARGE", "unknown"),
    ],
)
def test_how_a_program_ends_says_whether_its_effect_may_have_happened(
    tmp_path: Path, script: str, code: str, happened: errors.Happened
) -> None:
    write(tmp_path, f"#!/bin/sh\n{script}\n", "tool").chmod(0o755)
    found = workshop.outcome_of(workshop.project(tmp_path), workshop.task_of(node("tool"), {"x": 2})).failure
    assert found is not None
    assert (found.code, found.happened) == (code, happened)


@pytest.mark.parametrize("begin", [SYNC, ASYNC])
def test_a_handler_may_say_that_its_effect_is_unknown(tmp_path: Path, begin: str) -> None:
    raised = "raise openskelo.AttemptFailed('no answer', code='BANK', happened='unknown')\n"
    found = perform(tmp_path, f"import openskelo\n{begin}{raised}")
    assert failure_of(found) == outcome.Failure(code="BANK", message="no answer", happened="unknown")


def test_what_is_printed_cannot_disturb_the_messages(tmp_path: Path) -> None:
    found = perform(
        tmp_path,
        "import os, sys, subprocess\n"
        + SYNC
        + "print('one')\n    os.write(1, b'two\\n')\n    sys.stdout.write('three\\n')\n"
        "    sys.stdout.flush()\n    subprocess.run(['echo', 'four'])\n    return {'y': sys.stdin.read()}\n",
    )
    assert found.outcome.outputs == {"value": {"y": ""}}
    assert sorted(workshop.log_of(found).split()) == ["four", "one", "three", "two"]


def test_a_changed_file_is_loaded_again(tmp_path: Path) -> None:
    async def scenario() -> list[Json]:
        performer = attempt_performer.Performer(project=workshop.project(tmp_path), blobs=workshop.MemoryBlobs())
        seen: list[Json] = []
        try:
            for begin in (SYNC, ASYNC):
                for value in (1, 2):
                    write(tmp_path, "import sibling\n" + begin + f"return {{'y': [{value}, sibling.VALUE]}}\n")
                    write(tmp_path, f"VALUE = {value}\n", "handlers/sibling.py")
                    found = await performer.perform(workshop.job_of(node(), {"x": 1}))
                    assert found.outcome.outputs is not None
                    seen.append(found.outcome.outputs["value"])
                write(tmp_path, "VALUE = 3\n", "handlers/sibling.py")
                found = await performer.perform(workshop.job_of(node(), {"x": 1}))
                assert found.outcome.outputs is not None
                seen.append(found.outcome.outputs["value"])
        finally:
            await performer.close()
        return seen

    assert asyncio.run(scenario()) == [{"y": [1, 1]}, {"y": [2, 2]}, {"y": [2, 3]}] * 2


def test_two_calls_run_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        "import os, time\n" + SYNC + "open(f'{os.getpid()}.on', 'w').close()\n"
        "    while len([n for n in os.listdir() if n.endswith('.on')]) < 2: time.sleep(0.005)\n    return {'y': 1}\n",
    )

    async def scenario() -> list[attempt_performer.AttemptResult]:
        performer = attempt_performer.Performer(project=workshop.project(tmp_path), blobs=workshop.MemoryBlobs())
        try:
            one = workshop.task_of(node(timeout_ms=10_000), {"x": 1})
            return await asyncio.gather(
                *(performer.perform(running_attempt.RunningAttempt(one, one.inputs)) for _ in range(2))
            )
        finally:
            await performer.close()

    assert [found.outcome.outputs for found in asyncio.run(scenario())] == [{"value": {"y": 1}}] * 2


def test_large_values_go_both_ways(tmp_path: Path) -> None:
    write(tmp_path, SYNC + "return {'y': ctx.inputs['x'][::-1]}\n")
    large = "ab" * 1_000_000
    blobs = workshop.MemoryBlobs()
    one = workshop.task_of(node(), {"x": large})
    found = workshop.outcome_of(workshop.project(tmp_path), one, blobs=blobs)
    assert found.outputs == {"blob": found.output_hash, "bytes": 2_000_008}
    assert list(blobs.kept.values()) == [b'{"y":"' + b"ba" * 1_000_000 + b'"}']


def test_a_worker_that_was_killed_while_idle_is_replaced_without_a_failure(tmp_path: Path) -> None:
    write(tmp_path, "import os\n" + SYNC + "return {'y': os.getpid()}\n")

    async def scenario() -> list[int]:
        performer = attempt_performer.Performer(project=workshop.project(tmp_path), blobs=workshop.MemoryBlobs())
        seen: list[int] = []
        try:
            for _ in range(3):
                found = await performer.perform(workshop.job_of(node(), {"x": 1}))
                assert found.outcome.outputs is not None
                pid = orjson.loads(orjson.dumps(found.outcome.outputs))["value"]["y"]
                seen.append(pid)
                os.kill(pid, signal.SIGKILL)
                # Wait for its very end without reaping it, and without giving the loop a chance to notice.
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 -- as said
        finally:
            await performer.close()
        return seen

    assert len(set(asyncio.run(scenario()))) == 3


@pytest.mark.parametrize(
    "handler",
    [
        "../outside.py",
        "/etc/passwd",
        "handlers/../../outside.py",
        "link.py",
        "linked/outside.py",
        "none.py",
        "handlers",
        "",
        ".skelo/x.py",
        "plain.txt",
        "a\0b.py",
    ],
)
def test_a_handler_outside_the_project_is_never_run(tmp_path: Path, handler: str) -> None:
    project = tmp_path / "project"
    write(project, "", "handlers/x.py")
    write(project, SYNC + "return {'y': 1}\n", ".skelo/x.py")
    write(project, "no program", "plain.txt")
    write(tmp_path, SYNC + "return {'y': 1}\n", "outside.py")
    (project / "link.py").symlink_to(tmp_path / "outside.py")
    (project / "linked").symlink_to(tmp_path)
    found = workshop.outcome_of(workshop.project(project), workshop.task_of(node(handler), {"x": 1}))
    assert found.failure is not None
    assert (found.failure.code, found.failure.retryable) == ("HANDLER_LOAD", False)


def test_a_link_inside_the_project_is_followed(tmp_path: Path) -> None:
    write(tmp_path, SYNC + "return {'y': 1}\n", "real.py")
    (tmp_path / "link.py").symlink_to("real.py")
    found = workshop.outcome_of(workshop.project(tmp_path), workshop.task_of(node("link.py"), {"x": 1}))
    assert found.outputs == {"value": {"y": 1}}


HANG = (
    "import subprocess, time, os\n"
    + SYNC
    + (
        "child = subprocess.Popen(['sleep', '300'])\n    open('pids', 'w').write(f'{os.getpid()} {child.pid}')\n"
        "    time.sleep(300)\n"
    )
)


def pids(root: Path) -> list[int]:
    assert until(lambda: (root / "pids").exists() and len((root / "pids").read_text().split()) == 2)
    return [int(word) for word in (root / "pids").read_text().split()]


EXECUTABLE_HANG = "#!/bin/sh\nsleep 300 &\nprintf '%s %s' $$ $! > pids\nwait\n"


def hanging(root: Path, kind: str, timeout_ms: int | None = None) -> definition.Node:
    if kind == "python":
        write(root, HANG)
        return node(timeout_ms=timeout_ms)
    write(root, EXECUTABLE_HANG, "hang.sh").chmod(0o755)
    return node("hang.sh", timeout_ms)


@pytest.mark.parametrize("kind", ["python", "executable"])
def test_a_timeout_kills_the_process_and_its_children(tmp_path: Path, kind: str) -> None:
    one = workshop.task_of(hanging(tmp_path, kind, timeout_ms=3000), {"x": 1})  # time to write its pids
    found = workshop.outcome_of(workshop.project(tmp_path), one)
    assert found.failure == outcome.Failure(code="TIMEOUT", message="stopped after 3000 ms", happened="unknown")
    assert until(lambda: not any(alive(pid) for pid in pids(tmp_path)))


@pytest.mark.parametrize("timeout_ms", [None, 60_000])
@pytest.mark.parametrize("kind", ["python", "executable"])
def test_cancelling_kills_the_process_and_its_children(tmp_path: Path, kind: str, timeout_ms: int | None) -> None:
    one = workshop.task_of(hanging(tmp_path, kind, timeout_ms=timeout_ms), {"x": 1})

    async def scenario() -> list[int]:
        performer = attempt_performer.Performer(project=workshop.project(tmp_path), blobs=workshop.MemoryBlobs())
        running = asyncio.create_task(performer.perform(running_attempt.RunningAttempt(one, one.inputs)))
        found = await asyncio.to_thread(pids, tmp_path)
        assert [alive(pid) for pid in found] == [True, True]
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await performer.close()
        return found

    found = asyncio.run(scenario())
    assert until(lambda: not any(alive(pid) for pid in found))


@pytest.mark.parametrize("kind", ["python", "executable"])
def test_a_process_and_what_it_started_die_with_an_engine_that_is_killed(tmp_path: Path, kind: str) -> None:
    hanging(tmp_path, kind)
    handler = "handlers/it.py" if kind == "python" else "hang.sh"
    script = (
        "import pathlib, sys\n"
        "from tests.executors import workshop\nfrom tests.executors.handlers import test_project_handler as t\n"
        f"root = pathlib.Path({str(tmp_path)!r})\n"
        f"workshop.perform(workshop.project(root), workshop.task_of(t.node({handler!r}), {{'x': 1}}))\n"
    )
    engine = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[3])
    try:
        process, child = pids(tmp_path)
    finally:
        engine.kill()
        engine.wait()
    assert until(lambda: not any(alive(pid) for pid in (process, child)))


def test_what_a_program_started_dies_with_an_engine_that_is_killed_in_the_moment_it_has_begun(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys\n"
        "from tests.executors import workshop\nfrom tests.executors.handlers import test_project_handler as t\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "workshop.perform(workshop.project(root), workshop.task_of(t.node('hang.sh'), {'x': 1}))\n"
    )
    started: list[int] = []
    for number in range(5):
        root = tmp_path / str(number)
        write(root, EXECUTABLE_HANG.replace("wait", "kill -s KILL $PPID\nwait"), "hang.sh").chmod(0o755)
        engine = subprocess.run([sys.executable, "-c", script, str(root)], cwd=Path(__file__).parents[3], check=False)
        assert engine.returncode == -signal.SIGKILL
        started += pids(root)
    try:
        assert until(lambda: not any(map(alive, started)))
    finally:
        for pid in filter(alive, started):
            os.kill(pid, signal.SIGKILL)


PROGRAM = """#!{python}
import json, os, sys
told = json.load(sys.stdin)
print("to the log", file=sys.stderr)
print(json.dumps({{"y": [told, sorted(os.environ), os.getcwd()]}}))
"""


def test_an_executable_gets_json_and_gives_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret")
    write(tmp_path, PROGRAM.format(python=sys.executable), "bin/tool").chmod(0o755)
    (found,) = workshop.perform(workshop.project(tmp_path), workshop.task_of(node("bin/tool"), {"x": 2}))
    assert found.outcome.outputs is not None
    y = orjson.loads(orjson.dumps(found.outcome.outputs))["value"]["y"]
    assert y[0] == {
        "inputs": {"x": 2},
        "config": {"c": 1},
        "blockId": "it",
        "runId": "3f0e8f0a-0000-4000-8000-000000000001",
        "idempotencyKey": workshop.key("it"),
        "now": "2023-11-14T22:13:20.123Z",
        "attempt": 1,
        "feedback": None,
    }
    assert "SOME_API_KEY" not in y[1]
    assert y[2] == str(tmp_path.resolve())
    assert workshop.log_of(found) == "to the log\n"


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("#!/bin/sh\necho oops >&2\nexit 3\n", "HANDLER_EXITED", "the program ended with exit code 3 (oops)"),
        ("#!/bin/sh\nkill -9 $$\n", "HANDLER_EXITED", "the program ended with signal SIGKILL"),
        ("#!/bin/sh\necho not json\n", "HANDLER_RETURN", "its output is not JSON: not valid JSON"),
        (
            '#!/bin/sh\necho \'{"y": 1, "y": 2}\'\n',
            "DUPLICATE_KEY",
            "its output is not JSON: the key 'y' appears twice",
        ),
        ("#!/bin/sh\necho '[1]'\n", "HANDLER_RETURN", "the handler returned list, not a dict of outputs"),
        ("#!/bin/sh\n", "HANDLER_RETURN", "its output is not JSON: not valid JSON"),
        ("#!/no/such/interpreter\n", "HANDLER_LOAD", "the program cannot be started"),
        ("\0\0\0", "HANDLER_LOAD", "the program cannot be started"),
        ("#!/bin/sh\nyes\n", "OUTPUT_TOO_LARGE", "the program wrote more than 8388608 bytes"),
        ("#!/bin/sh\necho '{\"y\": 1}'\nsleep 300 &\n", "", ""),
    ],
)
def test_an_executable_fails_with_its_code(tmp_path: Path, script: str, code: str, message: str) -> None:
    write(tmp_path, script, "tool").chmod(0o755)
    found = workshop.outcome_of(workshop.project(tmp_path), workshop.task_of(node("tool"), {"x": 2}))
    if not code:
        assert found.outputs == {"value": {"y": 1}}
        return
    assert found.failure is not None
    assert found.failure.code == code
    assert found.failure.message.startswith(message)


@pytest.mark.parametrize("begin", [SYNC, ASYNC])
def test_secrets_are_given_and_never_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: str) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    where = workshop.project(tmp_path, secrets={"KEY": "${env:MY_KEY}", "UNSET": "${env:NOT_SET_AT_ALL}"})
    write(tmp_path, begin + "ctx.log('key is ' + ctx.secret('KEY'))\n    return {'y': len(ctx.secret('KEY'))}\n")
    (found,) = workshop.perform(where, workshop.task_of(node(), {"x": 1}))
    assert found.outcome.outputs == {"value": {"y": 14}}
    assert workshop.log_of(found) == "key is [secret]\n"
    write(tmp_path, begin + "raise ValueError(ctx.secret('KEY'))\n")
    (found,) = workshop.perform(where, workshop.task_of(node(), {"x": 1}))
    assert found.outcome.failure == outcome.Failure(code="HANDLER_RAISED", message="ValueError: [secret]")
    assert "sk-very-secret" not in workshop.log_of(found)
    write(tmp_path, begin + "return {'y': 'Bearer ' + ctx.secret('KEY')}\n")
    (found,) = workshop.perform(where, workshop.task_of(node(), {"x": 1}))
    assert workshop.code_of(found.outcome) == "SECRET_IN_OUTPUT"
    write(tmp_path, begin + "return {'y': ctx.secret('UNSET')}\n")
    (found,) = workshop.perform(where, workshop.task_of(node(), {"x": 1}))
    assert failure_of(found).message.startswith("the environment variable NOT_SET_AT_ALL is not set")


def test_a_worker_of_a_machine_without_a_file_descriptor_left_does_its_call_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptor_wait, "FIRST_PAUSE_SECONDS", 0.001)
    lacking = "if len(lines.read_text()) < 3:\n        raise RuntimeError from OSError(NUMBER, 'no files')\n    "
    counting = "from pathlib import Path\n    lines = Path('lines')\n    lines.open('a').write('x')\n    "
    source = SYNC + counting + lacking + "return {'y': len(lines.read_text())}\n"
    found = perform(tmp_path, source.replace("NUMBER", str(errno.ENFILE)))
    assert (found.outcome.failure, found.outcome.outputs) == (None, {"value": {"y": 3}})
    (tmp_path / "lines").unlink()
    found = perform(tmp_path, source.replace("NUMBER", str(errno.EMFILE)))  # its own descriptors: the handler's failure
    assert (failure_of(found).code, (tmp_path / "lines").read_text()) == ("HANDLER_RAISED", "x")

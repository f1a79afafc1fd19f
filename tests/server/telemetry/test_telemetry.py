"""What a server does beside answering: numbers, traces and its own log."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import re
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import openskelo
from openskelo.providers import scripted
from openskelo.server.telemetry import logs, metrics, traces
from openskelo.stores import api
from openskelo.stores.sqlite import data_dir
from tests.engine import stage

LINE = re.compile(r'[a-z_]+(\{[a-z]+="([^"\\\n]|\\["\\n])*"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\})? -?[0-9.e+-]+')
AI = stage.workflow(
    {
        "id": "draft",
        "mode": "ai",
        "inputs": {"topic": "string"},
        "outputs": {"text": "string"},
        "prompt": "Write about {{ inputs.topic }}",
    },
    {
        "id": "ask",
        "mode": "approval",
        "inputs": {"text": {"type": "string", "from": "draft.text"}},
        "approval": {"prompt": "Fine?"},
    },
)
BROKEN = stage.workflow(stage.block("broken"))


async def broken(ctx: openskelo.Context) -> dict[str, str]:
    raise openskelo.AttemptFailed("no", code="NO_LUCK")


async def finished(engine: openskelo.Engine) -> str:
    """A run that asks a model and a person."""
    run_id = await engine.start(AI, {"topic": "a secret garden"})
    await engine.wait(run_id)
    (asked,) = await engine.store.list_approvals(run_id)
    await engine.answer(asked.approval_id, status="approved")
    assert (await engine.wait(run_id))["ending"] == "ok"
    return run_id


async def opened(root: Path) -> openskelo.Engine:
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    store = data_dir.open_store(root / ".skelo")
    provider = scripted.Scripted({"draft": [{"text": "roses"}] * 9})
    return await openskelo.Engine.open(project, store=store, handlers={"broken": broken}, provider=provider)


def values(text: str) -> dict[str, float]:
    """Every sample of a page that is as it should be."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(LINE.fullmatch(line) for line in lines), lines
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_numbers_of_runs_people_and_the_disk(tmp_path: Path) -> None:
    async def story() -> None:
        async with await opened(tmp_path) as engine:
            await finished(engine)  # before anybody counts
            counts = metrics.Metrics(engine.store)
            async with counts.counting():
                await finished(engine)
                await engine.wait(await engine.start(BROKEN))
                await engine.wait(await engine.start(AI, {"topic": "waits"}))
                found = values(await counts.text())
        assert found['openskelo_runs{ending="ok",status="completed"}'] == 2
        assert found['openskelo_runs{ending="failed",status="failed"}'] == 1
        assert found['openskelo_runs{ending="",status="paused"}'] == 1
        assert found['openskelo_events_total{type="run.created"}'] == 3
        assert found['openskelo_events_total{type="run.ended"}'] == 2
        assert found['openskelo_attempts_failed_total{code="NO_LUCK"}'] == 1
        assert (found["openskelo_approvals_open"], found["openskelo_commands_waiting"]) == (1, 0)
        assert 0 <= found["openskelo_approvals_oldest_seconds"] < 60
        assert found["openskelo_feed_lag"] == 0
        assert found['openskelo_append_seconds_bucket{le="+Inf"}'] == found["openskelo_append_seconds_count"] > 5
        assert 0 < found["openskelo_append_seconds_sum"] < 60

    stage.play(story)


def test_odd_labels_are_escaped() -> None:
    family = metrics.Family(name="a_total", kind="counter", help="h\\\n", samples=(({"code": 'x"\\\ny'}, 1.5),))
    assert (
        metrics.format_text([family])
        == '# HELP a_total h\\\\\\n\n# TYPE a_total counter\na_total{code="x\\"\\\\\\ny"} 1.5\n'
    )


def test_a_histogram_counts_up_to_each_bound() -> None:
    seen = api.Histogram((0.5, 1.0))
    for value in (0.1, 0.5, 0.7, 3.0):
        seen.observe(value)
    samples = [line for line in metrics.format_text([("h", "H.", seen)]).splitlines() if not line.startswith("#")]
    assert samples == [
        'h_bucket{le="0.5"} 2.0',
        'h_bucket{le="1"} 3.0',
        'h_bucket{le="+Inf"} 4.0',
        "h_count 4.0",
        "h_sum 4.3",
    ]


def test_a_server_loads_the_metrics_format_only_when_it_is_asked_for_metrics() -> None:
    program = (
        "import sys; from openskelo.server import app; from openskelo.server.telemetry import metrics\n"
        "print('prometheus_client' in sys.modules, repr(metrics.format_text([])), 'prometheus_client' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False '' True\n"


# -- traces -----------------------------------------------------------------------------------------------------------


class Collector:
    """What an OTLP collector was sent; it refuses the first `refusals` requests."""

    def __init__(self) -> None:
        self.port = 0
        self.refusals = 0
        self.requests: list[bytes] = []

    def spans(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for data in self.requests:
            request = ExportTraceServiceRequest.FromString(data)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    found += [
                        {
                            "name": span.name,
                            "trace": span.trace_id.hex(),
                            "id": span.span_id.hex(),
                            "parent": span.parent_span_id.hex(),
                            "error": span.status.code == 2,
                            "attributes": {
                                one.key: one.value.string_value or one.value.int_value for one in span.attributes
                            },
                        }
                        for span in scope.spans
                    ]
        return found


@contextlib.contextmanager
def collecting() -> Generator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            refused = collector.refusals > 0
            collector.refusals -= refused
            if not refused:
                collector.requests.append(body)
            self.send_response(400 if refused else 200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name that http.server calls
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def until(collector: Collector, count: int) -> None:
    end = time.monotonic() + 100
    while len(collector.requests) < count:
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


@pytest.mark.slow
def test_every_run_that_ends_is_a_trace_also_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    async def story(collector: Collector) -> None:
        endpoint = f"http://127.0.0.1:{collector.port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
        async with await opened(tmp_path) as engine:
            async with traces.tracing(engine.project, engine.store, environment):
                await asyncio.sleep(0.2)
                runs.append(await finished(engine))
                await until(collector, 1)
            runs.append(await finished(engine))  # while nobody sends
            failed = await engine.start(BROKEN)
            await engine.wait(failed)
            runs.append(failed)
            collector.refusals = 1
            async with traces.tracing(engine.project, engine.store, environment):
                await until(collector, 3)

    with collecting() as collector:
        stage.play(lambda: story(collector))
    # Stopped between sending and noting that it was sent, a trace is sent again: with the same ids.
    found = list({(span["trace"], span["id"]): span for span in collector.spans()}.values())
    first = [span for span in found if span["trace"] == runs[0].replace("-", "")]
    root = first[0]
    assert [span["name"] for span in first] == [
        "run staged",
        "node draft",
        "node ask",
        "chat unknown",
        "approval ask",
    ]
    assert (root["parent"], root["error"]) == ("", False)
    assert {span["parent"] for span in first[1:3]} == {root["id"]}
    assert first[3]["parent"] == first[1]["id"]
    wanted = {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.usage.input_tokens"}
    assert wanted <= first[3]["attributes"].keys()
    assert {span["trace"] for span in found} == {run_id.replace("-", "") for run_id in runs}
    assert [span["error"] for span in found if span["trace"] == runs[2].replace("-", "")] == [True, True, True]
    assert not any(b"garden" in data or b"roses" in data for data in collector.requests)


def test_the_same_run_gives_the_same_spans(tmp_path: Path) -> None:
    async def story() -> None:
        async with await opened(tmp_path) as engine:
            run_id = await finished(engine)
            lines = [line async for chunk in engine.store.read_events(run_id) for line in chunk]
        made = traces.run_spans(run_id, lines, {})
        assert made == traces.run_spans(run_id, lines, {})
        assert len({span.id for span in made}) == len(made) == 5
        assert all(made[0].start <= span.start <= span.end <= made[0].end for span in made)

    stage.play(story)


def test_traces_are_off_unless_somebody_says_where_to(tmp_path: Path) -> None:
    async def story() -> None:
        async with await opened(tmp_path) as engine, traces.tracing(engine.project, engine.store, {}):
            await finished(engine)

    stage.play(story)
    assert not (tmp_path / ".skelo" / "traces.lock").exists()


# -- logs -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept_logging() -> Generator[None]:
    """What the process logs where, as it was."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    loggers = [root, *map(logging.getLogger, logs.QUIET)]
    levels = [logger.level for logger in loggers]
    yield
    root.handlers[:] = handlers
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.mark.usefixtures("kept_logging")
def test_the_log_is_json_lines_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2-hunter2")
    stream = io.StringIO()
    logs.configure("json", {"TOKEN": "${env:TOKEN}"}, stream)
    logger = logging.getLogger("openskelo.test")
    logger.warning("said %s \ud800\nand more", "hunter2-hunter2")
    logger.error("broken", exc_info=ValueError("hunter2-hunter2"))
    logger.debug("not said")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert {key: first[key] for key in ("level", "logger", "message")} == {
        "level": "warning",
        "logger": "openskelo.test",
        "message": "said [secret] ?\nand more",
    }
    assert (second["level"], second["message"], second["error"]) == ("error", "broken", "ValueError: [secret]")
    assert "hunter2" not in stream.getvalue()


def fall() -> None:
    raise ValueError("hunter2-hunter2\nand more") from KeyError("first")


@pytest.mark.usefixtures("kept_logging")
def test_an_error_that_another_process_has_logged_is_told_like_one_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2-hunter2")
    stream = io.StringIO()
    logs.configure("json", {"TOKEN": "${env:TOKEN}"}, stream)
    logger = logging.getLogger("openskelo.test")
    with pytest.raises(ValueError, match="and more") as found:
        fall()
    logger.error("broken", exc_info=found.value)
    trace = "".join(traceback.format_exception(found.value)).rstrip("\n")
    told = {"name": logger.name, "levelno": logging.ERROR, "levelname": "ERROR", "msg": "broken", "exc_text": trace}
    logger.handle(logging.makeLogRecord(told))
    here, there = map(json.loads, stream.getvalue().splitlines())
    assert here["error"] == "ValueError: [secret]\nand more"
    assert {**there, "ts": None} == {**here, "ts": None, "traceback": here["traceback"].rstrip("\n")}


@pytest.mark.usefixtures("kept_logging")
def test_requests_that_go_well_are_not_logged() -> None:
    stream = io.StringIO()
    logs.configure("text", {}, stream)
    for name in ("httpx", "httpx2", "httpcore2.http11", "uvicorn.error"):
        logging.getLogger(name).info("HTTP Request: POST")
        logging.getLogger(name).warning("%s is in trouble", name)
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == [
        "httpx",
        "httpx2",
        "httpcore2.http11",
        "uvicorn.error",
    ]


@pytest.mark.usefixtures("kept_logging")
def test_the_log_for_people_hides_secrets_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2-hunter2")
    stream = io.StringIO()
    logs.configure("text", {"TOKEN": "${env:TOKEN}"}, stream)
    logging.getLogger("openskelo.test").warning("said %s", "hunter2-hunter2")
    assert stream.getvalue() == "WARNING openskelo.test said [secret]\n"

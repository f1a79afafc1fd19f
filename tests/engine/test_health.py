"""`openskelo.doctor`: what a run needs here, found out without asking or sending anything."""

from __future__ import annotations

import asyncio
from pathlib import Path

import openskelo
from tests.engine import stage

PARTS = [
    "orjson",
    "rfc8785",
    "yaml",
    "jsonschema_rs",
    "cel_expr_python",
    "re2",
    "httpx",
    "prometheus_client",
    "rich",
    "cryptography",
]
OTHERS = ["data dir", "disk space", "file locks", "durable write", "secrets", "runs", "event files", "write-ahead log"]


def test_every_check_has_its_finding(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("secrets: {KEY: '${env:NO_SUCH_VARIABLE_HERE}'}\n")
    found = asyncio.run(openskelo.doctor(openskelo.project_at(tmp_path)))
    assert [one.name for one in found] == ["python", "sqlite", *PARTS, "project", "provider local", *OTHERS]
    by_name = {one.name: one for one in found}
    assert (by_name["secrets"].state, by_name["secrets"].detail) == ("warn", "without a value: KEY")
    assert {
        one.state for one in found if one.name not in ("secrets", "provider local", "disk space", "durable write")
    } == {"ok"}


def test_event_files_that_are_gone_are_written_beside_a_loop_that_runs(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, work=lambda _: {}) as engine:
            await engine.wait(await engine.start(stage.workflow(stage.block("work"))))
        copy = tmp_path / ".skelo" / "events" / "000000000001.jsonl"
        before = copy.read_bytes()
        copy.unlink()
        found = await openskelo.doctor(engine.project)
        details = {one.name: one.detail for one in found}
        assert (details["event files"], copy.read_bytes()) == ("they hold what the log holds", before)

    stage.play(story)


def test_a_data_dir_that_is_a_file_is_a_finding_and_no_error(tmp_path: Path) -> None:
    (tmp_path / ".skelo").write_text("no folder")
    found = asyncio.run(openskelo.doctor(openskelo.project_at(tmp_path, data_dir=tmp_path / ".skelo")))
    assert [one.name for one in found if one.state == "fail"] == ["data dir"]


def test_a_log_that_others_can_read_is_a_finding(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, work=lambda _: {}) as engine:
            await engine.wait(await engine.start(stage.workflow(stage.block("work"))))
        data_dir = tmp_path / ".skelo"
        states: list[str] = []
        for folder, file in ((0o700, 0o600), (0o755, 0o600), (0o700, 0o644), (0o750, 0o640), (0o701, 0o644)):
            data_dir.chmod(folder)
            (data_dir / "log.db").chmod(file)
            found = next(one for one in await openskelo.doctor(engine.project) if one.name == "data dir")
            states.append(found.state)
        assert states == ["ok", "ok", "ok", "warn", "warn"]
        assert (found.detail, found.hint) == (
            f"{data_dir} (version 5) can be read by others",
            f"chmod -R go= {data_dir}, unless they may see the values of its runs",
        )

    stage.play(story)

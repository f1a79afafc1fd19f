"""`openskelo.doctor`: what a run needs here, found out without asking or sending anything."""

from __future__ import annotations

import asyncio
from pathlib import Path

import openskelo
from tests.engine import stage

PARTS = ["orjson", "rfc8785", "yaml", "jsonschema_rs", "cel_expr_python", "re2", "httpx", "rich", "cryptography"]
OTHERS = ["data dir", "disk space", "file locks", "durable write", "secrets", "runs", "events.jsonl"]


def test_every_check_has_its_finding(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("secrets: {KEY: '${env:NO_SUCH_VARIABLE_HERE}'}\n")
    found = asyncio.run(openskelo.doctor(openskelo.project_at(tmp_path)))
    assert [one.name for one in found] == ["python", "sqlite", *PARTS, "project", "provider local", *OTHERS]
    by_name = {one.name: one for one in found}
    assert (by_name["secrets"].state, by_name["secrets"].detail) == ("warn", "without a value: KEY")
    assert {
        one.state for one in found if one.name not in ("secrets", "provider local", "disk space", "durable write")
    } == {"ok"}


def test_the_files_of_ended_runs_that_are_gone_are_written_beside_a_loop_that_runs(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, work=lambda _: {}) as engine:
            run_id = await engine.start(stage.workflow(stage.block("work")))
            await engine.wait(run_id)
        copy = tmp_path / ".skelo" / "runs" / run_id / "events.jsonl"
        before = copy.read_bytes()
        copy.unlink()
        found = await openskelo.doctor(engine.project)
        assert (found[-1].detail, copy.read_bytes()) == ("1 were missing and have been written", before)

    stage.play(story)


def test_a_data_dir_that_is_a_file_is_a_finding_and_no_error(tmp_path: Path) -> None:
    (tmp_path / ".skelo").write_text("no folder")
    found = asyncio.run(openskelo.doctor(openskelo.project_at(tmp_path, data_dir=tmp_path / ".skelo")))
    assert [one.name for one in found if one.state == "fail"] == ["data dir"]

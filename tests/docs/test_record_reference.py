"""The reference of records is true: events and receipts field by field, and the chain by a program from the page."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

import openskelo
from openskelo import structs
from openskelo.kernel import events
from openskelo.kernel.json import JsonObject
from openskelo.record import receipts
from tests.docs import page
from tests.server import house


def _wire(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


@pytest.mark.parametrize("name", events.TYPES)
def test_event_page_lists_the_fields_of_a_type(name: str) -> None:
    fields = [field for field in structs.fields(events.TYPES[name]) if field.name != "at"]
    section = page.sections(page.text("events.md"))[name]
    marked = re.findall(r"^\| `(\w+)` \| [^|]* \? \|", section, flags=re.MULTILINE)
    assert page.rows(section) == [_wire(field.name) for field in fields]
    assert marked == [_wire(field.name) for field in fields if not field.required and field.default is None]


def test_event_page_has_no_other_types() -> None:
    assert set(page.sections(page.text("events.md"))) == {"Events", *events.TYPES}


def test_receipt_page_lists_every_field(tmp_path: Path) -> None:
    section = page.sections(page.text("receipts.md"))["Receipts"]
    receipt = asyncio.run(_receipt(tmp_path))
    assert {*page.rows(section)} == {*receipt, "item", "agent"}
    metrics = receipt["metrics"]
    assert isinstance(metrics, dict)
    assert len(metrics) > 2
    assert all(f"`{name}`" in section for name in metrics)


async def _receipt(folder: Path) -> JsonObject:
    (receipt,) = receipts.collect((await _recorded(folder)).read_bytes().splitlines())
    return receipt


async def _recorded(folder: Path) -> Path:
    """The events.jsonl of a small run, with numbers and texts that canonical JSON is particular about."""
    document = {
        "name": "odd",
        "blocks": [
            {
                "id": "odd",
                "mode": "deterministic",
                "inputs": {"x": "json"},
                "outputs": {"x": "json"},
                "deterministic": {"handler": "builtin:pass"},
            }
        ],
    }
    project = openskelo.project_at(folder, data_dir=folder / "data")
    async with await openskelo.Engine.open(project) as engine:
        run_id = await engine.start(
            openskelo.from_document(document), {"x": [1e-7, 0.1, "ü\u2028\n", {"é": 1, "z": 2}]}
        )
        assert (await engine.wait(run_id))["ending"] == "ok"
    return folder / "data" / "events" / "000000000001.jsonl"


def _check(program: Path, record: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, program, record], capture_output=True, text=True, check=False, timeout=60)


def test_program_on_the_page_accepts_a_record_and_finds_a_changed_byte(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```python\n(.*?)^```", page.text("data-dir.md"), flags=re.MULTILINE | re.DOTALL)
    program = tmp_path / "check.py"
    program.write_text(text, "utf-8")
    record = asyncio.run(_recorded(tmp_path))
    last = record.read_bytes().splitlines()[-1]
    accepted = _check(program, record)
    assert (accepted.returncode, accepted.stderr) == (0, "")
    assert f'"hash":"{accepted.stdout.strip()}"'.encode() in last
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(record.read_bytes().replace(b'"odd"', b'"0dd"', 1))
    assert _check(program, changed).returncode == 1


def test_page_names_everything_that_a_server_leaves_in_its_data_dir(tmp_path: Path) -> None:
    with house.open_house(tmp_path, roles={"ann": "operator"}) as served, served.client() as client:
        run_id = house.start(client, "each.yaml", words=["x" * 1_100_000])["id"]
        house.until(client, run_id, lambda found: found["status"] == "completed")
        served.run(served.engine.export(run_id, tmp_path / "run.jsonl", sign=True))
        left = {path.name for path in (tmp_path / ".skelo").iterdir()}
    assert left > {"log.db", "runs", "blobs", "keys", "drivers", "tokens.json", "session.key"}
    table = page.sections(page.text("data-dir.md"))["The data dir"]
    assert left - {name.partition("/")[0] for name in re.findall(r"`([^`]+)`", table)} == set()

"""Folders of artifacts that are complete, and everything that is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from openskelo import errors
from openskelo.checks import artifacts
from tests.checks.artifacts import FILES, artifact, save, step, write

ALWAYS = ["request_snapshot.json", "source_bundle/", "validation_logs.txt"]


def test_a_folder_with_everything_is_complete(tmp_path: Path) -> None:
    write(tmp_path, [step()])
    assert artifacts.check(tmp_path).document() == {
        "ok": True,
        "artifacts": 8,
        "required": ALWAYS,
        "missing": [],
        "broken": [],
    }


@pytest.mark.parametrize(
    ("steps", "required"),
    [
        ([step()], []),
        ([step(level="SUGGEST", outcome="failed")], []),
        ([step("schema-infer")], ["inferred_schema.json", "trace_map.json"]),
        ([step("schema-build")], ["trace_map.json"]),
        ([step(level="IMPLEMENT")], ["allowlist.json", "diff.patch"]),
        ([step(level="COMMIT")], ["allowlist.json", "diff.patch"]),
        ([step(outcome="escalated")], ["escalation_report.md"]),
        (
            [step("schema-build"), step("code-fix", "IMPLEMENT", "escalated")],
            ["trace_map.json", "allowlist.json", "diff.patch", "escalation_report.md"],
        ),
    ],
)
def test_each_step_requires_what_the_table_says(
    tmp_path: Path, steps: list[dict[str, str]], required: list[str]
) -> None:
    write(tmp_path, steps)
    report = artifacts.check(tmp_path)
    assert (report.ok, report.required) == (True, (*ALWAYS, *required))
    for name in report.required:
        write(tmp_path, steps, name, f"{name}node.ts")
        without = artifacts.check(tmp_path)
        assert (without.ok, [missing.name for missing in without.missing]) == (False, [name])


@pytest.mark.parametrize("name", FILES)
def test_every_changed_or_deleted_artifact_is_found(tmp_path: Path, name: str) -> None:
    write(tmp_path, [step()])
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(bytes([data[0] ^ 1]) + data[1:])
    assert artifacts.check(tmp_path).broken == (artifacts.Broken(name=name, why="it has another hash"),)
    (tmp_path / name).unlink()
    assert artifacts.check(tmp_path).broken == (
        artifacts.Broken(name=name, why="it cannot be read: No such file or directory"),
    )


@pytest.mark.parametrize(("allowed", "broken"), [(False, ["validation_logs.txt: it is empty"]), (True, [])])
def test_an_empty_artifact_has_to_be_allowed(tmp_path: Path, allowed: bool, broken: list[str]) -> None:
    write(tmp_path, [step()])
    (tmp_path / "validation_logs.txt").write_text("")
    changed = {**FILES, "validation_logs.txt": ""}
    save(tmp_path, [step()], [artifact(name, text, empty_allowed=allowed) for name, text in changed.items()])
    assert list(artifacts.check(tmp_path).reasons()) == broken


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../outside.txt", "it has an empty part, or a part `.` or `..`"),
        ("/etc/hosts", "it is no relative path"),
        (".git/config", "it is in `.git`"),
        ("link", "it leads out of the folder"),
        ("loop", "it cannot be read: Too many levels of symbolic links"),
        ("source_bundle", "it cannot be read: Is a directory"),
        ("diff.patch", "it is named twice"),
    ],
)
def test_an_artifact_that_is_no_file_of_the_folder_is_broken(tmp_path: Path, name: str, why: str) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    write(folder, [step()])
    (tmp_path / "outside.txt").write_text("x")
    (folder / "link").symlink_to("../outside.txt")
    (folder / "loop").symlink_to("loop")
    listed = [artifact(known, text) for known, text in FILES.items()]
    save(folder, [step()], [*listed, artifact(name, "x" if name != "diff.patch" else "diff\n")])
    assert artifacts.check(folder).broken == (artifacts.Broken(name=name, why=why),)


def test_without_a_manifest_nothing_is_proven(tmp_path: Path) -> None:
    write(tmp_path, [step()])
    (tmp_path / "manifest.json").unlink()
    report = artifacts.check(tmp_path)
    assert (report.ok, list(report.reasons())) == (False, ["manifest.json: missing, required by every run"])


CHANGES: list[Callable[[dict[str, Any]], object]] = [
    lambda it: it.pop("steps"),
    lambda it: it.pop("artifacts"),
    lambda it: it.pop("correlation_id"),
    lambda it: it.update(extra=1),
    lambda it: it.update(steps=[]),
    lambda it: it["steps"][0].update(autonomy_level="read"),
    lambda it: it["steps"][0].update(outcome="ok"),
    lambda it: it["steps"][0].update(skill="Schema-Infer"),
    lambda it: it["steps"][0].update(skill="schema-infer "),
    lambda it: it["steps"][0].pop("autonomy_level"),
    lambda it: it["artifacts"][0].update(sha256=it["artifacts"][0]["sha256"].upper()),
    lambda it: it["artifacts"][0].update(empty_allowed="no"),
    lambda it: it["artifacts"][0].pop("sha256"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_manifest_that_says_something_else_does_not_pass(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    write(tmp_path, [step()])
    document = orjson.loads((tmp_path / "manifest.json").read_bytes())
    assert artifacts.check(tmp_path).ok
    change(document)
    (tmp_path / "manifest.json").write_bytes(orjson.dumps(document))
    assert not artifacts.check(tmp_path).ok


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\0", b"\xff", b'{"steps": [], "steps": []}'])
def test_a_manifest_that_cannot_be_read_is_broken(tmp_path: Path, data: bytes) -> None:
    write(tmp_path, [step()])
    (tmp_path / "manifest.json").write_bytes(data)
    report = artifacts.check(tmp_path)
    assert (report.ok, [broken.name for broken in report.broken]) == (False, ["manifest.json"])


@pytest.mark.parametrize("name", ["gone", "file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.NotFound) as refused:
        artifacts.check(tmp_path / name)
    assert refused.value.code == "PATH_NOT_FOUND"

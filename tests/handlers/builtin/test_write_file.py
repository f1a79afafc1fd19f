"""`builtin:write-file`: its config, its paths, its five codes, and what a crash leaves behind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.structs import replace
from tests.executors import workshop


def writer(**config: Json) -> definition.Node:
    return definition.Node(
        key="publish",
        mode="deterministic",
        handler="builtin:write-file",
        inputs=(workshop.port("text", required=False), workshop.port("where", required=False)),
        outputs=(
            workshop.port("file_path", "string"),
            workshop.port("bytes_written", "number"),
            workshop.port("save_summary", "string"),
        ),
        config={"content_from": "text", **config},
    )


def write(where: Project, inputs: JsonObject, **config: Json) -> outcome.Outcome:
    return visit(where, 1, inputs, **config)


def visit(where: Project, number: int, inputs: JsonObject, **config: Json) -> outcome.Outcome:
    return workshop.outcome_of(where, workshop.task_of(writer(**config), inputs, visit=number))


def listing(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_it_writes_under_the_template_with_the_recorded_time(tmp_path: Path) -> None:
    where = workshop.project(tmp_path)
    template = "out/content-{timestamp}-{block_id}-{index}.md"
    found = write(where, {"text": "grüße"}, default_path_template=template)
    path = where.root / "out" / "content-20231114-221320-publish-0.md"
    assert found.outputs == {
        "value": {"file_path": str(path), "bytes_written": 7, "save_summary": f"Saved 7 bytes to {path}"}
    }
    assert path.read_text() == "grüße"
    assert listing(path.parent) == [path.name]


def test_the_timestamp_format_is_obeyed(tmp_path: Path) -> None:
    write(
        workshop.project(tmp_path),
        {"text": "x"},
        default_path_template="{timestamp}.txt",
        timestamp_format="YYYY-MM-DD at HH.mm.ss,SSS",
    )
    assert (tmp_path / "2023-11-14 at 22.13.20,123.txt").read_text() == "x"


def test_an_author_may_write_outside_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    outside = tmp_path / "outside" / "file.txt"
    found = write(workshop.project(project), {"text": "x"}, default_path_template=str(outside))
    assert found.failure is None
    assert outside.read_text() == "x"


def test_home_and_run_id_may_be_part_of_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(workshop.project(tmp_path), {"text": "x"}, default_path_template="{home}/{run_id}.txt")
    assert listing(tmp_path / "home") == ["3f0e8f0a-0000-4000-8000-000000000001.txt"]


def test_other_json_is_written_indented(tmp_path: Path) -> None:
    write(workshop.project(tmp_path), {"text": {"b": [1], "a": None}}, default_path_template="x.json")
    assert (tmp_path / "x.json").read_text() == '{\n  "a": null,\n  "b": [\n    1\n  ]\n}\n'


def test_only_declared_outputs_are_given(tmp_path: Path) -> None:
    node = replace(writer(default_path_template="x.txt"), outputs=(workshop.port("bytes_written", "integer"),))
    found = workshop.outcome_of(workshop.project(tmp_path), workshop.task_of(node, {"text": "abc"}))
    assert found.outputs == {"value": {"bytes_written": 3}}


def test_a_path_from_data_wins_over_the_template_and_an_unset_one_does_not(tmp_path: Path) -> None:
    where = workshop.project(tmp_path)
    for inputs in ({"text": "a", "where": "out/deep/data.txt"}, {"text": "b"}, {"text": "c", "where": ""}):
        write(where, inputs, path_from="where", default_path_template="template.txt", overwrite=True)
    assert (tmp_path / "out" / "deep" / "data.txt").read_text() == "a"
    assert (tmp_path / "template.txt").read_text() == "c"


@pytest.mark.parametrize(
    "path",
    [
        "../out.txt",
        "/etc/out.txt",
        "out/link/out.txt",
        "out/linked.txt",
        ".skelo/out.txt",
        "skelo.yaml",
        "flow.yaml",
        "handlers/x.py",
        "sitecustomize.py",
        "out/../sitecustomize.py",
        "out/code/x.py",
        ".git/hooks/x",
        "out/repo/.git/hooks/pre-commit",
        "out/repo/.git",
        "out/repo/.GIT/config",
        "out/sub/skelo.yaml",
        "out/sub/.skelo/log.db",
        "out",
        "a\0b",
        ".",
    ],
)
def test_a_path_from_data_stays_inside_the_write_roots(tmp_path: Path, path: str) -> None:
    project = tmp_path / "project"
    (project / "out").mkdir(parents=True)
    (project / "handlers").mkdir()
    (project / "out" / "link").symlink_to(tmp_path)
    (project / "out" / "linked.txt").symlink_to(tmp_path / "out.txt")
    (project / "out" / "code").symlink_to(project / "handlers")
    found = write(workshop.project(project), {"text": "x", "where": path}, path_from="where", overwrite=True)
    assert workshop.code_of(found) == "DET_PATH_INVALID"
    assert (listing(tmp_path), listing(project), listing(project / "handlers")) == (
        ["project"],
        ["handlers", "out"],
        [],
    )


def test_the_projects_runs_are_out_of_reach_when_others_are_kept_elsewhere(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".skelo").mkdir(parents=True)
    (project / ".skelo" / "log.db").write_text("kept")
    elsewhere = replace(workshop.project(project), data_dir=tmp_path / "elsewhere")
    found = write(elsewhere, {"text": "x", "where": ".skelo/log.db"}, path_from="where", overwrite=True)
    assert workshop.code_of(found) == "DET_PATH_INVALID"
    assert (project / ".skelo" / "log.db").read_text() == "kept"


def test_where_the_project_itself_is_does_not_matter(tmp_path: Path) -> None:
    project = tmp_path / ".skelo" / ".git"
    project.mkdir(parents=True)
    found = write(workshop.project(project), {"text": "x", "where": "out/a/.gitignore"}, path_from="where")
    assert found.failure is None
    assert (project / "out" / "a" / ".gitignore").read_text() == "x"


def test_a_root_that_holds_the_project_is_refused_when_a_path_from_data_is_written(tmp_path: Path) -> None:
    project = tmp_path.resolve() / "project"
    project.mkdir()
    for root in (project, tmp_path.resolve()):
        found = write(workshop.project(project, write_roots=(root,)), {"text": "x", "where": "x.py"}, path_from="where")
        assert found.failure is not None
        assert (found.failure.code, "it holds the project itself" in found.failure.message) == (
            "DET_PATH_INVALID",
            True,
        )
    assert listing(project) == []


def test_declared_write_roots_replace_the_project_as_the_allowed_place(tmp_path: Path) -> None:
    project, allowed = tmp_path.resolve() / "project", tmp_path.resolve() / "allowed"
    project.mkdir()
    allowed.mkdir()
    where = workshop.project(project, write_roots=(allowed,))
    inside = write(where, {"text": "x", "where": str(allowed / "sub" / "ok.txt")}, path_from="where")
    outside = write(where, {"text": "x", "where": "no.txt"}, path_from="where")
    assert (inside.failure, workshop.code_of(outside)) == (None, "DET_PATH_INVALID")
    assert (allowed / "sub" / "ok.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("inputs", "config", "code"),
    [
        ({"text": "x"}, {}, "DET_PATH_INVALID"),
        ({"text": "x", "where": 3}, {"path_from": "where"}, "DET_PATH_INVALID"),
        ({"text": "x", "where": "out/" + "a" * 300}, {"path_from": "where"}, "DET_WRITE_FAILED"),
        ({"text": "x"}, {"default_path_template": "folder"}, "DET_PATH_INVALID"),
        ({"text": "x"}, {"default_path_template": "file/x.txt"}, "DET_PATH_INVALID"),
        ({"text": "x"}, {"default_path_template": "none/x.txt", "mkdir": False}, "DET_PATH_INVALID"),
        ({"text": "x", "where": "out/none/x.txt"}, {"path_from": "where", "mkdir": False}, "DET_PATH_INVALID"),
        ({}, {"default_path_template": "x.txt"}, "DET_CONTENT_MISSING"),
        ({"text": None}, {"default_path_template": "x.txt"}, "DET_CONTENT_MISSING"),
        ({"text": ""}, {"default_path_template": "x.txt"}, "DET_CONTENT_MISSING"),
        ({"text": "x"}, {"default_path_template": "file"}, "DET_OVERWRITE_BLOCKED"),
        ({"text": "x", "where": "out/file"}, {"path_from": "where"}, "DET_OVERWRITE_BLOCKED"),
        ({"text": "x"}, {"default_path_template": "n" * 300}, "DET_WRITE_FAILED"),
        ({"text": "x"}, {"default_path_template": "/proc/nothing/here.txt"}, "DET_PATH_INVALID"),
        ({"text": "x"}, {"default_path_template": "{nonsense}.txt"}, "DET_CONFIG_INVALID"),
        ({"text": "x"}, {"default_path_template": "x.txt", "overwirte": True}, "DET_CONFIG_INVALID"),
        ({"text": "x"}, {"default_path_template": "x.txt", "mkdir": "yes"}, "DET_CONFIG_INVALID"),
    ],
)
def test_every_way_to_fail_has_its_code(
    tmp_path: Path, inputs: dict[str, Json], config: dict[str, Json], code: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "out").mkdir()
    for file in (tmp_path / "file", tmp_path / "out" / "file"):
        file.write_text("mine")
    found = write(workshop.project(tmp_path), inputs, **config)
    assert workshop.code_of(found) == code
    assert found.failure is not None
    assert found.failure.retryable is (code == "DET_WRITE_FAILED")  # the rest would fail in the same way again
    assert (tmp_path / "file").read_text() == "mine"


def test_without_content_from_the_config_is_invalid(tmp_path: Path) -> None:
    node = replace(writer(), config={"default_path_template": "x.txt"})
    found = workshop.outcome_of(workshop.project(tmp_path), workshop.task_of(node, {"text": "x"}))
    assert workshop.code_of(found) == "DET_CONFIG_INVALID"


def test_a_file_that_cannot_be_written_is_a_write_failure(tmp_path: Path) -> None:
    # A folder that cannot be written even by root: the file system of the kernel's process table.
    found = write(workshop.project(tmp_path), {"text": "x"}, default_path_template="/proc/self/x.txt", mkdir=False)
    assert workshop.code_of(found) == "DET_WRITE_FAILED"


def test_overwrite_replaces_whole_and_keeps_the_mode(tmp_path: Path) -> None:
    target = tmp_path / "x.sh"
    target.write_text("old and longer")
    target.chmod(0o750)
    found = write(workshop.project(tmp_path), {"text": "new"}, default_path_template="x.sh", overwrite=True)
    assert found.failure is None
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o750)
    assert listing(tmp_path) == ["x.sh"]


def test_a_retry_of_the_same_visit_finds_its_own_file_done(tmp_path: Path) -> None:
    where = workshop.project(tmp_path)
    first = write(where, {"text": "x"}, default_path_template="x.txt")
    before = (tmp_path / "x.txt").stat()
    again = write(where, {"text": "x"}, default_path_template="x.txt")
    assert first.outputs is not None
    assert again.outputs == first.outputs
    assert (tmp_path / "x.txt").stat().st_mtime_ns == before.st_mtime_ns


def test_equal_bytes_of_somebody_else_still_block(tmp_path: Path) -> None:
    where = workshop.project(tmp_path)
    (tmp_path / "x.txt").write_text("x")
    for _ in range(2):  # a blocked attempt must not make the next one believe that the file is its own
        assert workshop.code_of(write(where, {"text": "x"}, default_path_template="x.txt")) == "DET_OVERWRITE_BLOCKED"


def test_another_visit_is_blocked_by_the_first_ones_file(tmp_path: Path) -> None:
    where = workshop.project(tmp_path)
    assert write(where, {"text": "x"}, default_path_template="x.txt").failure is None
    found = visit(where, 2, {"text": "x"}, default_path_template="x.txt")
    assert workshop.code_of(found) == "DET_OVERWRITE_BLOCKED"


def test_a_changed_file_is_not_taken_for_ours(tmp_path: Path) -> None:
    where = workshop.project(tmp_path)
    write(where, {"text": "x"}, default_path_template="x.txt")
    (tmp_path / "x.txt").write_text("edited by a person")
    assert workshop.code_of(write(where, {"text": "x"}, default_path_template="x.txt")) == "DET_OVERWRITE_BLOCKED"
    assert (tmp_path / "x.txt").read_text() == "edited by a person"


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("call", ["link", "replace", "fsync", "write", "unlink"])
def test_a_crash_at_any_call_is_healed_by_the_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, overwrite: bool
) -> None:
    """The process dies instead of (or right after) each system call in turn; then the same visit is tried again."""
    where = workshop.project(tmp_path)
    for before in (True, False):
        for turn in range(4):
            name, number = f"{call}-{before}-{turn}.txt", 10 * before + turn
            pid = os.fork()
            if pid == 0:
                _die_at(monkeypatch, call, turn, before)
                visit(where, number, {"text": "whole"}, default_path_template=name, overwrite=overwrite)
                os._exit(0)
            os.waitpid(pid, 0)
            assert not (tmp_path / name).exists() or (tmp_path / name).read_text() == "whole"
            found = visit(where, number, {"text": "whole"}, default_path_template=name, overwrite=overwrite)
            assert found.failure is None
            assert (tmp_path / name).read_text() == "whole"
    assert [name for name in listing(tmp_path) if name.startswith(".skelo-")] == []


def _die_at(monkeypatch: pytest.MonkeyPatch, call: str, turn: int, before: bool) -> None:
    real, count = getattr(os, call), iter(range(1000))

    def dying(*args: object, **named: object) -> object:
        last = next(count) == turn
        if last and before:
            os._exit(9)
        result = real(*args, **named)
        if last:
            os._exit(9)
        return result

    monkeypatch.setattr(os, call, dying)

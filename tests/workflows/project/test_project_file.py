"""The project around a workflow: where its root is, and what its file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo import errors
from openskelo.workflows import load
from openskelo.workflows.project import project_file
from tests.workflows import marking

WHOLE = """\
name: blog
data_dir: .data
write_roots: [out, /tmp/blog]
read_roots: texts
allow: {commands: true, private_addresses: true}
secrets: {TOKEN: "${env:BLOG_TOKEN}"}
"""


def test_the_root_is_the_nearest_folder_with_a_project_file(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "skelo.yaml").touch()
    assert project_file.find_root(inner / "flow.yaml") == tmp_path
    (tmp_path / "a" / ".skelo").mkdir()
    assert project_file.find_root(inner / "flow.yaml") == tmp_path / "a"
    assert project_file.find_root(inner) == tmp_path / "a"


def test_without_a_project_file_the_root_is_the_files_folder(tmp_path: Path) -> None:
    assert project_file.find_root(tmp_path / "flow.yaml") == tmp_path
    assert project_file.load(tmp_path) == project_file.ProjectFile()


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "~\n", "{}\n"])
def test_an_empty_project_file_marks_the_root(text: str, tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text(text)
    assert project_file.check(tmp_path) == (project_file.ProjectFile(), ())


def test_everything_in_the_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text(WHOLE)
    assert project_file.load(tmp_path) == project_file.ProjectFile(
        name="blog",
        data_dir=".data",
        write_roots=("out", "/tmp/blog"),
        read_roots=("texts",),
        allow_commands=True,
        allow_private_addresses=True,
        secrets={"TOKEN": "${env:BLOG_TOKEN}"},
    )


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ("UNKNOWN_KEY", "‸write_root: [a]\n"),
        ("UNKNOWN_KEY", "allow: {‸comands: true}\n"),
        ("TYPE", "allow: {commands: ‸yes}\n"),
        ("TYPE", "write_roots: ‸{a: b}\n"),
        ("SECRET_INVALID", "secrets: {TOKEN: ‸hunter2}\n"),
        ("NAME_INVALID", "secrets: {‸'a b': x}\n"),
        ("TYPE", "‸- a\n"),
        ("DUPLICATE_KEY", "name: a\n‸name: b\n"),
    ],
)
def test_a_mistake_in_the_file_is_found_at_its_place(codes: str, text: str, tmp_path: Path) -> None:
    clean, wanted = marking.expected(codes, text)
    (tmp_path / "skelo.yaml").write_text(clean)
    assert marking.errors(project_file.check(tmp_path)[1]) == wanted
    with pytest.raises(errors.InvalidWorkflow):
        project_file.load(tmp_path)
    assert marking.errors(marking.check("blocks: [{id: a}]\n", tmp_path)) == wanted


def test_a_secret_written_into_the_file_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("secrets: {TOKEN: hunter2}\n")
    assert "hunter2" not in str(project_file.check(tmp_path))


def test_commands_run_where_the_project_allows_them(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("allow: {commands: true}\n")
    flow = "blocks: [{id: a, post_gates: [{type: command, argv: [make, check], timeout_ms: 5, expect_exit: 1}]}]\n"
    assert marking.check(flow, tmp_path) == ()
    (gate,) = load.load(tmp_path / "flow.yaml").nodes["a"].post_gates
    assert gate.params == {"argv": ["make", "check"], "timeout_ms": 5, "expect_exit": 1}


def _flow(handler: str) -> str:
    return f"blocks: [{{id: a, mode: deterministic, deterministic: {{handler: '{handler}'}}}}]\n"


def test_handlers_are_files_of_the_project(tmp_path: Path) -> None:
    folder = tmp_path / "handlers"
    folder.mkdir()
    (folder / "slug.py").write_text("def handler(ctx): ...\ndef make(ctx): ...\n")
    (folder / "run").touch(mode=0o755)
    (folder / "plain").touch(mode=0o644)
    (folder / "out.py").symlink_to("/etc/hosts")
    found = {
        name: [one.code for one in marking.check(_flow(name), tmp_path)]
        for name in ("handlers/slug.py", "handlers/slug.py:make", "handlers/run", "handlers/plain", "handlers/out.py")
    }
    assert found == {
        "handlers/slug.py": [],
        "handlers/slug.py:make": [],
        "handlers/run": [],
        "handlers/plain": ["HANDLER_NOT_EXECUTABLE"],
        "handlers/out.py": ["HANDLER_OUTSIDE"],
    }


def test_a_misspelt_handler_file_has_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers" / "slug.py").touch()
    (found,) = marking.check(_flow("handlers/slg.py"), tmp_path)
    assert found.hint == "did you mean 'handlers/slug.py'?"

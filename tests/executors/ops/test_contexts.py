"""Contexts: what each resolver gives, and that nothing else can be read through one."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.executors.ops import contexts
from openskelo.handlers import project_registry
from openskelo.kernel.json import Json
from openskelo.stores import memory
from tests.executors import workshop
from tests.executors.ops import bench


def resolve(root: Path, context: project_registry.Context | None, name: str = "ctx:it") -> Json:
    known = {} if context is None else {context.name: context}
    where = workshop.project(root, registry=project_registry.Registry(contexts=known))
    return asyncio.run(contexts.resolve(where, memory.MemoryStore(), name))


def failure(root: Path, context: project_registry.Context | None, name: str = "ctx:it") -> errors.InvalidInput:
    with pytest.raises(errors.InvalidInput) as raised:
        resolve(root, context, name)
    return raised.value


def file(source: str, max_bytes: int = 1000) -> project_registry.Context:
    return project_registry.Context(name="it", kind="file", source=source, max_bytes=max_bytes)


def test_a_text_is_itself(tmp_path: Path) -> None:
    assert resolve(tmp_path, project_registry.Context(name="ctx:it", kind="text", source="häll\n")) == "häll\n"


def test_a_name_without_a_kind_serves_both(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hi")
    assert (resolve(tmp_path, file("a.txt")), resolve(tmp_path, file("a.txt"), "snap:it")) == ("hi", "hi")
    only = project_registry.Context(name="snap:it", kind="text", source="x")
    assert failure(tmp_path, only).code == "CONTEXT_UNKNOWN"


def test_a_json_file_is_its_value(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n": 1.0}')
    assert resolve(tmp_path, file("a.json")) == {"n": 1}
    (tmp_path / "a.json").write_text('{"n": ')
    assert failure(tmp_path, file("a.json")).code == "CONTEXT_FAILED"


@pytest.mark.parametrize("source", ["../up.txt", "/etc/hostname", "gone.txt", "folder", "link", "pipe", "skelo.yaml"])
def test_only_files_of_the_project_are_read(tmp_path: Path, source: str) -> None:
    root = tmp_path / "project"
    (root / "folder").mkdir(parents=True)
    (tmp_path / "up.txt").write_text("out of bounds")
    (root / "link").symlink_to(tmp_path / "up.txt")
    (root / "skelo.yaml").write_text("")
    os.mkfifo(root / "pipe")
    assert failure(root, file(source)).code == "CONTEXT_FAILED"


def test_size_and_encoding_are_checked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"12345")
    assert resolve(tmp_path, file("a.txt", max_bytes=5)) == "12345"
    large = failure(tmp_path, file("a.txt", max_bytes=4))
    assert (large.code, large.message, large.hint) == (
        "CONTEXT_FAILED",
        "ctx:it: it has more than 4 bytes",
        "raise its `max_bytes`",
    )
    (tmp_path / "b.txt").write_bytes(b"\xff")
    assert failure(tmp_path, file("b.txt")).message == "ctx:it: it is not UTF-8 text (at byte 0)"


def test_a_diff_is_of_what_is_not_committed_or_of_a_range(tmp_path: Path) -> None:
    bench.repository(tmp_path / "code", file="one\n", other="x\n")
    (tmp_path / "code" / "file").write_text("two\n")
    (tmp_path / "code" / "other").write_text("y\n")
    now = resolve(
        tmp_path, project_registry.Context(name="it", kind="git_diff", source="", repo="code", paths=("file",))
    )
    assert isinstance(now, str)
    assert (now.splitlines()[-2:], "other" in now) == (["-one", "+two"], False)
    bench.git(tmp_path / "code", "commit", "-q", "-a", "-m", "second")
    assert resolve(tmp_path, project_registry.Context(name="it", kind="git_diff", source="", repo="code")) == ""
    ranged = resolve(tmp_path, project_registry.Context(name="it", kind="git_diff", source="HEAD~1..HEAD", repo="code"))
    assert isinstance(ranged, str)
    assert {"-one", "+two", "-x", "+y"} <= set(ranged.splitlines())


@pytest.mark.parametrize(
    ("source", "repo"), [("--output=x", "code"), ("nowhere", "code"), ("", "."), ("", "missing"), ("", "..")]
)
def test_a_diff_that_cannot_be_made_is_named(tmp_path: Path, source: str, repo: str) -> None:
    bench.repository(tmp_path / "code", file="one\n")
    found = failure(tmp_path, project_registry.Context(name="it", kind="git_diff", source=source, repo=repo))
    assert found.code == "CONTEXT_FAILED"
    assert not (tmp_path / "code" / "x").exists()


def test_a_diff_that_is_too_large_is_named(tmp_path: Path) -> None:
    bench.repository(tmp_path, file="one\n")
    (tmp_path / "file").write_text("two\n" * 1000)
    context = project_registry.Context(name="it", kind="git_diff", source="", max_bytes=100)
    assert failure(tmp_path, context).code == "CONTEXT_FAILED"


def test_a_name_that_nobody_declares_says_what_to_do(tmp_path: Path) -> None:
    found = failure(tmp_path, None, "ctx:repo_diff")
    assert found.code == "CONTEXT_UNKNOWN"
    assert found.hint is not None
    assert "--context ctx:repo_diff=" in found.hint

"""Workspaces: what they are made from, what a snapshot holds, and what our own git never does in them."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from openskelo import errors
from openskelo.agent_settings import WorkspaceSettings
from openskelo.agents.workspace import apply_changes, create_workspace, workspace
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.workflows.project import project_file
from tests.agents import repository

RUN = "0123456789abcdef"


def _project(root: Path) -> Project:
    return project_file.project_at(root)


def _open(root: Path, node: str = "work", **wanted: Any) -> workspace.Workspace:
    settings = WorkspaceSettings(**wanted)
    return asyncio.run(
        create_workspace.open_workspace(_project(root), settings, RUN, node, create_workspace.WorkspaceNotes())
    )


def _snapshot(place: workspace.Workspace) -> str:
    return asyncio.run(place.snapshot())


def _files(place: workspace.Workspace, tree: str) -> set[str]:
    listed = asyncio.run(place.shadow_git("ls-tree", "-r", "--name-only", "-z", tree))
    return {name for name in listed.split("\0") if name}


def _commit(root: Path) -> str:
    repository.git(root, "add", "--all", "--force")
    repository.git(root, "commit", "--quiet", "-m", "more")
    return repository.git(root, "rev-parse", "HEAD")


# -- what a workspace is made from ------------------------------------------------------------------------------------


def test_it_has_the_files_of_the_commit_on_a_branch_of_its_own(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    head = repository.git(root, "rev-parse", "HEAD")
    (root / "hello.txt").write_text("not committed")
    place = _open(root)
    assert (place.tree / "hello.txt").read_text() == "hello\n"
    assert (place.origin.base, place.origin.branch) == (head, f"skelo/{RUN}/work")
    assert repository.git(place.tree, "rev-parse", "--abbrev-ref", "HEAD") == f"skelo/{RUN}/work"
    assert repository.git(place.tree, "rev-parse", "HEAD") == head
    assert repository.git(place.tree, "status", "--porcelain") == ""
    assert repository.git(root, "status", "--porcelain") == "M hello.txt"
    branches = {"main", f"skelo/{RUN}/work"}
    assert set(repository.git(root, "for-each-ref", "--format=%(refname:short)").split()) == branches


def test_the_log_says_which_of_the_users_files_are_not_there(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    other = tmp_path / "other"
    subprocess.run(["git", "init", "--quiet", str(other)], check=True)
    repository.git(other, "commit", "--quiet", "--allow-empty", "-m", "one")
    repository.git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "part")
    _commit(root)
    (root / "hello.txt").write_text("not committed")
    notes = create_workspace.WorkspaceNotes()
    place = asyncio.run(create_workspace.open_workspace(_project(root), WorkspaceSettings(), RUN, "work", notes))
    assert list((place.tree / "part").iterdir()) == []
    assert notes.lines == [
        "your uncommitted changes are not in the workspace: hello.txt",
        "submodules are empty in the workspace, and changes in them are not kept: part",
    ]


def test_nodes_with_similar_ids_have_workspaces_and_branches_of_their_own(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    nodes = ("outer/inner", "outer_inner", "outer-inner", "outer", "outer-", "outer/lock")
    places = [_open(root, node=node) for node in nodes]
    assert len({place.tree for place in places}) == len(nodes)
    assert len({place.origin.branch for place in places}) == len(nodes)
    found = [workspace.find(_project(root).data_dir, RUN, node) for node in nodes]
    assert [None if place is None else place.origin.node for place in found] == list(nodes)


def test_none_is_an_empty_folder(tmp_path: Path) -> None:
    place = _open(repository.make(tmp_path), kind="none")
    assert (list(place.folder.iterdir()), place.origin.branch) == ([], "")
    (place.folder / "new.txt").write_text("x")
    assert asyncio.run(place.diff_since_base()).files == ("new.txt",)


def test_outside_of_git_it_is_an_empty_folder_unless_the_project_says_otherwise(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    _no_repository(root)
    place = _open(root)
    assert (place.origin.kind, place.origin.base, list(place.folder.iterdir())) == ("none", "", [])


def test_two_nodes_have_a_worktree_each(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    one, other = _open(root, node="one"), _open(root, node="other")
    assert one.tree != other.tree
    assert {one.origin.branch, other.origin.branch} == {f"skelo/{RUN}/one", f"skelo/{RUN}/other"}


def test_the_agent_starts_in_the_folder_that_is_named(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    (root / "part").mkdir()
    (root / "part" / "a.txt").write_text("a")
    _commit(root)
    place = _open(root, folder="part")
    assert place.folder == place.tree / "part"
    assert (place.folder / "a.txt").read_text() == "a"


def test_a_project_in_a_part_of_a_repository_starts_in_that_part(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    inner = root / "apps" / "one"
    inner.mkdir(parents=True)
    (inner / "skelo.yaml").write_text("{}")
    _commit(root)
    place = _open(inner)
    assert place.origin.repository == str(root)
    assert place.folder == place.tree / "apps" / "one"
    assert (place.tree / "hello.txt").exists()


def test_a_workspace_that_exists_is_opened_as_it_is(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    first = _open(root)
    (first.tree / "kept.txt").write_text("x")
    assert (_open(root).tree / "kept.txt").read_text() == "x"


def _no_repository(root: Path) -> None:
    subprocess.run(["rm", "-rf", str(root / ".git")], check=True)


def _no_commit(root: Path) -> None:
    _no_repository(root)
    repository.git(root, "init", "--quiet")


def _bare(root: Path) -> None:
    repository.git(root, "init", "--quiet", "--bare", "bare.git")


@pytest.mark.parametrize(
    ("spoil", "wanted", "message"),
    [
        (_no_repository, {"kind": "worktree"}, "is not in a git repository"),
        (_no_commit, {}, "has no commit yet"),
        (_bare, {"repository": "bare.git"}, "is a bare repository"),
        (_bare, {"repository": "missing"}, "is no folder"),
        (_bare, {"folder": "missing"}, "has no folder 'missing'"),
    ],
)
def test_without_files_to_check_out_there_is_no_workspace(
    tmp_path: Path, spoil: Callable[[Path], None], wanted: dict[str, Any], message: str
) -> None:
    root = repository.make(tmp_path)
    spoil(root)
    with pytest.raises(errors.AttemptFailed) as failed:
        _open(root, **wanted)
    assert failed.value.code == "WORKSPACE_REPOSITORY"
    assert message in failed.value.message


# -- copy, set-up, ports ----------------------------------------------------------------------------------------------


def test_ignored_files_are_copied_without_links_and_without_what_is_outside(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    (tmp_path / "outside.env").write_text("outside")
    (root / "local.env").write_text("mine")
    (root / "hello.env").symlink_to(tmp_path / "outside.env")
    (root / "conf").mkdir()
    (root / "conf" / "tracked.txt").write_text("tracked")
    _commit(root)
    repository.git(root, "rm", "--quiet", "--cached", "local.env", "hello.env")
    repository.git(root, "commit", "--quiet", "-m", "ignored")
    (root / "conf" / "deep.env").write_text("deep")
    os.mkfifo(root / "conf" / "pipe.env")
    (root / "linked.env").symlink_to(tmp_path)
    place = _open(root, copy=("**/*.env", "conf", "../outside.env", "hello.txt"))
    copied = {path.relative_to(place.tree).as_posix() for path in place.tree.rglob("*.env")}
    assert copied == {"local.env", "conf/deep.env"}
    assert (place.tree / "hello.txt").read_text() == "hello\n"
    assert asyncio.run(place.diff_since_base()).files == ()


def test_the_git_dir_and_the_data_dir_are_never_copied(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    _open(root, node="earlier")
    place = _open(root, copy=("**/*", ".git", ".skelo"))
    assert not (place.tree / ".skelo").exists()
    assert (place.tree / ".git").is_file()


def test_a_set_up_that_fails_fails_the_turn_before_any_prompt(tmp_path: Path) -> None:
    setup = [["sh", "-c", "echo made > half.txt; echo no database >&2; exit 3"]]
    root = repository.make(tmp_path, workspace={"setup": setup})
    document = repository.play(root, repository.block("@say hello"))
    error = cast("dict[str, Any]", document.get("error"))
    assert (document["ending"], error["code"]) == ("failed", "WORKSPACE_SETUP")
    assert error["message"].endswith("of the workspace ended with 3: no database")
    types = [event["type"] for event in repository.events(root, document["runId"])]
    assert "session.opened" not in types


def test_a_workspace_that_was_not_finished_is_made_anew(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    setup = (("sh", "-c", "echo x >> count.txt; test -e " + str(tmp_path / "ready")),)
    with pytest.raises(errors.AttemptFailed):
        _open(root, setup=setup)
    assert [place.origin.ready for place in workspace.list_workspaces(_project(root).data_dir)] == [False]
    (tmp_path / "ready").touch()
    place = _open(root, setup=setup)
    assert (place.tree / "count.txt").read_text() == "x\n"
    assert repository.git(place.tree, "rev-parse", "--abbrev-ref", "HEAD") == f"skelo/{RUN}/work"


def test_a_set_up_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.AttemptFailed) as failed:
        _open(repository.make(tmp_path), setup=(("no-such-program",),))
    assert (failed.value.code, failed.value.message) == (
        "WORKSPACE_SETUP",
        "the command 'no-such-program' of the workspace cannot be started: No such file or directory",
    )


def test_ports_are_free_and_differ_between_workspaces(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    one, other = _open(root, node="a", ports=2), _open(root, node="b", ports=2)
    ports = {*one.origin.ports, *other.origin.ports}
    assert len(ports) == 4
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()


def test_the_agent_has_its_ports_in_its_environment_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORT", "80")
    root = repository.make(tmp_path, workspace={"ports": 1, "setup": [["sh", "-c", "env > setup.txt"]]})
    document = repository.play(root, repository.block("@env agent.txt", "@say done"))
    assert document["ending"] == "ok", document.get("error")
    (place,) = workspace.list_workspaces(_project(root).data_dir)
    for name in ("setup.txt", "agent.txt"):
        lines = (place.tree / name).read_text().splitlines()
        assert f"SKELO_PORT_1={place.origin.ports[0]}" in lines
        assert not [line for line in lines if line.startswith("PORT=")]


# -- snapshots --------------------------------------------------------------------------------------------------------


def test_a_diff_has_untracked_binary_renamed_and_deleted_files_but_no_ignored_ones(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    (root / "old-name.txt").write_text("a longer text\n" * 20)
    (root / "gone.txt").write_text("gone\n")
    _commit(root)
    place = _open(root)
    before = _snapshot(place)
    (place.tree / "old-name.txt").rename(place.tree / "new-name.txt")
    (place.tree / "gone.txt").unlink()
    (place.tree / "picture.bin").write_bytes(bytes(range(256)))
    (place.tree / "ignored.env").write_text("secret")
    (place.tree / "deep" / "er").mkdir(parents=True)
    (place.tree / "deep" / "er" / "new.txt").write_text("one\ntwo\n")
    diff = asyncio.run(place.diff(before, _snapshot(place)))
    assert set(diff.files) == {"deep/er/new.txt", "gone.txt", "new-name.txt", "old-name.txt", "picture.bin"}
    assert "rename from old-name.txt\nrename to new-name.txt" in diff.patch
    assert "GIT binary patch" in diff.patch
    subprocess.run(["git", "apply", "--index"], cwd=root, input=diff.patch.encode(), check=True)
    assert (root / "picture.bin").read_bytes() == bytes(range(256))


def test_names_with_spaces_newlines_and_other_bytes_are_in_the_snapshot(tmp_path: Path) -> None:
    place = _open(repository.make(tmp_path))
    before = _snapshot(place)
    names = (b"with space.txt", b"two\nlines.txt", b"latin-\xe9.txt", "größe.txt".encode(), b"-dash", b":(glob)*")
    for name in names:
        Path(os.fsdecode(os.fsencode(place.tree) + b"/" + name)).write_text("x")
    diff = asyncio.run(place.diff(before, _snapshot(place)))
    assert set(diff.files) == {name.decode("utf-8", "replace") for name in names}
    asyncio.run(place.restore(before))
    assert {path.name for path in place.tree.iterdir()} == {".git", ".gitignore", "hello.txt", "skelo.yaml"}


def test_restore_brings_the_files_of_a_snapshot_back_and_leaves_ignored_ones(tmp_path: Path) -> None:
    place = _open(repository.make(tmp_path))
    (place.tree / "mine.txt").write_text("first")
    kept = _snapshot(place)
    (place.tree / "mine.txt").unlink()
    (place.tree / "hello.txt").unlink()
    (place.tree / "hello.txt").mkdir()
    (place.tree / "hello.txt" / "inside").write_text("x")
    (place.tree / "local.env").write_text("ignored")
    asyncio.run(place.restore(kept))
    assert ((place.tree / "mine.txt").read_text(), (place.tree / "hello.txt").read_text()) == ("first", "hello\n")
    assert (place.tree / "local.env").read_text() == "ignored"
    assert _snapshot(place) == kept


def test_snapshots_at_the_same_time_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    place = _open(repository.make(tmp_path))
    for index in range(50):
        (place.tree / f"{index}.txt").write_text(str(index))

    async def many() -> list[str]:
        return await asyncio.gather(*(place.snapshot() for _ in range(6)))

    assert len(set(asyncio.run(many()))) == 1


def test_line_ends_that_attributes_convert_are_no_changes(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    (root / ".gitattributes").write_text("*.bat text eol=crlf\n")
    (root / "run.bat").write_bytes(b"one\r\ntwo\r\n")
    base = repository.git(root, "rev-parse", f"{_commit(root)}^{{tree}}")
    assert _snapshot(_open(root)) == base


# -- what our git never does ------------------------------------------------------------------------------------------


_ATTRIBUTES = "* filter=evil diff=evil merge=evil ident text eol=crlf\n"


@pytest.mark.parametrize("kind", ["worktree", "none"])
def test_what_an_agent_plants_for_git_is_not_run_and_changes_no_snapshot(tmp_path: Path, kind: str) -> None:
    root = repository.make(tmp_path)
    place = _open(root, kind=kind)
    (place.tree / "text.txt").write_bytes(b"$Id$\r\n")
    before = _snapshot(place)
    git_dir = root / ".git" if kind == "worktree" else place.tree / ".git"
    if kind == "none":
        repository.git(place.tree, "init", "--quiet")
    proof = tmp_path / "proof"
    repository.plant(git_dir, proof)
    (place.tree / ".gitattributes").write_text(_ATTRIBUTES)
    after = _snapshot(place)
    assert asyncio.run(place.diff(before, after)).files == (".gitattributes",)
    (place.tree / "text.txt").write_text("other")
    asyncio.run(place.restore(after))
    assert (place.tree / "text.txt").read_bytes() == b"$Id$\r\n"
    assert asyncio.run(place.has_changes())
    assert not proof.exists(), proof.read_text()


def test_what_an_agent_plants_in_the_shared_config_is_not_run_for_the_next_workspace(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    (root / ".gitattributes").write_text("*.txt filter=evil\n")
    _commit(root)
    proof = tmp_path / "proof"
    first = _open(root, node="first")
    repository.plant(root / ".git", proof)
    (first.tree / ".gitattributes").write_text(_ATTRIBUTES)
    second = _open(root, node="second")
    assert (second.tree / "hello.txt").read_text() == "hello\n"
    asyncio.run(apply_changes.remove(second))
    assert not proof.exists(), proof.read_text()


def test_an_agents_own_repositories_in_the_tree_do_no_harm(tmp_path: Path) -> None:
    place = _open(repository.make(tmp_path))
    before = _snapshot(place)
    (place.tree / "empty").mkdir()
    repository.git(place.tree / "empty", "init", "--quiet")
    (place.tree / "empty" / "a.txt").write_text("a")
    (place.tree / "b.txt").write_text("b")
    assert "b.txt" in _files(place, _snapshot(place))
    asyncio.run(place.restore(before))


def test_what_a_workspace_is_can_be_printed_as_json(tmp_path: Path) -> None:
    place = _open(repository.make(tmp_path), ports=1)
    expected: JsonObject = {
        "runId": RUN,
        "node": "work",
        "kind": "worktree",
        "path": str(place.tree),
        "branch": f"skelo/{RUN}/work",
        "base": place.origin.base,
        "ports": list(place.origin.ports),
    }
    assert workspace.as_json(place) == expected


# -- a workspace whose files are gone ---------------------------------------------------------------------------------


def _lose(place: workspace.Workspace) -> str:
    """Return the last snapshot of a workspace with a new file, after its files are gone."""
    (place.tree / "new.txt").write_text("one\n")
    tree = _snapshot(place)
    shutil.rmtree(place.tree)
    return tree


@pytest.mark.parametrize("kind", ["worktree", "none"])
def test_files_that_are_gone_are_those_of_the_last_snapshot_at_the_next_turn(tmp_path: Path, kind: str) -> None:
    root = repository.make(tmp_path)
    (root / "local.env").write_text("mine")
    wanted: dict[str, Any] = {"kind": kind, "copy": ("local.env",), "setup": (("sh", "-c", "echo x >> made.env"),)}
    tree = _lose(_open(root, **wanted))
    again = _open(root, **wanted)
    assert (_snapshot(again), (again.tree / "new.txt").read_text()) == (tree, "one\n")
    assert (again.tree / "made.env").exists()
    if kind == "worktree":
        assert (again.tree / "local.env").read_text() == "mine"
        assert repository.git(again.tree, "rev-parse", "--abbrev-ref", "HEAD") == f"skelo/{RUN}/work"


def test_files_that_could_not_be_made_anew_are_made_anew_the_next_time(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    tree = _lose(_open(root))
    with pytest.raises(errors.AttemptFailed, match="ended with 1"):
        _open(root, setup=(("false",),))
    assert _snapshot(_open(root)) == tree


def test_changes_and_apply_need_only_the_last_snapshot(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    place = _open(root)
    _lose(place)
    assert asyncio.run(place.diff_since_base()).files == ("new.txt",)
    assert asyncio.run(place.has_changes())
    applied = asyncio.run(apply_changes.apply(place, "new"))
    assert repository.git(root, "show", f"{applied.commit}:new.txt") == "one"
    assert not place.tree.exists()


def test_without_a_snapshot_the_files_are_refused_as_gone(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    place = _open(root)
    _lose(place)
    shutil.rmtree(place.shadow)
    for use in (place.diff_since_base, lambda: apply_changes.apply(place, "new")):
        with pytest.raises(errors.OpenSkeloError) as refused:
            asyncio.run(use())
        assert refused.value.code == "WORKSPACE_GONE"
        assert "skelo workspaces remove" in str(refused.value.hint)
    with pytest.raises(errors.AttemptFailed) as failed:
        _open(root)
    assert failed.value.code == "WORKSPACE_GONE"

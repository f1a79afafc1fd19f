"""`skelo changes`, `skelo apply` and `skelo workspaces`: how what an agent changed reaches the user's branch."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from openskelo.agents.workspace import workspace
from openskelo.kernel.json import Json
from openskelo.workflows.project import project_file
from tests.agents import repository
from tests.cli.conftest import Result, Skelo


def _run(root: Path, *lines: str, **fields: Json) -> str:
    document = repository.play(root, repository.block(*lines, **fields))
    assert document["ending"] == "ok", document.get("error")
    return document["runId"]


def _state(root: Path) -> dict[str, Any]:
    """Return everything that a refused command must leave as it is: files, index, branches, HEAD."""
    files = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not {".git", ".skelo"} & set(path.relative_to(root).parts)
    }
    index = repository.git(root, "ls-files", "--stage", "-z")
    refs = repository.git(root, "for-each-ref")
    return {"files": files, "index": index, "refs": refs, "head": repository.git(root, "rev-parse", "HEAD")}


def _skelo(root: Path, *words: str) -> Result:
    return Skelo(folder=root)(*words)


def _place(root: Path) -> workspace.Workspace:
    (place,) = workspace.list_workspaces(project_file.project_at(root).data_dir)
    return place


def _commit(root: Path, message: str = "mine") -> None:
    repository.git(root, "add", "--all")
    repository.git(root, "commit", "--quiet", "-m", message)


# -- changes ----------------------------------------------------------------------------------------------------------


def test_changes_prints_the_diff_and_its_files(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    run_id = _run(root, "@write new.txt one\\n", "@say Wrote it.")
    shown = _skelo(root, "changes", "last")
    assert shown.out.startswith("diff --git a/new.txt b/new.txt\nnew file mode 100644\n")
    assert shown.err == "work: 1 file changed, +1 -0\n"
    assert _skelo(root, "changes", "last", "work", "--stat").out == "new.txt\n"
    document = _skelo(root, "changes", "last", "--json").document
    assert document == {
        "runId": run_id,
        "changes": [
            {
                "node": "work",
                "path": str(_place(root).folder),
                "filesChanged": ["new.txt"],
                "insertions": 1,
                "deletions": 0,
                "diff": shown.out,
            }
        ],
    }


def test_a_node_without_a_workspace_is_named(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    _run(root, "@say nothing")
    refused = _skelo(root, "changes", "last", "other")
    assert refused.code == 2
    assert "WORKSPACE_NOT_FOUND" in refused.err
    assert "the node other of this run has no workspace" in refused.err


# -- apply ------------------------------------------------------------------------------------------------------------


def test_apply_commits_on_a_branch_with_the_summary_as_the_subject(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    run_id = _run(root, "@write new.txt one\\n", "@say Write the first line.")
    (root / "hello.txt").write_text("not committed\n")
    before = _state(root)
    branch = f"skelo/apply/{run_id}"
    applied = _skelo(root, "apply", "last", "--json").document
    made = repository.git(root, "rev-parse", branch)
    assert applied == {"runId": run_id, "branch": branch, "commit": made, "filesChanged": ["new.txt"]}
    assert repository.git(root, "rev-parse", f"{branch}^") == before["head"]
    message = repository.git(root, "log", "-1", "--format=%B", branch)
    assert message == f"Write the first line.\n\nSkelo-Run: {run_id}\nSkelo-Node: work"
    assert repository.git(root, "log", "-1", "--format=%(trailers:key=Skelo-Node,valueonly)", branch) == "work"
    assert repository.git(root, "show", f"{branch}:new.txt") == "one"
    repository.git(root, "branch", "-D", branch)
    assert _state(root) == before


def test_apply_says_in_words_what_it_did(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    run_id = _run(root, "@write new.txt one\\n", "@say Done.")
    applied = _skelo(root, "apply", "last", "work", "--message", "My own words")
    branch = f"skelo/apply/{run_id}"
    made = repository.git(root, "rev-parse", branch)
    assert (applied.code, applied.out) == (0, f"1 file changed, committed as {made[:12]} on {branch}\n")
    assert applied.err == f"  to take it: git merge {branch}\n"
    assert repository.git(root, "log", "-1", "--format=%B", branch) == "My own words"
    repository.git(root, "merge", "--quiet", branch)
    assert (root / "new.txt").read_text() == "one\n"


def test_a_branch_with_commits_of_its_own_is_not_moved(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    run_id = _run(root, "@write new.txt one\\n", "@say Done.")
    assert _skelo(root, "apply", "last").code == 0
    (root / "hello.txt").write_text("mine\n")
    _commit(root)
    before = _state(root)
    refused = _skelo(root, "apply", "last")
    assert (refused.code, "APPLY_BRANCH" in refused.err) == (2, True)
    assert f"git branch -D skelo/apply/{run_id}" in refused.err
    assert _state(root) == before


def test_a_branch_that_is_checked_out_is_not_moved(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    run_id = _run(root, "@write new.txt one\\n", "@say Done.")
    repository.git(root, "checkout", "--quiet", "-b", f"skelo/apply/{run_id}")
    before = _state(root)
    assert _skelo(root, "apply", "last").code != 0
    assert _state(root) == before


def test_changes_of_both_sides_in_one_file_are_merged(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    lines = [f"line {index}\n" for index in range(20)]
    (root / "both.txt").write_text("".join(lines))
    _commit(root)
    _run(root, "@write both.txt " + "agent\\n" + "".join(lines[1:]).replace("\n", "\\n"), "@say Change the top.")
    (root / "both.txt").write_text("".join([*lines[:-1], "mine\n"]))
    _commit(root)
    assert _skelo(root, "apply", "last", "--here").code == 0
    assert (root / "both.txt").read_text() == "".join(["agent\n", *lines[1:-1], "mine\n"])


@pytest.mark.parametrize("more", [(), ("--here",)])
def test_a_conflict_is_shown_and_changes_nothing(tmp_path: Path, more: tuple[str, ...]) -> None:
    root = repository.make(tmp_path)
    _run(root, "@write hello.txt agent\\n", "@write other.txt x", "@say Change it.")
    (root / "hello.txt").write_text("mine\n")
    _commit(root)
    before = _state(root)
    refused = _skelo(root, "apply", "last", *more)
    assert (refused.code, refused.out) == (2, "")
    assert "MERGE_CONFLICT the changes conflict with your branch in hello.txt\n" in refused.err
    assert "hello.txt:\n<<<<<<< your branch\nmine\n=======\nagent\n>>>>>>> the agent\n" in refused.err
    assert _state(root) == before
    assert repository.git(root, "status", "--porcelain") == ""


def test_a_deleted_file_that_the_user_has_changed_is_a_conflict(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    _run(root, "@delete hello.txt", "@say Delete it.")
    (root / "hello.txt").write_text("mine\n")
    _commit(root)
    refused = _skelo(root, "apply", "last", "--here")
    assert "CONFLICT (modify/delete): hello.txt deleted in the agent and modified in your branch" in refused.err
    assert (root / "hello.txt").read_text() == "mine\n"


def _change_tracked(root: Path) -> str:
    (root / "hello.txt").write_text("not committed\n")
    return "hello.txt"


def _change_another(root: Path) -> str:
    (root / "skelo.yaml").write_text((root / "skelo.yaml").read_text() + "# mine\n")
    return "skelo.yaml"


def _stage(root: Path) -> str:
    name = _change_tracked(root)
    repository.git(root, "add", name)
    (root / name).write_text("hello\n")
    return name


def _add_untracked(root: Path) -> str:
    (root / "new.txt").write_text("mine")
    return "new.txt"


def _add_ignored(root: Path) -> str:
    (root / ".git" / "info" / "exclude").write_text("new.txt\n")
    return _add_untracked(root)


def _file_for_folder(root: Path) -> str:
    (root / ".git" / "info" / "exclude").write_text("deep\n")
    (root / "deep").write_text("mine")
    return "deep"


def _link_for_folder(root: Path) -> str:
    (root / "deep").symlink_to(root.parent)
    return "deep"


@pytest.mark.parametrize(
    "spoil",
    [_change_tracked, _change_another, _stage, _add_untracked, _add_ignored, _file_for_folder, _link_for_folder],
)
def test_changes_of_the_user_are_named_and_kept(tmp_path: Path, spoil: Any) -> None:
    root = repository.make(tmp_path)
    _run(root, "@write hello.txt agent\\n", "@write new.txt x", "@write deep/er.txt y", "@say Change them.")
    name = spoil(root)
    before = _state(root)
    refused = _skelo(root, "apply", "last", "--here")
    assert refused.code == 2
    assert "WORKSPACE_DIRTY" in refused.err
    assert f"you have changes of your own in {name}" in refused.err
    assert _state(root) == before
    assert not (tmp_path / "er.txt").exists()


def test_a_file_of_the_user_whose_name_is_no_utf8_is_in_the_way_too(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    _run(root, "@write new.txt x", "@say Write it.")
    name = os.fsdecode(b"latin-\xe9.txt")
    (_place(root).tree / name).write_text("agent")
    (root / name).write_text("mine")
    assert "WORKSPACE_DIRTY" in _skelo(root, "apply", "last", "--here").err
    assert (root / name).read_text() == "mine"


def test_here_changes_the_files_and_neither_index_nor_branch(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    _run(root, "@write new.txt one\\n", "@delete hello.txt", "@say Done.")
    (root / "mine.txt").write_text("not in the way")
    refs = repository.git(root, "for-each-ref")
    applied = _skelo(root, "apply", "last", "--here")
    assert applied.out == "2 files changed, for you to commit\n"
    assert (root / "new.txt").read_text() == "one\n"
    assert repository.git(root, "for-each-ref") == refs
    status = repository.git(root, "status", "--porcelain").split("\n")
    assert status == ["D hello.txt", "?? mine.txt", "?? new.txt"]


def test_here_obeys_nothing_that_an_agent_planted_in_the_repository(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    (root / ".gitattributes").write_text("*.txt filter=evil text eol=crlf\n")
    _commit(root)
    _run(root, "@write hello.txt agent\\n", "@write new.txt one\\n", "@say Done.")
    proof = tmp_path / "proof"
    repository.plant(root / ".git", proof)
    (root / "hello.txt").touch()  # git has to look into it
    for more in ((), ("--here",)):
        assert _skelo(root, "apply", "last", *more).code == 0
    assert not proof.exists(), proof.read_text()
    assert (root / "hello.txt").read_bytes() == b"agent\n"
    repository.git(root, "-c", "core.autocrlf=false", "status")
    assert proof.exists(), "git itself would have run it"


def test_there_is_nothing_to_apply_twice(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    _run(root, "@write new.txt one\\n", "@say Done.")
    assert _skelo(root, "apply", "last").code == 0
    before = _state(root)
    again = _skelo(root, "apply", "last")
    assert again.code == 2
    assert "NOTHING_TO_APPLY" in again.err
    assert _state(root) == before


def test_what_the_set_up_has_changed_is_neither_shown_nor_applied(tmp_path: Path) -> None:
    setup: Json = [["sh", "-c", "echo locked > hello.txt; echo made > made.txt"]]
    root = repository.make(tmp_path, workspace={"setup": setup})
    _run(root, "@write new.txt one\\n", "@say Done.")
    assert _skelo(root, "changes", "last", "--stat").out == "new.txt\n"
    assert _skelo(root, "apply", "last", "--json").document["filesChanged"] == ["new.txt"]
    assert ((root / "hello.txt").read_text(), (root / "made.txt").exists()) == ("hello\n", False)


def test_a_workspace_without_a_branch_cannot_be_applied(tmp_path: Path) -> None:
    root = repository.make(tmp_path, workspace="none")
    _run(root, "@write new.txt one\\n", "@say Done.")
    refused = _skelo(root, "apply", "last")
    assert (refused.code, "NO_REPOSITORY" in refused.err) == (2, True)


def test_with_several_agents_the_node_has_to_be_named(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    flow = repository.block("@write one.txt 1", "@say One.")
    (first,) = cast("list[dict[str, Json]]", flow["blocks"])
    second = {**first, "id": "more", "prompt": "@write two.txt 2\n@say Two."}
    document = repository.play(root, {**flow, "blocks": [first, second]})
    assert document["ending"] == "ok", document.get("error")
    refused = _skelo(root, "apply", "last")
    assert refused.code == 2
    assert "several agents have worked in this run" in refused.err
    assert "name one: more, work" in refused.err
    assert _skelo(root, "apply", "last", "more").code == 0
    assert _skelo(root, "apply", "last", "work").code == 0
    added = repository.git(root, "log", "--format=%H", "--name-only", f"main..skelo/apply/{document['runId']}")
    assert [line for line in added.split("\n") if line.endswith(".txt")] == ["one.txt", "two.txt"]


# -- from a blocks file -----------------------------------------------------------------------------------------------


def _with_apply(root: Path, *lines: str) -> tuple[dict[str, Any], str]:
    """Return the block `take` after a run in which it applies what the block `work` has changed, and the run's id."""
    flow = repository.block(*lines)
    take: Json = {
        "id": "take",
        "mode": "deterministic",
        "inputs": {"summary": {"type": "string", "from": "work.summary"}},
        "deterministic": {"handler": "builtin:apply-changes", "config": {"node": "work", "message_from": "summary"}},
        "outputs": {"branch": "string", "commit": "string", "files_changed": {"type": "array"}},
    }
    document = repository.play(root, {**flow, "blocks": [*cast("list[Json]", flow["blocks"]), take]})
    return cast("dict[str, Any]", document["nodes"])["take"], document["runId"]


def test_a_block_commits_the_changes_of_another_block(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    head = repository.git(root, "rev-parse", "HEAD")
    taken, run_id = _with_apply(root, "@write new.txt one\\n", "@say Write the first line.")
    branch = f"skelo/apply/{run_id}"
    made = repository.git(root, "rev-parse", branch)
    assert taken["outputs"] == {"branch": branch, "commit": made, "files_changed": ["new.txt"]}
    assert repository.git(root, "log", "-1", "--format=%s", branch) == "Write the first line."
    assert repository.git(root, "rev-parse", "HEAD", f"{branch}^").split() == [head, head]
    assert repository.git(root, "status", "--porcelain") == ""


def test_a_block_with_nothing_to_commit_fails_and_is_not_tried_again(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    taken, _ = _with_apply(root, "@say Nothing to do.")
    assert (taken["status"], taken["attempts"], taken["error"]["code"]) == ("failed", 1, "NOTHING_TO_APPLY")


# -- workspaces -------------------------------------------------------------------------------------------------------


def test_a_workspace_with_changes_is_only_removed_by_force(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    run_id = _run(root, "@write new.txt one\\n", "@say Done.")
    place = _place(root)
    branch = f"skelo/{run_id}/work"
    listed = _skelo(root, "workspaces")
    assert listed.out == f"{run_id[:8]} work  worktree, branch {branch}, changes not applied\n  {place.folder}\n"
    left = _skelo(root, "workspaces", "remove", "last", "--json")
    assert (left.code, left.document["removed"]) == (1, [])
    assert left.document["left"]["work"]["code"] == "WORKSPACE_CHANGED"
    assert place.tree.is_dir()
    removed = _skelo(root, "workspaces", "remove", "last", "--force")
    assert (removed.code, removed.out) == (0, "removed the workspace of work\n")
    assert not place.place.exists()
    assert repository.git(root, "branch", "--list", "skelo/*") == ""
    assert repository.git(root, "worktree", "list").count("\n") == 0
    assert _skelo(root, "workspaces", "--json").document == {"workspaces": []}


def test_an_applied_workspace_is_removed_without_force(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    _run(root, "@write new.txt one\\n", "@say Done.")
    assert _skelo(root, "apply", "last").code == 0
    assert [row["changed"] for row in _skelo(root, "workspaces", "--json").document["workspaces"]] == [False]
    assert _skelo(root, "workspaces", "remove", "last").code == 0


def test_force_removes_a_workspace_whose_folder_is_gone_and_whose_tear_down_fails(tmp_path: Path) -> None:
    root = repository.make(tmp_path, workspace={"teardown": [["false"]]})
    _run(root, "@write new.txt one\\n", "@say Done.")
    place = _place(root)
    place.tree.rename(tmp_path / "elsewhere")
    assert _skelo(root, "workspaces", "remove", "last").code == 1
    assert _skelo(root, "workspaces", "remove", "last", "--force").code == 0
    assert repository.git(root, "branch", "--list", "skelo/*") == ""
    assert not place.place.exists()


def test_a_workspace_whose_folder_is_gone_is_listed_so(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    _run(root, "@write new.txt one\\n", "@say Done.")
    shutil.rmtree(_place(root).tree)
    assert "/work, changes not applied, its folder is gone\n" in _skelo(root, "workspaces").out
    (row,) = _skelo(root, "workspaces", "--json").document["workspaces"]
    assert (row["gone"], row["changed"]) == (True, True)


@pytest.mark.parametrize("end", ["exit 3", "kill -9 $PPID"])
def test_a_workspace_whose_set_up_did_not_end_is_listed_and_removed_without_force(tmp_path: Path, end: str) -> None:
    root = repository.make(tmp_path, workspace={"setup": [["sh", "-c", f"echo x > half.txt; {end}"]]})
    (root / "flow.yaml").write_text(yaml.safe_dump(repository.block("@say hello")))
    assert _skelo(root, "run", "flow.yaml").code == (1 if end == "exit 3" else -signal.SIGKILL)
    place = _place(root)
    assert (place.tree / "half.txt").exists()
    run_id = place.origin.run_id
    listed = _skelo(root, "workspaces")
    branch = f"skelo/{run_id}/work"
    assert listed.out == f"{run_id[:8]} work  worktree, branch {branch}, its set-up did not end\n  {place.folder}\n"
    assert _skelo(root, "changes", "last").code == 2
    removed = _skelo(root, "workspaces", "remove", "last")
    assert (removed.code, removed.out) == (0, "removed the workspace of work\n")
    assert not place.place.exists()
    assert repository.git(root, "branch", "--list", "skelo/*") == ""
    assert repository.git(root, "worktree", "list").count("\n") == 0


def test_prune_removes_a_workspace_whose_set_up_failed(tmp_path: Path) -> None:
    root = repository.make(tmp_path, workspace={"setup": [["false"]]})
    repository.play(root, repository.block("@say hello"))
    place = _place(root)
    assert _skelo(root, "prune", "last").code == 0
    assert not place.place.exists()
    assert repository.git(root, "branch", "--list", "skelo/*") == ""


def test_the_tear_down_runs_before_the_workspace_is_removed(tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    root = repository.make(tmp_path, workspace={"teardown": [["sh", "-c", f"ls > {proof}"]]})
    _run(root, "@say nothing changed")
    assert _skelo(root, "workspaces", "remove", "last").code == 0
    assert "hello.txt" in proof.read_text().splitlines()

"""Agents, repositories and models that misbehave: each ends in a result, or a code with a sentence."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import openskelo
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.testing import agent_conformance
from openskelo.workflows.project import project_file
from tests.agents import agents_under_test, repository
from tests.crash import disk

pytestmark = pytest.mark.slow

AGENT = Path(__file__).with_name("misbehaving_agent.py")
#: The second file is what the program imports: a sandbox shows the files that a command names.
COMMAND: Json = [sys.executable, str(AGENT), str(repository.AGENT)]


def _play(root: Path, *lines: str, **block: Json) -> tuple[str, str, RunDocument]:
    """Return how a run ended (`ok`, or a code), what was said (by the agent, or by the error), and its document."""
    document = repository.play(root, repository.block(*lines, contract_repair_attempts=0, **block))
    _check_nothing_left(root)
    if document["ending"] == "ok":
        outputs = cast("dict[str, Any]", document["nodes"])["work"]["outputs"]
        return "ok", str(outputs["summary"]), document
    error = cast("dict[str, Any]", document.get("error"))
    assert error["message"], error
    assert "Traceback" not in str(document)
    return str(error["code"]), str(error["message"]), document


def _check_nothing_left(root: Path) -> None:
    assert agent_conformance.processes_with(str(root / ".skelo")) == []


# -- the program ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "ending", "words"),
    [
        (["@halves café"], "ok", "café"),
        (["@half-exit"], "AGENT_EXITED", "exit code 4"),
        (["@deep", "@say fine"], "ok", "fine"),
        (["@flood-line 200"], "AGENT_PROTOCOL", "a line of more than 64 MiB"),
        (["@flood-stderr 20", "@say fine"], "ok", "fine"),
        (["@twice", "@say fine"], "ok", "fine"),
        (["@no-answer", "@say fine"], "ok", "fine"),
        (["@odd-error"], "AGENT_REFUSED", "session/prompt"),
        (["@unknown", "@garbage", "@late", "@say fine"], "ok", "fine"),
        (["@repeat-call", "@say fine"], "ok", "fine"),
        (["@repeat-ask"], "ok", "[once][once]"),
        (["@bare call"], "ok", "[cancelled]"),
        (["@bare arguments"], "ok", "[once]"),
        (["@bare id"], "ok", "[once]"),
        (["@bare types"], "ok", "[once]"),
        (["@wrong-types", "@say fine"], "ok", "fine"),
        (["@fork", "@say fine"], "ok", "fine"),
        (["@mine", "@say fine"], "ok", "fine"),
    ],
)
def test_a_program_that_misbehaves(tmp_path: Path, lines: list[str], ending: str, words: str) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    seen, said, document = _play(root, "@write kept.txt x", *lines)
    assert (seen, words in said) == (ending, True), said
    name = "diff.patch" if ending == "ok" else "diff.partial.patch"
    assert "kept.txt" in repository.artifact(root, str(document["runId"]), name)


def test_text_before_the_first_message_does_no_harm(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=[*cast("list[str]", COMMAND), "--chatter"])
    assert _play(root, "@say fine")[:2] == ("ok", "fine")


def test_a_program_that_speaks_no_protocol_is_named_with_its_words(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=["/bin/echo", "usage: echo"])
    ending, said, _ = _play(root, "@say x")
    assert (ending, "usage: echo" in said) == ("AGENT_EXITED", True), said


@pytest.mark.parametrize("line", ["@flood 200", "@flood-calls 200"])
def test_200_megabytes_of_output_are_survived_and_not_kept(tmp_path: Path, line: str) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    ending, said, document = _play(root, line, "@say fine")
    assert ending == "ok", said
    stored = sum(file.stat().st_size for file in (root / ".skelo").rglob("*") if file.is_file())
    assert stored < 40 * 1024 * 1024, stored
    assert len(repository.artifact(root, str(document["runId"]), "transcript.jsonl")) < 10 * 1024 * 1024


def test_what_an_agent_says_is_kept_up_to_a_bound_and_the_log_says_how_much_is_left_out(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    ending, said, document = _play(root, "@flood 9", "@exit 3")
    assert ending == "AGENT_EXITED", said
    left = {artifact.name: artifact.text for artifact in repository.artifacts(root, str(document["runId"]))}
    assert "1048576 characters of what it said were left out\n" in left["work.log"]
    assert left["answer.partial.txt"].startswith("xxx")


def test_the_file_of_stderr_does_not_grow_for_ever(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    ending, said, document = _play(root, "@flood-stderr 20", "@say fine")
    assert (ending, said) == ("ok", "fine")
    (file,) = root.glob(".skelo/workspaces/*/*/stderr.log")
    assert file.stat().st_size == 0
    kept = repository.artifact(root, str(document["runId"]), "stderr.log")
    assert kept.startswith("… ")
    assert len(kept) < 70 * 1024


@pytest.mark.slow
def test_20_000_files_are_counted_and_not_all_named_in_the_log(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    ending, said, document = _play(root, "@run mkdir many; cd many; seq 20000 | xargs touch", "@say fine")
    assert (ending, said) == ("ok", "fine")
    log = repository.events(root, str(document["runId"]))
    artifacts = [
        cast("dict[str, Any]", event["data"])["artifact"] for event in log if "artifact." in str(event["type"])
    ]
    (metadata,) = (artifact["metadata"] for artifact in artifacts if artifact["name"] == "diff.patch")
    assert (metadata["summary"], len(metadata["filesChanged"])) == ("20000 files changed, +0 -0", 1000)
    outputs = cast("dict[str, Any]", document["nodes"])["work"]["outputs"]
    assert len(outputs["files_changed"]) == 20_000


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("../../outside.txt", "deny"),
        ("/etc/passwd", "deny"),
        ("link/escaped.txt", "deny"),
        ("a/../../../../x", "deny"),
        ("inner\u0000.txt", "allow"),
        ("../\u0000/x", "deny"),
        ("x" * 5000, "allow"),
        ("", "allow"),
        (7, "allow"),
        (["a", "b"], "allow"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_paths_that_lead_out_are_denied_however_they_are_written(tmp_path: Path, path: Json, decision: str) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    ending, said, _ = _play(root, "@link /etc", f"@edit {json.dumps(path)}", "@next", "@say was denied")
    assert (ending, said) == ("ok", "[once]" if decision == "allow" else "was denied")


def test_names_that_are_no_utf8_are_in_the_diff_and_the_outputs(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    names = (b"caf\xe9.txt", b"new\nline.txt", b"-rf", b"quote\"'.txt", b"tab\t.txt", b"\xf0\x9f\x90\x9d.txt")
    ending, said, document = _play(root, *(f"@name {name.hex()}" for name in names), "@say fine")
    assert (ending, said) == ("ok", "fine")
    outputs = cast("dict[str, Any]", document["nodes"])["work"]["outputs"]
    assert len(outputs["files_changed"]) == len(names)
    assert {"-rf", "new\nline.txt", "\N{HONEYBEE}.txt"} <= set(outputs["files_changed"])
    assert "+named" in outputs["diff"]


def test_an_input_of_five_megabytes_is_too_much_for_a_prompt(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    text: Json = {"text": {"type": "string"}}
    document: JsonObject = {**repository.block("@say fine", "{{ inputs.text }}", inputs=text), "inputs": text}

    async def story() -> RunDocument:
        async with repository.engine(root) as engine:
            run_id = await engine.start(openskelo.from_document(document, root=root), {"text": "word " * 1024 * 1024})
            return await engine.wait(run_id)

    error = cast("dict[str, Any]", asyncio.run(asyncio.wait_for(story(), 120)).get("error"))
    assert (error["code"], "longer than 1048576 characters" in error["message"]) == ("TEMPLATE_TOO_LARGE", True)
    _check_nothing_left(root)


def test_a_prompt_of_five_megabytes_reaches_the_agent(tmp_path: Path) -> None:
    async def story(stage: agent_conformance.Stage) -> None:
        async with stage.converse() as talk:
            turn = await talk.take_turn("word " * 1024 * 1024, "@say fine")
            assert "".join(turn.text) == "fine"

    agent_conformance.play(agents_under_test.scripted(), tmp_path, story)


def test_without_the_extra_no_run_starts_and_the_hint_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    monkeypatch.setitem(sys.modules, "acp", None)
    with pytest.raises(openskelo.OpenSkeloError) as raised:
        repository.play(root, repository.block("@say never"))
    assert (raised.value.code, "openskelo[agents]" in str(raised.value.hint)) == ("EXTRA_MISSING", True)
    assert not (root / ".skelo" / "workspaces").exists()


# -- the repository ---------------------------------------------------------------------------------------------------


def _without_commits(root: Path) -> None:
    shutil.rmtree(root / ".git")
    repository.git(root, "init", "--quiet")


def _bare(root: Path) -> None:
    repository.git(root, "config", "core.bare", "true")


def _broken_head(root: Path) -> None:
    (root / ".git" / "HEAD").write_text("nonsense\n")


def _lost_objects(root: Path) -> None:
    for file in (root / ".git" / "objects").glob("??/*"):
        file.unlink()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_without_commits, "has no commit yet"),
        (_bare, "is a bare repository"),
        (_broken_head, "is not in a git repository"),
        (_lost_objects, "has no commit yet"),
    ],
)
def test_a_repository_without_files_to_work_on_fails_before_the_agent_starts(
    tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    spoil(root)
    ending, said, document = _play(root, "@say never")
    assert (ending, words in said) == ("WORKSPACE_REPOSITORY", True), said
    types = [event["type"] for event in repository.events(root, str(document["runId"]))]
    assert "session.opened" not in types


def test_without_git_itself_the_code_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    monkeypatch.setenv("PATH", str(tmp_path))
    ending, said, _ = _play(root, "@say never")
    assert (ending, "git" in said) == ("GIT_MISSING", True), said


def _with_submodule(root: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    repository.git(other, "init", "--quiet")
    (other / "inner.txt").write_text("inner\n")
    repository.git(other, "add", "--all")
    repository.git(other, "commit", "--quiet", "-m", "inner")
    repository.git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "part")
    repository.git(root, "commit", "--quiet", "-m", "submodule")


def _with_lfs(root: Path) -> None:
    (root / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12345\n"
    (root / "large.bin").write_text(pointer)
    repository.git(root, "add", "--all")
    repository.git(root, "commit", "--quiet", "-m", "lfs")
    for name in ("clean", "smudge", "process"):
        repository.git(root, "config", f"filter.lfs.{name}", "no-such-program")
    repository.git(root, "config", "filter.lfs.required", "true")


def _with_merge_under_way(root: Path) -> None:
    repository.git(root, "switch", "--quiet", "-c", "side")
    (root / "hello.txt").write_text("side\n")
    repository.git(root, "commit", "--quiet", "--all", "-m", "side")
    repository.git(root, "switch", "--quiet", "main")
    (root / "hello.txt").write_text("main\n")
    repository.git(root, "commit", "--quiet", "--all", "-m", "main")
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "merge", "side"]
    assert subprocess.run(command, cwd=root, capture_output=True, check=False).returncode == 1


def _with_many_files(root: Path) -> None:
    for number in range(50):
        folder = root / f"folder{number}"
        folder.mkdir()
        for file in range(100):
            (folder / f"{file}.txt").write_text(f"{number} {file}\n")
    repository.git(root, "add", "--all")
    repository.git(root, "commit", "--quiet", "-m", "many")


def _with_a_locked_index(root: Path) -> None:
    (root / ".git" / "index.lock").touch()


def _with_odd_names(root: Path) -> None:
    for name in (b"caf\xe9.txt", b"new\nline", b"-rf", b":(exclude)x"):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_text("odd\n")
    repository.git(root, "add", "--all")
    repository.git(root, "commit", "--quiet", "-m", "odd")


@pytest.mark.parametrize(
    "prepare",
    [_with_submodule, _with_lfs, _with_merge_under_way, _with_many_files, _with_a_locked_index, _with_odd_names],
)
def test_an_unusual_repository_is_worked_on_and_left_as_it_was(tmp_path: Path, prepare: Callable[[Path], None]) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    prepare(root)
    before = _state(root)
    ending, said, document = _play(root, "@write new.txt x", "@say fine")
    assert (ending, said) == ("ok", "fine")
    assert cast("dict[str, Any]", document["nodes"])["work"]["outputs"]["files_changed"] == ["new.txt"]
    assert _state(root) == before


def _state(root: Path) -> dict[str, object]:
    """Return what a user sees of a repository and what must stay as it is: commits, index, state of a merge, config."""
    folder = root / ".git"
    names = ("HEAD", "MERGE_HEAD", "MERGE_MSG", "index", "config", "index.lock")
    refs = repository.git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return {
        **{name: (folder / name).read_bytes() for name in names if (folder / name).exists()},
        "refs": [ref for ref in refs if not ref.startswith("refs/heads/skelo/")],
    }


def test_a_branch_that_is_there_already_keeps_its_commits(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    run_id = str(uuid.uuid4())
    branch = f"skelo/{run_id}/work"
    repository.git(root, "switch", "--quiet", "-c", branch)
    (root / "precious.txt").write_text("precious\n")
    repository.git(root, "add", "--all")
    repository.git(root, "commit", "--quiet", "-m", "precious")
    precious = repository.git(root, "rev-parse", "HEAD")
    repository.git(root, "switch", "--quiet", "main")
    document = repository.play(root, repository.block("@say never"), run_id)
    error = cast("dict[str, Any]", document.get("error"))
    assert (error["code"], branch in error["message"]) == ("WORKSPACE_REPOSITORY", True), error
    assert repository.git(root, "rev-parse", branch) == precious
    _check_nothing_left(root)


def test_a_branch_that_takes_the_name_of_ours_is_named(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    repository.git(root, "branch", "skelo")
    ending, said, _ = _play(root, "@say never")
    assert (ending, "refs/heads/skelo" in said) == ("GIT_FAILED", True), said
    assert repository.git(root, "worktree", "list").count("\n") == 0


def test_a_worktree_that_is_there_already_is_made_anew(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=COMMAND)
    run_id = str(uuid.uuid4())
    tree = root / ".skelo" / "workspaces" / run_id / "work" / "tree"
    repository.git(root, "worktree", "add", "--quiet", "--detach", str(tree))
    document = repository.play(root, repository.block("@write new.txt x", "@say fine"), run_id)
    assert document["ending"] == "ok", document.get("error")
    assert repository.git(root, "worktree", "list").count(str(tree)) == 1


def test_a_full_disk_during_the_diff_loses_nothing(tmp_path: Path) -> None:
    """The run stops with the code of the store, and goes on where it was once there is space again."""
    with disk.small(tmp_path / "disk") as small:
        root = repository.make(small.folder, command=COMMAND)
        lines = ("@write new.txt x", "@slow 2", "@next", "@say resumed")
        flow = openskelo.from_document(repository.block(*lines), root=root)
        run_id = str(uuid.uuid4())

        async def fill() -> None:
            async with await openskelo.Engine.open(project_file.project_at(root)) as engine:
                await engine.start(flow, run_id=run_id)
                await repository.until(lambda: bool(list(root.glob(".skelo/workspaces/*/*/tree/new.txt"))))
                small.fill()
                await engine.wait(run_id)

        async def go_on() -> RunDocument:
            async with repository.engine(root) as engine:
                await engine.resume(run_id)
                return await engine.wait(run_id)

        with pytest.raises(openskelo.OpenSkeloError) as raised:
            asyncio.run(asyncio.wait_for(fill(), 120))
        assert raised.value.code in small.codes
        _check_nothing_left(root)
        small.free()
        document = asyncio.run(asyncio.wait_for(go_on(), 120))
        assert document["ending"] == "ok", document.get("error")
        assert cast("dict[str, Any]", document["nodes"])["work"]["outputs"]["files_changed"] == ["new.txt"]

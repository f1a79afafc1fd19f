"""Secrets that an agent has, or finds in files that were copied for it, stay out of everything that is kept."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import openskelo
from openskelo.agents.workspace import env_files
from openskelo.executors import stored_values
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from tests.agents import repository
from tests.cli.conftest import Skelo

DECLARED, UNDECLARED, COPIED = "declared-0123456789", "undeclared-0123456789", "copied 'quoted' 0123456789"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project whose agent has a declared secret, one that is only its own, and a copied env file."""
    monkeypatch.setenv("OUR_TOKEN", DECLARED)
    monkeypatch.setenv("ITS_TOKEN", UNDECLARED)
    made = repository.make(
        tmp_path,
        provider="claude",
        command=[sys.executable, str(repository.AGENT)],
        permissions="gated",
        env={"OUR_TOKEN": "${secret:OUR_TOKEN}", "ITS_TOKEN": "${env:ITS_TOKEN}"},
        workspace={"kind": "worktree", "copy": ["*.env"]},
    )
    file = made / "skelo.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "secrets": {"OUR_TOKEN": "${env:OUR_TOKEN}"}}))
    (made / "local.env").write_text(f'# for tests\nPORT=3000\nexport API_KEY="{COPIED}"\n')
    return made


def _kept(root: Path) -> list[str]:
    """Return which of the secrets are in files of the data dir, apart from the workspace itself."""
    found: list[str] = []
    for file in (root / ".skelo").rglob("*"):
        if file.is_file() and "workspaces" not in file.parts:
            data = file.read_bytes()
            found += [f"{value} in {file.name}" for value in (DECLARED, UNDECLARED, COPIED) if value.encode() in data]
    return found


def _play(root: Path, *lines: str, answer: str | None = None) -> tuple[RunDocument, list[JsonObject], list[str]]:
    """Return the document of a run, the questions in it, and what its viewers have seen."""
    questions: list[JsonObject] = []
    seen: list[str] = []

    async def story() -> RunDocument:
        async with repository.engine(root) as engine:
            engine.listen(lambda _request, text: seen.append(text))
            engine.listen_status(lambda _request, text: seen.append(text))
            run_id = await engine.start(openskelo.from_document(repository.block(*lines), root=root))
            document = await engine.wait(run_id)
            while answer is not None and (approvals := cast("list[JsonObject]", document["approvals"])):
                questions.append(approvals[0])
                await engine.answer(str(approvals[0]["id"]), status=cast("Any", answer), by="ada")
                document = await engine.wait(run_id)
            return document

    return asyncio.run(asyncio.wait_for(story(), 120)), questions, seen


def _values(root: Path, document: RunDocument, kind: str, name: str) -> list[Json]:
    return [
        cast("dict[str, Any]", event["data"])[name]["value"]
        for event in repository.events(root, str(document["runId"]))
        if event["type"] == kind
    ]


def _results(root: Path, document: RunDocument) -> list[Json]:
    """Return what the calls have returned; each result is large, so its event names a blob."""

    async def story() -> list[Json]:
        log = repository.events
        stored = [
            cast("dict[str, Any]", event["data"])["result"]
            for event in await asyncio.to_thread(log, root, str(document["runId"]))
            if event["type"] == "call.completed"
        ]
        assert all("blob" in result for result in stored)
        async with repository.engine(root) as engine:
            return [await stored_values.load(engine.store, result) for result in stored]

    return asyncio.run(story())


def test_a_secret_in_the_arguments_of_a_call_is_masked_in_the_record_and_the_question(root: Path) -> None:
    lines = (
        '@hook Bash {"command": "curl -H %OUR_TOKEN% -u %ITS_TOKEN%"}',
        '@hook Write {"file_path": "a.txt", "content": "%ITS_TOKEN%"}',
    )
    document, questions, seen = _play(root, *lines, answer="approved")
    assert document["ending"] == "ok", document.get("error")
    command = "curl -H [secret] -u [secret]"
    first, second = (cast("dict[str, Any]", question) for question in questions)
    assert first["prompt"] == f"helper wants to run: {command}"
    assert (first["args"]["arguments"], first["form"]) == ({"command": command}, {})
    assert "rule" not in first["args"]
    assert second["args"]["diff"].endswith("+[secret]")
    assert _values(root, document, "call.started", "args") == [
        {"command": command},
        {"file_path": "a.txt", "content": "[secret]"},
    ]
    assert _kept(root) == []
    assert not any(DECLARED in text or UNDECLARED in text for text in seen)


def test_an_answer_about_a_call_with_a_secret_still_allows_that_call(root: Path) -> None:
    document, _, seen = _play(root, '@hook Bash {"command": "curl %OUR_TOKEN%"}', answer="approved")
    assert document["ending"] == "ok"
    assert "[allow: ada has allowed it]" in "".join(seen)


def test_a_secret_in_the_result_of_a_call_is_masked(root: Path) -> None:
    document, _, _ = _play(root, "@run echo %OUR_TOKEN% %ITS_TOKEN%", "@run cat local.env", "@say done")
    assert document["ending"] == "ok", document.get("error")
    assert _values(root, document, "call.completed", "result") == [
        "[secret] [secret]\n",
        '# for tests\nPORT=3000\nexport API_KEY="[secret]"\n',
    ]
    assert _kept(root) == []


def test_a_cut_leaves_no_part_of_a_secret(root: Path) -> None:
    kept = 512 * 1024  # of a result of more than a megabyte
    xs = "head -c {} /dev/zero | tr '\\0' x"
    command = f"{xs.format(kept - 10)}; printf %ITS_TOKEN%; {xs.format(kept + 4096)}"
    document, _, _ = _play(root, f"@run {command}", "@say done")
    (result,) = _results(root, document)
    assert cast("dict[str, str]", result)["shortened"].strip("x") == "[secret]"


def test_a_large_result_of_a_call_is_kept_whole_beside_the_log(root: Path) -> None:
    document, _, _ = _play(root, "@run head -c 100000 /dev/zero | tr '\\0' x; printf %ITS_TOKEN%", "@say done")
    assert _results(root, document) == ["x" * 100_000 + "[secret]"]


def test_a_secret_that_comes_in_pieces_is_masked_for_viewers_and_in_what_is_kept(root: Path) -> None:
    half = len(UNDECLARED) // 2
    lines = (f"@say my key is {UNDECLARED[:half]}", f"@json {UNDECLARED[half:]}", "@say !", "@exit 3")
    # The words stand in the prompt, and so in the workflow: it is the record of what the agent says that is looked at.
    document, _, seen = _play(root, *lines)
    assert cast("dict[str, Any]", document.get("error"))["code"] == "AGENT_EXITED"
    assert "".join(text for text in seen if text not in ("answering", "thinking")) == "my key is [secret]!"
    assert repository.artifact(root, str(document["runId"]), "answer.partial.txt") == "my key is [secret]!\n"
    lines = repository.artifact(root, str(document["runId"]), "transcript.jsonl").split("\n")
    messages = [json.loads(line)["message"] for line in lines if line]
    updates = [message.get("params", {}).get("update", {}) for message in messages]
    chunks = [update["content"]["text"] for update in updates if update.get("sessionUpdate") == "agent_message_chunk"]
    assert chunks == ["my key is ", "[secret]", "!"]


def test_values_of_copied_env_files_are_masked_in_diff_outputs_and_transcript(root: Path) -> None:
    document, _, _ = _play(root, "@run cp local.env copied.txt", "@say done")
    outputs = cast("dict[str, Any]", document["nodes"])["work"]["outputs"]
    assert '+export API_KEY="[secret]"' in outputs["diff"]
    assert "+PORT=3000" in outputs["diff"]
    assert '+export API_KEY="[secret]"' in repository.artifact(root, str(document["runId"]), "diff.patch")
    assert _kept(root) == []


def test_a_set_up_that_prints_a_copied_secret_does_not_leak_it(root: Path) -> None:
    file = root / "skelo.yaml"
    settings = yaml.safe_load(file.read_text())
    settings["agents"]["helper"]["workspace"]["setup"] = [["cat", "local.env"], ["sh", "-c", "cat local.env; exit 1"]]
    file.write_text(yaml.safe_dump(settings))
    document, _, _ = _play(root, "@say never")
    error = cast("dict[str, Any]", document.get("error"))
    assert (error["code"], '"[secret]"' in error["message"]) == ("WORKSPACE_SETUP", True)
    assert _kept(root) == []


def test_the_changes_that_are_printed_are_masked(root: Path) -> None:
    _play(root, "@run cp local.env copied.txt", f"@write declared.txt {DECLARED}", "@say Done.")
    for words in (["changes", "last"], ["changes", "last", "--json"]):
        printed = Skelo(folder=root)(*words)
        assert (printed.code, "API_KEY=" in printed.out, printed.out.count("[secret]")) == (0, True, 2)
        assert (COPIED in printed.out, DECLARED in printed.out) == (False, False)


def test_the_values_of_an_env_file(tmp_path: Path) -> None:
    file = tmp_path / ".env.test"
    file.write_text(
        "# A=comment-value\nA=plain-value # why\nexport B='single quoted'\nC=\"double\"\nD: colon-value\n"
        "DEBUG=true\nPORT=8080\nHOST=localhost\nE=abc\nno line of an env file\n"
        "URL=postgres://ada:pass-word@db/x\n"
    )
    assert env_files.read_values([file, tmp_path / "missing.env"]) == {
        *("plain-value", "single quoted", "double", "colon-value", "postgres://ada:pass-word@db/x", "pass-word")
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [(".env", True), (".env.local", True), (".envrc", True), ("prod.env", True), ("env", False), ("x.py", False)],
)
def test_which_files_are_env_files(name: str, expected: bool) -> None:
    assert env_files.is_env_file(name) is expected


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("A=plain-value\n")
    (tmp_path / "link.env").symlink_to(tmp_path / "target")
    assert env_files.read_values([tmp_path / "link.env", tmp_path]) == set()

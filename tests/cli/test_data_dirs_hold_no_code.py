"""What runs have written into a data dir is never a part of a workflow, whichever way the data dir was named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.workflows.project import project_file
from tests.cli.conftest import Skelo
from tests.server.test_serve import served

KEEP = """
name: keep
inputs: { name: string, blocks: array }
blocks:
  - id: keep
    mode: deterministic
    inputs: { name: { type: string, from: inputs.name }, blocks: { type: array, from: inputs.blocks } }
    outputs: { name: string }
    deterministic: { handler: builtin:pass }
"""
#: Larger than what is kept in the database: the run leaves it as a file, and that is a workflow.
PLANTED = {"name": "planted", "blocks": [{"id": "evil", "mode": "approval", "approval": {"prompt": "x" * 1_200_000}}]}
PLAIN = "name: plain\nblocks: [{id: a, mode: approval, approval: {prompt: Fine?}}]\n"


@pytest.fixture
def planted(skelo: Skelo) -> str:
    """The blob, relative to the project, that a run with `--data-dir state` has left; `attack.yaml` uses it."""
    skelo.write("keep.yaml", KEEP)
    skelo.write("doc.json", json.dumps(PLANTED))
    assert skelo("run", "keep.yaml", "--inputs", "doc.json", "--data-dir", "state").code == 0
    blobs = (path for path in (skelo.folder / "state" / "blobs").rglob("*") if path.is_file())
    (blob,) = (path for path in blobs if path.read_bytes().startswith(b'{"blocks":'))
    name = blob.relative_to(skelo.folder).as_posix()
    skelo.write("attack.yaml", f"name: attack\nblocks: [{{id: a, uses: {name}}}]\n")
    skelo.write("plain.yaml", PLAIN)
    return name


COMMANDS = [
    ("validate", "attack.yaml"),
    ("hash", "attack.yaml"),
    ("explain", "attack.yaml"),
    ("run", "attack.yaml"),
    ("fork", "last", "--from", "keep", "--workflow", "attack.yaml"),
]


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_no_command_uses_a_file_of_a_data_dir(skelo: Skelo, words: tuple[str, ...]) -> None:
    ways: list[tuple[tuple[str, ...], dict[str, str]]] = [
        (("--data-dir", "state"), {}),
        ((), {"SKELO_HOME": str(skelo.folder / "state")}),
        ((), {}),  # a later command, which knows another data dir only
        (("--data-dir", "other"), {}),
    ]
    for options, environment in ways:
        if words[0] == "fork" and options != ("--data-dir", "state"):
            continue
        result = skelo(*words, *options, env=environment)
        assert (result.code, "USES_OUTSIDE" in result.err, "is in the data dir" in result.err) == (2, True, True)


@pytest.mark.parametrize("words", [*COMMANDS[:4], ("test", "attack.yaml")], ids=lambda words: words[0])
def test_no_command_uses_a_file_of_a_data_dir_that_has_no_runs_yet(skelo: Skelo, words: tuple[str, ...]) -> None:
    skelo.write("state/inner.yaml", PLAIN)
    skelo.write("attack.yaml", "name: attack\nblocks: [{id: a, uses: state/inner.yaml}]\n")
    skelo.write("attack.test.yaml", "tests: [{name: t}]\n")
    result = skelo(*words, "--data-dir", "state")
    assert (result.code, "USES_OUTSIDE" in result.err) == (2, True)


def test_no_handler_and_no_part_of_a_prompt_is_a_file_of_a_data_dir(skelo: Skelo, planted: str) -> None:
    folder = Path(planted).parent.as_posix()
    skelo.write(f"{folder}/evil.py", "def handler(ctx):\n    return {}\n")
    skelo.write(f"{folder}/task.md", "Say it.")
    attacks = {
        f"deterministic: {{handler: {folder}/evil.py}}": "HANDLER_OUTSIDE",
        f"mode: ai, block_dir: {folder}": "BLOCK_DIR_INVALID",
    }
    for fields, code in attacks.items():
        mode = "" if fields.startswith("mode") else "mode: deterministic, "
        skelo.write("attack.yaml", f"name: attack\nblocks: [{{id: a, {mode}{fields}}}]\n")
        for options in (("--data-dir", "state"), ()):
            result = skelo("run", "attack.yaml", *options)
            assert (result.code, code in result.err, "is in the data dir" in result.err) == (2, True, True)


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--data-dir", "state"), ()], ids=["named", "another"])
def test_no_client_of_a_server_reaches_a_file_of_a_data_dir(
    skelo: Skelo, planted: str, options: tuple[str, ...]
) -> None:
    skelo.write(f"{Path(planted).parent.as_posix()}/flow.yaml", PLAIN)
    document = {"name": "sent", "blocks": [{"id": "a", "uses": planted}]}
    with served(skelo.folder, *options) as (_, client):
        for path in ("/api/workflows/validate", "/api/workflows/explain", "/api/runs"):
            for body in ({"document": document}, {"workflow": "attack.yaml"}):
                answer = client.post(path, json=body)
                assert (answer.status_code == 201, "USES_OUTSIDE" in answer.text) == (False, True)
        named = client.post("/api/runs", json={"workflow": f"{Path(planted).parent.as_posix()}/flow.yaml"})
        assert (named.status_code, named.json()["code"]) == (404, "WORKFLOW_NOT_FOUND")
        listed = client.get("/api/workflows").json()["workflows"]
        assert sorted(row["path"] for row in listed) == ["attack.yaml", "keep.yaml", "plain.yaml"]


@pytest.mark.usefixtures("planted")
def test_python_uses_no_file_of_a_data_dir(skelo: Skelo) -> None:
    path = skelo.folder / "attack.yaml"
    document = {"name": "attack", "blocks": [{"id": "a", "uses": "state/inner.yaml"}]}
    project = project_file.project_at(skelo.folder, data_dir=skelo.folder / "state")
    skelo.write("state/inner.yaml", PLAIN)
    doors: list[Callable[[], object]] = [
        lambda: openskelo.load(path),
        lambda: openskelo.load(path, data_dir=skelo.folder / "other"),
        lambda: openskelo.from_document(document, root=skelo.folder),
        lambda: openskelo.run(path),
        lambda: openskelo.run(path, project=project),
    ]
    for enter in doors:
        with pytest.raises(errors.InvalidWorkflow) as refused:
            enter()
        assert [problem.code for problem in refused.value.problems] == ["USES_OUTSIDE"]


def test_python_uses_no_file_of_a_data_dir_that_has_no_runs_yet(skelo: Skelo) -> None:
    skelo.write("state/inner.yaml", PLAIN)
    path = skelo.write("attack.yaml", "name: attack\nblocks: [{id: a, uses: state/inner.yaml}]\n")
    document = {"name": "attack", "blocks": [{"id": "a", "uses": "state/inner.yaml"}]}
    state = skelo.folder / "state"
    project = project_file.project_at(skelo.folder, data_dir=state)
    doors: list[Callable[[], object]] = [
        lambda: openskelo.load(path, data_dir=state),
        lambda: openskelo.from_document(document, root=skelo.folder, data_dir=state),
        lambda: openskelo.run(path, project=project),
    ]
    for enter in doors:
        with pytest.raises(errors.InvalidWorkflow) as refused:
            enter()
        assert [problem.code for problem in refused.value.problems] == ["USES_OUTSIDE"]

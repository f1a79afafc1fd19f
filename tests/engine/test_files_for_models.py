"""Files among the inputs of an ai block: the model gets their content, and never only a path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.executors.ai import input_files
from openskelo.executors.handlers import invocation
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, protocol, router, scripted
from tests.engine import stage

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
FLOW: dict[str, Json] = {
    "name": "reads",
    "blocks": [
        {
            "id": "ask",
            "prompt": "What is in it?",
            "inputs": {"doc": {"kind": "file", "from": "inputs.doc"}},
            "outputs": {"text": "string"},
        }
    ],
}


class TextOnly(scripted.Scripted):
    """A script of a model that takes no attachments."""

    def media_types(self, parameters: object) -> frozenset[str]:
        del parameters
        return frozenset()


async def _run(root: Path, provider: protocol.Provider, name: str) -> RunDocument:
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    async with await openskelo.Engine.open(project, provider=provider) as engine:
        return await engine.wait(await engine.start(openskelo.from_document(FLOW), {"doc": name}))


def ask(root: Path, name: str) -> protocol.Request:
    """The request of a run on this file."""
    provider = scripted.Scripted({"ask": [{"text": "Bees."}]})
    assert stage.play(lambda: _run(root, provider, name))["status"] == "completed"
    (request,) = provider.asked
    return request


def test_a_text_file_stands_in_the_prompt_as_fenced_data(tmp_path: Path) -> None:
    (tmp_path / "bees.md").write_text("Bees buzz.\n```\nnot the end\n```\n")
    user = ask(tmp_path, "bees.md").messages[1]
    assert "doc, the file bees.md (data):\n````\nBees buzz.\n```\nnot the end\n```\n\n````" in user.text
    assert user.attachments == ()


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89a rest", "image/gif"),
        (b"RIFF\0\0\0\0WEBPrest", "image/webp"),
        (b"%PDF-1.7 rest", "application/pdf"),
    ],
)
def test_an_image_or_a_pdf_goes_along_with_the_message(tmp_path: Path, data: bytes, media_type: str) -> None:
    (tmp_path / "file").write_bytes(data)
    user = ask(tmp_path, "file").messages[1]
    assert user.attachments == (protocol.Attachment(name="file", media_type=media_type, data=data),)
    assert f"doc: the attached file file ({media_type})" in user.text


@pytest.mark.parametrize(
    ("data", "provider", "code"),
    [
        (b"PK\x03\x04\0\0", scripted.Scripted([]), "FILE_UNSUPPORTED"),
        (b"caf\xe9", scripted.Scripted([]), "FILE_UNSUPPORTED"),
        (PNG, TextOnly([]), "FILE_UNSUPPORTED"),
        (b"x" * (input_files.MAX_TEXT_BYTES + 1), scripted.Scripted([]), "FILE_TOO_LARGE"),
        (PNG + b"\0" * input_files.MAX_ATTACHMENT_BYTES, scripted.Scripted([]), "FILE_TOO_LARGE"),
    ],
)
def test_a_file_that_the_model_cannot_be_shown_is_refused_before_the_run(
    tmp_path: Path, data: bytes, provider: scripted.Scripted, code: str
) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(errors.InvalidInput) as refused:
        stage.play(lambda: _run(tmp_path, provider, "file"))
    assert (refused.value.code, provider.asked) == (code, [])

    async def runs() -> list[str]:
        async with openskelo.reading(openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")) as history:
            return [str(row["runId"]) for row in await history.runs()]

    assert stage.play(runs) == []


def test_a_file_that_a_block_computes_fails_its_attempt_with_a_code(tmp_path: Path) -> None:
    (tmp_path / "file.zip").write_bytes(b"PK\x03\x04\0\0")
    flow = openskelo.from_document(
        {
            "name": "reads",
            "blocks": [
                stage.block("name", outputs={"path": {"kind": "file"}}),
                {
                    "id": "ask",
                    "prompt": "What is in it?",
                    "inputs": {"doc": {"kind": "file", "from": "name.path"}},
                    "outputs": {"text": "string"},
                },
            ],
        }
    )

    async def story() -> RunDocument:
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        handlers: dict[str, invocation.Handler] = {"name": lambda _: {"path": "file.zip"}}
        provider = scripted.Scripted([])
        async with await openskelo.Engine.open(project, provider=provider, handlers=handlers) as engine:
            return await engine.wait(await engine.start(flow))

    document = stage.play(story)
    error = stage.error(document)
    assert (error["code"], error.get("node"), stage.node(document, "ask")["attempts"]) == ("FILE_UNSUPPORTED", "ask", 1)


def test_the_record_says_which_files_went_along(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(PNG)
    provider = scripted.Scripted({"ask": [{"text": "Bees."}]})

    async def story() -> JsonObject:
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        async with await openskelo.Engine.open(project, provider=provider) as engine:
            run_id = await engine.start(openskelo.from_document(FLOW), {"doc": "photo.png"})
            await engine.wait(run_id)
            async for event in engine.follow(run_id, until_end=False):
                data = event["data"]
                assert isinstance(data, dict)
                artifact = data.get("artifact")
                if isinstance(artifact, dict) and artifact["name"] == "prompt.blocks.json":
                    return json.loads(await engine.store.read_blob(str(artifact["hash"])))
        raise AssertionError("no prompt was kept")

    (attachment,) = stage.play(story)["attachments"]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType] - a list of one
    assert isinstance(attachment, dict)
    assert {name: attachment[name] for name in ("name", "mediaType", "bytes")} == {
        "name": "photo.png",
        "mediaType": "image/png",
        "bytes": len(PNG),
    }


def test_a_router_takes_the_files_that_every_model_of_its_plan_takes(tmp_path: Path) -> None:
    models = config.Config(
        providers={
            "cloud": config.ProviderConfig(name="cloud", kind="openai", model="m"),
            "here": config.ProviderConfig(name="here", kind="ollama", model="m"),
        },
        experts={
            "sees": config.ExpertConfig(name="sees", provider="cloud"),
            "reads": config.ExpertConfig(name="reads", provider="here"),
        },
    )
    chooser = router.Router(models, root=tmp_path)
    taken = [chooser.media_types({"expert": name}) for name in ("sees", "reads")]
    assert taken == [protocol.IMAGES_AND_PDF, frozenset()]

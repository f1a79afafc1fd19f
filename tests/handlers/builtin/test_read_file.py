"""`builtin:read-file`: what it gives, and every way in which it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json
from tests.executors import workshop


def read(root: Path, inputs: dict[str, Json], **config: Json) -> outcome.Outcome:
    node = definition.Node(
        key="read",
        mode="deterministic",
        handler="builtin:read-file",
        inputs=(workshop.port("where", required=False),),
        outputs=(workshop.port("content"), workshop.port("file_path"), workshop.port("bytes")),
        config=config,
    )
    return workshop.outcome_of(workshop.project(root), workshop.task_of(node, inputs))


@pytest.mark.parametrize(
    ("inputs", "config", "content"),
    [
        ({}, {"path": "a.txt"}, "grüße"),
        ({"where": "a.txt"}, {"path_from": "where"}, "grüße"),
        ({}, {"path_from": "where", "path": "a.txt"}, "grüße"),
        ({}, {"path": "a.txt", "encoding": "latin-1"}, "grÃ¼Ã\x9fe"),
        ({}, {"path": "a.txt", "encoding": "base64"}, "Z3LDvMOfZQ=="),
        ({}, {"path": "a.txt", "max_bytes": 7}, "grüße"),
    ],
)
def test_it_gives_content_path_and_size(
    tmp_path: Path, inputs: dict[str, Json], config: dict[str, Json], content: str
) -> None:
    path = tmp_path.resolve() / "a.txt"
    path.write_text("grüße")
    assert read(tmp_path, inputs, **config).outputs == {
        "value": {"content": content, "file_path": str(path), "bytes": 7}
    }


@pytest.mark.parametrize(
    ("inputs", "config", "code"),
    [
        ({}, {"path": "none.txt"}, "DET_READ_FAILED"),
        ({}, {"path": "none/none.txt"}, "DET_PATH_INVALID"),
        ({}, {"path": "folder"}, "DET_PATH_INVALID"),
        ({}, {"path": "pipe"}, "DET_PATH_INVALID"),
        ({}, {"path_from": "where"}, "DET_PATH_INVALID"),
        ({"where": 3}, {"path_from": "where"}, "DET_PATH_INVALID"),
        ({"where": "../secret.txt"}, {"path_from": "where"}, "DET_PATH_INVALID"),
        ({"where": "a" * 300}, {"path_from": "where"}, "DET_READ_FAILED"),
        ({"where": "link.txt"}, {"path_from": "where"}, "DET_PATH_INVALID"),
        ({"where": "/etc/hostname"}, {"path_from": "where"}, "DET_PATH_INVALID"),
        ({"where": ".skelo/keys/ed25519.pem"}, {"path_from": "where"}, "DET_PATH_INVALID"),
        ({"where": "state/session.key"}, {"path_from": "where"}, "DET_PATH_INVALID"),
        ({}, {"path": "big.txt", "max_bytes": 10}, "DET_TOO_LARGE"),
        ({}, {"path": "binary"}, "DET_DECODE_FAILED"),
        ({}, {}, "DET_CONFIG_INVALID"),
        ({}, {"path": "a", "encoding": "rot13"}, "DET_CONFIG_INVALID"),
    ],
)
def test_every_refusal_has_its_code(
    tmp_path: Path, inputs: dict[str, Json], config: dict[str, Json], code: str
) -> None:
    root = tmp_path / "project"
    (root / "folder").mkdir(parents=True)
    (root / ".skelo" / "keys").mkdir(parents=True)
    (root / ".skelo" / "keys" / "ed25519.pem").write_text("key")
    (root / "state").mkdir()  # where `skelo serve --data-dir state` has kept its runs
    for name in ("version", "log.db", "session.key"):
        (root / "state" / name).write_text("1")
    (tmp_path / "secret.txt").write_text("no")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "big.txt").write_text("x" * 11)
    (root / "binary").write_bytes(b"\xff\xfe")
    os.mkfifo(root / "pipe")
    assert workshop.code_of(read(root, inputs, **config)) == code

"""What a data dir holds is its owner's alone, whatever the umask is and whoever made the folder."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.server import receiver
from tests.server.test_operation_processes import hooked
from tests.server.test_serve import root, served, skelo

__all__ = ["root"]  # the fixture

pytestmark = pytest.mark.slow

KEEPING = """\
name: keeping
blocks:
  - id: keep
    mode: deterministic
    inputs: {text: {from: inputs.text, type: string}}
    outputs: {file_path: string}
    deterministic: {handler: builtin:write-file, config: {content_from: text, default_path_template: out/kept.txt}}
"""


@pytest.fixture
def open_to_all() -> Generator[None]:
    """Files of the processes that start here are everybody's, unless these say otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def shared(folder: Path) -> set[str]:
    """What in a folder others than its owner may do anything with."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.stat().st_mode & 0o077}


@pytest.mark.usefixtures("open_to_all")
def test_nobody_else_may_look_into_a_data_dir(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / ".skelo").mkdir(mode=0o777)
    (root / "keeping.yaml").write_text(KEEPING)
    (root / "long.txt").write_text("long " * 300_000)  # a value that becomes a file
    with receiver.receiving() as to:
        hooked(root, to.url, monkeypatch)
        for words in (
            ("run", "keeping.yaml", "--input", "text=@long.txt"),
            ("export", "last", "--sign"),
            ("token", "add", "ana", "--role", "viewer"),
        ):
            done = skelo(root, *words)
            assert done.returncode == 0, done.stderr
        with served(root, "--token", "a-long-random-text"):
            made = {path.name for path in (root / ".skelo").iterdir()}
            found = shared(root / ".skelo")
    assert made >= {"version", "log.db", "log.db-wal", "log.db-shm", "webhooks.db-wal", "blobs", "writes", "drivers"}
    assert list((root / ".skelo").glob("runs/*/head.sig")) != []
    assert found == {"keys/ed25519.pub"}  # which is there to be given away

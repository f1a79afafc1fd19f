"""A release of this tree: the source archive, the wheel that is made from it, and an environment that has only that."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from tests.repo import tracked

_PIN = re.compile(r"^([a-z0-9._-]+)==", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The two files of a release."""

    archive: Path
    wheel: Path


def build(folder: Path) -> Release:
    """Build a release as `make dist` and `python -m build` do: the archive from the tree, the wheel from that."""
    command = [sys.executable, "-m", "uv", "build", "--offline", "--no-build-isolation", "--python", sys.executable]
    done = subprocess.run(
        [*command, "--out-dir", str(folder), str(tracked.ROOT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Release(archive=archive, wheel=wheel)


def install(wheel: Path, folder: Path) -> Path:
    """Return the folder of the commands of a new environment that has the wheel and what `runtime.lock` lists.

    The locked packages are linked from the environment of the tests, so that nothing is fetched.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in _PIN.findall((tracked.ROOT / "requirements" / "runtime.lock").read_text("utf-8")):
        _link(name, packages)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel],
        check=True,
        capture_output=True,
    )
    return folder / "bin"


def _link(name: str, packages: Path) -> None:
    """Link what the package has in the environment of the tests into `packages`; skip one of another platform."""
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    site = Path(str(distribution.locate_file("")))
    for entry in sorted(
        {path.parts[0] for path in distribution.files or () if path.parts[0] not in ("..", "__pycache__")}
    ):
        target = packages / entry
        if not target.exists():
            target.symlink_to(site / entry)

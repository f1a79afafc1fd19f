"""`skelo model`: what the embedded model needs and has; `skelo model install` installs it."""

from __future__ import annotations

import argparse

from openskelo.cli import exits, model_install, output
from openskelo.kernel.json import JsonObject
from openskelo.providers import weights


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="install",
        nargs="?",
        choices=("install",),
        help="install what is missing (about 120 MB, once)",
    )
    parser.epilog = (
        "The model runs in this process, without a key and without a network. Any other GGUF file can be named "
        "in skelo.yaml instead: providers: {local: {kind: local, model_path: models/other.gguf}}\n\n"
        "exit codes: 0 it is installed, 1 it is not"
    )


def run(args: argparse.Namespace) -> int:
    before = model_install.unmet()
    if args.action == "install" and before:
        wanted = ", ".join(f"{name} {version}" for name, version in before.items())
        output.note(f"installing {wanted}")
        model_install.install()
    document = _document()
    if args.json:
        output.document(document)
    else:
        _print(document)
    return exits.COMPLETED if document["installed"] else exits.FAILED


def _document() -> JsonObject:
    path = weights.embedded()
    packages: JsonObject = {
        name: {"wanted": version, "installed": weights.version(name)}
        for name, version in model_install.pinned().items()
    }
    return {
        "model": weights.MODEL,
        "installed": path is not None and weights.version(weights.RUNTIME) is not None,
        "file": None if path is None else str(path),
        "bytes": None if path is None else path.stat().st_size,
        "packages": packages,
    }


def _print(document: JsonObject) -> None:
    output.say(f"{document['model']}: {'installed' if document['installed'] else 'not installed'}")
    if document["file"] is not None:
        output.say(f"  {document['file']}")
    for name, version in model_install.pinned().items():
        found = weights.version(name)
        output.say(f"  {name} {found or 'is missing'}" + (f" (wanted: {version})" if found != version else ""))
    if not document["installed"]:
        output.note("install it with: skelo model install")

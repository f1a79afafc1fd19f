"""`skelo init [DIR]`: write a small project that runs right away."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from openskelo import errors
from openskelo.cli import exit_codes, output

STARTER = Path(__file__).parent.parent / "starter"
_SCHEMA = Path(__file__).parents[2] / "workflows" / "schema" / "blocks.schema.json"

#: Where each starter file goes. Some have other names here, so that they do not affect our own repository.
FILES = {
    "skelo.yaml": "skelo.yaml",
    "hello.yaml": "hello.yaml",
    "hello.test.yaml": "hello.test.yaml",
    "release.yaml": "release.yaml",
    "release.test.yaml": "release.test.yaml",
    "handlers/words.py.txt": "handlers/words.py",
    "README.md": "README.md",
    "gitignore": ".gitignore",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", nargs="?", default=".", help="where (default: the current folder)")
    parser.add_argument("--force", action="store_true", help="overwrite files of the same names")


def run(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    contents = {target: (STARTER / source).read_bytes() for source, target in FILES.items()}
    contents["schema/blocks.schema.json"] = _SCHEMA.read_bytes()
    if not args.force:
        _refuse_to_overwrite(folder, contents)
    try:
        for target, content in contents.items():
            path = folder / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except (OSError, ValueError) as error:
        raise _unwritable(folder, error) from error
    if args.json:
        output.document({"folder": str(folder.absolute()), "files": sorted(contents)})
        return exit_codes.COMPLETED
    for target in sorted(contents):
        output.say(f"  {folder / target}")
    output.say()
    output.say("Now try:")
    if folder != Path():
        output.say(f"  cd {shlex.quote(str(folder))}")
    output.say("  skelo run hello.yaml --input name=Ada")
    output.say("  skelo explain release.yaml")
    output.say("  skelo serve   # the dashboard: open the link that it prints")
    return exit_codes.COMPLETED


def _unwritable(folder: Path, error: OSError | ValueError) -> errors.InvalidInput:
    reason = error.strerror if isinstance(error, OSError) else error
    if isinstance(error, FileExistsError | NotADirectoryError):
        reason = "there is a file where a folder is needed"
    return errors.InvalidInput(
        f"cannot write to {folder}: {reason}", code="FOLDER_UNWRITABLE", hint="choose another folder"
    )


def _refuse_to_overwrite(folder: Path, contents: dict[str, bytes]) -> None:
    try:
        existing = sorted(target for target in contents if (folder / target).exists())
    except (OSError, ValueError) as error:
        raise _unwritable(folder, error) from error
    if existing:
        raise errors.InvalidInput(
            f"{folder} already has {', '.join(existing)}",
            code="FILE_EXISTS",
            hint="choose another folder, or give --force to overwrite them",
        )

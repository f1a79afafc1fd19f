"""`skelo convert FILE --to blocks|plan`: write a plan as blocks, or blocks as a plan, without running it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from openskelo import errors
from openskelo.cli import exit_codes, output, project_context
from openskelo.kernel.json import JsonObject
from openskelo.workflows import load
from openskelo.workflows.convert import file as convert_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a plan, or a file of blocks")
    parser.add_argument("--to", choices=("blocks", "plan"), required=True, help="the form to convert to")
    parser.add_argument("--out", metavar="F.json", help="the file to write (default: standard output)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.epilog = (
        "A plan can become blocks if it has no jumps back; blocks can become a plan if they run one after the "
        "other. What the other form cannot express is a problem that names the step or the block (exit 2)."
    )


def run(args: argparse.Namespace) -> int:
    path = project_context.workflow_file(args.file)
    where = project_context.from_args(args, path)
    document = convert_file.convert(path, to=args.to, root=where.root)
    if args.out is None:
        output.document(document)
        return exit_codes.COMPLETED
    out = Path(args.out)
    _write(out, document, force=args.force)
    checked = load.from_document(document, root=where.root)
    if args.json:
        output.document({"file": str(out), "hash": checked.hash})
    else:
        output.note(f"{out}: written, {output.count(len(checked.nodes), 'step' if checked.plan else 'block')}")
    return exit_codes.COMPLETED


def _write(out: Path, document: JsonObject, *, force: bool) -> None:
    try:
        if out.exists() and not force:
            raise errors.InvalidInput(f"{out} exists already", code="FILE_EXISTS", hint="name another, or --force")
        out.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise errors.InvalidInput(f"{out} cannot be written: {error}", code="FILE_UNWRITABLE") from error

"""`skelo convert FILE --to blocks|plan`: the same work in the other form, where that form can say it; run nothing."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from openskelo import errors
from openskelo.cli import exits, output, place
from openskelo.kernel.json import JsonObject
from openskelo.workflows import load
from openskelo.workflows.convert import file as convert_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a plan, or a file of blocks")
    parser.add_argument("--to", choices=("blocks", "plan"), required=True, help="what to make of it")
    parser.add_argument("--out", metavar="F.json", help="where it goes (default: standard output)")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.epilog = (
        "A plan becomes blocks where it has no jumps back, blocks become a plan where they run one after the "
        "other. What the other form cannot say is a problem that names the step or the block (exit 2)."
    )


def run(args: argparse.Namespace) -> int:
    path = place.workflow_file(args.file)
    where = place.of_args(args, path)
    document = convert_file.convert(path, to=args.to, root=where.root)
    if args.out is None:
        output.document(document)
        return exits.COMPLETED
    out = Path(args.out)
    _write(out, document, force=args.force)
    checked = load.from_document(document, root=where.root)
    if args.json:
        output.document({"file": str(out), "hash": checked.hash})
    else:
        output.note(f"{out}: written, {output.count(len(checked.nodes), 'step' if checked.plan else 'block')}")
    return exits.COMPLETED


def _write(out: Path, document: JsonObject, *, force: bool) -> None:
    try:
        if out.exists() and not force:
            raise errors.InvalidInput(f"{out} is there already", code="FILE_EXISTS", hint="name another, or --force")
        out.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise errors.InvalidInput(f"{out} cannot be written: {error}", code="FILE_UNWRITABLE") from error

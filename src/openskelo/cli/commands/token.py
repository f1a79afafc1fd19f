"""`skelo token`: add, list and remove the tokens of clients."""

from __future__ import annotations

import argparse

from openskelo import errors
from openskelo.cli import exit_codes, output, project_context
from openskelo.record import envelope
from openskelo.server.auth import tokens


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("add", "list", "remove"), help="what to do")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the name of its owner, which approvals record")
    parser.add_argument(
        "--role",
        choices=tokens.ROLES,
        default="operator",
        help="viewer reads, approver also answers, operator may do everything (default: operator)",
    )
    parser.epilog = "A token is shown once, when it is created; the data dir keeps only its hash."


def run(args: argparse.Namespace) -> int:
    store = tokens.Tokens(project_context.from_args(args).data_dir / "tokens.json")
    if args.action == "list":
        return _list(args, store)
    if args.name is None:
        raise errors.InvalidInput(f"token {args.action} needs a NAME", code="USAGE")
    if args.action == "remove":
        store.remove(args.name)
        if args.json:
            output.document({"removed": args.name})
        return exit_codes.COMPLETED
    token = store.add(args.name, args.role)
    if args.json:
        output.document({"name": args.name, "role": args.role, "token": token})
    else:
        output.note(f"the token of {args.name} ({args.role}); it is not shown again:")
        output.say(token)
    return exit_codes.COMPLETED


def _list(args: argparse.Namespace, store: tokens.Tokens) -> int:
    entries = store.list_file()
    if args.json:
        output.document(
            {
                "tokens": [
                    {"name": entry.name, "role": entry.role, "createdAt": envelope.timestamp(entry.created_at)}
                    for entry in entries
                ]
            }
        )
    elif not entries:
        output.note("no tokens")
    else:
        output.table(
            ["name", "role", "created"],
            [[entry.name, entry.role, output.moment(entry.created_at)] for entry in entries],
        )
    return exit_codes.COMPLETED

"""`skelo token`: who may come in beyond this machine, and as what."""

from __future__ import annotations

import argparse

from openskelo import errors
from openskelo.cli import exits, output, place
from openskelo.contract import envelope
from openskelo.server import tokens


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("add", "list", "remove"), help="what to do")
    parser.add_argument("name", metavar="NAME", nargs="?", help="whose token it is; answers to approvals record it")
    parser.add_argument(
        "--role",
        choices=tokens.ROLES,
        default="operator",
        help="viewer looks, approver answers too, operator does everything (default: operator)",
    )
    parser.epilog = "A token is shown once, when it is made; the data dir keeps a hash of it."


def run(args: argparse.Namespace) -> int:
    known = tokens.Tokens(place.of_args(args).data_dir / "tokens.json")
    if args.action == "list":
        return _list(args, known)
    if args.name is None:
        raise errors.InvalidInput(f"token {args.action} needs a NAME", code="USAGE")
    if args.action == "remove":
        known.remove(args.name)
        if args.json:
            output.document({"removed": args.name})
        return exits.COMPLETED
    token = known.add(args.name, args.role)
    if args.json:
        output.document({"name": args.name, "role": args.role, "token": token})
    else:
        output.note(f"the token of {args.name} ({args.role}); it is not shown again:")
        output.say(token)
    return exits.COMPLETED


def _list(args: argparse.Namespace, known: tokens.Tokens) -> int:
    found = known.listed()
    if args.json:
        output.document(
            {
                "tokens": [
                    {"name": one.name, "role": one.role, "createdAt": envelope.timestamp(one.created_at)}
                    for one in found
                ]
            }
        )
    elif not found:
        output.note("no tokens")
    else:
        output.table(
            ["name", "role", "created"], [[one.name, one.role, output.moment(one.created_at)] for one in found]
        )
    return exits.COMPLETED

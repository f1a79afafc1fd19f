"""The parser of one command's arguments: the options that all commands share, and mistakes as InvalidInput."""

from __future__ import annotations

import argparse
from typing import NoReturn, Protocol

from openskelo import errors

#: The largest number that a database counts with.
_MOST = 2**63 - 1


class CommandModule(Protocol):
    """What a file in `commands/` offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it, print it, give the exit code; raise OpenSkeloError for what the user should know."""
        ...


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake is an error like any other: it has a code, a hint, and a JSON form."""

    def error(self, message: str) -> NoReturn:
        raise errors.InvalidInput(message, code="USAGE", hint=f"{self.format_usage().strip()}")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Lines as they are written, in a width that does not change with the terminal by more than it must."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=88)


def parser(name: str, summary: str, module: CommandModule) -> Parser:
    """The parser of the command `name`, with the options every command has."""
    made = Parser(
        prog=f"skelo {name}",
        description=summary[0].upper() + summary[1:] + ".",
        formatter_class=_Formatter,
        allow_abbrev=False,
        add_help=False,
    )
    module.add_arguments(made)
    shared = made.add_argument_group("for every command")
    shared.add_argument("--json", action="store_true", help="print one JSON document on stdout and nothing else there")
    shared.add_argument(
        "--data-dir", metavar="DIR", help="where runs are kept (default: $SKELO_HOME, or .skelo/ in the project)"
    )
    shared.add_argument("-h", "--help", action="help", help="print this and stop")
    return made


def count(text: str) -> int:
    """The value of an argument that counts something: a whole number that a store can hold (ArgumentTypeError)."""
    try:
        found = int(text)
    except ValueError:
        found = -1
    if not 0 <= found <= _MOST:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no whole number from 0 to {_MOST}")
    return found


def run_argument(parser: argparse.ArgumentParser, name: str = "run_id") -> None:
    """A positional argument that names a run."""
    parser.add_argument(name, metavar="RUN", help="a run id, at least 4 first characters of one, or `last`")

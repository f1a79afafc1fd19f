"""Builds the argument parser of a command: shared options, help of one width, mistakes as InvalidInput."""

from __future__ import annotations

import argparse
from typing import NoReturn, Protocol

from openskelo import errors

#: The width of help.
WIDTH = 79
#: The largest integer of SQLite.
_MAX_INTEGER = 2**63 - 1


class CommandModule(Protocol):
    """The interface of a file in `commands/`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int:
        """Run the command, print its result and return the exit code. Raise OpenSkeloError for the user."""
        ...


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose mistakes are InvalidInput, with a code, a hint and a JSON form."""

    def error(self, message: str) -> NoReturn:
        raise errors.InvalidInput(message, code="USAGE", hint=self._advice(message) or self.format_usage().strip())

    def _advice(self, message: str) -> str | None:
        """Return a hint for a mistyped option, or for `name=value` without `--input`."""
        _, _, words = message.partition("unrecognized arguments: ")
        argument, _, value = words.partition(" ")[0].partition("=")
        known_options = self._option_string_actions
        if argument.startswith("--"):
            from openskelo.values import suggestions  # noqa: PLC0415 - needed for a mistake only

            near = suggestions.name_like(argument, known_options)
            return f"did you mean {near}?" if near else None
        if value and "--input" in known_options:
            return f"did you mean --input {argument}={value}?"
        return None


class _Formatter(argparse.HelpFormatter):
    """Formats help in one width, so that it fits an 80-column terminal, and keeps paragraphs apart."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(super(_Formatter, self)._fill_text(part, width, indent) for part in text.split("\n\n"))


def parser(name: str, summary: str, module: CommandModule) -> Parser:
    """Return the parser of the command `name`, with the options that every command has."""
    command_parser = Parser(
        prog=f"skelo {name}",
        description=summary[0].upper() + summary[1:] + ".",
        formatter_class=_Formatter,
        allow_abbrev=False,
        add_help=False,
    )
    module.add_arguments(command_parser)
    shared_group = command_parser.add_argument_group("for every command")
    shared_group.add_argument(
        "--json", action="store_true", help="print one JSON document on stdout and nothing else there"
    )
    shared_group.add_argument(
        "--data-dir", metavar="DIR", help="where runs are kept (default: $SKELO_HOME, else .skelo/)"
    )
    shared_group.add_argument("-h", "--help", action="help", help="print this and stop")
    return command_parser


def count(text: str) -> int:
    """Return the value of an argument that is a count. Raise ArgumentTypeError if a store cannot hold it."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= _MAX_INTEGER:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from 0 to {_MAX_INTEGER}")
    return number


def run_argument(parser: argparse.ArgumentParser, name: str = "run_id") -> None:
    """Add a positional argument that names a run."""
    parser.add_argument(name, metavar="RUN", help="a run id, its first characters (at least 4), or `last`")

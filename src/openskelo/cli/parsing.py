"""The parser of one command's arguments: the options that all commands share, and mistakes as InvalidInput."""

from __future__ import annotations

import argparse
from typing import NoReturn, Protocol

from openskelo import errors

#: How wide help may be.
WIDTH = 79
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
        raise errors.InvalidInput(message, code="USAGE", hint=self._advice(message) or self.format_usage().strip())

    def _advice(self, message: str) -> str | None:
        """What somebody who mistyped an option, or left `--input` away, most likely meant."""
        _, _, words = message.partition("unrecognized arguments: ")
        given, _, value = words.partition(" ")[0].partition("=")
        known = self._option_string_actions
        if given.startswith("--"):
            from openskelo.values import nearest  # noqa: PLC0415 - needed for a mistake only

            near = nearest.name_like(given, known)
            return f"did you mean {near}?" if near else None
        return f"did you mean --input {given}={value}?" if value and "--input" in known else None


class _Formatter(argparse.HelpFormatter):
    """Help of the same width everywhere, so that it fits the narrowest usual terminal; paragraphs stay apart."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(super(_Formatter, self)._fill_text(part, width, indent) for part in text.split("\n\n"))


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
    shared.add_argument("--data-dir", metavar="DIR", help="where runs are kept (default: $SKELO_HOME, else .skelo/)")
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

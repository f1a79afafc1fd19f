"""Logging to stderr for commands that run until they are stopped (`serve`, `worker`): text, or JSON lines.

`--log json` is for programs that read stderr line by line. So the lines that other commands print for people, and the
error that ends a command, are lines of the log there.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable

from openskelo import errors
from openskelo.cli import exit_codes, output

_LOG = logging.getLogger("openskelo.server")


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add `--log`."""
    parser.add_argument("--log", choices=("text", "json"), default="text", help="how to log to stderr (default: text)")


def note(args: argparse.Namespace, line: str) -> None:
    """Print a line for people, or log it if the log is JSON."""
    if args.log == "json":
        _LOG.info("%s", line)
    else:
        output.note(line)


def run(args: argparse.Namespace, command: Callable[[], int]) -> int:
    """Return the exit code of `command`; log the error that ends it if the log is JSON."""
    if args.log != "json" or args.json:
        return command()
    from openskelo.server.telemetry import logs  # noqa: PLC0415 - only these commands need it

    logs.configure("json", None)
    try:
        return command()
    except errors.OpenSkeloError as error:
        fields = {"code": error.code, "hint": error.hint}
        _LOG.error("%s %s", error.code, error.message, extra={"fields": fields})
        return exit_codes.of_error(error)

"""The entry point of `skelo`: finds the command, runs it, and turns an uncaught error into a message.


Only the module of the invoked command is imported, and `--help` imports none, so that the command line starts fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple, cast

from openskelo import errors
from openskelo.cli import output

#: The exit code of a success that could not be printed: EX_IOERR of sysexits.h.
_OUTPUT_LOST = 74


class Command(NamedTuple):
    """A command in the help."""

    name: str
    help: str
    #: Its file in `commands/`.
    module: str


GROUPS: dict[str, tuple[Command, ...]] = {
    "Write": (
        Command("init", "write a small project that runs right away", "init"),
        Command("validate", "check workflow files, or skelo.yaml, and list their problems", "validate"),
        Command("explain", "draw a workflow: graph, contracts, gates, effects, totals", "explain"),
        Command("plan", "have an expert write a plan, and check it before anything runs", "plan"),
        Command("hash", "print the hash that a run of this file would pin", "hash"),
        Command("test", "run a workflow against scripted answers", "test"),
    ),
    "Run": (
        Command("run", "run a workflow", "run"),
        Command("resume", "continue a run that was suspended, was killed or is waiting", "resume"),
        Command("cancel", "end a run and everything it started", "cancel"),
        Command("fork", "run again from a node, and keep what came before it", "fork"),
    ),
    "Answer": (
        Command("approvals", "list what is waiting for a person", "approvals"),
        Command("approve", "approve, if needed with modified values", "approve"),
        Command("deny", "deny, with a reason", "deny"),
    ),
    "Inspect": (
        Command("runs", "list runs, newest first", "runs"),
        Command("show", "show the state of a run", "show"),
        Command("output", "print the outputs of a run", "output"),
        Command("events", "print the log of a run", "events"),
        Command("diff", "compare two runs node by node", "diff"),
    ),
    "Agents": (
        Command("agents", "list coding agents, check one, or install its program", "agents"),
        Command("chat", "talk to a node of a live graph, and follow what it does", "chat"),
        Command("changes", "print what agents have changed in their workspaces", "changes"),
        Command("apply", "commit an agent's changes on a branch, or change your files", "apply"),
        Command("workspaces", "list the folders in which agents work, or remove them", "workspaces"),
    ),
    "Prove": (
        Command("receipts", "list the receipts of a run", "receipts"),
        Command("verify", "prove offline that a record is complete and unaltered", "verify"),
        Command("replay", "execute the pure steps again and compare hashes", "replay"),
        Command("export", "write one file that can be verified anywhere", "export"),
    ),
    "Check": (
        Command("check all", "run every check that applies to a project, and its tests", "check_all"),
        Command("check scope", "check that a repository has changed only where it may", "check_scope"),
        Command("check trace-map", "check that every field of a schema is traced to a source", "check_trace_map"),
        Command("check artifacts", "check that a folder has the artifacts that its steps require", "check_artifacts"),
        Command("check sync-celery", "check that Python code can run in a synchronous worker", "check_sync_celery"),
    ),
    "Serve": (
        Command("serve", "serve the dashboard and the HTTP API, and drive runs", "serve"),
        Command("worker", "drive runs that no other process drives, without HTTP", "worker"),
        Command("token", "manage the tokens of browsers and programs", "token"),
    ),
    "Set-up": (
        Command("model", "show or install the embedded model, or use another", "model"),
        Command("prune", "remove the data of old runs from the data dir", "prune"),
        Command("doctor", "check this machine and project", "doctor"),
    ),
}

COMMANDS: dict[str, Command] = {command.name: command for group in GROUPS.values() for command in group}

HEAD = """usage: skelo COMMAND [ARGUMENTS]
       skelo COMMAND --help
       skelo --version

A backbone for AI work: code decides, models do bounded work, people approve,
and every step leaves a receipt.
"""

FOOT = """
Every command takes --json (one JSON document on stdout) and --data-dir DIR.
A run or an approval is named by its id, the first characters of it, or `last`.

exit codes: 0 completed, 1 failed, 2 invalid input (nothing was started),
3 paused and waiting for a person, 4 budget exceeded, 130 cancelled
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Never raise; print a traceback only if SKELO_DEBUG=1."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    output.protect_streams()
    output.reserve_stdout()
    try:
        code = _run_command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return _end_after_broken_pipe()
    except KeyboardInterrupt:
        return 130
    failure = output.write_failure()
    if failure is None:
        return code
    return _report_lost_output(failure, code)


def _run_command(arguments: list[str]) -> int:
    try:
        return _dispatch(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except BrokenPipeError:
        raise
    except errors.OpenSkeloError as error:
        return _report(error, arguments)
    except Exception as error:  # the only place that turns a defect into a message
        return _report(_internal(error), arguments)


def help_text() -> str:
    """Return what `skelo --help` prints."""
    width = max(len(name) for name in COMMANDS)
    lines = [HEAD]
    for title, group in GROUPS.items():
        lines.append(f"{title}:")
        lines.extend(f"  {command.name:<{width}}  {command.help}" for command in group)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n" + FOOT


def _dispatch(arguments: list[str]) -> int:
    name, rest = _split(arguments)
    if name == "help":
        name, rest = (rest[0], ["--help"]) if rest else ("--help", [])
    if name is None:
        sys.stderr.write(help_text())
        return 2
    if name == "--help":
        sys.stdout.write(help_text())
        return 0
    if name == "--version":
        return _version(as_json="--json" in rest)
    if rest and f"{name} {rest[0]}" in COMMANDS:
        name, rest = f"{name} {rest[0]}", rest[1:]
    command = COMMANDS.get(name)
    if command is None:
        raise _unknown_command(name, rest)
    import importlib  # noqa: PLC0415 - not on the path of --help

    from openskelo.cli import parsing  # noqa: PLC0415 - not on the path of --help

    module = cast("parsing.CommandModule", importlib.import_module(f"openskelo.cli.commands.{command.module}"))
    return module.run(parsing.parser(command.name, command.help, module).parse_args(rest))


def _split(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Return the command's name and its arguments; --json and --data-dir may stand before the name."""
    global_options: list[str] = []
    position = 0
    while position < len(arguments):
        word = arguments[position]
        match word:
            case "-h" | "--help":
                return "--help", global_options
            case "--version" | "-V":
                return "--version", [*global_options, *arguments[position + 1 :]]
            case "--data-dir":
                global_options += arguments[position : position + 2]
                position += 2
            case _ if word == "--json" or word.startswith("--data-dir="):
                global_options.append(word)
                position += 1
            case _ if word.startswith("-"):
                raise errors.InvalidInput(f"unknown option {word}", code="USAGE", hint="skelo --help lists the options")
            case _:
                return word, [*arguments[position + 1 :], *global_options]
    return None, global_options


def _version(*, as_json: bool) -> int:
    from importlib import metadata  # noqa: PLC0415 - slow to import, needed here only

    version = metadata.version("openskelo")
    sys.stdout.write(f'{{"version": "{version}"}}\n' if as_json else f"skelo {version}\n")
    return 0


def _unknown_command(name: str, rest: Sequence[str]) -> errors.InvalidInput:
    from openskelo.values import suggestions  # noqa: PLC0415 - needed for a mistake only

    seconds = [command.partition(" ")[2] for command in COMMANDS if command.startswith(f"{name} ")]
    if seconds:
        near = suggestions.name_like(rest[0], seconds) if rest else None
        hint = f"did you mean {name} {near}?" if near else f"one of: {', '.join(seconds)}"
        return errors.InvalidInput(f"`skelo {name}` needs to know what to {name}", code="USAGE", hint=hint)
    if name == "version":
        return errors.InvalidInput(f"there is no command {name!r}", code="USAGE", hint="did you mean --version?")
    near = suggestions.name_like(name, COMMANDS)
    hint = f"did you mean {near}?" if near else "skelo --help lists the commands"
    return errors.InvalidInput(f"there is no command {name!r}", code="USAGE", hint=hint)


def _internal(error: Exception) -> errors.OpenSkeloError:
    if os.environ.get("SKELO_DEBUG") == "1":
        import traceback  # noqa: PLC0415 - for debugging only

        traceback.print_exception(error)
    return errors.OpenSkeloError(
        f"{type(error).__name__}: {error}",
        code="INTERNAL",
        hint="this is a defect of OpenSkelo, please report it; SKELO_DEBUG=1 prints where it happened",
    )


def _report(error: errors.OpenSkeloError, arguments: list[str]) -> int:
    return output.report(error, as_json="--json" in arguments)


def _report_lost_output(failure: OSError, code: int) -> int:
    """Report that standard output failed, and return the command's code; a success gets its own code, 74."""
    _report(
        errors.InvalidInput(
            f"standard output cannot be written: {failure.strerror}",
            code="FILE_UNWRITABLE",
            hint="the command has done its work; `skelo show` and `skelo output` print the result again",
        ),
        [],
    )
    return code or _OUTPUT_LOST


def _end_after_broken_pipe() -> int:
    """Print nothing more, and return the exit code of a program that SIGPIPE has stopped."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


if __name__ == "__main__":
    sys.exit(main())

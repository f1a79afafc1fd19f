"""Generates the reference page of the command line from the parsers.

`python -m openskelo.cli.reference > docs/reference/cli.md` writes it; a test compares.
"""

from __future__ import annotations

import importlib
import sys
from typing import cast

from openskelo.cli import main, parsing

_HEAD = """# The command line

This page is generated from the parsers by `python -m openskelo.cli.reference`; a test compares it.

```text
{help}```

## Rules that hold for every command

- `--json` prints one JSON document on stdout and nothing else there (`events` prints one JSON line for each event).
  Progress, advice and logs go to stderr.
- An error is one line on stderr, `error: CODE message`, with a hint under it; with `--json` it is
  `{{"error": {{"code", "message", "hint"}}}}` on stdout.
- The Problems of a workflow are lines `FILE:LINE:COL: CODE message (hint)` on stderr; with `--json` they are
  `{{"problems": [{{"file", "line", "column", "code", "message", "path", "hint"}}]}}` on stdout.
- Commands that drive a run (`run`, `resume`, `fork`, `approve`, `deny`) and `show` exit with the run's code:
  0 completed, 1 failed (also denied, escalated), 3 not ended (paused, waiting for a person, suspended, or driven
  elsewhere), 4 budget exceeded, 130 cancelled. 2 means that the input was invalid or the command not allowed, and that
  nothing was started or changed. A command for a run that another process drives, and that this process does not take
  within ten seconds, ends with `COMMAND_WAITING` and 3: it stays queued until a process drives the run again.
- Output that cannot be written (a full disk) is `FILE_UNWRITABLE` on stderr, and does not stop the command: the code is
  the command's own, or 74 instead of 0. If the reader closes the pipe, the command ends with 141.
- 75 means that the disk did not confirm a write (`STORE_SYNC`): start the command again once the disk is well. What was
  kept before is not lost.
- Ctrl-C (or SIGTERM) suspends the run that a command drives; a second one cancels it.
- The project root is the nearest folder at or above the workflow file (else the current folder) that has `skelo.yaml`
  or `.skelo/`; a command without a workflow file that is given the data dir of a project with a `skelo.yaml` uses
  that project. The data dir is `--data-dir`, else `$SKELO_HOME`, else `data_dir` of `skelo.yaml`, else `.skelo/`.
- Colours appear on terminals only, and never with `NO_COLOR`. `SKELO_DEBUG=1` prints the traceback of a defect.
"""


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD.format(help=main.help_text())]
    for command in main.COMMANDS.values():
        module = cast("parsing.CommandModule", importlib.import_module(f"openskelo.cli.commands.{command.module}"))
        text = parsing.parser(command.name, command.help, module).format_help()
        parts.append(f"## skelo {command.name}\n\n```text\n{text}```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())

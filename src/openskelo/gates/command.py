"""The `command` gate: a program (never a shell) ends with the expected exit code.

The program runs in the workspace of an agent, else in the project's root. It gets `{"inputs", "outputs"}` as JSON on
its standard input. A program that is named by its path and does not
exist has not passed: the work may be what creates it. A program that is not installed, that this machine has no room to
start, or that the project does not allow, was not asked, which is no verdict.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence

from openskelo import errors, gates
from openskelo.handlers import file_access
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

_TIMEOUT_MS = 60_000
_TAIL_CHARACTERS = 2000
#: Errors that may be gone a moment later: no process, memory, open file or disk space is left, or the program is being
#: written.
_TEMPORARY = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.ETXTBSY})


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    from openskelo.programs import child_process, program, time_limit  # noqa: PLC0415 -- imports asyncio

    if not ctx.project.allow_commands:
        return gates.not_asked("the command", _not_allowed(), 0)
    argv = parameters.get("argv")
    if not isinstance(argv, Sequence) or not argv or not all(isinstance(part, str) for part in argv):
        return gates.failed("`argv` is not a list of texts")
    command = program.Program(
        argv=tuple(str(part) for part in argv),
        folder=ctx.folder,
        stdin=canonical.dumps_for_programs({"inputs": ctx.inputs, "outputs": ctx.outputs}),
        environment=file_access.hide_from_pytest(file_access.writable_roots(ctx.project.root, ctx.project.write_roots)),
    )
    timeout_ms = int(gates.number(parameters, "timeout_ms", _TIMEOUT_MS))
    start_time = time.perf_counter()
    try:
        file_access.check_program(command.argv, command.folder, ctx.project)
    except errors.AttemptFailed as error:
        return gates.not_asked("the command", error, 0)
    try:
        result = await time_limit.within(timeout_ms, program.run(command))
    except (OSError, ValueError) as error:
        return _not_started(error, command.argv[0], gates.milliseconds_since(start_time))
    except errors.AttemptFailed as error:
        reason = f"the command was {error.message}" if error.code == "TIMEOUT" else error.message
        return gates.Finding(passed=False, reason=reason, took_ms=gates.milliseconds_since(start_time))
    output = (result.stdout + result.stderr).decode("utf-8", "replace")[-_TAIL_CHARACTERS:]
    evidence: dict[str, Json] = {"status": result.status, "output": output}
    expected_status = int(gates.number(parameters, "expect_exit", 0))
    took_ms = gates.milliseconds_since(start_time)
    if result.status == expected_status:
        return gates.Finding(passed=True, evidence=evidence, took_ms=took_ms)
    reason = f"the command ended with {child_process.describe_end(result.status)}, not {expected_status}"
    return gates.Finding(passed=False, reason=reason, evidence=evidence, took_ms=took_ms)


def _not_started(error: OSError | ValueError, name: str, took_ms: int) -> gates.Finding:
    reason = f"cannot be started: {getattr(error, 'strerror', None) or error}"
    if isinstance(error, OSError) and error.errno in _TEMPORARY:
        outage = errors.AttemptFailed(
            f"it {reason}", code="COMMAND_UNAVAILABLE", hint="this machine has no room for it; try again later"
        )
        outage.__cause__ = error
        return gates.not_asked("the command", outage, took_ms)
    if isinstance(error, OSError) and os.sep not in name:
        hint = f"install {name}, or name it by its path"
        outage = errors.AttemptFailed(f"{name} {reason}", code="COMMAND_MISSING", hint=hint, retryable=False)
        return gates.not_asked("the command", outage, took_ms)
    return gates.Finding(passed=False, reason=f"the command {reason}", took_ms=took_ms)


def _not_allowed() -> errors.AttemptFailed:
    return errors.AttemptFailed(
        "this project does not allow command gates",
        code="COMMANDS_NOT_ALLOWED",
        hint="say `allow: {commands: true}` in skelo.yaml",
        retryable=False,
    )


#: More of the reference, after the table of its keys.
_DOC = """\
Only where `skelo.yaml` says `allow: {commands: true}`.

The last 2000 characters of what it prints are kept as evidence. A program that is not installed has given [no
verdict](#no-verdict). One that is named by its path (`tools/check`, with a `/`) and is not there has not passed: it
may be what the work was to make.
"""

GATE = gates.Gate(
    name="command",
    summary="A program ends with the expected exit code.",
    parameters={
        "argv": gates.Parameter(
            kind="argv",
            schema={"type": "array", "minItems": 1, "items": {"type": "string"}},
            required=True,
            doc=(
                "a program and its arguments; no shell. It starts in the project's root and reads "
                "`{inputs, outputs}` as JSON"
            ),
        ),
        "timeout_ms": gates.timeout_parameter("then it is killed, and has not passed", default=60000),
        "expect_exit": gates.integer_parameter("the exit code that means yes", 0, 255, default=0),
    },
    check=_check,
    reads_all_values=True,
    runs_program=True,
    doc=_DOC,
    no_verdict=(
        (
            "the machine has no process, memory, open file or disk left to start it with, "
            "or another process is writing it",
            "`COMMAND_UNAVAILABLE`",
        ),
        ("it is named without a folder and is not installed; not retried", "`COMMAND_MISSING`"),
        ("the project does not allow commands (any more); not retried", "`COMMANDS_NOT_ALLOWED`"),
    ),
)

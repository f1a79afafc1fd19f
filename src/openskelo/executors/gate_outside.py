"""Gates that ask the outside: a command of the project, or an HTTP address. Both fail closed.

An address that does not answer has not passed, as whether it answers is the question; so has a program that is named by
its path and is not there, as the work may be what makes it. What the project does not allow, and a program that is not
installed or that this machine has no room to start, has not been asked.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence

from openskelo import errors
from openskelo.executors import limit, look, mortal, process
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

_COMMAND_MS = 60_000
_HTTP_MS = 10_000
_TAIL = 2000
#: Why a program cannot be started now, and perhaps can a moment later: no process, memory, open file or disk is left,
#: or somebody is writing it.
_NOT_NOW = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.ETXTBSY})


async def command(params: JsonObject, around: look.Look) -> look.Finding:
    """A program (never a shell) ends with the expected code; `{inputs, outputs}` is JSON on its standard input."""
    if not around.project.allow_commands:
        return look.unasked("the command", _not_allowed(), 0)
    argv = params.get("argv")
    if not isinstance(argv, Sequence) or not argv or not all(isinstance(part, str) for part in argv):
        return look.Finding(passed=False, reason="`argv` is not a list of texts")
    program = process.Program(
        argv=tuple(str(part) for part in argv),
        folder=around.project.root,
        stdin=canonical.dumps({"inputs": around.inputs, "outputs": around.outputs}),
    )
    started = time.perf_counter()
    try:
        finished = await limit.within(int(look.number(params, "timeout_ms", _COMMAND_MS)), process.run(program))
    except (OSError, ValueError) as error:
        why = f"cannot be started: {getattr(error, 'strerror', None) or error}"
        if isinstance(error, OSError) and error.errno in _NOT_NOW:
            return look.unasked("the command", _not_now(f"it {why}"), _since(started))
        if isinstance(error, OSError) and os.sep not in program.argv[0]:
            return look.unasked("the command", _not_installed(program.argv[0], why), _since(started))
        return look.Finding(passed=False, reason=f"the command {why}", took_ms=_since(started))
    except errors.AttemptFailed as error:
        reason = f"the command was {error.message}" if error.code == "TIMEOUT" else error.message
        return look.Finding(passed=False, reason=reason, took_ms=_since(started))
    tail = (finished.stdout + finished.stderr).decode("utf-8", "replace")[-_TAIL:]
    evidence: dict[str, Json] = {"status": finished.status, "output": tail}
    wanted = int(look.number(params, "expect_exit", 0))
    if finished.status == wanted:
        return look.Finding(passed=True, evidence=evidence, took_ms=_since(started))
    reason = f"the command ended with {mortal.describe_end(finished.status)}, not {wanted}"
    return look.Finding(passed=False, reason=reason, evidence=evidence, took_ms=_since(started))


async def http(params: JsonObject, around: look.Look) -> look.Finding:
    """An address answers with the expected status (any 200-299 when none is named)."""
    from openskelo.handlers import exchange  # noqa: PLC0415 -- brings httpx, which most runs never need

    asked = exchange.Asked(
        method=look.text(params, "method", "GET"),
        url=look.text(params, "url"),
        allow_private=around.project.allow_private_addresses,
    )
    started = time.perf_counter()
    try:
        answered = await limit.within(int(look.number(params, "timeout_ms", _HTTP_MS)), exchange.exchange(asked))
    except errors.AttemptFailed as error:
        if error.code == "HTTP_ADDRESS_REFUSED":
            return look.unasked("the address", error, _since(started))
        return look.Finding(passed=False, reason=f"{error.message} ({error.code})", took_ms=_since(started))
    wanted = params.get("expect_status")
    passed = answered.status == wanted if isinstance(wanted, int) else 200 <= answered.status < 300
    evidence: dict[str, Json] = {"status": answered.status}
    reason = "" if passed else f"the address answered with status {answered.status}"
    return look.Finding(passed=passed, reason=reason, evidence=evidence, took_ms=_since(started))


def _not_now(why: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        why, code="COMMAND_UNAVAILABLE", hint="this machine has no room for it; try again later"
    )


def _not_installed(name: str, why: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"{name} {why}", code="COMMAND_MISSING", hint=f"install {name}, or name it by its path", retryable=False
    )


def _not_allowed() -> errors.AttemptFailed:
    return errors.AttemptFailed(
        "this project does not allow command gates",
        code="COMMANDS_NOT_ALLOWED",
        hint="say `allow: {commands: true}` in skelo.yaml",
        retryable=False,
    )


def _since(started: float) -> int:
    return int((time.perf_counter() - started) * 1000)

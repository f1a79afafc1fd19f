"""`tests_pass`: a command that the project allows ends well, on the working tree or on a copy with a patch applied."""

from __future__ import annotations

from pathlib import Path

from openskelo import errors
from openskelo.executors import git, limit, mortal, process, scratch
from openskelo.executors.checkers import asked
from openskelo.kernel.json import JsonObject

_TAIL = 4000


async def tests_pass(of: asked.Asked) -> JsonObject:
    """Whether `argv` (never a shell) ends with 0; with a patch as the value, in a scratch copy that has it.

    Denied COMMANDS_NOT_ALLOWED unless the project fixed the command itself, or allows commands.
    """
    if "argv" not in of.fixed and not of.project.allow_commands:
        raise errors.Denied(
            "this project does not allow a plan to name commands",
            code="COMMANDS_NOT_ALLOWED",
            hint="fix `argv` under `checkers` in skelo.yaml, or write `allow: {commands: true}`",
        )
    folder = of.folder()
    patch = of.value
    if patch is None:
        return await _run(of, folder)
    if not isinstance(patch, str):
        return asked.no("it is not a text that could be a patch")
    await git.check_repository(folder)
    async with scratch.copy(folder) as copy:
        applied = await git.run(copy, "apply", "-", stdin=patch.encode(), timeout_ms=of.timeout_ms)
        if applied.status != 0:
            return asked.no(f"the patch does not apply: {git.said(applied)}", applies=False)
        return await _run(of, copy)


async def _run(of: asked.Asked, folder: Path) -> JsonObject:
    program = process.Program(argv=of.texts("argv"), folder=folder)
    try:
        finished = await limit.within(of.timeout_ms, process.run(program))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise asked.unusable(f"the command cannot be started: {reason}") from error
    except errors.AttemptFailed as error:
        if error.code != "TIMEOUT":
            raise
        return asked.no(f"the command was {error.message}", timeout=True)
    said = (finished.stdout + finished.stderr).decode("utf-8", "replace")
    of.job.lines.extend(said.splitlines())
    verdict: JsonObject = {"status": finished.status, "output": said[-_TAIL:]}
    if finished.status == 0:
        return {"ok": True, **verdict}
    return asked.no(f"the command ended with {mortal.describe_end(finished.status)}", **verdict)

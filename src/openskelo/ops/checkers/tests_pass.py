"""`tests_pass`: a command that the project allows ends well, on the working tree or on a copy with a patch applied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openskelo import errors
from openskelo.handlers import file_access
from openskelo.kernel.json import JsonObject
from openskelo.ops import checkers

_TAIL = 4000


async def _check(ctx: checkers.CheckContext) -> JsonObject:
    """Pass if `argv` (never a shell) exits with 0. If the value is a patch, run it in a scratch copy with that patch.

    Denied COMMANDS_NOT_ALLOWED unless the project fixed the command itself, or allows commands.
    """
    if "argv" not in ctx.fixed and not ctx.project.allow_commands:
        raise errors.Denied(
            "this project does not allow a plan to name commands",
            code="COMMANDS_NOT_ALLOWED",
            hint="fix `argv` under `checkers` in skelo.yaml, or write `allow: {commands: true}`",
        )
    from openskelo.programs import git, scratch_copy  # noqa: PLC0415 -- imports asyncio

    folder = ctx.folder()
    file_access.check_program(ctx.texts("argv"), folder, ctx.project)
    roots = file_access.writable_roots(ctx.project.root, ctx.project.write_roots)
    patch = ctx.value
    if patch is None:
        return await _run(ctx, folder, roots)
    if not isinstance(patch, str):
        return checkers.failed("it is not a text that could be a patch")
    await git.check_repository(folder)
    async with scratch_copy.copy(folder) as copy:
        apply_result = await git.run(copy, "apply", "-", stdin=patch.encode(), timeout_ms=ctx.timeout_ms)
        if apply_result.status != 0:
            return checkers.failed(f"the patch does not apply: {git.said(apply_result)}", applies=False)
        real_folder, real_copy = folder.resolve(), copy.resolve()
        copied_roots = [real_copy / root.relative_to(real_folder) for root in roots if root.is_relative_to(real_folder)]
        return await _run(ctx, copy, [*roots, *copied_roots])


async def _run(ctx: checkers.CheckContext, folder: Path, write_roots: Sequence[Path]) -> JsonObject:
    from openskelo.programs import child_process, time_limit  # noqa: PLC0415 -- imports asyncio
    from openskelo.programs import program as programs  # noqa: PLC0415

    environment = file_access.hide_from_pytest(write_roots)
    program = programs.Program(argv=ctx.texts("argv"), folder=folder, environment=environment)
    try:
        result = await time_limit.within(ctx.timeout_ms, programs.run(program))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise checkers.unusable(f"the command cannot be started: {reason}") from error
    except errors.AttemptFailed as error:
        if error.code != "TIMEOUT":
            raise
        return checkers.failed(f"the command was {error.message}", timeout=True)
    printed_text = (result.stdout + result.stderr).decode("utf-8", "replace")
    ctx.log.extend(printed_text.splitlines())
    verdict: JsonObject = {"status": result.status, "output": printed_text[-_TAIL:]}
    if result.status == 0:
        return {"ok": True, **verdict}
    return checkers.failed(f"the command ended with {child_process.describe_end(result.status)}", **verdict)


#: More of the reference, after the table of its keys.
_DOC = """\
`tests_pass` runs an argument list, never a shell, and ends its whole process group afterwards. The project fixes `argv`
under `checkers`, or allows any command with `allow: {commands: true}`. The copy holds the files that git tracks or
would add, at most 20,000 files and 512 MiB.
"""

CHECKER = checkers.Checker(
    name="tests_pass",
    summary=(
        "the command exits with 0; with a patch as `input_ref`, it runs in a copy of the "
        "working tree with the patch applied; gives `status`, `output`"
    ),
    args=checkers.args_schema(
        {
            "argv": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "repo": checkers.TEXT,
            "timeout_ms": checkers.COUNT,
        },
        required=["argv"],
    ),
    check=_check,
    needs_input=False,
    reads_outside=True,
    runs_command=True,
    constant_args=frozenset({"argv"}),
    doc=_DOC,
)

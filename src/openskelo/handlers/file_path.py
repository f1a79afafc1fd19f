"""The path of a file that a handler reads or writes: named by an input, or by a template that the author wrote.

A path from an input is data: it must stay inside the project's roots (`file_access`). A path from the author's template
may lead anywhere, unless the block is `confined`, as blocks of documents that were sent to a server are. A template has
the fields `{timestamp}`, `{home}`, `{run_id}`, `{block_id}` and `{index}`, and no others; all of them are recorded
values, so every attempt of a visit gets the same path.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from openskelo import errors
from openskelo.extensions import Position
from openskelo.handlers import builtin, context, file_access
from openskelo.kernel.json import Json
from openskelo.values import suggestions

FIELDS = ("timestamp", "home", "run_id", "block_id", "index")
DEFAULT_TIMESTAMP = "YYYYMMDD-HHmmss"
TOKENS = ("YYYY", "MM", "DD", "HH", "mm", "ss", "SSS")
_TOKEN = re.compile("|".join(TOKENS))
#: Parts of a date in the notation of other programs, unless they are part of a word.
_FOREIGN_TOKEN = re.compile(r"(?<![A-Za-z])(Y{1,3}|M|D|%[A-Za-z])(?![A-Za-z])")
_FIELD = re.compile(r"\{([^{}]*)\}")


def expand(template: str, ctx: context.Context, pattern: str = DEFAULT_TIMESTAMP) -> str:
    """Return the path of a template for this visit (AttemptFailed DET_CONFIG_INVALID)."""

    def value(match: re.Match[str]) -> str:
        match match.group(1):
            case "timestamp":
                return _timestamp(ctx.now, pattern)
            case "home":
                return str(Path.home())
            case "run_id":
                return ctx.run_id
            case "block_id":
                return ctx.block_id.replace("/", "-")  # a block of a sub-workflow is `outer/inner`
            case "index":
                return str(ctx.item_index or 0)
            case unknown:
                raise errors.AttemptFailed(
                    f"the path template has an unknown field {{{unknown}}}",
                    code="DET_CONFIG_INVALID",
                    hint="use {timestamp}, {home}, {run_id}, {block_id} or {index}",
                    retryable=False,
                )

    return _FIELD.sub(value, template)


def _timestamp(moment: datetime, pattern: str) -> str:
    """Return `moment` in the pattern's tokens `YYYY MM DD HH mm ss SSS`; all other text stays as it is."""
    parts = {
        "YYYY": f"{moment.year:04d}",
        "MM": f"{moment.month:02d}",
        "DD": f"{moment.day:02d}",
        "HH": f"{moment.hour:02d}",
        "mm": f"{moment.minute:02d}",
        "ss": f"{moment.second:02d}",
        "SSS": f"{moment.microsecond // 1000:03d}",
    }
    return _TOKEN.sub(lambda match: parts[match.group()], pattern)


def is_confined(ctx: context.Context) -> bool:
    """True if the author's path, too, must stay inside the project's roots."""
    return ctx.config.get("confined", False) is True


def named_by_input(ctx: context.Context) -> str | None:
    """Return the path in the input that `path_from` names; None when it is unset (AttemptFailed DET_PATH_INVALID)."""
    port = builtin.text(ctx.config, "path_from")
    path: Json = ctx.inputs.get(port) if port is not None else None
    if path is None or path == "":
        return None
    if not isinstance(path, str):
        raise file_access.invalid_path(f"the input {port!r} is not a path")
    return path


def read_bytes(ctx: context.Context, access: file_access.Access, max_bytes: int) -> tuple[Path, bytes]:
    """Return the path and the content of the file that `path_from` names, or else the author's `path`.

    AttemptFailed: DET_PATH_INVALID, DET_READ_FAILED, DET_TOO_LARGE.
    """
    path, folder = _readable(ctx, access)
    try:
        with folder as descriptor:
            return path, _read(path, descriptor, max_bytes)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise errors.AttemptFailed(f"cannot read {str(path)!r}: {reason}", code="DET_READ_FAILED") from error


def _readable(ctx: context.Context, access: file_access.Access) -> tuple[Path, AbstractContextManager[int]]:
    """Return the path and what opens the folder that holds it."""
    input_path = named_by_input(ctx)
    if input_path is not None:
        path, root = file_access.resolve_inside(input_path, file_access.readable_roots(access), access)
        return path, file_access.open_folder_beneath(root, path.parent, create=False)
    template = builtin.text(ctx.config, "path")
    if template is None:
        port = builtin.text(ctx.config, "path_from")
        raise file_access.invalid_path(f"there is no path: the input {port!r} is unset and no `path` is given")
    relative_path = expand(template, ctx)
    if is_confined(ctx):
        path, root = file_access.resolve_inside(relative_path, file_access.readable_roots(access), access)
        return path, file_access.open_folder_beneath(root, path.parent, create=False)
    path = Path(os.path.realpath(file_access.absolute_path(relative_path, access)))
    return path, file_access.open_folder(path.parent, create=False)


def _read(path: Path, folder: int, max_bytes: int) -> bytes:
    # O_NONBLOCK: opening a pipe must not wait for its writer.
    descriptor = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise file_access.invalid_path(f"{path.name!r} is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(max_bytes + 1) if status.st_size <= max_bytes else b""
    if status.st_size > max_bytes or len(data) > max_bytes:
        raise errors.AttemptFailed(
            f"{str(path)!r} has more than {max_bytes} bytes",
            code="DET_TOO_LARGE",
            hint="raise `max_bytes`",
            retryable=False,
        )
    return data


def check(block: builtin.BlockCheck, template_key: str, *, required: bool = False) -> None:
    """Report a config that leads to no path, and mistakes in the template and its timestamp.

    The template is used when the input that `path_from` names is unset. With `required`, a config with neither of the
    two is a Problem here; otherwise the schema of the config requires one.
    """
    node = block.node
    _check_fields(block.config.at(template_key, node.config.get(template_key)))
    _check_timestamp(block.config.at("timestamp_format", node.config.get("timestamp_format")))
    inputs = [port.name for port in node.inputs]
    name = node.config.get("path_from")
    if name is None:
        if required and template_key not in node.config:
            hint = f"give `path_from` or `{template_key}`"
            block.config.problem("DET_CONFIG_INVALID", "the block names no file", hint=hint)
        return
    if name in inputs:
        return
    position = block.config.at("path_from", name)
    message = f"this block has no input {str(name)[:60]!r}"
    if template_key not in node.config:
        hint = suggestions.did_you_mean(str(name), inputs, otherwise=f"give `{template_key}`")
        position.problem("UNKNOWN_PORT", message, hint=hint)
    elif name not in [port.name for port in node.outputs]:
        # An output here is fine: an example of the specification names one. Any other name is an oversight.
        hint = suggestions.did_you_mean(str(name), inputs)
        position.warn("UNKNOWN_PORT", f"{message}: `{template_key}` is always used", hint=hint)


def _check_fields(position: Position) -> None:
    """Report fields that a path template does not have: the run would fail on them."""
    text = position.value if isinstance(position.value, str) else ""
    if text.startswith("~/"):
        message = "`~` is a folder of that name here, not your home"
        position.problem("DET_CONFIG_INVALID", message, hint="write {home}/…")
    for match in _FIELD.finditer(text):
        name = match[1]
        if name not in FIELDS:
            hint = suggestions.did_you_mean(name, FIELDS, otherwise=f"the fields are {', '.join(FIELDS)}")
            message = f"a path template has no field {name[:60]!r}"
            position.problem_within(match.start(1), "DET_CONFIG_INVALID", message, hint=hint)


def _check_timestamp(position: Position) -> None:
    """Report a format that is the same at every time: every file would have the same name."""
    if not isinstance(position.value, str):
        return
    rest, tokens = _TOKEN.subn("|", position.value)
    if (foreign := _FOREIGN_TOKEN.search(rest)) is not None:
        message = f"a timestamp has no part {foreign[1]!r}"
    elif not tokens:
        message = "nothing in it changes with the time"
    else:
        return
    position.problem("DET_CONFIG_INVALID", message, hint=f"its parts are {', '.join(TOKENS)}")

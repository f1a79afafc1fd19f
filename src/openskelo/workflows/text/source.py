"""Read a file as a JSON value with positions, or raise `InvalidWorkflow` with the one Problem that stopped it."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

from openskelo import errors, files
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values import canonical
from openskelo.workflows.text import json_text, problems, yaml_text
from openskelo.workflows.text.positions import Position, TextError

MAX_BYTES = 1024 * 1024
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\ufeff")


@frozen
class Source:
    """A document: its JSON value and, if it was read from text, the positions of its parts."""

    file: str
    value: Json
    positions: Position | None = None

    def report(self) -> problems.Report:
        """Return an empty report for this document."""
        return problems.Report(file=self.file, positions=self.positions)


def read(path: Path) -> Source:
    """Return the document in a file; raise InvalidWorkflow if it cannot be read."""
    file = str(path)
    try:
        data = files.read_given(path, MAX_BYTES)
    except FileNotFoundError:
        raise _invalid(file, "FILE_NOT_FOUND", "there is no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            raise errors.StoreError(  # says nothing about the file
                "no file descriptor is left to read the workflow",
                code="DESCRIPTORS_EXHAUSTED",
                hint="try again in a moment, or raise the limit of open files (ulimit -n)",
            ) from error
        if isinstance(error, OSError):
            reason = error.strerror or "it cannot be read"
        else:
            reason = "this is not a valid file name"
        raise _invalid(file, "FILE_UNREADABLE", reason) from None
    return parse(data, file=file)


def parse(data: bytes, *, file: str) -> Source:
    """Return the document in `data`: JSON if the file's name ends with `.json`, else YAML."""
    if len(data) > MAX_BYTES:
        raise _invalid(file, "FILE_TOO_LARGE", f"the file is larger than {MAX_BYTES} bytes")
    text = _decode(data, file)
    forbidden_character = _FORBIDDEN.search(text)
    if forbidden_character is not None:
        message = f"the character U+{ord(forbidden_character.group()):04X} is not allowed in a file"
        raise _invalid(
            file, "TEXT_INVALID", message, place=_place(text, forbidden_character.start()), hint="write it as an escape"
        )
    try:
        document = json_text.read(text) if file.endswith(".json") else yaml_text.read(text)
    except TextError as error:
        other_kind = Path(file).suffix not in ("", ".yaml", ".yml", ".json")
        hint = "a workflow is a .yaml or .json file" if other_kind else error.hint
        raise _invalid(file, error.code, error.message, place=error.place, hint=hint) from None
    return Source(file=file, value=document.value, positions=document.position)


def from_document(document: JsonObject, *, file: str) -> Source:
    """Return a source for a document in memory; raise InvalidWorkflow if it is not JSON."""
    try:
        value = canonical.admit(document)
    except errors.InvalidInput as error:
        raise _invalid(file, error.code, error.message, hint=error.hint) from None
    # A copy, because the caller may change the document later; lists replace tuples.
    return Source(file=file, value=json.loads(json.dumps(value)))


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _place(data[: error.start].decode("utf-8-sig", "replace"), None)
        raise _invalid(file, "NOT_UTF8", "the file is not UTF-8", place=place, hint="save it as UTF-8") from None


def _place(text: str, index: int | None) -> tuple[int, int]:
    before = text if index is None else text[:index]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _invalid(
    file: str, code: str, message: str, *, place: tuple[int, int] = (1, 1), hint: str | None = None
) -> errors.InvalidWorkflow:
    line, column = place
    problem = problems.Problem(file=file, line=line, column=column, code=code, message=message, hint=hint)
    return errors.InvalidWorkflow((problem,))

"""The files among the inputs of an ai node: read before the model is asked, and shown to it.

    text          stands in the prompt, between fences, as data
    image, PDF    goes along as an attachment, if the model takes its type
    anything else is refused (FILE_UNSUPPORTED): a model that sees only a path invents the content

The type of a file follows from its bytes, not from its name. Run inputs are checked before a run starts
(`performer.Performer.check_inputs`); a path that a node computes is checked when it is used.
"""

from __future__ import annotations

from collections.abc import Collection

from openskelo import errors, files
from openskelo.handlers import file_access
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.providers import protocol
from openskelo.structs import frozen
from openskelo.values import fences

#: The most bytes of text files in one prompt, all together.
MAX_TEXT_BYTES = 256 * 1024
#: The most bytes of one image or PDF.
MAX_ATTACHMENT_BYTES = 10 * 1024 * 1024
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


@frozen
class InputFiles:
    """The files of a prompt: sections of text, and attachments."""

    sections: tuple[str, ...] = ()
    attachments: tuple[protocol.Attachment, ...] = ()


#: The files of a node that has none.
NO_FILES = InputFiles()


def ports(node: definition.Node) -> tuple[str, ...]:
    """Return the names of the node's inputs that are files."""
    return tuple(port.name for port in node.inputs if port.kind == "file")


def read(
    node: definition.Node, inputs: JsonObject, access: file_access.Access, accepted: Collection[str]
) -> InputFiles:
    """Return the files that the inputs name, for a model that takes attachments of the `accepted` types.

    Raise AttemptFailed, not retryable: FILE_UNSUPPORTED, FILE_TOO_LARGE, FILE_UNREADABLE, DET_PATH_INVALID.
    """
    sections: list[str] = []
    attachments: list[protocol.Attachment] = []
    room = MAX_TEXT_BYTES
    for name in ports(node):
        path = inputs.get(name)
        if not isinstance(path, str):
            continue
        data = _read(name, path, access)
        media_type = _media_type(data)
        if media_type is not None:
            attachments.append(_attachment(name, path, media_type, data, accepted))
            sections.append(f"{name}: the attached file {_quoted(path)} ({media_type})")
            continue
        room -= len(data)
        if room < 0:
            raise _too_large(name, path, f"the text files of one prompt take at most {MAX_TEXT_BYTES} bytes together")
        sections.append(f"{name}, the file {_quoted(path)} (data):\n{fences.fenced(_text(name, path, data))}")
    return InputFiles(sections=tuple(sections), attachments=tuple(attachments))


def _read(name: str, path: str, access: file_access.Access) -> bytes:
    real, _ = file_access.resolve_inside(path, file_access.readable_roots(access), access)
    try:
        with files.open_plain(real) as file:
            data = file.read(MAX_ATTACHMENT_BYTES + 1)
    except OSError as error:
        reason = error.strerror or error.__class__.__name__
        raise errors.AttemptFailed(
            f"input {name}: the file {path!r} cannot be read: {reason}", code="FILE_UNREADABLE", retryable=False
        ) from error
    if len(data) > MAX_ATTACHMENT_BYTES:
        raise _too_large(name, path, f"a file takes at most {MAX_ATTACHMENT_BYTES} bytes")
    return data


def _media_type(data: bytes) -> str | None:
    """Return the type of an image or a PDF; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for signature, media_type in _SIGNATURES if data.startswith(signature)), None)


def _text(name: str, path: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise _unsupported(f"input {name}: the file {path!r} is neither text (UTF-8) nor an image nor a PDF")
    return text


def _attachment(name: str, path: str, media_type: str, data: bytes, accepted: Collection[str]) -> protocol.Attachment:
    if media_type not in accepted:
        raise _unsupported(f"input {name}: the model takes no {media_type}, and the file {path!r} is one")
    return protocol.Attachment(name=path, media_type=media_type, data=data)


def _quoted(path: str) -> str:
    return path.replace("\n", " ")


def _unsupported(message: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        message,
        code="FILE_UNSUPPORTED",
        hint="convert it to text in a block before this one, or ask a model that takes such files",
        retryable=False,
    )


def _too_large(name: str, path: str, limit: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"input {name}: the file {path!r} is too large: {limit}",
        code="FILE_TOO_LARGE",
        hint="split it, or read a part of it in a block before this one",
        retryable=False,
    )

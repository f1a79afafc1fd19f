"""A whole run in one file: a header, the blobs it refers to, then the event lines exactly as logged.

    {"blobs":2,"definition":"sha256:…","events":9,"head":"…","openskelo":"export","runId":"…","version":1}
    {"blob":"sha256:…","json":{…}}          also "text" or "base64": the first that gives the bytes back
    {"data":{…},"hash":"…",…}

Blobs come first, in the order of their names, so that one pass over the file has the definition before the events.
Every byte is determined by the content (and the signature, if the header holds one), so any change shows.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import cast

import orjson

from openskelo import errors
from openskelo.contract import chain, fields, pinned, references, sealed, signature
from openskelo.frozen import frozen, replace
from openskelo.kernel import events
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

VERSION = 1

_MARK = b'{"blobs":'


@frozen
class Header:
    """What the file says it holds."""

    run_id: str
    head: str
    events: int
    blobs: int
    definition: str
    signature: JsonObject | None = None

    def line(self) -> bytes:
        """The first line of the file, without its end."""
        document: dict[str, Json] = {
            "openskelo": "export",
            "version": VERSION,
            "runId": self.run_id,
            "head": self.head,
            "events": self.events,
            "blobs": self.blobs,
            "definition": self.definition,
        }
        if self.signature is not None:
            document["signature"] = self.signature
        return canonical.dumps(document)


def is_bundle(first: bytes) -> bool:
    """Whether a file that begins with this line is an export, not a plain log."""
    return first.startswith(_MARK)


def blob_line(name: str, data: bytes) -> bytes:
    """The line that holds a blob, without its end."""
    content: JsonObject
    try:
        value: Json = orjson.loads(data)
        as_json = canonical.dumps(value) == data
    except (orjson.JSONDecodeError, errors.InvalidInput):
        value, as_json = None, False
    if as_json:
        content = {"json": value}
    else:
        try:
            content = {"text": data.decode()}
        except UnicodeDecodeError:
            content = {"base64": base64.b64encode(data).decode()}
    return canonical.dumps({"blob": name, **content})


def verify(lines: Iterable[bytes], *, public_key: str | None = None) -> chain.Verification:
    """Verify the lines (with their ends) of an export; nothing else is needed."""
    reader = _Reader()
    source = iter(lines)
    reader.header(next(source, b""))
    reader.blobs(source)
    for raw in source:
        reader.event(raw)
    return reader.result(public_key)


class _Reader:
    """One pass over an export. Every problem goes to the verifier, which knows the place."""

    def __init__(self) -> None:
        self._verifier = chain.Verifier()
        self._header: Header | None = None
        self._definition = ""
        self._present: set[str] = set()
        self._referred: dict[str, int] = {}

    def header(self, raw: bytes) -> None:
        try:
            self._header = _header(raw)
        except sealed.Fault as fault:
            self._verifier.report(fault)
        else:
            signed = self._header.signature
            self._verifier.watch = None if signed is None else cast("int", signed["seq"])
        self._verifier.skip(raw)

    def blobs(self, source: Iterator[bytes]) -> None:
        before = ""
        for _ in range(0 if self._header is None else self._header.blobs):
            raw = next(source, None)
            if raw is None:
                self._verifier.report(sealed.Fault("BLOB_MISSING", "the file ends before its last blob"))
                return
            try:
                name = self._blob(raw, before)
            except sealed.Fault as fault:
                self._verifier.report(fault)
            else:
                before = name
            self._verifier.skip(raw)

    def _blob(self, raw: bytes, before: str) -> str:
        name, data = _blob(raw)
        if name <= before:
            raise sealed.Fault("BLOB_ORDER", f"blob {name} is out of order, or there twice")
        self._present.add(name)
        if self._header is not None and name == self._header.definition:
            try:
                self._verifier.workflow = pinned.read(data)
            except errors.InvalidInput as error:
                raise sealed.Fault(error.code, error.message) from None
        return name

    def event(self, raw: bytes) -> None:
        event = self._verifier.add(raw)
        if event is not None:
            for name in references.names(event):
                self._referred.setdefault(name, self._verifier.seq)
            if isinstance(event, events.RunCreated):
                self._definition = event.definition

    def result(self, public_key: str | None) -> chain.Verification:
        verifier, header = self._verifier, self._header
        so_far = verifier.result()
        if header is None:
            return so_far
        self._compare("the run", header.run_id, so_far.run_id)
        self._compare("the head", header.head, so_far.head)
        self._compare("the number of events", header.events, so_far.events)
        if not so_far.problems:
            # What a pruned `run.created` has pinned is not known, and is not in the file either.
            self._compare("the definition", header.definition, self._definition)
            self._compare_blobs()
        proved = replace(verifier.result(), blobs=len(self._present))
        return chain.signed(proved, header.signature, verifier.watched, public_key)

    def _compare_blobs(self) -> None:
        for name, seq in self._referred.items():
            if name not in self._present:
                missing = sealed.Fault("BLOB_MISSING", f"blob {name} of event {seq} is not in the file")
                self._verifier.report_whole(missing, seq)
        for name in sorted(self._present - self._referred.keys()):
            self._verifier.report_whole(sealed.Fault("BLOB_UNKNOWN", f"no event refers to blob {name}"))

    def _compare(self, what: str, said: object, found: object) -> None:
        if said != found:
            self._verifier.report_whole(
                sealed.Fault("HEADER_MISMATCH", f"{what} is {found}; the header says {said}: lines were cut or added")
            )


def _header(raw: bytes) -> Header:
    line = _whole(raw)
    try:
        found: object = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise sealed.Fault("HEADER_INVALID", f"not JSON: {error.msg}", min(error.pos, len(line))) from None
    document = cast("dict[str, Json]", found) if isinstance(found, dict) else {}
    if document.get("openskelo") == "export" and document.get("version") != VERSION:
        raise sealed.Fault("HEADER_VERSION", "the file was written by another version of OpenSkelo")
    texts = [document.get(key) for key in ("runId", "head", "definition")]
    counts = [document.get(key) for key in ("events", "blobs")]
    if not all(isinstance(text, str) for text in texts) or not all(map(_is_count, counts)):
        raise sealed.Fault("HEADER_INVALID", "not the header of an export")
    signed = document.get("signature")
    try:
        header = Header(
            run_id=cast("str", document["runId"]),
            head=cast("str", document["head"]),
            events=cast("int", document["events"]),
            blobs=cast("int", document["blobs"]),
            definition=cast("str", document["definition"]),
            signature=None if signed is None else signature.admit(signed),
        )
        same = header.line() == line
    except errors.InvalidInput as error:
        raise sealed.Fault("HEADER_INVALID", error.message) from None
    if not same:
        raise sealed.Fault("HEADER_INVALID", "the header is not written as an export writes it")
    return header


def _is_count(found: object) -> bool:
    return type(found) is int and found >= 0


def _blob(raw: bytes) -> tuple[str, bytes]:
    line = _whole(raw)
    try:
        found: object = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise sealed.Fault("BLOB_INVALID", f"not JSON: {error.msg}", min(error.pos, len(line))) from None
    document = cast("dict[str, Json]", found) if isinstance(found, dict) else {}
    name = document.get("blob")
    if not isinstance(name, str) or not fields.is_digest(name):
        raise sealed.Fault("BLOB_INVALID", "not a blob")
    try:
        data = _content(document)
        same = blob_line(name, data) == line
    except (errors.InvalidInput, binascii.Error, UnicodeEncodeError) as error:
        raise sealed.Fault("BLOB_INVALID", f"the content of {name} cannot be read: {error}") from None
    if canonical.digest_bytes(data) != name:
        raise sealed.Fault("BLOB_MISMATCH", f"the content of {name} was changed: its hash is another")
    if not same:
        raise sealed.Fault("BLOB_INVALID", f"{name} is not written as an export writes it")
    return name, data


def _content(document: JsonObject) -> bytes:
    match document:
        case {"json": value}:
            return canonical.dumps(value)
        case {"text": str(text)}:
            return text.encode()
        case {"base64": str(text)}:
            return base64.b64decode(text, validate=True)
        case _:
            raise errors.InvalidInput("it has none")


def _whole(raw: bytes) -> bytes:
    if not raw.endswith(b"\n"):
        raise sealed.Fault("LINE_TORN", "the line has no end: the copy was cut here", len(raw))
    return raw[:-1]

"""The export bundle, a whole run in one file: a header, the blobs it refers to, then the event lines exactly as logged.

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
from openskelo.kernel import definition, events, workflow_codec
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import chain, line_check, signature
from openskelo.structs import frozen, replace
from openskelo.values import canonical

VERSION = 1

#: How every header begins: its keys are sorted.
_HEADER_START = b'{"blobs":'


@frozen
class Header:
    """The header of the file: the run, its head, and how many events and blobs follow."""

    run_id: str
    head: str
    events: int
    blobs: int
    definition: str
    signature: JsonObject | None = None

    def line(self) -> bytes:
        """Return the first line of the file, without its line feed."""
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
    """True if a file with this first line is an export, not a plain log."""
    return first.startswith(_HEADER_START)


def blob_line(name: str, data: bytes) -> bytes:
    """Return the line that holds a blob, without its line feed."""
    content: JsonObject
    try:
        value = canonical.loads_canonical(data)
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
    """Verify an export from its lines (with their line feeds) alone, without a store."""
    reader = _Reader()
    source = iter(lines)
    reader.header(next(source, b""))
    reader.blobs(source)
    for raw in source:
        reader.event(raw)
    return reader.result(public_key)


class _Reader:
    """Reads an export in one pass, and reports every problem to the verifier, which knows the line."""

    def __init__(self) -> None:
        self._verifier = chain.Verifier()
        self._header: Header | None = None
        self._definition = ""
        self._present: set[str] = set()
        self._references: dict[str, int] = {}

    def header(self, raw: bytes) -> None:
        try:
            self._header = _header(raw)
        except line_check.Fault as fault:
            self._verifier.report(fault)
        else:
            signature_document = self._header.signature
            self._verifier.watch = None if signature_document is None else cast("int", signature_document["seq"])
        self._verifier.skip(raw)

    def blobs(self, source: Iterator[bytes]) -> None:
        before = ""
        for _ in range(0 if self._header is None else self._header.blobs):
            raw = next(source, None)
            if raw is None:
                self._verifier.report(line_check.Fault("BLOB_MISSING", "the file ends before its last blob"))
                return
            try:
                name = self._blob(raw, before)
            except line_check.Fault as fault:
                self._verifier.report(fault)
            else:
                before = name
            self._verifier.skip(raw)

    def _blob(self, raw: bytes, before: str) -> str:
        name, data = _blob(raw)
        if name <= before:
            raise line_check.Fault("BLOB_ORDER", f"blob {name} is out of order, or there twice")
        self._present.add(name)
        if self._header is not None and name == self._header.definition:
            try:
                self._verifier.workflow = read_workflow(data)
            except errors.InvalidInput as error:
                raise line_check.Fault(error.code, error.message) from None
        return name

    def event(self, raw: bytes) -> None:
        event = self._verifier.add(raw)
        if event is not None:
            for name in blob_references(event):
                self._references.setdefault(name, self._verifier.seq)
            if isinstance(event, events.RunCreated):
                self._definition = event.definition

    def result(self, public_key: str | None) -> chain.Verification:
        verifier, header = self._verifier, self._header
        result = verifier.result()
        if header is None:
            return result
        self._compare("the run", header.run_id, result.run_id)
        self._compare("the head", header.head, result.head)
        self._compare("the number of events", header.events, result.events)
        if not result.problems:
            # A pruned `run.created` does not say which definition it has pinned, and the file does not hold it.
            self._compare("the definition", header.definition, self._definition)
            self._compare_blobs()
        verification = replace(verifier.result(), blobs=len(self._present))
        return chain.add_signature(verification, header.signature, verifier.watched, public_key)

    def _compare_blobs(self) -> None:
        for name, seq in self._references.items():
            if name not in self._present:
                missing = line_check.Fault("BLOB_MISSING", f"blob {name} of event {seq} is not in the file")
                self._verifier.report_whole(missing, seq)
        for name in sorted(self._present - self._references.keys()):
            self._verifier.report_whole(line_check.Fault("BLOB_UNKNOWN", f"no event refers to blob {name}"))

    def _compare(self, what: str, stated: object, actual: object) -> None:
        if stated != actual:
            self._verifier.report_whole(
                line_check.Fault(
                    "HEADER_MISMATCH", f"{what} is {actual}; the header says {stated}: lines were cut or added"
                )
            )


def _header(raw: bytes) -> Header:
    line = _strip_line_feed(raw)
    try:
        json_value: object = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise line_check.Fault("HEADER_INVALID", f"not JSON: {error.msg}", min(error.pos, len(line))) from None
    document = cast("dict[str, Json]", json_value) if isinstance(json_value, dict) else {}
    if document.get("openskelo") == "export" and document.get("version") != VERSION:
        raise line_check.Fault("HEADER_VERSION", "the file was written by another version of OpenSkelo")
    texts = [document.get(key) for key in ("runId", "head", "definition")]
    counts = [document.get(key) for key in ("events", "blobs")]
    if not all(isinstance(text, str) for text in texts) or not all(map(line_check.is_count, counts)):
        raise line_check.Fault("HEADER_INVALID", "not the header of an export")
    signature_document = document.get("signature")
    try:
        header = Header(
            run_id=cast("str", document["runId"]),
            head=cast("str", document["head"]),
            events=cast("int", document["events"]),
            blobs=cast("int", document["blobs"]),
            definition=cast("str", document["definition"]),
            signature=None if signature_document is None else signature.admit(signature_document),
        )
        same = header.line() == line
    except errors.InvalidInput as error:
        raise line_check.Fault("HEADER_INVALID", error.message) from None
    if not same:
        raise line_check.Fault("HEADER_INVALID", "the header is not written as an export writes it")
    return header


def _blob(raw: bytes) -> tuple[str, bytes]:
    line = _strip_line_feed(raw)
    try:
        json_value = canonical.loads_canonical(line)
    except orjson.JSONDecodeError as error:
        raise line_check.Fault("BLOB_INVALID", f"not JSON: {error.msg}", min(error.pos, len(line))) from None
    document: JsonObject = json_value if isinstance(json_value, dict) else {}
    name = document.get("blob")
    if not isinstance(name, str) or not line_check.is_digest(name):
        raise line_check.Fault("BLOB_INVALID", "not a blob")
    try:
        data = _content(document)
        same = blob_line(name, data) == line
    except (errors.InvalidInput, binascii.Error, UnicodeEncodeError) as error:
        raise line_check.Fault("BLOB_INVALID", f"the content of {name} cannot be read: {error}") from None
    if canonical.digest_bytes(data) != name:
        raise line_check.Fault("BLOB_MISMATCH", f"the content of {name} was changed: it has another hash")
    if not same:
        raise line_check.Fault("BLOB_INVALID", f"{name} is not written as an export writes it")
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
            raise errors.InvalidInput("it has no content")


def _strip_line_feed(raw: bytes) -> bytes:
    if not raw.endswith(b"\n"):
        raise line_check.Fault("LINE_TORN", "the line has no end: the copy was cut here", len(raw))
    return raw[:-1]


# -- blobs: the ones that an event refers to, and the workflow that the run has pinned in one -------------------------


def blob_references(event: events.Event) -> Iterator[str]:
    """Yield the `sha256:` names of the blobs that the event refers to, in no particular order."""
    match event:
        case events.RunCreated():
            yield event.definition
            yield from _stored(event.inputs)
            yield from _stored(event.contexts)
            for variable in (event.variables or {}).values():
                yield from _stored(variable)
        case events.NodeKept():
            yield from _stored(event.outputs)
            for item in event.items or ():
                yield from _stored(item)
        case events.NodeUnjudged():
            yield from _stored(event.outputs)
        case events.ItemsKept():
            for item in event.items:
                yield from _stored(item.get("outputs"))
        case events.NodeResolved():
            yield from _stored(event.inputs)
            yield from _stored(event.items)
        case events.AttemptSucceeded() | events.AttemptFailed():
            yield from _stored(event.outputs)
        case events.MessageReceived():
            yield from _stored(event.content)
        case events.CallStarted() | events.CallRuled():
            yield from _stored(event.args)
        case events.CallCompleted():
            yield from _stored(event.result)
        case events.ApprovalRequested():
            yield from _stored(event.tool.get("stored"))
        case events.ApprovalResolved():
            yield from _stored(event.resolution.get("stored"))
            yield from _stored(event.items)
        case events.ArtifactCreated():
            name = event.artifact.get("hash")
            if line_check.is_digest(name):
                yield cast("str", name)
        case _:
            return


def _stored(value: Json) -> Iterator[str]:
    if isinstance(value, dict) and "blob" in value and line_check.is_stored(value):
        yield cast("str", value["blob"])


def read_workflow(data: bytes) -> definition.Workflow:
    """Return the workflow of a definition blob; raise InvalidInput DEFINITION_INVALID if it is not as it was pinned."""
    try:
        document = canonical.admit(canonical.loads_canonical(data))
    except orjson.JSONDecodeError as error:
        raise errors.InvalidInput(f"the definition is not JSON: {error}", code="DEFINITION_INVALID") from None
    if not isinstance(document, dict):
        raise errors.InvalidInput("the definition is not a workflow", code="DEFINITION_INVALID")
    workflow = workflow_codec.decode(cast("JsonObject", document))
    if workflow_hash(workflow) != workflow.hash:
        raise errors.InvalidInput(
            "the definition's hash is not that of its content: it was changed", code="DEFINITION_INVALID"
        )
    return workflow


def workflow_hash(workflow: definition.Workflow) -> str:
    """Return the hash that `Workflow.hash` must be."""
    return canonical.digest(workflow_codec.encode(replace(workflow, hash="")))

"""Trace maps that hold, and everything that does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openskelo import errors
from tests.checks.trace_map import NODE, assumption, check, entry, save, sha256, shop, span, why, write


def test_a_map_that_holds_traces_every_leaf(tmp_path: Path) -> None:
    assert check(shop(tmp_path)).document() == {
        "ok": True,
        "fields": 4,
        "traced": 3,
        "assumed": 1,
        "assumptionRatio": 0.25,
        "untraced": [],
        "broken": [],
    }


def _change(path: Path, change: Callable[[Any], object]) -> Path:
    document = orjson.loads(path.read_bytes())
    change(document)
    return save(path.parent, document)


def _set(entry: int, **fields: Any) -> Callable[[Any], object]:
    return lambda document: document["trace_entries"][entry].update(fields)


def _set_span(**fields: Any) -> Callable[[Any], object]:
    return lambda document: document["trace_entries"][0]["spans"][0].update(fields)


UNTRUE: list[tuple[Callable[[Any], object], list[str]]] = [
    (lambda it: it["trace_entries"].pop(0), []),
    (lambda it: it["trace_entries"].append(it["trace_entries"][0]), ["/name it is traced twice"]),
    (_set(0, field_path="/names"), ["/names the schema has no such field"]),
    (_set(0, field_path=""), ["the schema has no such field"]),
    (_set(0, field_path="/a~1b"), ["/a~1b the schema has no such field"]),
    (_set(0, spans=[]), ["/name it names no span"]),
    (_set(0, evidence=" "), ["/name it names no evidence"]),
    (_set(0, source="API_DOCS"), ["/name the source of the span is of the kind SOURCE_CODE"]),
    (_set(3, assumption_rationale=None), ["/a~1b/1 an assumption needs a rationale of 10 characters"]),
    (_set(3, assumption_rationale="  short   "), ["/a~1b/1 an assumption needs a rationale of 10 characters"]),
    (_set(3, assumption_rationale="\u200b" * 12), ["/a~1b/1 an assumption needs a rationale of 10 characters"]),
    (_set(0, evidence="\u200b"), ["/name it names no evidence"]),
    (
        lambda it: it["sources"].append({**it["schema"], "kind": "SOURCE_CODE"}),
        ["the source is the schema itself"],
    ),
    (_set_span(line=1), ["/name the excerpt has another hash"]),
    (_set_span(line=0), ["/name the source has no such lines and columns"]),
    (_set_span(endLine=1), ["/name the source has no such lines and columns"]),
    (_set_span(endLine=99), ["/name the source has no such lines and columns"]),
    (_set_span(endColumn=99), ["/name the source has no such lines and columns"]),
    (_set_span(column=16), ["/name the span is empty"]),
    (_set_span(file="docs.md"), ["/name the source of the span is of the kind API_DOCS"]),
    (_set_span(file="gone.ts"), ["/name the span is not in a source that is as the map says"]),
    (lambda it: it["schema"].update(hash=sha256(b"")), ["the schema has another hash"]),
    (
        lambda it: it["sources"].append(it["sources"][1]),
        ["/limit the span is not in a source that is as the map says", "the source is named twice"],
    ),
    (
        lambda it: it["sources"][1].update(file="../docs.md"),
        [
            "/limit the span is not in a source that is as the map says",
            "the source cannot be used: it has an empty part, or a part `.` or `..`",
        ],
    ),
    (
        lambda it: it["sources"].pop(1),
        ["/limit the span is not in a source that is as the map says"],
    ),
]


@pytest.mark.parametrize(
    ("change", "reasons"),
    UNTRUE,
)
def test_what_does_not_hold_is_broken_and_its_field_untraced(
    tmp_path: Path, change: Callable[[Any], object], reasons: list[str]
) -> None:
    report = check(_change(shop(tmp_path), change))
    assert (report.ok, why(report)) == (False, reasons)
    assert report.untraced or not any(reason.startswith("/") for reason in reasons)


def test_a_broken_span_is_named_with_its_place(tmp_path: Path) -> None:
    report = check(_change(shop(tmp_path), _set_span(excerpt_hash="x")))
    document = report.document()
    assert (document["untraced"], document["broken"]) == (
        ["/name"],
        [{"field": "/name", "file": "src/node.ts", "line": 2, "why": "the excerpt has another hash"}],
    )


OTHER_FORMATS: list[Callable[[Any], object]] = [
    lambda it: it.update(extra=1),
    lambda it: it.pop("schema"),
    lambda it: it["trace_entries"][0].update(sources="x"),
    lambda it: it["trace_entries"][0].pop("confidence"),
    _set(0, source="GUESS"),
    _set(0, source="source_code"),
    _set(0, confidence="sure"),
    _set(0, derived="no"),
    _set_span(line="2"),
    lambda it: it["sources"][0].update(kind="ASSUMPTION"),
    lambda it: it["schema"].update(file="../schema.json"),
    lambda it: it["schema"].update(file="/schema.json"),
]


@pytest.mark.parametrize(
    "change",
    OTHER_FORMATS,
)
def test_a_map_in_another_format_is_refused(tmp_path: Path, change: Callable[[Any], object]) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        check(_change(shop(tmp_path), change))
    assert refused.value.code == "TRACE_MAP_INVALID"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\0", b"\xff", b'{"a": 1, "a": 2}', b"[" * 5000])
@pytest.mark.parametrize("name", ["trace_map.json", "schema.json"])
def test_files_that_are_no_json_objects_do_not_pass(tmp_path: Path, name: str, text: bytes) -> None:
    path = shop(tmp_path)
    (tmp_path / name).write_bytes(text)
    assert _outcome(path) in ("TRACE_MAP_INVALID", "not ok")


@pytest.mark.parametrize("schema", [{}, [], 5, "text", None])
def test_a_schema_without_fields_is_not_traced(tmp_path: Path, schema: object) -> None:
    report = check(write(tmp_path, schema, {"node.ts": (NODE, "SOURCE_CODE")}, [assumption("")]))
    assert (report.ok, "the schema has no fields" in why(report)) == (False, True)


def test_a_map_without_entries_traces_nothing(tmp_path: Path) -> None:
    report = check(write(tmp_path, {"a": 1}, {}, []))
    assert (report.ok, report.untraced, report.broken) == (False, ("/a",), ())


@pytest.mark.parametrize(("assumed", "ok"), [(3, True), (4, False)])
def test_thirty_percent_of_the_fields_may_be_assumed(tmp_path: Path, assumed: int, ok: bool) -> None:
    schema = {f"field{number}": number for number in range(10)}
    shown = span("node.ts", NODE, 2, 3, 2, 16)
    entries = [
        assumption(f"/{name}") if place < assumed else entry(f"/{name}", shown) for place, name in enumerate(schema)
    ]
    report = check(write(tmp_path, schema, {"node.ts": (NODE, "SOURCE_CODE")}, entries))
    assert (report.ok, report.assumption_ratio, report.untraced, report.broken) == (ok, assumed / 10, (), ())


def test_sources_and_schema_may_be_elsewhere(tmp_path: Path) -> None:
    path = shop(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("schema.json", "src", "docs.md"):
        (tmp_path / name).rename(elsewhere / name)
    assert check(path, schema=elsewhere / "schema.json", sources=elsewhere).ok
    for schema, sources in ((None, None), (elsewhere / "schema.json", elsewhere / "gone")):
        with pytest.raises(errors.NotFound) as refused:
            check(path, schema=schema, sources=sources)
        assert refused.value.code == "PATH_NOT_FOUND"


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.unlink(), "there is no file"),
    (lambda path: path.write_bytes(NODE.encode("latin-1")), "the source has another hash"),
    (lambda path: (path.unlink(), path.symlink_to(path)), "cannot be read: Too many levels of symbolic links"),
    (lambda path: (path.unlink(), path.mkdir()), "cannot be read: Is a directory"),
    (lambda path: (path.unlink(), path.symlink_to("/etc/hosts")), "it leads out of the folder of the sources"),
]


@pytest.mark.parametrize(
    ("damage", "reason"),
    DAMAGES,
)
def test_a_source_that_cannot_be_read_breaks_the_map(
    tmp_path: Path, damage: Callable[[Path], object], reason: str
) -> None:
    path = shop(tmp_path)
    damage(tmp_path / "src/node.ts")
    report = check(path)
    assert (report.ok, report.untraced) == (False, ("/name", "/a~1b/0"))
    assert any(reason in broken.why and broken.file == "src/node.ts" for broken in report.broken)


def test_a_source_that_is_no_text_breaks_the_map(tmp_path: Path) -> None:
    path = shop(tmp_path)
    (tmp_path / "docs.md").write_bytes(b"\xff")
    report = check(_change(path, lambda it: it["sources"][1].update(hash=sha256(b"\xff"))))
    assert "the source is not text in UTF-8" in why(report)


@pytest.mark.parametrize("name", ["src/node.ts", "docs.md", "schema.json"])
def test_every_changed_byte_of_a_source_or_a_schema_is_found(tmp_path: Path, name: str) -> None:
    path = shop(tmp_path)
    data = (tmp_path / name).read_bytes()
    for place in range(len(data)):
        (tmp_path / name).write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert _outcome(path) in ("TRACE_MAP_INVALID", "not ok"), place
    (tmp_path / name).write_bytes(data)
    assert _outcome(path) == "ok"


def _outcome(path: Path) -> str:
    """Return whether the map holds, or the code of the error."""
    try:
        return "ok" if check(path).ok else "not ok"
    except errors.OpenSkeloError as error:
        return error.code


#: Where in a trace map something is that the check computes anew.
PLACES = [
    ("schema", "hash"),
    ("schema", "file"),
    *(("sources", source, key) for source in (0, 1) for key in ("hash", "file")),
    *(("trace_entries", number, "field_path") for number in range(4)),
    *(
        ("trace_entries", number, "spans", 0, key)
        for number in range(3)
        for key in ("file", "line", "column", "endLine", "endColumn", "excerpt_hash")
    ),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.sampled_from(PLACES), data=st.data())
def test_every_changed_byte_of_a_span_a_hash_or_a_field_is_found(tmp_path: Path, place: Any, data: Any) -> None:
    path = shop(tmp_path)
    document = orjson.loads(path.read_bytes())
    *way, last = place
    holder = document
    for step in way:
        holder = holder[step]
    text = str(holder[last])
    index = data.draw(st.integers(0, len(text) - 1))
    alphabet = "0123456789" if isinstance(holder[last], int) else "0123456789abcdefABCDEF/~.:_xyz"
    letter = data.draw(st.sampled_from([one for one in alphabet if one != text[index]]))
    changed = text[:index] + letter + text[index + 1 :]
    holder[last] = int(changed) if isinstance(holder[last], int) else changed
    save(tmp_path, document)
    assert _outcome(path) in ("TRACE_MAP_INVALID", "PATH_NOT_FOUND", "not ok")


def test_twenty_thousand_fields_are_checked(tmp_path: Path) -> None:
    schema = {f"group{group}": {f"field{field}": field for field in range(100)} for group in range(200)}
    lines = [f"  field{line} = {line};" for line in range(20_000)]
    entries = [
        entry(f"/group{line // 100}/field{line % 100}", span("node.ts", lines, line + 1, 3, line + 1, 9))
        for line in range(20_000)
    ]
    report = check(write(tmp_path, schema, {"node.ts": ("\n".join(lines), "SOURCE_CODE")}, entries))
    assert (report.ok, report.fields, report.traced) == (True, 20_000, 20_000)

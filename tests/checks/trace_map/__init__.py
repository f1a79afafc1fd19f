"""A trace map with its schema and sources, which holds."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson

from openskelo.checks import trace_map
from openskelo.checks.trace_map.report import Report
from openskelo.values import canonical

NODE = "export class Shop {\n  name = 'shop';\n  grün = 2;\n  limit = 50;\n}\n"
DOCS = "# Shop\n\nThe limit is 50.\n"


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def span(file: str, text: str | list[str], line: int, column: int, end_line: int, end_column: int) -> dict[str, Any]:
    """Return a span with the hash that it should have; `text` is that of the source, or its lines."""
    lines = (text.split("\n") if isinstance(text, str) else text)[line - 1 : end_line]
    lines[-1] = lines[-1][: end_column - 1]
    lines[0] = lines[0][column - 1 :]
    positions = {"file": file, "line": line, "column": column, "endLine": end_line, "endColumn": end_column}
    return {**positions, "excerpt_hash": canonical.digest({**positions, "text": "\n".join(lines)})}


def entry(field: str, *spans: dict[str, Any], source: str = "SOURCE_CODE", **more: Any) -> dict[str, Any]:
    return {
        "field_path": field,
        "source": source,
        "evidence": "it says so",
        "spans": list(spans),
        "derived": False,
        "confidence": "high",
        "assumption_rationale": None,
        **more,
    }


def assumption(field: str) -> dict[str, Any]:
    return entry(field, source="ASSUMPTION", assumption_rationale="all shops have one")


def write(folder: Path, schema: Any, sources: dict[str, tuple[str, str]], entries: list[dict[str, Any]]) -> Path:
    """Return the path of the trace map, after it and its files are written; a source is a text and its kind."""
    (folder / "schema.json").write_bytes(orjson.dumps(schema))
    for name, (text, _) in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    document = {
        "correlation_id": "one",
        "node_type": "shop",
        "schema": {"file": "schema.json", "hash": sha256(orjson.dumps(schema))},
        "sources": [
            {"file": name, "hash": sha256(text.encode()), "kind": kind} for name, (text, kind) in sources.items()
        ],
        "trace_entries": entries,
    }
    return save(folder, document)


def save(folder: Path, document: Any) -> Path:
    path = folder / "trace_map.json"
    path.write_bytes(orjson.dumps(document))
    return path


def shop(folder: Path) -> Path:
    """Return the path of a small trace map that holds: three traced fields and one assumed."""
    return write(
        folder,
        {"name": "shop", "a/b": [2, {}], "limit": 50},
        {"src/node.ts": (NODE, "SOURCE_CODE"), "docs.md": (DOCS, "API_DOCS")},
        [
            entry("/name", span("src/node.ts", NODE, 2, 3, 2, 16)),
            entry("/a~1b/0", span("src/node.ts", NODE, 3, 3, 4, 5), derived=True),
            entry("/limit", span("docs.md", DOCS, 3, 1, 3, 17), source="API_DOCS"),
            assumption("/a~1b/1"),
        ],
    )


def why(report: Report) -> list[str]:
    """Return the reasons in words, sorted."""
    return sorted(f"{broken.field} {broken.why}".strip() for broken in report.broken)


check = trace_map.check

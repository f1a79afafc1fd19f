"""A folder of artifacts with its manifest, which holds."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson

FILES = {
    "request_snapshot.json": "{}\n",
    "source_bundle/node.ts": "export {}\n",
    "validation_logs.txt": "nothing to validate\n",
    "inferred_schema.json": "{}\n",
    "trace_map.json": "{}\n",
    "allowlist.json": "{}\n",
    "diff.patch": "diff\n",
    "escalation_report.md": "# Why\n",
}


def step(skill: str = "node-normalize", level: str = "READ", outcome: str = "success") -> dict[str, str]:
    return {"skill": skill, "autonomy_level": level, "outcome": outcome}


def artifact(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest(), **more}


def save(folder: Path, steps: list[dict[str, str]], artifacts: list[dict[str, Any]], **more: Any) -> None:
    document = {"correlation_id": "one", "steps": steps, "artifacts": artifacts, **more}
    (folder / "manifest.json").write_bytes(orjson.dumps(document))


def write(folder: Path, steps: list[dict[str, str]], *without: str) -> None:
    """Write all artifacts but those of these names, and the manifest."""
    kept = {name: text for name, text in FILES.items() if name not in without}
    for name, text in kept.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    save(folder, steps, [artifact(name, text, empty_allowed=False) for name, text in kept.items()])

"""A site for the browser: a project with workflows of every kind, and a `skelo serve` process over it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml

from openskelo.kernel.json import Json
from tests import forked_skelo

HANDLERS = '''"""Code of the site's workflows. A file named `hold` in the project keeps `wait` waiting."""

import time
from pathlib import Path


def write(ctx):
    return {"text": f"All about {ctx.inputs['topic']}"}


def shout(ctx):
    time.sleep(0.02)
    return {"word": str(ctx.inputs["word"]).upper()}


def wait(ctx):
    while Path("hold").exists():
        time.sleep(0.02)
    return {"text": ctx.inputs["text"]}


def fail(ctx):
    raise ValueError("the press is out of ink")
'''

#: write, then a person, then wait as long as the file `hold` is there, then publish.
REVIEW: dict[str, Json] = {
    "name": "review",
    "description": "Write about a topic, let a person read and change it, publish it.",
    "inputs": {
        "topic": {"type": "string", "minLength": 2, "description": "What to write about"},
        "copies": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
        "tone": {"type": "string", "enum": ["plain", "lively"], "default": "plain"},
        "urgent": {"type": "boolean", "default": False},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 5, "default": []},
    },
    "blocks": [
        {
            "id": "write",
            "mode": "deterministic",
            "inputs": {"topic": {"type": "string", "from": "inputs.topic"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "handlers.py:write"},
        },
        {
            "id": "check",
            "mode": "approval",
            "inputs": {"text": {"type": "string", "from": "write.text"}},
            "outputs": {"text": "string", "approved": "boolean"},
            "approval": {
                "prompt": "Publish this?\n\n{{ inputs.text }}",
                "timeout_sec": 86400,
                "form": {
                    "type": "object",
                    "properties": {"text": {"type": "string", "minLength": 2, "description": "What is published"}},
                    "required": ["text"],
                },
            },
        },
        {
            "id": "hold",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "check.text"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "handlers.py:wait"},
        },
        {
            "id": "publish",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "hold.text"}},
            "outputs": {"file_path": "string", "bytes_written": "integer"},
            "deterministic": {
                "handler": "builtin:write-file",
                "config": {"content_from": "text", "default_path_template": "out/{run_id}.md"},
            },
        },
    ],
    "outputs": {"file": "publish.file_path"},
}
EACH: dict[str, Json] = {
    "name": "each",
    "description": "One attempt for each word.",
    "inputs": {"words": {"type": "array", "items": {"type": "string"}, "default": ["ant", "bee", "cow"]}},
    "blocks": [
        {
            "id": "shout",
            "mode": "deterministic",
            "foreach": {"items": "inputs.words", "as": "word"},
            "inputs": {"words": {"type": "array", "from": "inputs.words"}, "word": {"type": "string"}},
            "outputs": {"word": "string"},
            "deterministic": {"handler": "handlers.py:shout"},
        }
    ],
    "outputs": {"words": "shout.word"},
}
FAILING: dict[str, Json] = {
    "name": "failing",
    "description": "Its second block always fails.",
    "blocks": [
        {
            "id": "write",
            "mode": "deterministic",
            "inputs": {"topic": {"type": "string", "default": "ink"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "handlers.py:write"},
        },
        {
            "id": "print",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "write.text"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "handlers.py:fail"},
        },
        {
            "id": "fold",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "print.text"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "builtin:pass"},
        },
    ],
}
BROKEN: dict[str, Json] = {
    "name": "broken",
    "blocks": [{"id": "a", "mode": "deterministic", "deterministic": {"handler": "handlers.py:missing"}, "color": 1}],
}


@dataclass(slots=True, kw_only=True)
class Site:
    """A project folder, and the server over it; it can be stopped and started again on the same port.

    Most tests are about pages, so their browser need not log in.
    """

    root: Path
    url: str = ""
    arguments: tuple[str, ...] = ()
    needs_token: bool = False
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    process: forked_skelo.ForkedProcess | None = None

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.launch()
        self.url = _until(self._address)
        _until(lambda: httpx.get(f"{self.url}/api/health").is_success)

    def launch(self) -> None:
        """Start the server."""
        port = self.url.rpartition(":")[2] or "0"
        access = () if self.needs_token else ("--no-token",)
        words = ["serve", "--port", port, *access, *self.arguments]
        with (self.root / "serve.log").open("wb") as log:
            self.process = forked_skelo.start(words, folder=self.root, env={**os.environ, **self.env}, log=log)

    def _address(self) -> str:
        assert self.process is not None
        assert self.process.poll() is None, self.log()
        lines = [line for line in self.log().splitlines() if line.startswith("serving ")]
        return lines[0].rpartition(" at ")[2] if lines else ""

    def log(self) -> str:
        """What the server has printed."""
        return (self.root / "serve.log").read_text()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the server."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(20)
            self.process = None

    def client(self, **headers: str) -> httpx.Client:
        """A client of its REST interface."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=20)

    def write(self, name: str, document: Mapping[str, Json]) -> None:
        """A workflow file."""
        (self.root / name).write_text(yaml.safe_dump(dict(document), sort_keys=False))

    def begin(self, workflow: str, **inputs: Json) -> str:
        """Begin a run over REST; its id."""
        with self.client() as client:
            answer = client.post("/api/runs", json={"workflow": workflow, "inputs": inputs})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def run(self, run_id: str) -> dict[str, Any]:
        """The run as it is now."""
        with self.client() as client:
            return dict(client.get(f"/api/runs/{run_id}").json())

    def until(self, run_id: str, good: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The run as soon as it is good."""
        return _until(lambda: run if good(run := self.run(run_id)) else None)

    def ended(self, run_id: str) -> dict[str, Any]:
        """The run when it has ended."""
        return self.until(run_id, lambda run: run["ending"] is not None)

    def asked(self, run_id: str) -> dict[str, Any]:
        """The run's open approval, as soon as there is one."""
        run = self.until(run_id, lambda run: run["approvals"])
        (approval,) = run["approvals"].values()
        return dict(approval)

    def answer(self, run_id: str, status: str = "approved", **more: Json) -> None:
        """Answer the run's open approval over REST."""
        approval = self.asked(run_id)
        with self.client() as client:
            body = {"resolution": {"status": status, **more}}
            assert client.post(f"/api/approvals/{approval['id']}/resolve", json=body).is_success


def make(root: Path) -> Site:
    """A project with workflows, without a server yet."""
    (root / "skelo.yaml").write_text("name: site\nwrite_roots: [out]\n")
    (root / "handlers.py").write_text(HANDLERS)
    site = Site(root=root)
    for name, document in (("review", REVIEW), ("each", EACH), ("failing", FAILING), ("broken", BROKEN)):
        site.write(f"{name}.yaml", document)
    return site


def _until(ask: Callable[[], Any], seconds: float = 100) -> Any:
    """What `ask` gives as soon as it gives anything; errors of the connection are as nothing."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := ask():
                return found
        except httpx.TransportError:
            pass
        time.sleep(0.02)
    raise AssertionError(f"nothing came within {seconds} s")

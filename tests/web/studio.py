"""A newsroom for the graph's tests: workflows with every mode, and a model that speaks word by word over real HTTP."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from http import server
from pathlib import Path
from typing import cast

import yaml

from openskelo.kernel.json import Json
from tests.providers.servers import openai_chat
from tests.web import site as sites

#: What the model says, by a word in the prompt: at first, and once it was told that an answer was refused.
ANSWERS: dict[str, tuple[str, ...]] = {
    "Outline": (
        'Sure! Here is the outline: {"points": "roofs"}',
        '{"points": ["Why bees moved to the roofs", "What lavender has to do with it", "What you can plant"]}',
    ),
    "Draft": (
        '{"text": "Bees like roofs."}',
        '{"text": "City bees have moved up. Flat roofs are warm, dry and quiet, and a pot of lavender within reach '
        'feeds a colony until October. Whoever has a balcony can help: plant what flowers late, and leave walls be."}',
    ),
    "Headline": ('{"headline": "The bees upstairs"}',),
}

#: A change of a file, as `git diff` would tell it.
PATCH = "\n".join(
    (
        "--- a/press/page.py",
        "+++ b/press/page.py",
        "@@ -1,8 +1,9 @@",
        " import press",
        " ",
        " ",
        " def page(text: str) -> str:",
        "-    # one column is enough",
        "-    return press.set(text, columns=1)",
        '+    """The text in two columns."""',
        "+    return press.set(text, columns=2, leading=1.4)",
        " ",
        " WIDTH = 72",
        "+MARGIN = 4",
        "",
    )
)
HANDLERS = '''"""Code of the newsroom."""

import time


def gather(ctx):
    ctx.log("three notes were found", topic=ctx.inputs["topic"])
    return {"notes": [f"{ctx.inputs['topic']}: note {number}" for number in range(ctx.inputs["count"])]}


def clean(ctx):
    time.sleep(0.02)
    return {"note": str(ctx.inputs["note"]).strip().capitalize()}


def patch(ctx):
    return {"diff": PATCH}


def broken(ctx):
    raise RuntimeError("the press is out of ink")


PATCH = __PATCH__
'''

TEXT: Json = {"type": "string"}
CHECK: dict[str, Json] = {
    "name": "check",
    "inputs": {"text": "string"},
    "outputs": {"text": "length.text"},
    "blocks": [
        {
            "id": "trim",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "inputs.text"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "builtin:pass"},
        },
        {
            "id": "length",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "trim.text"}},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "builtin:pass"},
        },
    ],
}
ARTICLE: dict[str, Json] = {
    "name": "article",
    "description": "Notes become an outline, a draft and a page; a person reads it before it is printed.",
    "inputs": {"topic": {"type": "string", "default": "city bees"}, "count": {"type": "integer", "default": 3}},
    "outputs": {"file": "publish.file_path"},
    "blocks": [
        {
            "id": "gather",
            "name": "Gather notes",
            "mode": "deterministic",
            "inputs": {
                "topic": {"type": "string", "from": "inputs.topic"},
                "count": {"type": "integer", "from": "inputs.count"},
            },
            "outputs": {"notes": {"type": "array", "items": TEXT}},
            "deterministic": {"handler": "handlers.py:gather"},
        },
        {
            "id": "clean",
            "name": "Clean each note",
            "mode": "deterministic",
            "foreach": {"items": "inputs.notes", "as": "note"},
            "inputs": {"notes": {"type": "array", "from": "gather.notes"}, "note": TEXT},
            "outputs": {"note": TEXT},
            "deterministic": {"handler": "handlers.py:clean"},
        },
        {
            "id": "outline",
            "name": "Outline",
            "prompt": "Outline an article from these notes:\n{{ inputs.notes }}",
            "expert": "writer",
            "inputs": {"notes": {"type": "array", "from": "clean.note"}},
            "outputs": {"points": {"type": "array", "items": TEXT, "minItems": 2}},
        },
        {
            "id": "draft",
            "name": "Draft",
            "prompt": "Draft the article along these points:\n{{ inputs.points }}",
            "expert": "writer",
            "inputs": {"points": {"type": "array", "from": "outline.points"}},
            "outputs": {"text": {"type": "string"}},
            "retry": {"max_attempts": 3},
            "post_gates": [
                {"name": "long enough", "type": "word_count", "port": "text", "min": 20},
                {"name": "says what to plant", "type": "regex", "port": "text", "pattern": "plant", "error": "Say it."},
            ],
        },
        {
            "id": "headline",
            "name": "Headline",
            "prompt": "Headline for an article with these points:\n{{ inputs.points }}",
            "expert": "writer",
            "inputs": {"points": {"type": "array", "from": "outline.points"}},
            "outputs": {"headline": TEXT},
        },
        {"id": "check", "name": "Check", "uses": "./check.yaml", "inputs": {"text": {"from": "draft.text"}}},
        {
            "id": "layout",
            "name": "Change the layout",
            "mode": "deterministic",
            "after": ["gather"],
            "outputs": {"diff": TEXT},
            "deterministic": {"handler": "handlers.py:patch"},
        },
        {
            "id": "review",
            "name": "Editor reads it",
            "mode": "approval",
            "inputs": {
                "text": {"type": "string", "from": "check.text"},
                "headline": {"type": "string", "from": "headline.headline"},
            },
            "outputs": {"text": TEXT, "approved": "boolean"},
            "approval": {
                "prompt": "Print “{{ inputs.headline }}”?",
                "form": {"type": "object", "properties": {"text": TEXT}, "required": ["text"]},
            },
        },
        {
            "id": "publish",
            "name": "Print",
            "mode": "deterministic",
            "after": ["layout"],
            "inputs": {"text": {"type": "string", "from": "review.text"}},
            "outputs": {"file_path": TEXT, "bytes_written": "integer"},
            "deterministic": {
                "handler": "builtin:write-file",
                "config": {"content_from": "text", "default_path_template": "out/{timestamp}.md"},
            },
        },
    ],
}


def out_of_ink() -> dict[str, Json]:
    """A smaller article whose printing fails: its layout is beside the way there."""
    chosen = [block for block in _blocks(ARTICLE) if block["id"] in ("gather", "clean", "layout")]
    press: dict[str, Json] = {
        "id": "print",
        "name": "Print",
        "mode": "deterministic",
        "inputs": {"notes": {"type": "array", "from": "clean.note"}},
        "outputs": {"page": TEXT},
        "retry": {"max_attempts": 2},
        "deterministic": {"handler": "handlers.py:broken"},
    }
    fold: dict[str, Json] = {
        "id": "fold",
        "name": "Fold",
        "mode": "deterministic",
        "inputs": {"page": {"type": "string", "from": "print.page"}},
        "outputs": {"page": TEXT},
        "deterministic": {"handler": "builtin:pass"},
    }
    return {"name": "out-of-ink", "inputs": ARTICLE["inputs"], "blocks": [*chosen, press, fold]}


def _blocks(document: dict[str, Json]) -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", document["blocks"])


def wide(count: int) -> dict[str, Json]:
    """`count` blocks in rows of ten that lead on to the next row."""
    blocks: list[Json] = []
    for number in range(count):
        source = f"b{number - 10:03d}.text" if number >= 10 else "inputs.text"
        blocks.append(
            {
                "id": f"b{number:03d}",
                "mode": "deterministic",
                "inputs": {"text": {"type": "string", "from": source}},
                "outputs": {"text": "string"},
                "deterministic": {"handler": "builtin:pass"},
            }
        )
    blocks[count - 1] = {
        "id": f"b{count - 1:03d}",
        "mode": "approval",
        "inputs": {"text": {"type": "string", "from": f"b{count - 11:03d}.text"}},
        "outputs": {"text": "string", "approved": "boolean"},
        "approval": {"prompt": "Go on?", "form": {"type": "object", "properties": {"text": {"type": "string"}}}},
    }
    return {"name": "wide", "inputs": {"text": {"type": "string", "default": "a"}}, "blocks": blocks}


#: A plan that goes back to its beginning until its draft has what it needs; a person is asked what to do.
PLAN: dict[str, Json] = {
    "plan_id": "proof",
    "budgets": {"max_steps": 20},
    "variables": {"draft": {"title": "Bees"}},
    "steps": [
        {
            "id": "look",
            "op": "verify",
            "args": {"checker_id": "json_schema", "input_ref": "var:draft", "schema": {"required": ["text"]}},
            "save_as": "v",
        },
        {"id": "good", "op": "branch", "args": {"cond": {"ok": "var:v.ok"}, "then": "done", "else": "ask"}},
        {"id": "done", "op": "emit", "args": {"result_ref": "var:draft", "status": "ok"}},
        {"id": "ask", "op": "ask_human", "args": {"request": {"kind": "needs_context", "message": "What now?"}}},
        {"id": "back", "op": "branch", "args": {"cond": {"ok": "var:v.ok"}, "then": "done", "else": "look"}},
    ],
    "outputs": {"result_ref": "var:draft"},
}


@dataclass(slots=True)
class Model:
    """Answers chat completions, with a `pause` after each piece; while `held` is clear it says half and waits."""

    url: str = ""
    pause: float = 0.0
    held: threading.Event = field(default_factory=threading.Event)

    def answer(self, asked: str) -> str:
        """What to say to this conversation."""
        word = next((word for word in ANSWERS if f"{word} " in asked), None)
        if word is None:
            return "{}"
        return ANSWERS[word][-1 if "refused" in asked else 0]


@contextlib.contextmanager
def model() -> Generator[Model]:
    """The model, listening on a free port of this machine."""
    made = Model()
    made.held.set()

    class Handler(server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked = "\n".join(str(message["content"]) for message in body["messages"])
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                events = list(openai_chat.OpenAI().events(made.answer(asked), "stop"))
                for number, event in enumerate(events):
                    if number == len(events) // 2:
                        made.held.wait(30)
                    self.wfile.write(event)
                    self.wfile.flush()
                    time.sleep(made.pause)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing: no test reads it."""

    with server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        made.url = f"http://127.0.0.1:{listening.server_port}/v1"
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield made
        made.held.set()
        listening.shutdown()
        thread.join()


def make(root: Path, speaker: Model) -> sites.Site:
    """The newsroom's project, without a server yet."""
    provider = {
        "kind": "openai",
        "base_url": speaker.url,
        "model": "gpt-4o-mini",
        "api_key": "${env:NEWSROOM_KEY}",
        "prices": {"input_usd_per_mtok": 150, "output_usd_per_mtok": 600},
    }
    project = {
        "name": "newsroom",
        "write_roots": ["out"],
        "providers": {"model": provider},
        "experts": {"writer": {"provider": "model", "max_tokens": 300, "system": "You write plain English."}},
    }
    (root / "skelo.yaml").write_text(yaml.safe_dump(project))
    (root / "handlers.py").write_text(HANDLERS.replace("__PATCH__", repr(PATCH)))
    site = sites.Site(root=root, env={"NEWSROOM_KEY": "none"})
    site.write("article.yaml", ARTICLE)
    site.write("check.yaml", CHECK)
    site.write("out-of-ink.yaml", out_of_ink())
    site.write("wide.yaml", wide(500))
    return site

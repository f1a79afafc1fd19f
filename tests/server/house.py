"""A house for REST tests: a real engine and a real server on a free loopback port, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx
import yaml

import openskelo
from openskelo.engine import local
from openskelo.kernel.json import Json
from openskelo.server import app, serving, settings
from openskelo.server.auth import tokens
from openskelo.stores import api
from openskelo.stores.sqlite import data_dir
from openskelo.structs import replace

T = TypeVar("T")
Answer = dict[str, Any]

TEXT: Json = {"text": "string"}
FORM: Json = {"type": "object", "properties": {"text": {"type": "string", "minLength": 2}}, "required": ["text"]}
#: write, then a person, then publish.
REVIEW: dict[str, Json] = {
    "name": "review",
    "description": "Write, ask, publish.",
    "inputs": {"topic": {"type": "string", "default": "bees"}},
    "blocks": [
        {
            "id": "write",
            "mode": "deterministic",
            "inputs": {"topic": {"type": "string", "from": "inputs.topic"}},
            "outputs": TEXT,
            "deterministic": {"handler": "local:write"},
        },
        {
            "id": "check",
            "mode": "approval",
            "inputs": {"text": {"type": "string", "from": "write.text"}},
            "outputs": {"text": "string", "approved": "boolean"},
            "approval": {"prompt": "Publish {{ inputs.text }}?", "form": FORM},
        },
        {
            "id": "publish",
            "mode": "deterministic",
            "inputs": {"text": {"type": "string", "from": "check.text"}},
            "outputs": TEXT,
            "deterministic": {"handler": "local:publish"},
        },
    ],
    "outputs": {"text": "publish.text"},
}
#: One block for each of a list.
EACH: dict[str, Json] = {
    "name": "each",
    "inputs": {"words": {"type": "array", "items": {"type": "string"}}},
    "blocks": [
        {
            "id": "shout",
            "mode": "deterministic",
            "inputs": {"words": {"type": "array", "from": "inputs.words"}},
            "outputs": TEXT,
            "foreach": {"items": "inputs.words", "as": "word"},
            "deterministic": {"handler": "local:shout"},
        }
    ],
}


async def write(ctx: openskelo.Context) -> dict[str, Json]:
    """Log with a secret, and return nothing of it."""
    key = ctx.secret("KEY")
    ctx.log("wrote with", key=key)
    ctx.log("x" * 200_000 if ctx.inputs["topic"] == "large" else "a line")
    return {"text": f"on {ctx.inputs['topic']}"}


async def publish(ctx: openskelo.Context) -> dict[str, Json]:
    return {"text": f"published {ctx.inputs['text']}"}


async def shout(ctx: openskelo.Context) -> dict[str, Json]:
    return {"text": str(ctx.item).upper()}


async def answer(ctx: openskelo.Context) -> dict[str, Json]:
    """Return what it has read, and a reply if a message asks for one."""
    read = [str(entry["content"]) for entry in cast("list[Answer]", ctx.inputs["messages"])]
    read += [str(entry["outputs"]["message"]) for entry in cast("list[Answer]", ctx.inputs["handoffs"])]
    if "fail" in read:
        raise ValueError("told to fail")
    return {"message": f"{ctx.block_id} read {' and '.join(read)}", "reply": "reply" in "".join(read)}


async def wait(ctx: openskelo.Context) -> dict[str, Json]:
    await asyncio.sleep(30)
    return {}


WAITING: dict[str, Json] = {
    "name": "waiting",
    "blocks": [{"id": "nap", "mode": "deterministic", "deterministic": {"handler": "local:wait"}}],
}


@dataclass(slots=True, kw_only=True)
class House:
    """A server at `url`; `run` does something with its engine, in its loop."""

    root: Path
    url: str
    engine: local.Engine
    known: tokens.Tokens
    loop: asyncio.AbstractEventLoop

    def client(self, token: str | None = None, **headers: str) -> httpx.Client:
        """A client, with a token if there is one."""
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return httpx.Client(base_url=self.url, headers=headers, timeout=20)

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        """The result of something that is done in the server's loop."""
        return asyncio.run_coroutine_threadsafe(doing, self.loop).result(20)


@contextlib.contextmanager
def open_house(
    root: Path,
    change: Callable[[settings.Settings], settings.Settings] = lambda found: found,
    roles: Mapping[str, tokens.Role] | None = None,
    made: dict[str, str] | None = None,
    open_store: Callable[[Path], api.Store] = data_dir.open_store,
) -> Generator[House]:
    """A server over `root`; `made` gets the tokens of `roles`. `open_store` is called with the data dir."""
    _project(root)
    known = tokens.Tokens(root / ".skelo" / "tokens.json")
    for name, role in (roles or {}).items():
        token = known.add(name, role)
        if made is not None:
            made[name] = token
    setup = change(settings.Settings(tokens=known, user="ann", without_token=True))
    ready: list[House] = []
    failed: list[BaseException] = []
    up = threading.Event()
    # A server that does not come up, or does not end, fails its test; it must not keep the process of all tests too.
    thread = threading.Thread(target=lambda: _guarded(root, setup, ready, failed, up, open_store), daemon=True)
    thread.start()
    assert up.wait(60), "the server did not come up"
    if not ready:
        raise failed[0]
    house = ready[0]
    try:
        yield house
    finally:
        house.loop.call_soon_threadsafe(_stopping(house).set)
        thread.join(60)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


def _project(root: Path) -> None:
    root.mkdir(exist_ok=True, parents=True)
    (root / "skelo.yaml").write_text("name: house\nsecrets:\n  KEY: ${env:W2_PLANTED_KEY}\n")
    for name, document in (("review", REVIEW), ("each", EACH), ("waiting", WAITING)):
        (root / f"{name}.yaml").write_text(yaml.safe_dump(document))


_STOPS: dict[int, asyncio.Event] = {}


def _stopping(house: House) -> asyncio.Event:
    return _STOPS[id(house.loop)]


def _guarded(
    root: Path,
    setup: settings.Settings,
    ready: list[House],
    failed: list[BaseException],
    up: threading.Event,
    open_store: Callable[[Path], api.Store],
) -> None:
    try:
        asyncio.run(_live(root, setup, ready, up, open_store))
    except BaseException as error:  # told to the test, which is in another thread
        failed.append(error)
    finally:
        up.set()


async def _live(
    root: Path,
    setup: settings.Settings,
    ready: list[House],
    up: threading.Event,
    open_store: Callable[[Path], api.Store],
) -> None:
    from openskelo.workflows.project import project_file

    project = project_file.project_at(root / "review.yaml")
    handlers = {"write": write, "publish": publish, "shout": shout, "wait": wait, "answer": answer}
    listening = serving.listen("127.0.0.1", 0)
    loop = asyncio.get_running_loop()
    _STOPS[id(loop)] = asyncio.Event()
    with listening:
        async with await local.Engine.open(project, store=open_store(project.data_dir), handlers=handlers) as engine:
            made = app.create(engine, setup)

            def tell() -> None:
                url = serving.address(listening)
                ready.append(House(root=root, url=url, engine=engine, known=setup.tokens, loop=loop))
                up.set()

            task = asyncio.create_task(serving.serve(made, listening, ready=tell))
            stop = asyncio.create_task(_STOPS[id(loop)].wait())
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                serving.stop(made)
            await task
    del _STOPS[id(loop)]


# -- what tests say often ---------------------------------------------------------------------------------------------


def demanding(found: settings.Settings) -> settings.Settings:
    """Everybody needs a token."""
    return replace(found, without_token=False)


def start(client: httpx.Client, workflow: str = "review.yaml", **inputs: Json) -> Answer:
    """A run that has just begun."""
    answer = client.post("/api/runs", json={"workflow": workflow, "inputs": inputs})
    assert answer.status_code == 201, answer.text
    return answer.json()


def until(client: httpx.Client, run_id: str, wanted: Callable[[Answer], bool]) -> Answer:
    """The run once it is as wanted."""
    end = time.monotonic() + 100
    while time.monotonic() < end:
        found = cast("Answer", client.get(f"/api/runs/{run_id}").json())
        if wanted(found):
            return found
        time.sleep(0.02)
    raise AssertionError("the run never was as wanted")


def live_graph(client: httpx.Client) -> tuple[str, str, str]:
    """A live graph of two handlers that answer, the first tied to the other: its id, the first's, the edge's."""
    run_id: str = client.post("/api/runs", json={"name": "live"}).json()["id"]
    nodes: list[str] = []
    for label in ("One", "Two"):
        body: Answer = {"label": label, "kind": "handler", "config": {"handler": "local:answer"}}
        nodes.append(client.post(f"/api/runs/{run_id}/nodes", json=body).json()["id"])
    edge = client.post(f"/api/runs/{run_id}/edges", json={"from": nodes[0], "to": nodes[1]}).json()
    return run_id, nodes[0], edge["id"]


def asked(client: httpx.Client, run_id: str) -> Answer:
    """The open approval of a run that waits."""
    until(client, run_id, lambda found: bool(found["approvals"]))
    (found,) = client.get("/api/approvals", params={"runId": run_id}).json()["approvals"]
    return found


def resolve(client: httpx.Client, approval_id: str, status: str = "approved", **more: Json) -> httpx.Response:
    """An answer."""
    return client.post(f"/api/approvals/{approval_id}/resolve", json={"resolution": {"status": status, **more}})


def problem(answer: httpx.Response) -> tuple[int, str]:
    """The status and code of an error, which is a problem document."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    document = answer.json()
    assert document["status"] == answer.status_code
    return answer.status_code, document["code"]

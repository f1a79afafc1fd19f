"""No command asks an address, or reads a file, that a schema in a workflow names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator
from pathlib import Path

import orjson
import pytest

from openskelo.kernel.json import JsonObject
from tests.cli.conftest import Skelo
from tests.handlers import web


@pytest.fixture(name="site", scope="module")
def _site() -> Generator[web.Site]:
    with web.serving() as site:
        yield site


@contextlib.contextmanager
def _watched(folder: Path) -> Generator[tuple[str, Callable[[], bool]]]:
    """Yield the address of a pipe that looks like a schema's file, and what tells whether it was opened.

    A pipe has no writer before it has a reader, so opening it to write succeeds only after it was opened to read.
    """
    pipe = folder / "schema.json"
    os.mkfifo(pipe)

    def was_opened() -> bool:
        try:
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    yield pipe.as_uri(), was_opened


def _blocks(schema: JsonObject) -> JsonObject:
    return {
        "name": "flow",
        "blocks": [{"id": "a", "prompt": "Say it.", "outputs": {"x": {"type": "object", **schema}}}],
    }


def _plan(schema: JsonObject) -> JsonObject:
    ask: JsonObject = {"expert_id": "default", "prompt": "?", "output_schema": {"type": "object", **schema}}
    steps: list[JsonObject] = [
        {"id": "s1", "op": "route_expert", "args": ask},
        {"id": "end", "op": "emit", "args": {"status": "ok"}},
    ]
    return {"plan_id": "p", "steps": [*steps]}


@pytest.mark.parametrize("command", ["validate", "hash", "explain", "run"])
@pytest.mark.parametrize("document", [_blocks, _plan])
def test_a_command_refuses_a_schema_that_names_an_address_and_sends_no_request(
    command: str, document: Callable[[JsonObject], JsonObject], skelo: Skelo, site: web.Site
) -> None:
    for keyword in ("$schema", "$ref", "$dynamicRef"):
        skelo.write("flow.json", orjson.dumps(document({keyword: site.url})).decode())
        done = skelo(command, "flow.json")
        assert (done.code, "SCHEMA_INVALID" in done.out + done.err) == (2, True), (keyword, done)
    assert site.seen == []


@pytest.mark.parametrize("document", [_blocks, _plan])
def test_a_command_reads_no_file_that_a_schema_names(
    document: Callable[[JsonObject], JsonObject], skelo: Skelo, tmp_path: Path
) -> None:
    with _watched(tmp_path) as (address, was_opened):
        for keyword in ("$schema", "$ref", "$dynamicRef"):
            skelo.write("flow.json", orjson.dumps(document({keyword: address})).decode())
            assert skelo("validate", "flow.json").code == 2  # a reader of the pipe would wait for ever
            assert not was_opened()


def test_the_settings_of_a_project_name_no_address(skelo: Skelo, site: web.Site) -> None:
    skelo.write("flow.json", orjson.dumps(_blocks({})).decode())
    for keyword in ("$schema", "$ref", "$dynamicRef"):
        tools: JsonObject = {"own": {"builtin": "read-file", "args": {"type": "object", keyword: site.url}}}
        skelo.write("skelo.yaml", orjson.dumps({"name": "test", "tools": tools}).decode())
        done = skelo("validate", "flow.json")
        assert (done.code, "SCHEMA_INVALID" in done.out + done.err) == (2, True), (keyword, done)
    assert site.seen == []

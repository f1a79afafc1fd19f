"""A schema that names an address is refused at every place that takes one, and no request reaches that address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.values.schema import validator
from openskelo.workflows.project import project_file
from tests.executors.ops import bench
from tests.handlers import web
from tests.workflows import marking


@pytest.fixture(name="site")
def _site() -> Iterator[web.Site]:
    with web.serving() as site:
        yield site


def schemas_that_name(url: str) -> dict[str, JsonObject]:
    """Return schemas whose meaning would depend on what is at the address."""
    return {
        "$schema": {"$schema": url},
        "$schema of a part": {"properties": {"a": {"$schema": url}}},
        "$schema of a resource": {"properties": {"const": {"$id": "part", "$schema": url}}},
        "$ref": {"$ref": url},
        "$ref of a property with the name of a keyword": {"properties": {"default": {"$ref": url}}},
        "$ref of a definition": {"$defs": {"enum": {"$ref": url}}, "$ref": "#/$defs/enum"},
        "$ref into data": {"enum": [{"$ref": url}], "$ref": "#/enum/0"},
        "$ref relative to $id": {"$id": f"{url}/", "properties": {"a": {"$ref": "other"}}},
        "$dynamicRef": {"$dynamicRef": url},
        "$recursiveRef": {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": url},
        "id of draft 4": {"$schema": "http://json-schema.org/draft-04/schema#", "id": f"{url}/", "$ref": "other"},
    }


KINDS = tuple(schemas_that_name(""))


@pytest.mark.parametrize("kind", KINDS)
def test_the_validator_refuses_the_schema_and_sends_no_request(kind: str, site: web.Site) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        validator.compile(schemas_that_name(site.url)[kind])
    assert (refused.value.code, site.seen) == ("SCHEMA_INVALID", [])


@pytest.mark.parametrize("kind", KINDS)
def test_the_validator_reads_no_file_that_a_schema_names(kind: str, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("true")
    with pytest.raises(errors.InvalidInput) as refused:
        validator.compile(schemas_that_name((tmp_path / "schema.json").as_uri())[kind])
    assert refused.value.code == "SCHEMA_INVALID"


def test_an_address_as_the_own_name_of_a_schema_sends_no_request(site: web.Site) -> None:
    compiled = validator.compile(
        {"$id": f"{site.url}/own", "$vocabulary": {f"{site.url}/words": False}, "$ref": "#/$defs/text"}
        | {"$defs": {"text": {"$id": f"{site.url}/text", "type": "string"}}}
    )
    assert (compiled.is_valid("x"), compiled.is_valid(1), site.seen) == (True, False, [])


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"])
def test_the_known_drafts_are_accepted(draft: str, scheme: str) -> None:
    for fragment in ("", "#"):
        compiled = validator.compile({"$schema": f"{scheme}://json-schema.org/{draft}/schema{fragment}", "minimum": 2})
        assert (compiled.is_valid(2), compiled.is_valid(1)) == (True, False)


# -- every place that takes a schema ----------------------------------------------------------------------------------


def block(**more: Json) -> JsonObject:
    whole: JsonObject = {"id": "a", "mode": "deterministic", "deterministic": {"handler": "builtin:pass"}, **more}
    return {"name": "flow", "blocks": [whole]}


def plan(*steps: Json) -> JsonObject:
    return {"plan_id": "p", "steps": [*steps, {"id": "end", "op": "emit", "args": {"status": "ok"}}]}


def step(op: str, **args: Json) -> JsonObject:
    return {"id": "s1", "op": op, "args": args}


def documents(schema: JsonObject) -> dict[str, JsonObject]:
    """Return workflows that each hold the schema at one place."""
    schema = {"type": "object", **schema}
    gate: JsonObject = {"type": "json_schema", "schema": schema}
    port: JsonObject = {"x": schema}
    return {
        "an input of a block": block(inputs=port),
        "an output of a block": block(outputs=port),
        "an output of an ai block": {"name": "flow", "blocks": [{"id": "a", "prompt": "Say it.", "outputs": port}]},
        "an input of the workflow": {**block(), "inputs": port},
        "a form": {"name": "flow", "blocks": [{"id": "a", "mode": "approval", "approval": {"form": schema}}]},
        "a gate": block(post_gates=[gate]),
        "the answer of an expert": plan(step("route_expert", expert_id="default", prompt="?", output_schema=schema)),
        "the answer of a person": plan(step("ask_human", request={"message": "?"}, answer=schema)),
        "a checker": plan(step("verify", checker_id="json_schema", input_ref="input:x", schema=schema)),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", documents({}))
def test_a_workflow_with_such_a_schema_is_refused_and_no_request_is_sent(
    place: str, kind: str, site: web.Site, tmp_path: Path
) -> None:
    document = documents(schemas_that_name(site.url)[kind])[place]
    problems = marking.check(orjson.dumps(document).decode(), tmp_path, name="flow.json")
    assert "SCHEMA_INVALID" in [problem.code for problem in problems if problem.severity == "error"]
    assert site.seen == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["args", "returns"])
def test_a_tool_of_the_project_with_such_a_schema_is_refused_and_no_request_is_sent(
    key: str, kind: str, site: web.Site, tmp_path: Path
) -> None:
    tool: JsonObject = {"builtin": "read-file", key: schemas_that_name(site.url)[kind]}
    (tmp_path / "skelo.yaml").write_bytes(orjson.dumps({"tools": {"own": tool}}))
    _, problems = project_file.check(tmp_path)
    assert ([problem.code for problem in problems], site.seen) == (["SCHEMA_INVALID"], [])


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_that_is_data_of_a_run_is_refused_and_no_request_is_sent(
    kind: str, site: web.Site, tmp_path: Path
) -> None:
    args: JsonObject = {"checker_id": "json_schema", "input_ref": "x", "schema": schemas_that_name(site.url)[kind]}
    done = bench.perform(bench.workshop.project(tmp_path), "verify", args)
    assert (done.code, site.seen) == ("SCHEMA_INVALID", [])

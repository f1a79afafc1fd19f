"""The published schemas are those of the models, and what the server says beside runs and events keeps to them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from pydantic import ValidationError

import openskelo
from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.record import receipts
from openskelo.server.stream import messages, partial_text
from openskelo.wire import projection
from openskelo.wire.models import approval, events, node, run, schemas
from tests.kernel.stage import RUN, Stage, flow, work
from tests.wire import wired
from tests.wire.test_projection import flat, told


@pytest.mark.parametrize("name", schemas.MODELS)
def test_published_schema_is_that_of_its_model(name: str) -> None:
    """After a change: `python -m openskelo.wire.models.schemas`, and a look at what it means for clients."""
    assert (schemas.FOLDER / f"{name}.json").read_bytes() == schemas.schema(name)


def test_no_schema_is_published_that_nobody_knows() -> None:
    assert {path.stem for path in schemas.FOLDER.iterdir()} == set(schemas.MODELS)


def test_schemas_are_written_anew_and_old_ones_go(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    schemas.write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in schemas.FOLDER.iterdir()
    }


def test_every_class_of_events_is_part_of_the_union() -> None:
    bases = (events.FactEvent, events.NodeEvent, events.OverlayEvent)
    classes = {one.__name__ for base in bases for one in base.__subclasses__() if one not in bases}
    union = orjson.loads(schemas.schema("event"))["discriminator"]["mapping"]
    assert classes == {reference.rpartition("/")[2] for reference in union.values()}


def test_documents_keep_fields_that_nobody_knows_yet() -> None:
    given = {"id": RUN, "from": RUN, "to": RUN, "bidirectional": False, "type": "handoff", "label": "x", "kind": "data"}
    read = node.Edge.model_validate({**given, "later": 1})
    assert read.model_dump(by_alias=True) == {**given, "later": 1}


@pytest.mark.parametrize(
    ("body", "given"),
    [
        (approval.ResolveBody, {"resolution": {"status": "banana"}}),
        (approval.ResolveBody, {"resolution": {"status": "approved", "because": "x"}}),
        (run.RunPatch, {"status": "failed"}),
        (node.NodeBody, {"label": ""}),
        (node.EdgeBody, {"from": "nowhere", "to": RUN}),
    ],
)
def test_bodies_refuse_what_the_contract_does_not_have(
    body: type[approval.ResolveBody | run.RunPatch | node.NodeBody | node.EdgeBody], given: dict[str, Json]
) -> None:
    with pytest.raises(ValidationError):
        body.model_validate(given)


def test_frames_of_the_stream_keep_to_their_schema() -> None:
    each, snapshots = told(wired.history(3))
    said = partial_text.Partial(RUN, ("n0", 1, 1, None))
    said.add("Bees", ())
    encoded = [orjson.dumps(one) for one in flat(each)]
    sent = [
        messages.hello(RUN),
        messages.hello(None),
        messages.snapshot(RUN, len(each), orjson.dumps(snapshots[-1]), [said.document()]),
        messages.events(RUN, len(each), encoded),
        messages.events(None, 7, [*encoded, orjson.dumps(said.delta(0))]),
        messages.resync(RUN, "slow"),
        messages.ping(),
        messages.pong({"any": 1}),
        messages.error(errors.NotFound("no run", code="RUN_NOT_FOUND"), RUN),
    ]
    assert [fault for frame in sent for fault in wired.faults("stream-message", orjson.loads(frame.data))] == []


def test_receipts_keep_to_their_schema(tmp_path: Path) -> None:
    async def recorded() -> list[bytes]:
        block = {
            "id": "a",
            "mode": "deterministic",
            "inputs": {"x": "json"},
            "outputs": {"x": "json"},
            "deterministic": {"handler": "builtin:pass"},
        }
        project = openskelo.project_at(tmp_path, data_dir=tmp_path / "data")
        async with await openskelo.Engine.open(project) as engine:
            workflow = openskelo.from_document({"name": "one", "blocks": [block]})
            run_id = await engine.start(workflow, {"x": 1})
            await engine.wait(run_id)
        return (tmp_path / "data" / "events" / "000000000001.jsonl").read_bytes().splitlines()

    found = receipts.collect(asyncio.run(recorded()))
    assert len(found) == 1
    assert wired.faults("receipt", found[0]) == []


@pytest.mark.parametrize(("provider", "seen"), [(name, name) for name in get_args(node.Provider)] + [("new", "custom")])
def test_a_node_has_a_provider_of_the_contract(provider: str, seen: str) -> None:
    stage = Stage(flow(work("a", mode="agent", config={"pinned": {"agent": {"provider": provider}}})))
    stage.create()
    view = projection.Projection(RUN, stage.workflow)
    view.apply(1, stage.log[0])
    nodes: Any = view.snapshot()["nodes"]
    assert [document["provider"] for document in nodes.values()] == [seen]

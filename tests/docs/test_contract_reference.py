"""The page about the contract names every type, every field and every event, and no others."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from pydantic import BaseModel

from openskelo.kernel.json import JsonObject
from openskelo.wire.models import approval, events, node, run, wire_model
from tests.docs import page
from tests.wire import patching

TABLES: dict[str, type[BaseModel]] = {
    "Run": run.Run,
    "Usage": node.Usage,
    "Fault": node.Fault,
    "Parent": run.Parent,
    "RunSummary": run.RunSummary,
    "RunPatch": run.RunPatch,
    "Node": node.Node,
    "Capabilities": node.Capabilities,
    "Permissions": node.Permissions,
    "Session": node.Session,
    "Connection": node.Connection,
    "Item": node.Item,
    "NodeBody": node.NodeBody,
    "Edge": node.Edge,
    "Handoff": node.Handoff,
    "Payload": node.Payload,
    "Message": node.Message,
    "ChatBody": node.ChatBody,
    "Artifact": node.Artifact,
    "Approval": approval.Approval,
    "Tool": approval.Tool,
    "Resolution": approval.Resolution,
    "EventPage": events.EventPage,
    "Problem": wire_model.ProblemDetails,
}
PROSE: dict[str, type[BaseModel]] = {
    "Budget": run.Budget,
    "NodeChange": node.NodeChange,
    "EdgeBody": node.EdgeBody,
    "ResolveBody": approval.ResolveBody,
}
EVENTS: dict[str, type[BaseModel]] = {
    get_args(one.model_fields["type"].annotation)[0]: one for one in get_args(get_args(events.AnyEvent)[0])
}
ENVELOPE = ["id", "runId", "ts", "type", "nodeId", "seq", "index"]


def fields(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def section(title: str) -> str:
    return page.sections(page.text("contract.md"))[title]


@pytest.mark.parametrize("title", TABLES)
def test_page_lists_the_fields_of_a_type_and_marks_those_that_may_be_left_out(title: str) -> None:
    model = TABLES[title]
    optional = re.findall(r"^\| `(\w+)` \| [^|]* \? \|", section(title), flags=re.MULTILINE)
    assert page.rows(section(title)) == fields(model)
    assert optional == [field.alias or name for name, field in model.model_fields.items() if not field.is_required()]


@pytest.mark.parametrize("title", PROSE)
def test_page_names_the_fields_of_a_small_type(title: str) -> None:
    assert set(fields(PROSE[title])) <= set(re.findall(r"`(\w+)`", section(title)))


@pytest.mark.parametrize("name", EVENTS)
def test_page_lists_the_fields_of_an_event(name: str) -> None:
    own = [field for field in fields(EVENTS[name]) if field not in ENVELOPE]
    assert page.rows(section(name)) == own


def test_page_lists_what_every_event_has() -> None:
    assert page.rows(section("Events")) == ENVELOPE


def test_page_has_no_other_sections() -> None:
    known = {"The contract on the wire", "Snapshots and patches", "Phases", "Receipt", "Events"}
    assert set(page.sections(page.text("contract.md"))) == {*known, *TABLES, *PROSE, *EVENTS}


def test_page_names_every_event_that_changes_a_snapshot() -> None:
    """The rule on the page is the rule of the code: what is said to change nothing does, and the rest does."""
    rows = re.findall(r"^\| (`.*?) \|", section("Snapshots and patches"), flags=re.MULTILINE)
    said = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    before: JsonObject = {
        **patching.empty("r"),
        "nodes": {"n": {}},
        "edges": {"e": {}},
        "approvals": {"a": {}},
    }
    payload: JsonObject = {
        "patch": {"x": 1},
        "nodeId": "n",
        "edgeId": "e",
        "approvalId": "a",
        "edge": {"id": "new"},
        "artifact": {"id": "new"},
        "approval": {"id": "new"},
    }
    changing = {name for name in EVENTS if patching.fold(before, [{"type": name, **payload}]) != before}
    assert said == changing

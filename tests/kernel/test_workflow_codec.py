"""A workflow survives its JSON form exactly, and nothing else is taken for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar, cast

import hypothesis
import pytest
from hypothesis import strategies as st

from openskelo import errors
from openskelo.kernel import workflow_codec
from openskelo.kernel.definition import (
    Amount,
    Approval,
    Binding,
    Bounce,
    Estimate,
    Foreach,
    Gate,
    Limits,
    Node,
    Plan,
    Port,
    Retry,
    Step,
    Workflow,
)
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import replace

_Made = TypeVar("_Made")


def _made(cls: Callable[..., _Made], **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[_Made]:
    return st.fixed_dictionaries(parts).map(lambda found: cls(**found))


_names = st.text(min_size=1, max_size=5)
_texts = st.text(max_size=8)
_counts = st.integers(min_value=0, max_value=2**53)
_amounts = st.floats(min_value=0, max_value=1e6, allow_nan=False)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_names, inner, max_size=2),
    max_leaves=4,
)
_objects = st.dictionaries(_names, _json, max_size=2)
_compositions = st.sampled_from(["all", "any"])
_ports = _made(
    Port,
    name=_names,
    schema=_objects,
    kind=st.sampled_from(["json", "file", "artifact"]),
    required=st.booleans(),
    has_default=st.booleans(),
    default=_json,
    description=_texts,
)
_bindings = _made(Binding, node=_texts, port=_names, transform=st.none() | _texts)
_gates = _made(Gate, name=_names, type=_names, params=_objects, error=_texts)
_bounces = _made(
    Bounce,
    when_gate=_names,
    route_to=_names,
    max_bounces=_counts,
    feedback=st.booleans(),
    reset=st.lists(_names, max_size=2).map(tuple),
)
_approvals = _made(
    Approval,
    prompt=_texts,
    approvers=st.lists(_names, max_size=2).map(tuple),
    timeout_ms=st.none() | _counts,
    on_timeout=st.sampled_from(["deny", "approve"]),
    form=_objects,
    on_deny=st.sampled_from(["end", "continue", "bounce"]),
    bounce=st.none() | _bounces,
)


def _some(one: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(one, max_size=2).map(tuple)


_steps = _made(
    Step,
    op=st.sampled_from(["route_expert", "tool_call", "verify", "transform", "branch", "retry", "ask_human", "emit"]),
    args=_objects,
    save_as=st.none() | _names,
    next=st.none() | _names,
    then=st.none() | _names,
    otherwise=st.none() | _names,
    target=st.none() | _names,
    on_denied=st.none() | _names,
    ending=st.none() | st.sampled_from(["ok", "failed", "denied", "escalated"]),
    max_visits=st.none() | _counts,
)
_plans = _made(
    Plan,
    entry=_names,
    mode=st.sampled_from(["normal", "degraded", "offline"]),
    variables=_objects,
    outputs=_objects,
    contexts=_some(_names),
)
_nodes = _made(
    Node,
    key=_names,
    mode=st.sampled_from(["ai", "deterministic", "approval", "dag"]),
    label=_texts,
    description=_texts,
    inputs=_some(_ports),
    outputs=_some(_ports),
    bindings=st.dictionaries(_names, _bindings, max_size=2),
    after=_some(_names),
    when=st.none() | _texts,
    foreach=st.none()
    | _made(Foreach, items=_texts, name=_names, concurrency=_counts, on_fail=st.sampled_from(["stop", "keep"])),
    handler=st.none() | _texts,
    config=_objects,
    pre_gates=_some(_gates),
    post_gates=_some(_gates),
    pre_composition=_compositions,
    post_composition=_compositions,
    approval=st.none() | _approvals,
    retry=_made(
        Retry,
        max_attempts=_counts,
        backoff=st.sampled_from(["none", "linear", "exponential"]),
        delay_ms=_counts,
        max_delay_ms=_counts,
        stall_after=_counts,
    ),
    timeout_ms=st.none() | _counts,
    bounces=_some(_bounces),
    effect=st.sampled_from(["pure", "idempotent", "once"]),
    repeatable=st.booleans(),
    cache=st.booleans(),
    reserve=_made(Amount, steps=_counts, tokens=_counts, cost_nanousd=_counts, tool_nanousd=_counts),
    estimate=st.none() | _made(Estimate, tokens=_counts, cost_usd=_amounts, duration_sec=_amounts),
    metadata=_objects,
    step=st.none() | _steps,
)
_limits = st.none() | _counts
_workflows = _made(
    Workflow,
    name=_names,
    hash=_texts,
    description=_texts,
    nodes=st.lists(_nodes, max_size=3, unique_by=lambda node: node.key).map(
        lambda nodes: {node.key: node for node in nodes}
    ),
    inputs=_some(_ports),
    outputs=st.dictionaries(_names, _bindings, max_size=2),
    limits=_made(
        Limits,
        max_steps=_limits,
        max_tokens=_limits,
        max_wall_ms=_limits,
        max_cost_nanousd=_limits,
        max_tool_nanousd=_limits,
    ),
    parallel=_counts,
    plan=st.none() | _plans,
)


@hypothesis.given(_workflows)
@hypothesis.settings(max_examples=60, suppress_health_check=[hypothesis.HealthCheck.too_slow])
def test_a_workflow_comes_back_exactly(workflow: Workflow) -> None:
    stored = cast("JsonObject", json.loads(json.dumps(workflow_codec.encode(workflow), sort_keys=True)))
    back = workflow_codec.decode(stored)
    assert back == workflow
    assert list(back.nodes) == list(workflow.nodes)
    assert list(back.outputs) == list(workflow.outputs)
    assert workflow_codec.encode(back) == workflow_codec.encode(workflow)


def test_a_sealed_workflow_has_the_hash_of_its_form() -> None:
    workflow = Workflow(name="w", hash="old", nodes={"a": Node(key="a", mode="ai")})
    sealed = workflow_codec.seal(workflow, lambda document: f"sha256:{len(document)}")
    assert sealed == replace(workflow, hash="sha256:2")
    assert workflow_codec.encode(sealed) == {"name": "w", "nodes": [{"key": "a", "mode": "ai"}], "hash": "sha256:2"}


def test_defaults_are_left_out() -> None:
    workflow = Workflow(name="w", hash="", nodes={"a": Node(key="a", mode="ai")})
    assert workflow_codec.encode(workflow) == {"name": "w", "nodes": [{"key": "a", "mode": "ai"}]}
    assert workflow_codec.encode_node(workflow.nodes["a"]) == {"key": "a", "mode": "ai"}


def test_outputs_that_are_not_sorted_are_written_as_a_list() -> None:
    one, two = Binding(node="a", port="x"), Binding(node="a", port="y")
    workflow = Workflow(name="w", hash="", nodes={}, outputs={"one": one, "two": two})
    assert workflow_codec.encode(workflow)["outputs"] == {
        "one": {"node": "a", "port": "x"},
        "two": {"node": "a", "port": "y"},
    }
    turned = Workflow(name="w", hash="", nodes={}, outputs={"two": two, "one": one})
    listed = [["two", {"node": "a", "port": "y"}], ["one", {"node": "a", "port": "x"}]]
    assert workflow_codec.encode(turned)["outputs"] == listed
    assert list(workflow_codec.decode(workflow_codec.encode(turned)).outputs) == ["two", "one"]


STRANGE: list[dict[str, Json]] = [
    {},
    {"name": "w"},
    {"name": 5, "nodes": []},
    {"name": "w", "nodes": {}},
    {"name": "w", "nodes": "ab"},
    {"name": "w", "nodes": [5]},
    {"name": "w", "nodes": [], "more": 1},
    {"name": "w", "nodes": [], "parallel": True},
    {"name": "w", "nodes": [], "limits": {"max_steps": "5"}},
    {"name": "w", "nodes": [], "outputs": []},
    {"name": "w", "nodes": [], "outputs": "ab"},
    {"name": "w", "nodes": [], "outputs": [["b"], ["a"]]},
    {"name": "w", "nodes": [], "outputs": [["a", {"port": "x"}], ["b", {"port": "x"}]]},
    {"name": "w", "nodes": [], "outputs": [["b", {"port": "x"}], ["a", {"port": "x"}], ["b", {"port": "x"}]]},
    {"name": "w", "nodes": [{"key": "a", "mode": "magic"}]},
    {"name": "w", "nodes": [{"key": "a", "mode": "ai", "cache": 1}]},
    {"name": "w", "nodes": [{"key": "a", "mode": "ai", "config": []}]},
    {"name": "w", "nodes": [{"key": "a", "mode": "ai", "estimate": {"cost_usd": "1"}}]},
]


@pytest.mark.parametrize("document", STRANGE)
def test_anything_else_is_refused(document: dict[str, Json]) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        workflow_codec.decode(document)
    assert caught.value.code == "DEFINITION_INVALID"

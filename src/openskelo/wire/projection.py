"""The projection of a run: from facts to snapshots and wire events.

    fact n ──> kernel's apply ──> run, node details          what the fact changes in memory
                                        │
               documents before ──┐     ▼
                                  ├── compare ──> node.patch, run.patch
               documents after ───┘
    fact n ──────────────────────────────────────> derived events (message, tool call, handoff, approval, ...)

    snapshot at n-1  +  wire events of fact n  =  snapshot at n        (always; a property test holds it)

The projection folds the same facts as the driver and keeps the last document of the run and of each node. For each fact
it computes the documents of the nodes that the fact may have changed, and what differs from the last ones is the patch.
The wire events of one fact are numbered by `index`; the last one is a `run.patch` with the new `seq`, so a client knows
when it has all of them. Ids follow from run, fact and index, so projecting the same log again gives the same bytes.

A fact costs what it touches, however many nodes the run has: nodes that may change are found from the event, and the
run's phase comes from counters instead of a scan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias, cast

from openskelo.kernel import definition, events
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import envelope
from openskelo.wire import derived_events, edges, node_document, presenters, run_status, wire_ids
from openskelo.wire.derived_events import Derived

#: The version of the contract that the wire follows.
CONTRACT_VERSION = "1"

#: A derived event with the key of the node that it is about; None if it is about the run.
_NodeEvent: TypeAlias = tuple[str | None, Derived]
_ATTEMPT_ENDED = (events.AttemptSucceeded, events.AttemptFailed, events.AttemptInterrupted, events.AttemptCancelled)
_GRAPH_NODE_CHANGED = (events.NodeAdded, events.NodeChanged, events.NodeRemoved)


def empty_snapshot(run_id: str) -> JsonObject:
    """Return the run's document before its first fact."""
    return {"id": run_id, "seq": 0, "nodes": {}, "edges": {}, "artifacts": {}, "approvals": {}}


def _no_path(_: str) -> None:
    """Locate no artifact: for readers that cannot open the server's files."""


def _no_program(_: str) -> bool:
    """Know of no gate that starts a program: for readers that do not show what nodes may do."""
    return False


class Projection:
    """One run as the wire shows it, advanced fact by fact.

    `locate` returns the paths of artifacts, `runs_program` says which types of gates start programs. Documents that
    were handed out are never changed afterwards.
    """

    def __init__(
        self,
        run_id: str,
        workflow: definition.Workflow,
        locate: derived_events.Locate = _no_path,
        runs_program: node_document.RunsProgram = _no_program,
    ) -> None:
        self.run_id = run_id
        self.seq = 0
        self._locate = locate
        self._runs_program = runs_program
        self._run = runs.new(run_id, workflow)
        self._created_by = ""
        self._usage = node_document.Usage()
        self._node_ids = {key: wire_ids.node(run_id, key) for key in workflow.nodes}
        self._details: dict[str, node_document.NodeDetails] = {}
        self._presenter = presenters.PRESENTERS[workflow.kind](self._run)
        # Nodes that work or wait for a person: only these can change when the run ends.
        self._active: dict[str, None] = {}
        # Nodes that may have open tool calls.
        self._calling: dict[str, None] = {}
        # The documents as clients have them.
        self._run_document: JsonObject = empty_snapshot(run_id)
        self._node_documents: dict[str, JsonObject] = {}
        self._artifacts: dict[str, Json] = {}
        self._approvals: dict[str, Json] = {}
        self._workflow_edges = edges.workflow_edges(run_id, workflow)
        self._live_edges: dict[str, Json] = {}
        # The new constant fields of a live graph's nodes that no patch has carried yet.
        self._new_constant_fields: dict[str, JsonObject] = {}

    def apply(self, seq: int, event: events.Event) -> list[dict[str, Json]]:
        """Advance by the fact `event` and return its wire events, the last one a `run.patch`.

        Raise ValueError if `seq` is not the number after the last fact.
        """
        if seq != self.seq + 1:
            raise ValueError(f"fact {seq} does not follow fact {self.seq}")
        self.seq = seq
        was_in_flight = self._is_in_flight(event)
        apply(self._run, event)
        self._update_details(event)
        wire_events = chain(
            self._derive_events(event, was_in_flight=was_in_flight), self._patch_nodes(event), self._patch_run()
        )
        return [self._add_envelope(index, event.at, item) for index, item in enumerate(wire_events)]

    def snapshot(self) -> JsonObject:
        """Return the run's document after the facts so far."""
        return {
            **self._run_document,
            "nodes": dict(self._node_documents),
            "edges": self._edge_documents() if self.seq else {},
            "artifacts": dict(self._artifacts),
            "approvals": dict(self._approvals),
        }

    def _edge_documents(self) -> JsonObject:
        declared_edges = {cast("str", edge["id"]): edge for edge in self._workflow_edges.documents}
        return {**declared_edges, **self._live_edges}

    def _add_envelope(self, index: int, at: int, item: _NodeEvent) -> dict[str, Json]:
        key, (event_type, payload) = item
        event: dict[str, Json] = {
            "id": wire_ids.event(self.run_id, self.seq, index),
            "runId": self.run_id,
            "ts": envelope.timestamp(at),
            "type": event_type,
            "seq": self.seq,
            "index": index,
        }
        if key is not None:
            event["nodeId"] = self._node_ids[key]
        event.update(payload)
        return event

    # -- node details -------------------------------------------------------------------------------------------------

    def _is_in_flight(self, event: events.Event) -> bool:
        """True if the fact ends an attempt that was running; asked before the kernel applies the fact."""
        if not isinstance(event, _ATTEMPT_ENDED):
            return False
        place = (event.node, event.visit, event.item or 0)
        return place in self._run.in_flight or place in self._run.lost

    def _update_details(self, event: events.Event) -> None:
        key = getattr(event, "node", None)
        if isinstance(event, events.RunCreated):
            self._create_nodes(event)
        elif isinstance(event, _GRAPH_NODE_CHANGED):
            self._update_graph_node(event)
        elif key is not None:
            details = self._details[key]
            node_document.update_details(details, event, done=self._run.nodes[key].status == "done")
            if self._run.graph_state is not None and isinstance(event, events.AttemptSucceeded):
                text = node_document.turn_text(event.outputs.get("value"))
                details.result_text = node_document.summary_line(text)
        if isinstance(event, _ATTEMPT_ENDED):
            self._usage.add(event)
            if run_status.has_own_login(self._run.workflow.nodes[event.node]):
                self._usage.cost_unknown = self._details[event.node].usage.cost_unknown = True

    def _create_nodes(self, event: events.RunCreated) -> None:
        self._created_by = event.by
        for key, node in self._run.workflow.nodes.items():
            self._details[key] = node_document.NodeDetails(last_activity_at=event.at)
            fields = self._constant_fields(key, node)
            self._node_documents[self._node_ids[key]] = fields

    def _update_graph_node(self, event: events.NodeAdded | events.NodeChanged | events.NodeRemoved) -> None:
        """Add, change or remove a node of a live graph. The id of a removed node stays, since later facts name it."""
        key = event.node
        node_id = self._node_ids.setdefault(key, wire_ids.node(self.run_id, key))
        if isinstance(event, events.NodeRemoved):
            del self._node_documents[node_id], self._details[key]
            self._active.pop(key, None)
            self._calling.pop(key, None)
            return
        details = self._details.setdefault(key, node_document.NodeDetails(last_activity_at=event.at))
        details.last_activity_at = event.at
        self._new_constant_fields[key] = self._constant_fields(key, self._run.workflow.nodes[key])

    def _constant_fields(self, key: str, node: definition.Node) -> JsonObject:
        return node_document.constant_fields(self._run, node, self._presenter.node_phase(key), self._runs_program)

    # -- derived events -----------------------------------------------------------------------------------------------

    def _derive_events(self, event: events.Event, *, was_in_flight: bool) -> Iterator[_NodeEvent]:
        key = getattr(event, "node", None)
        for wire_event in self._derive_node_events(event, was_in_flight=was_in_flight):
            yield key, wire_event
        match event:
            case events.AttemptSucceeded() | events.NodeFinished() | events.NodeKept() if self._presenter.hands_over:
                yield from self._hand_over(event)
            case events.NodeBounced():
                reset = frozenset(event.reset)
                for reset_key in event.reset:
                    yield from self._abandon_calls(reset_key, "its node is entered again")
                    self._reset_node(reset_key, reset)
            case events.RunEnded():
                for calling_key in self._calling:
                    yield from self._abandon_calls(calling_key, "the run has ended")
            case events.RunCreated():
                for edge in self._workflow_edges.documents:
                    yield None, ("edge.created", {"edge": edge})
                yield None, ("run.mode", {"mode": event.mode, "globalMode": event.global_mode})
            case events.RunModeChanged():
                yield None, ("run.mode", {"mode": event.mode, "globalMode": event.global_mode})
            case events.EdgeAdded():
                edge = edges.live_edge(self.run_id, event)
                self._live_edges[event.edge] = edge
                yield None, ("edge.created", {"edge": edge})
            case events.EdgeRemoved():
                del self._live_edges[event.edge]
                yield None, ("edge.deleted", {"edgeId": event.edge})
            case events.NodeRemoved():
                yield event.node, ("node.deleted", {})
            case _:
                pass

    def _derive_node_events(self, event: events.Event, *, was_in_flight: bool) -> Iterable[Derived]:
        """Return the events about the fact's own node."""
        run = self._run
        match event:
            case events.AttemptStarted():
                self._calling[event.node] = None
                return derived_events.call_started(run, event, self._details[event.node].open_calls)
            case (
                events.AttemptSucceeded()
                | events.AttemptFailed()
                | events.AttemptInterrupted()
                | events.AttemptCancelled()
            ):
                return (
                    *derived_events.agent_calls_interrupted(self._details[event.node].agent_calls),
                    *derived_events.call_completed(event, self._details[event.node].open_calls),
                    *derived_events.final_message(run, event, in_flight=was_in_flight),
                )
            case events.CallStarted():
                return derived_events.agent_call_started(event, self._details[event.node].agent_calls)
            case events.CallCompleted():
                return derived_events.agent_call_completed(event, self._details[event.node].agent_calls)
            case events.NodeSkipped() if event.reason == "denied":
                calls = self._details[event.node].open_calls
                return derived_events.calls_abandoned(calls, "APPROVAL_DENIED", "a person said no")
            case events.NodeSkipped() | events.NodeFinished():
                calls = self._details[event.node].open_calls
                message = "nothing is left to do with the inputs as a person has changed them"
                return derived_events.calls_abandoned(calls, "CANCELLED", message)
            case events.ItemFailed():
                return derived_events.call_completed(event, self._details[event.node].open_calls)
            case events.NodeFailed():
                calls = self._details[event.node].open_calls
                return derived_events.calls_abandoned(calls, str(event.error["code"]), str(event.error["message"]))
            case events.ApprovalRequested():
                return self._request_approval(event)
            case events.ApprovalResolved():
                self._approvals.pop(event.approval_id)
                derived_events.change_proposals(event, self._details[event.node].open_calls)
                return (derived_events.approval_closed(event),)
            case events.ApprovalWithdrawn():
                self._approvals.pop(event.approval_id)
                calls = self._details[event.node].open_calls
                return (
                    *derived_events.calls_abandoned(calls, "CANCELLED", "the approval was withdrawn"),
                    derived_events.approval_closed(event),
                )
            case events.RunStalled():
                return (derived_events.run_stalled(event),)
            case events.ArtifactCreated():
                artifact = derived_events.artifact_document(self.run_id, event, self._locate)
                self._artifacts[cast("str", artifact["id"])] = artifact
                return (("artifact.created", {"artifact": artifact}),)
            case events.MessageReceived():
                return (derived_events.user_message(self.run_id, event),)
            case events.HandoffSent() if run.graph_state is not None:
                artifacts = self._details[event.node].last_turn_artifacts
                return (derived_events.live_handoff(self.run_id, run.graph_state, event, artifacts),)
            case _:
                return ()

    def _request_approval(self, event: events.ApprovalRequested) -> Iterator[Derived]:
        approval = self._run.approvals[event.approval_id]
        self._calling[event.node] = None
        details = self._details[event.node]
        yield from derived_events.call_proposed(self._run, approval, details.open_calls)
        yield from derived_events.agent_call_asked(approval, details.agent_calls)
        event_type, payload = derived_events.approval_requested(self._run, approval, event.at)
        self._approvals[approval.id] = payload["approval"]
        yield event_type, payload

    def _abandon_calls(self, key: str, message: str) -> Iterator[_NodeEvent]:
        for wire_event in derived_events.calls_abandoned(self._details[key].open_calls, "CANCELLED", message):
            yield key, wire_event

    def _hand_over(
        self, event: events.AttemptSucceeded | events.NodeFinished | events.NodeKept
    ) -> Iterator[_NodeEvent]:
        """Yield the handoffs of a node that has succeeded; each target has one more input waiting."""
        node = self._run.nodes[event.node]
        if node.status != "done" or node.outcome != "succeeded":
            return
        details = self._details[event.node]
        for edge in self._workflow_edges.outgoing[event.node]:
            if self._run.nodes[edge.target].status != "done":
                self._details[edge.target].inbox_count += 1
                yield event.node, derived_events.handoff(self._run, node, edge, details, (self.seq, event.at))

    def _reset_node(self, key: str, reset: frozenset[str]) -> None:
        """Reset the details of a bounced node; inputs from nodes that are not reset still wait for it."""
        waiting = sum(
            edge.source not in reset and self._run.nodes[edge.source].outcome == "succeeded"
            for edge in self._workflow_edges.incoming[key]
        )
        node_document.reset_details(self._details[key], waiting)

    # -- patches ------------------------------------------------------------------------------------------------------

    def _changed_nodes(self, event: events.Event) -> Iterable[str]:
        """Return the keys of all nodes that the fact may have changed."""
        match event:
            case events.RunCreated():
                return self._run.nodes
            case events.RunEnded():
                return tuple(self._active)
            case events.NodeBounced():
                return (event.node, *(key for key in event.reset if key != event.node))
            case events.HandoffSent():
                return (event.node, event.to)
            case events.NodeRemoved():
                return ()
            case _:
                key = getattr(event, "node", None)
                if key is None:
                    return ()
                return self._presenter.changed_nodes(event, key)

    def _patch_nodes(self, event: events.Event) -> Iterator[_NodeEvent]:
        for key in self._changed_nodes(event):
            node, details = self._run.nodes[key], self._details[key]
            self._presenter.update(key, node)
            if not details.open_calls:
                self._calling.pop(key, None)
            if self._presenter.resets_on_entry and node.visit > details.visit:
                details.visit = node.visit
                node_document.reset_details(details, 0)
            if isinstance(event, events.RunEnded) and details.ended_at is None:
                details.ended_at = event.at
            patch = self._patch_node(key, node, details)
            if patch and isinstance(event, events.RunCreated):
                yield key, ("node.patch", {"patch": self._node_documents[self._node_ids[key]]})
            elif patch:
                yield key, ("node.patch", {"patch": patch})

    def _patch_node(self, key: str, node: runs.NodeState, details: node_document.NodeDetails) -> JsonObject:
        """Update the node's document and return the fields that differ from the one before."""
        before = self._node_documents.get(self._node_ids[key], {})
        fields = {
            **self._new_constant_fields.pop(key, {}),
            **node_document.current_fields(self._run, node, details),
        }
        patch = _changed_fields(before, fields)
        if patch:
            self._node_documents[self._node_ids[key]] = {**before, **patch}
        if fields["status"] in ("idle", "failed") and node.status != "active":
            self._active.pop(key, None)
        else:
            self._active[key] = None
        return patch

    def _patch_run(self) -> Iterator[_NodeEvent]:
        run = self._run
        fields: dict[str, Json] = {
            "id": run.id,
            "contractVersion": CONTRACT_VERSION,
            "seq": self.seq,
            "name": run.workflow.name,
            "kind": run.workflow.kind,
            "workflowHash": run.workflow.hash,
            "status": runs.status(run),
            "ending": run.ending if run.ended else None,
            "phase": self._presenter.phase(),
            "mode": run.mode,
            "globalMode": run.global_mode,
            "createdAt": envelope.timestamp(run.created_at),
            "updatedAt": envelope.timestamp(run.updated_at),
            "by": self._created_by,
            "pauseReason": None if run.ended else run.paused,
            "error": run.error,
            "parent": run.parent,
            "budget": run_status.budget_usage(run, run.updated_at),
            "usage": self._usage.document(),
        }
        patch = _changed_fields(self._run_document, fields)
        # Every run.patch has these two, so that a client sees where each fact ends.
        patch["seq"] = fields["seq"]
        patch["updatedAt"] = fields["updatedAt"]
        self._run_document = {**self._run_document, **fields}
        if "phase" in patch:
            yield None, ("run.phase", {"phase": fields["phase"]})
        yield None, ("run.patch", {"patch": patch})


def _changed_fields(before: JsonObject, fields: JsonObject) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if name not in before or before[name] != value}

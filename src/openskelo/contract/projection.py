"""From the facts of a run to what the wire shows of it: patches and events for each fact, and snapshots in between.

`patching.fold` of a snapshot and the events of later facts is the later snapshot. A fact costs what it touches, however
many nodes the run has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import cast

from openskelo.contract import channels, documents, edges, envelope, naming, node_document, patching, standing, telling
from openskelo.contract import trace as traces
from openskelo.kernel import definition, events, graph_events
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.json import Json, JsonObject

#: The version of the contract that the wire keeps to.
CONTRACT_VERSION = "1"

_LEAVING = (events.AttemptSucceeded, events.NodeFinished, events.NodeSkipped, events.NodeKept)
_LANDING = (events.AttemptSucceeded, events.AttemptFailed, events.AttemptInterrupted, events.AttemptCancelled)

_REDRAWN = (graph_events.NodeAdded, graph_events.NodeChanged, graph_events.NodeRemoved)


class Projection:
    """One run as the wire shows it, moved on fact by fact.

    `locate` finds the paths of artifacts. Documents that were given out are never changed afterwards.
    """

    def __init__(
        self, run_id: str, workflow: definition.Workflow, locate: documents.Locate = documents.nowhere
    ) -> None:
        self.run_id = run_id
        self.seq = 0
        self._locate = locate
        self._run = runs.new(run_id, workflow)
        self._edges = edges.of(run_id, workflow)
        self._channels: dict[str, Json] = {}  # the edges of a live graph, by id
        self._ids = {key: naming.node(run_id, key) for key in workflow.nodes}
        self._traces: dict[str, traces.Trace] = {}
        self._document: JsonObject = patching.empty(run_id)
        self._nodes: dict[str, JsonObject] = {}
        self._artifacts: dict[str, Json] = {}
        self._approvals: dict[str, Json] = {}
        self._phases = standing.phases(workflow)
        self._present: set[standing.NodePhase] = set(self._phases.values())
        self._unfinished: dict[standing.NodePhase, int] = dict.fromkeys(standing.PHASES, 0)
        self._done: set[str] = set(workflow.nodes)
        self._drawn: dict[str, JsonObject] = {}  # what lasts of a live graph's node, until it is told
        self._under_way: dict[str, None] = {}
        self._calling: dict[str, None] = {}
        self._begun = False
        self._at = ""  # the step of a plan that was entered last
        self._by = ""
        self._usage = traces.Usage()

    def apply(self, seq: int, event: events.Event) -> list[dict[str, Json]]:
        """The wire events of the fact `event`, which must be the next one of the run."""
        if seq != self.seq + 1:
            raise ValueError(f"fact {seq} does not follow fact {self.seq}")
        self.seq = seq
        flying = self._is_flying(event)
        apply(self._run, event)
        key = getattr(event, "node", None)
        if isinstance(event, events.RunCreated):
            self._create(event)
        elif self._run.live is not None and isinstance(event, _REDRAWN):
            self._redraw(event)
        elif key is not None:
            done = self._run.nodes[key].status == "done"
            traces.follow(self._traces[key], event, done=done)
            if self._run.live is not None and isinstance(event, events.AttemptSucceeded):
                self._traces[key].said = traces.short(traces.spoken(event.outputs.get("value")))
        if isinstance(event, _LANDING):
            self._usage.add(event)
        told = chain(self._tell(event, flying=flying), self._patch_nodes(event), self._patch_run())
        return [self._sealed(index, event.at, one) for index, one in enumerate(told)]

    def snapshot(self) -> JsonObject:
        """The run's document after the facts so far."""
        return {
            **self._document,
            "nodes": dict(self._nodes),
            "edges": self._tied() if self.seq else {},
            "artifacts": dict(self._artifacts),
            "approvals": dict(self._approvals),
        }

    def _tied(self) -> JsonObject:
        return {**{cast("str", edge["id"]): edge for edge in self._edges.documents}, **self._channels}

    # -- the envelope -------------------------------------------------------------------------------------------------

    def _sealed(self, index: int, at: int, told: tuple[str | None, telling.Told]) -> dict[str, Json]:
        key, (kind, payload) = told
        event: dict[str, Json] = {
            "id": naming.event(self.run_id, self.seq, index),
            "runId": self.run_id,
            "ts": envelope.timestamp(at),
            "type": kind,
            "seq": self.seq,
            "index": index,
        }
        if key is not None:
            event["nodeId"] = self._ids[key]
        event.update(payload)
        return event

    # -- what a fact tells --------------------------------------------------------------------------------------------

    def _is_flying(self, event: events.Event) -> bool:
        if not isinstance(event, _LANDING):
            return False
        place = (event.node, event.visit, event.item or 0)
        return place in self._run.in_flight or place in self._run.lost

    def _tell(self, event: events.Event, *, flying: bool) -> Iterator[tuple[str | None, telling.Told]]:
        key = getattr(event, "node", None)
        for told in self._told(event, flying=flying):
            yield key, told
        match event:
            case events.AttemptSucceeded() | events.NodeFinished() | events.NodeKept() if self._run.live is None:
                yield from self._hand_over(event)
            case events.NodeBounced():
                for name in event.reset:
                    for told in telling.abandoned(self._traces[name].tools, "CANCELLED", "its node is entered anew"):
                        yield name, told
                    self._begin_again(name, event.reset)
            case events.RunEnded():
                for name in self._calling:
                    for told in telling.abandoned(self._traces[name].tools, "CANCELLED", "the run has ended"):
                        yield name, told
            case events.RunCreated():
                for edge in self._edges.documents:
                    yield None, ("edge.created", {"edge": edge})
                yield None, ("run.mode", {"mode": event.mode, "globalMode": event.global_mode})
            case events.RunModeChanged():
                yield None, ("run.mode", {"mode": event.mode, "globalMode": event.global_mode})
            case graph_events.EdgeAdded():
                made = self._channels[event.edge] = channels.edge(self.run_id, event)
                yield None, ("edge.created", {"edge": made})
            case graph_events.EdgeRemoved():
                del self._channels[event.edge]
                yield None, ("edge.deleted", {"edgeId": event.edge})
            case graph_events.NodeRemoved():
                yield event.node, ("node.deleted", {})
            case _:
                pass

    def _told(self, event: events.Event, *, flying: bool) -> Iterable[telling.Told]:
        """What is told in the name of the fact's own node."""
        run = self._run
        match event:
            case events.AttemptStarted():
                self._calling[event.node] = None
                return telling.started(run, event, self._traces[event.node].tools)
            case (
                events.AttemptSucceeded()
                | events.AttemptFailed()
                | events.AttemptInterrupted()
                | events.AttemptCancelled()
            ):
                calls = self._traces[event.node].tools
                return (*telling.landed(event, calls), *telling.message(run, event, flying=flying))
            case events.NodeSkipped() if event.reason == "denied":
                return telling.abandoned(self._traces[event.node].tools, "APPROVAL_DENIED", "a person said no")
            case events.NodeSkipped() | events.NodeFinished():
                why = "nothing is left to do with the inputs as a person has changed them"
                return telling.abandoned(self._traces[event.node].tools, "CANCELLED", why)
            case events.NodeFailed():
                code, why = str(event.error["code"]), str(event.error["message"])
                return telling.abandoned(self._traces[event.node].tools, code, why)
            case events.ApprovalRequested():
                return self._ask(event)
            case events.ApprovalResolved():
                self._approvals.pop(event.approval_id)
                return (telling.closed(event),)
            case events.ApprovalWithdrawn():
                self._approvals.pop(event.approval_id)
                calls = self._traces[event.node].tools
                return (*telling.abandoned(calls, "CANCELLED", "the question was withdrawn"), telling.closed(event))
            case events.RunStalled():
                return (telling.stalled(event),)
            case events.ArtifactCreated():
                made = documents.artifact(self.run_id, event, self._locate)
                self._artifacts[cast("str", made["id"])] = made
                return (("artifact.created", {"artifact": made}),)
            case graph_events.MessageReceived():
                return (channels.message(self.run_id, event),)
            case graph_events.HandoffSent() if run.live is not None:
                return (channels.handoff(self.run_id, run.live, event, self._traces[event.node].handed),)
            case _:
                return ()

    def _ask(self, event: events.ApprovalRequested) -> Iterator[telling.Told]:
        question = self._run.approvals[event.approval_id]
        self._calling[event.node] = None
        yield from telling.proposed(self._run, question, self._traces[event.node].tools)
        told = telling.asked(self._run, question, event.at)
        self._approvals[question.id] = told[1]["approval"]
        yield told

    def _hand_over(
        self, event: events.AttemptSucceeded | events.NodeFinished | events.NodeKept
    ) -> Iterator[tuple[str, telling.Told]]:
        """The values of a node that is done go along its data edges; to each target they are one more input."""
        node = self._run.nodes[event.node]
        if node.status != "done" or node.outcome != "succeeded":
            return
        for edge in self._edges.leaving[event.node]:
            if self._run.nodes[edge.target].status != "done":
                self._traces[edge.target].inbox += 1
                yield (
                    event.node,
                    telling.handoff(self._run, node, edge, self._traces[event.node], (self.seq, event.at)),
                )

    def _begin_again(self, key: str, reset: tuple[str, ...]) -> None:
        """Values from outside of what is entered anew are still there for the node."""
        again = frozenset(reset)
        waiting = sum(
            edge.source not in again and self._run.nodes[edge.source].outcome == "succeeded"
            for edge in self._edges.reaching[key]
        )
        traces.begin_again(self._traces[key], waiting)

    # -- what a fact changes ------------------------------------------------------------------------------------------

    def _create(self, event: events.RunCreated) -> None:
        self._by = event.by
        for key, node in self._run.workflow.nodes.items():
            self._traces[key] = traces.Trace(active_at=event.at)
            self._nodes[self._ids[key]] = node_document.lasting(self._run, node, self._phases[key])

    def _redraw(self, event: graph_events.NodeAdded | graph_events.NodeChanged | graph_events.NodeRemoved) -> None:
        """A node of a live graph has come, is another one, or is gone. Its id stays known: its facts name it."""
        key = event.node
        node_id = self._ids.setdefault(key, naming.node(self.run_id, key))
        if isinstance(event, graph_events.NodeRemoved):
            del self._nodes[node_id], self._traces[key]
            self._under_way.pop(key, None)
            self._calling.pop(key, None)
            return
        self._phases[key] = "EXECUTE"
        self._traces.setdefault(key, traces.Trace(active_at=event.at)).active_at = event.at
        drawn = node_document.lasting(self._run, self._run.workflow.nodes[key], "EXECUTE")
        self._drawn[key] = drawn

    def _touched(self, event: events.Event) -> Iterable[str]:
        """The nodes that the fact may have changed."""
        match event:
            case events.RunCreated():
                return self._run.nodes
            case events.RunEnded():
                return tuple(self._under_way)
            case events.NodeBounced():
                return (event.node, *(key for key in event.reset if key != event.node))
            case graph_events.HandoffSent():
                return (event.node, event.to)
            case graph_events.NodeRemoved():
                return ()
            case _:
                key = getattr(event, "node", None)
                if key is None:
                    return ()
                if self._run.course is not None:  # at most one step is under way
                    return dict.fromkeys((key, *self._run.ready, *self._run.resolving))
                if self._run.live is None and isinstance(event, _LEAVING) and self._run.nodes[key].status == "done":
                    return (key, *self._run.graph.targets[key])
                return (key,)

    def _patch_nodes(self, event: events.Event) -> Iterator[tuple[str, telling.Told]]:
        for key in self._touched(event):
            node, trace = self._run.nodes[key], self._traces[key]
            self._count(key, node)
            if not self._run.is_dag:
                self._enter(key, node, trace)
            if isinstance(event, events.RunEnded) and trace.ended_at is None:
                trace.ended_at = event.at
            known = self._nodes.get(self._ids[key], {})
            now = {**self._drawn.pop(key, {}), **node_document.changing(self._run, node, trace)}
            patch = {name: value for name, value in now.items() if name not in known or known[name] != value}
            if patch:
                self._nodes[self._ids[key]] = {**known, **patch}
                whole = isinstance(event, events.RunCreated)
                yield key, ("node.patch", {"patch": {**known, **patch} if whole else patch})
            if now["status"] == "idle" and node.status != "active":
                self._under_way.pop(key, None)
            else:
                self._under_way[key] = None

    def _enter(self, key: str, node: runs.NodeState, trace: traces.Trace) -> None:
        """A step of a plan, and a node of a live graph, may be entered again and again."""
        if node.status != "done" and node.visit:
            self._at = key
        if node.visit > trace.visit:
            trace.visit = node.visit
            traces.begin_again(trace, 0)

    def _count(self, key: str, node: runs.NodeState) -> None:
        """Keep the number of unfinished nodes of each phase, and whether anything was ever under way."""
        self._begun = self._begun or standing.is_under_way(node)
        if self._run.live is None and (node.status == "done") != (key in self._done):
            if node.status == "done":
                self._done.add(key)
                self._unfinished[self._phases[key]] -= 1
            else:
                self._done.discard(key)
                self._unfinished[self._phases[key]] += 1
        if not self._traces[key].tools:
            self._calling.pop(key, None)

    def _phase(self) -> standing.Phase:
        if self._run.ended:
            return "DONE"
        if not self._begun:
            return "BOOT"
        if self._run.course is not None:
            return self._phases[self._at]
        if self._run.live is not None:
            return "EXECUTE"
        unfinished: set[standing.NodePhase] = {phase for phase, count in self._unfinished.items() if count}
        return standing.first(unfinished, self._present)

    def _patch_run(self) -> Iterator[tuple[None, telling.Told]]:
        run = self._run
        now: dict[str, Json] = {
            "id": run.id,
            "contractVersion": CONTRACT_VERSION,
            "seq": self.seq,
            "name": run.workflow.name,
            "kind": "blocks" if run.is_dag else "graph" if run.course is None else "plan",
            "workflowHash": run.workflow.hash,
            "status": runs.status(run),
            "ending": run.ending if run.ended else None,
            "phase": self._phase(),
            "mode": run.mode,
            "globalMode": run.global_mode,
            "createdAt": envelope.timestamp(run.created_at),
            "updatedAt": envelope.timestamp(run.updated_at),
            "by": self._by,
            "pauseReason": None if run.ended else run.paused,
            "error": run.error,
            "parent": run.parent,
            "budget": standing.spending(run, run.updated_at),
            "usage": self._usage.document(),
        }
        known = self._document
        patch = {name: value for name, value in now.items() if name not in known or known[name] != value}
        patch["seq"], patch["updatedAt"] = now["seq"], now["updatedAt"]
        self._document = {**known, **now}
        if "phase" in patch:
            yield None, ("run.phase", {"phase": now["phase"]})
        yield None, ("run.patch", {"patch": patch})

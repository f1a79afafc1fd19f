"""Random live graphs: nodes and edges come and go, people talk and interrupt, turns are handed on."""

from __future__ import annotations

from random import Random
from typing import Any

from openskelo.kernel import commands, definition, ids, outcome
from openskelo.kernel import run as runs
from openskelo.values import canonical
from tests.kernel.play import Play
from tests.kernel.stage import RUN


def empty(max_steps: int | None = 120, **more: Any) -> definition.Workflow:
    """A workflow to which nodes are added."""
    limits = definition.Limits(max_steps=max_steps)
    return definition.Workflow(name="live", hash="sha256:live", nodes={}, limits=limits, live=True, **more)


def worker(key: str, **more: Any) -> definition.Node:
    """A node that works in turns."""
    more.setdefault("mode", "deterministic")
    more.setdefault("turn", definition.Turn())
    return definition.Node(key=key, label=key.upper(), **more)


def edge_id(source: str, target: str, label: str = "task") -> str:
    """The id of an edge."""
    return ids.derive(RUN, f"edge>{source}>{target}>{label}")


class LivePlay(Play):
    """A play in which people also build the graph and talk to its nodes."""

    def said(self) -> commands.Command:
        """Something that a person wants of the graph; much of it is refused."""
        chance, at = self.chance, self.later()
        keys = [*self.run.nodes, "nobody"]
        live = self.run.graph_state
        edges = [*(() if live is None else live.edges), "no edge"]
        key = chance.choice(keys)
        source, target = chance.choice(keys), chance.choice(keys)
        roll = chance.random()
        if roll < 0.5:
            number = str(chance.random())
            return commands.SendMessage(
                at=at,
                by="nora",
                node=key,
                message_id=ids.derive(RUN, number),
                content={"value": number},
                interrupt=chance.random() < 0.4,
                steer=chance.random() < 0.3,
            )
        if roll < 0.54:
            return commands.ResetSession(at=at, by="nora", node=key)
        if roll < 0.58:
            return commands.RetryTurn(at=at, by="nora", node=key)
        if roll < 0.65 or len(keys) < 3:
            return commands.AddNode(at=at, by="nora", node=node(chance, f"n{chance.randint(0, 7)}"))
        if roll < 0.85:
            return commands.AddEdge(
                at=at,
                by="nora",
                id=edge_id(source, target),
                source=source,
                target=target,
                bidirectional=chance.random() < 0.6,
                type=chance.choice(["handoff", "report"]),
                label="task",
            )
        if roll < 0.9:
            return commands.ChangeNode(at=at, by="nora", node=node(chance, key))
        if roll < 0.94:
            return commands.RemoveEdge(at=at, by="nora", id=chance.choice(edges))
        if roll < 0.97:
            return commands.RemoveNode(at=at, by="nora", node=key)
        return commands.ChangeMode(
            at=at, by="nora", global_mode="PLANNING" if chance.random() < 0.3 else "IMPLEMENTATION"
        )

    def _report(self, flight: runs.Attempt) -> commands.ReportAttempt:
        chance = self.chance
        report = super()._report(flight)
        if report.outcome.outputs is None:
            return report
        value = {"message": chance.choice(["yes", "yes", "no", str(chance.random())])}
        result = outcome.Outcome(
            inputs_hash="i",
            outputs={"value": value},
            output_hash=canonical.digest(value),
            metrics=report.outcome.metrics,
            route=chance.choice(["on", "on", "both", "back", "none"]),
        )
        return commands.ReportAttempt(
            at=report.at, node=report.node, visit=report.visit, attempt=report.attempt, outcome=result
        )

    def _check_standing(self) -> None:
        super()._check_standing()
        live = self.run.graph_state
        assert live is not None
        for key, state in self.run.nodes.items():
            box = live.inboxes[key]
            assert box.taken <= len(box.messages)
            if state.status in ("waiting", "done") and not self.run.ended:
                assert not box.messages, f"{key} is idle and has something to read"
            assert {edge for edge, tie in live.edges.items() if key in (tie.source, tie.target)} == set(
                live.edges_of[key]
            )
        assert set(live.inboxes) == set(live.edges_of) == set(self.run.nodes) == set(self.run.workflow.nodes)


def node(chance: Random, key: str) -> definition.Node:
    """A node with some of what there is; sometimes one that a live graph does not take."""
    more: dict[str, Any] = {
        "mode": chance.choice(["ai", "deterministic", "deterministic"]),
        "effect": chance.choice(["pure", "pure", "idempotent", "once"]),
        "repairs": chance.choice([0, 1]),
        "retry": definition.Retry(
            max_attempts=chance.randint(1, 3), delay_ms=chance.choice([0, 20]), stall_after=chance.choice([0, 2])
        ),
        "reserve": definition.Amount(tokens=chance.randint(0, 5)),
        "turn": definition.Turn(max_turns=chance.choice([2, 9, 100]), stall_after=chance.choice([0, 2, 3])),
    }
    if more["mode"] == "deterministic":
        more["handler"] = "builtin:pass"
    if chance.random() < 0.2:
        more["approval"] = definition.Approval(prompt="?", on_deny="continue" if chance.random() < 0.2 else "end")
    if chance.random() < 0.05:
        more["cache"] = True
    return worker(key, **more)


def play(seed: int, kind: type[LivePlay] = LivePlay, trouble: float = 0.12) -> LivePlay:
    """Play a whole live graph: built, sent messages, and ended."""
    chance = Random(seed)
    found = kind(chance, empty(chance.choice([None, 20, 120])))
    found.create()
    for _ in range(chance.randint(5, 150)):
        if found.run.ended:
            return found
        owed = found.owed()
        if owed is None or chance.random() < 0.35:
            found.send(found.said())
        else:
            found.send(found.trouble() if chance.random() < trouble else owed)
    while not found.run.ended:
        owed = found.owed() if chance.random() < 0.95 else None
        if owed is None and not found.send(commands.CompleteRun(at=found.at, by="nora")):
            found.send(commands.CancelRun(at=found.at, by="nora"))
        elif owed is not None:
            found.send(owed)
    return found

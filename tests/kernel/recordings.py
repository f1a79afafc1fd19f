"""Recorded runs: complete logs that must fold to the same snapshot for ever.

`python -m tests.kernel.recordings VERSION` plays the stories below with today's kernel and writes those recordings that
are not there yet. An old recording is never changed: a log that a user has stored cannot be either.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from openskelo.kernel import commands, definition, outcome, workflow_codec
from openskelo.kernel import run as runs
from openskelo.kernel.json import Json, JsonObject
from tests.kernel.stage import Stage, failure, flow, sealed, work

FOLDER = Path(__file__).parent / "golden"
APPROVAL = definition.Approval(prompt="Let it?", approvers=("nora", "kim"))


def snapshot(run: runs.Run) -> JsonObject:
    """All of a run that people and drivers look at, as JSON."""
    nodes: dict[str, Json] = {
        key: {
            "status": node.status,
            "outcome": node.outcome,
            "visit": node.visit,
            "attempts": node.attempts,
            "inputs": node.inputs,
            "outputs": node.outputs,
            "items": None if node.item_outputs is None else list(node.item_outputs),
            "error": node.error,
            "bounces": {str(rule): count for rule, count in node.bounces.items()},
            "slots": [[slot.state, slot.attempt, slot.failures, slot.feedback] for slot in node.slots],
        }
        for key, node in run.nodes.items()
    }
    spent = run.spent
    return {
        "status": runs.status(run),
        "ending": run.ending,
        "error": run.error,
        "paused": run.paused,
        "createdAt": run.created_at,
        "updatedAt": run.updated_at,
        "inputs": run.inputs,
        "nodes": nodes,
        "ready": list(run.ready),
        "resolving": list(run.resolving),
        "inFlight": [[flight.node, flight.visit, flight.attempt, flight.item] for flight in run.in_flight.values()],
        "timers": [list(timer) for timer in sorted(run.timers)],
        "approvals": [asked.document for asked in run.approvals.values()],
        "artifacts": list(run.artifacts),
        "spent": [spent.steps, spent.tokens, spent.cost_nanousd, spent.tool_nanousd, spent.wall_ms],
        "reserved": [run.reserved.steps, run.reserved.tokens],
        "receipts": run.receipts,
        "lastReceipt": run.last_receipt,
    }


# -- the stories ------------------------------------------------------------------------------------------------------


def chain() -> Stage:
    """A chain with a skipped branch, a cached result, an artifact and real numbers."""
    nodes = (
        work("read"),
        work("maybe", "read", when="inputs.read == 1"),
        work("write", "read", optional=("maybe",), cache=True),
        work("keep", "write", effect="idempotent"),
    )
    stage = Stage(flow(*nodes, name="chain"))
    stage.create()
    stage.at += 12
    stage.succeed("read", value={"text": "Grüße, \u4e16\u754c", "n": 1.5})
    stage.resolve("maybe", skip=True)
    cached = commands.Cached(outputs={"value": {"out": 2}}, inputs_hash="sha256:i", output_hash="sha256:o", source={})
    stage.resolve("write", cached=cached)
    note = outcome.ArtifactNote(id="art-1", kind="file", name="out.md", hash="sha256:f", size=7)
    stage.at += 3
    stage.succeed("keep", artifacts=(note,), metrics=outcome.Metrics(tokens_in=5, tokens_out=6, wall_ms=3))
    return stage


def loop() -> Stage:
    """Retries with backoff, a bounce with feedback, a stall that a person lets go on, and exhaustion."""
    back = definition.Bounce(when_gate="good", route_to="draft", max_bounces=2, reset=("draft", "side", "review"))
    retry = definition.Retry(max_attempts=3, backoff="exponential", delay_ms=100, stall_after=2)
    nodes = (work("draft", retry=retry), work("side", "draft"), work("review", "draft", bounces=(back,), retry=retry))
    stage = Stage(flow(*nodes, name="loop"))
    bad = failure("too dry", code="GATE_FAILED", gate="good")
    stage.create()
    stage.fail("draft", "no answer")
    stage.tick(100)
    stage.succeed("draft")
    stage.fail("review", bad, output="sha256:1", verdicts=({"gate": "good", "ok": False, "message": "too dry"},))
    stage.succeed("draft")
    stage.fail("review", bad, output="sha256:1")
    stage.at += 60_000
    stage.answer("review")
    stage.succeed("draft")
    for _ in range(2):
        stage.fail("review", bad)
        stage.tick(1_000)
    stage.fail("review", bad)
    return stage


def items() -> Stage:
    """A foreach of a once effect: concurrency, a crash, an uncertain item that happened and one that is done again."""
    foreach = definition.Foreach(items="inputs.list", concurrency=2)
    stage = Stage(flow(work("send", effect="once", foreach=foreach), work("sum", "send"), name="items"))
    stage.create()
    stage.resolve("send", count=3, inputs={"value": {"list": [1, 2, 3]}})
    stage.succeed("send", 0, value="a")
    stage.crash(5_000)
    first, second = (asked.id for asked in stage.run.approvals.values())
    digests = {asked.id: asked.digest for asked in stage.run.approvals.values()}
    for approval_id, status, outputs in ((first, "modified", {"value": {"out": "b"}}), (second, "approved", None)):
        stage.step(
            commands.AnswerApproval(
                at=stage.at,
                approval_id=approval_id,
                status=cast("commands.Answer", status),
                by="kim",
                digest=digests[approval_id],
                outputs=outputs,
            )
        )
    stage.succeed("send", 2, value="c")
    stage.succeed("sum", value="abc")
    return stage


def people() -> Stage:
    """An answer that modifies, a checkpoint, and a denial by the clock that ends the run."""
    nodes = (
        work("plan", mode="approval", approval=APPROVAL),
        work("act", "plan", effect="once", approval=APPROVAL),
        work("last", "act", mode="approval", approval=APPROVAL),
    )
    stage = Stage(flow(*nodes, name="people"))
    stage.create(mode="INTERACTIVE")
    stage.ask("plan")
    stage.at += 3_600_000
    stage.answer("plan", "modified", args={"budget": 3}, new_digest="sha256:n", outputs={"value": {"out": 3}})
    stage.ask("act")
    stage.answer("act", by="kim", reason="go")
    stage.succeed("act")
    stage.ask("last", expires_at=stage.at + 1_000)
    stage.at += 1_000
    stage.answer("last", "denied", by="timer")
    return stage


def spending() -> Stage:
    """A budget that makes one node wait for another, and then ends the run."""
    reserve = definition.Amount(tokens=60, cost_nanousd=10)
    nodes = (work("a", mode="ai", reserve=reserve), work("b", mode="ai", reserve=reserve), work("c", "b", mode="ai"))
    stage = Stage(flow(*nodes, limits=definition.Limits(max_tokens=100, max_steps=2), name="spending"))
    stage.create()
    stage.succeed("a", metrics=outcome.Metrics(tokens_in=20, tokens_out=10, cost_nanousd=7, tool_nanousd=1))
    stage.succeed("b", metrics=outcome.Metrics(tokens_in=60))
    return stage


def waiting() -> Stage:
    """Unfinished, forked and paused: an attempt in flight, a retry to come, a person asked, a node to resolve."""
    retry = definition.Retry(max_attempts=2, delay_ms=500)
    nodes = (
        work("kept"),
        work("flies", "kept"),
        work("retries", "kept", retry=retry),
        work("asks", "kept", mode="approval", approval=APPROVAL),
        work("resolves", "kept", when="true"),
        work("ends", "flies", "retries", "asks", "resolves"),
    )
    stage = Stage(flow(*nodes, name="waiting"))
    kept = {"kept": commands.Kept(outcome="succeeded", outputs={"value": {"out": 0}})}
    stage.create(kept=kept, parent={"runId": "00000000-0000-0000-0000-000000000001", "node": "flies"})
    stage.at += 40
    stage.fail("retries")
    stage.ask("asks", expires_at=stage.at + 86_400_000)
    stage.step(commands.PauseRun(at=stage.at + 2, by="nora"))
    return stage


STORIES: Mapping[str, Callable[[], Stage]] = {
    "chain": chain,
    "loop": loop,
    "items": items,
    "people": people,
    "spending": spending,
    "waiting": waiting,
}


def record(version: str) -> None:
    """Write the recordings of `version` that are missing."""
    FOLDER.mkdir(exist_ok=True)
    for name, story in STORIES.items():
        log = FOLDER / f"{version}-{name}.jsonl"
        if log.exists():
            continue
        stage = story()
        log.write_bytes(b"".join(line + b"\n" for line in sealed(stage.log)))
        beside: JsonObject = {"workflow": workflow_codec.encode(stage.workflow), "snapshot": snapshot(stage.run)}
        log.with_suffix(".json").write_text(json.dumps(beside, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    record(sys.argv[1])

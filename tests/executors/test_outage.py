"""Reviewers that cannot be asked: no verdict, neither for the work nor against it, and what that comes to."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import tempfile
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from openskelo import errors
from openskelo.executors import gate_evaluation as gate_reviewer
from openskelo.executors import stored_values
from openskelo.executors.handlers import invocation
from openskelo.gates import command
from openskelo.gates import http as http_gate
from openskelo.handlers import context, http_exchange
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import JsonObject
from openskelo.programs import child_process, program, time_limit
from openskelo.providers import config, protocol, scripted
from openskelo.structs import replace
from openskelo.values import canonical
from tests.executors import descriptors, workshop
from tests.handlers import web
from tests.providers.servers import loopback, openai_chat

BUSY = errors.AttemptFailed("busy", code="PROVIDER_RATE_LIMITED", retry_after_ms=700)
DOWN = errors.AttemptFailed("down", code="PROVIDER_UNAVAILABLE", hint="wait", retry_after_ms=900)
YES: JsonObject = {"verdicts": [{"criterion": 1, "passed": True, "reason": "because"}]}
NO: JsonObject = {"verdicts": [{"criterion": 1, "passed": False, "reason": "because"}]}


def review(name: str = "kind", **more: Any) -> definition.Gate:
    return definition.Gate(
        name=name, type="llm_review", params={"port": "text", "criteria": ["is kind"], **more}, error="Be kind."
    )


def node(*gates: definition.Gate, **changes: Any) -> definition.Node:
    ports = (workshop.port("text", required=False),)
    return definition.Node(
        key="draft", mode="deterministic", handler="local:it", inputs=ports, outputs=ports, post_gates=gates, **changes
    )


class Work:
    """The work of the node, which counts how often it is done."""

    def __init__(self, text: str = "hello") -> None:
        self.text = text
        self.done = 0

    async def __call__(self, ctx: context.Context) -> JsonObject:
        self.done += 1
        return {"text": self.text}


def judged(root: Path, of: definition.Node, answers: Sequence[scripted.Script], **more: Any) -> outcome.Outcome:
    """What one attempt came to, of which the reviewers gave these answers."""
    work = more.pop("work", None) or Work()
    given = workshop.task_of(of, {"text": "hi"}, **more)
    return workshop.outcome_of(
        workshop.project(root), given, local={"it": work}, provider=scripted.Scripted(list(answers))
    )


def silent(found: outcome.Outcome) -> JsonObject:
    """The verdict that is none."""
    (one,) = (verdict for verdict in found.verdicts if verdict["passed"] is None)
    return one


def test_an_outage_fails_the_attempt_with_its_own_code_and_keeps_the_work(tmp_path: Path) -> None:
    found = judged(tmp_path, node(review()), [DOWN])
    took_ms = silent(found)["took_ms"]
    message = "gate 'kind': the reviewer could not be asked: down (wait)"
    (note,) = found.artifacts
    assert found == outcome.Outcome(
        inputs_hash=canonical.digest({"text": "hi"}),
        outputs={"value": {"text": "hello"}},
        output_hash=canonical.digest({"text": "hello"}),
        failure=outcome.Failure(
            code="PROVIDER_UNAVAILABLE", message=message, retryable=True, retry_after_ms=900, happened="yes"
        ),
        verdicts=(
            {
                "gate": "kind",
                "type": "llm_review",
                "passed": None,
                "reason": "the reviewer could not be asked: down",
                "evidence": {"code": "PROVIDER_UNAVAILABLE"},
                "took_ms": took_ms,
            },
        ),
        metrics=outcome.Metrics(wall_ms=found.metrics.wall_ms),
        artifacts=(note,),
        feedback={"code": "PROVIDER_UNAVAILABLE", "message": message},
    )
    assert note.name == "review.kind.prompt.txt"


@pytest.mark.parametrize(
    ("composition", "answers", "code", "gate"),
    [
        ("all", [BUSY, YES], "PROVIDER_RATE_LIMITED", None),
        ("all", [YES, BUSY], "PROVIDER_RATE_LIMITED", None),
        ("all", [BUSY, NO], "POST_GATE_FAILED", "two"),
        ("all", [NO, BUSY], "POST_GATE_FAILED", "one"),
        ("all", [BUSY, DOWN], "PROVIDER_RATE_LIMITED", None),
        ("any", [BUSY, YES], None, None),
        ("any", [YES, BUSY], None, None),
        ("any", [BUSY, NO], "PROVIDER_RATE_LIMITED", None),
        ("any", [NO, BUSY], "PROVIDER_RATE_LIMITED", None),
        ("any", [NO, NO], "POST_GATE_FAILED", "one"),
    ],
)
def test_verdicts_decide_where_they_can_and_an_outage_is_evidence(
    tmp_path: Path, composition: Any, answers: list[Any], code: str | None, gate: str | None
) -> None:
    found = judged(tmp_path, node(review("one"), review("two"), post_composition=composition), answers)
    said = {id(YES): True, id(NO): False}
    assert [verdict["passed"] for verdict in found.verdicts] == [said.get(id(answer)) for answer in answers]
    assert workshop.code_of(found) == code
    assert (found.failure and found.failure.gate) == gate
    unjudged = code not in (None, "POST_GATE_FAILED")
    assert (found.outputs is not None) is (unjudged or code is None)
    if code == "POST_GATE_FAILED":
        refused = [verdict for verdict in found.verdicts if verdict["passed"] is False]
        assert found.feedback == {"code": code, "verdicts": refused}
    if unjudged:
        assert found.failure is not None
        assert found.failure.retry_after_ms == (900 if DOWN in answers else 700)


def test_the_authors_words_are_for_work_that_was_judged(tmp_path: Path) -> None:
    found = judged(tmp_path, node(review("one"), review("two")), [BUSY, NO])
    reasons = [(verdict["reason"], "found" in verdict) for verdict in found.verdicts]
    assert reasons == [("the reviewer could not be asked: busy", False), ("Be kind.", True)]


def test_an_outage_before_the_work_keeps_it_from_starting(tmp_path: Path) -> None:
    work = Work()
    of = node(pre_gates=(review(),))
    found = judged(tmp_path, of, [BUSY], work=work)
    assert found.failure is not None
    assert (found.failure.code, found.failure.happened, found.failure.gate) == ("PROVIDER_RATE_LIMITED", "no", None)
    assert (found.outputs, found.output_hash, work.done) == (None, None, 0)
    assert judged(tmp_path, of, [YES], work=work).failure is None
    assert work.done == 1


@pytest.mark.parametrize(("answer", "code"), [(YES, None), (NO, "POST_GATE_FAILED"), (BUSY, "PROVIDER_RATE_LIMITED")])
def test_work_that_is_done_is_only_judged(tmp_path: Path, answer: Any, code: str | None) -> None:
    """The gates before it have let it pass already."""
    work = Work("other")
    of = node(review(), pre_gates=(review("before"),))
    found = judged(tmp_path, of, [answer], work=work, attempt=2, outputs_to_judge={"text": "hello"})
    assert (workshop.code_of(found), work.done) == (code, 0)
    assert found.output_hash == canonical.digest({"text": "hello"})
    assert found.outputs == (None if answer is NO else {"value": {"text": "hello"}})
    assert [verdict["gate"] for verdict in found.verdicts] == ["kind"]


def test_large_work_waits_for_its_verdict_as_a_blob(tmp_path: Path) -> None:
    blobs = workshop.MemoryBlobs()
    text = "x" * stored_values.INLINE_BYTES
    given = workshop.task_of(node(review()), {})
    (found,) = workshop.perform(
        workshop.project(tmp_path), given, local={"it": Work(text)}, provider=scripted.Scripted([DOWN]), blobs=blobs
    )
    data = canonical.dumps({"text": text})
    assert found.outcome.outputs == {"blob": canonical.digest_bytes(data), "bytes": len(data)}
    assert blobs.kept[canonical.digest_bytes(data)] == data


@pytest.mark.parametrize("kind", ["cost", "latency"])
def test_work_whose_doing_is_judged_is_done_again(tmp_path: Path, kind: str) -> None:
    """Its cost and its time belong to the attempt that did it."""
    doing = definition.Gate(name="doing", type=kind, params={"max_usd": 1, "max_ms": 60_000})
    found = judged(tmp_path, node(doing, review()), [DOWN])
    assert found.failure is not None
    assert (found.failure.code, found.failure.happened) == ("PROVIDER_UNAVAILABLE", "yes")
    assert (found.outputs, found.output_hash) == (None, None)


def test_a_models_answer_that_nobody_could_judge_is_kept_as_that(tmp_path: Path) -> None:
    of = replace(node(review()), mode="ai", handler=None)
    found = judged(tmp_path, of, [{"text": "hello"}, DOWN])
    assert workshop.code_of(found) == "PROVIDER_UNAVAILABLE"
    assert found.outputs == {"value": {"text": "hello"}}
    names = {note.name for note in found.artifacts}
    assert names == {"prompt.full.txt", "prompt.blocks.json", "review.kind.prompt.txt", "answer.unjudged.txt"}


class Mute:
    """Never answers, and counts how often it was told to stop."""

    def __init__(self) -> None:
        self.stopped = 0

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped += 1
        raise AssertionError


def test_a_reviewer_that_takes_longer_than_the_gate_waits_has_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_reviewer, "_TIMEOUT_MS", 50)
    mute = Mute()
    given = workshop.task_of(node(review()), {})
    found = workshop.outcome_of(workshop.project(tmp_path), given, local={"it": Work()}, provider=mute)
    assert found.failure is not None
    assert (found.failure.code, found.failure.retryable, found.failure.happened) == ("TIMEOUT", True, "yes")
    assert silent(found)["reason"] == "the reviewer could not be asked: stopped after 50 ms"
    assert (mute.stopped, found.metrics.tokens_in > 0) == (1, True)  # what it was asked is counted


# -- programs ----------------------------------------------------------------------------------------------------------


def commanded(root: Path, argv: list[str], work: invocation.Handler) -> outcome.Outcome:
    """What comes of a gate that runs this program after that work."""
    gate = definition.Gate(name="c", type="command", params={"argv": [*argv]})
    where = workshop.project(root, allow_commands=True)
    return workshop.outcome_of(where, workshop.task_of(node(gate), {}), local={"it": work})


def test_a_gate_that_lacks_a_descriptor_is_asked_again_once_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)  # as in a process that has made no temporary file yet
    assert command.GATE  # what is loaded later takes open files, too
    assert all((program, child_process, time_limit))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    work = Work()

    async def take_all_descriptors(ctx: context.Context) -> JsonObject:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        asyncio.get_running_loop().call_later(0.3, resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        return await work(ctx)

    try:
        found = commanded(tmp_path, ["true"], take_all_descriptors)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (found.failure, found.outputs, work.done) == (None, {"value": {"text": "hello"}}, 1)
    assert [verdict["passed"] for verdict in found.verdicts] == [True]


def test_an_http_gate_that_lacks_a_descriptor_is_asked_again_once_there_is_one(tmp_path: Path) -> None:
    assert http_gate.GATE  # what is loaded later takes open files, too
    assert all((http_exchange, time_limit))
    work = Work()
    with contextlib.ExitStack() as lacking, web.serving() as site:

        async def take_all_descriptors(ctx: context.Context) -> JsonObject:
            lacking.enter_context(descriptors.left(0))
            asyncio.get_running_loop().call_later(0.3, lacking.close)
            return await work(ctx)

        gate = definition.Gate(name="h", type="http", params={"url": f"{site.url}/text"})
        where = workshop.project(tmp_path, allow_private_addresses=True)
        found = workshop.outcome_of(where, workshop.task_of(node(gate), {}), local={"it": take_all_descriptors})
    assert (found.failure, work.done, [verdict["passed"] for verdict in found.verdicts]) == (None, 1, [True])


def test_nor_has_one_that_is_not_installed(tmp_path: Path) -> None:
    found = commanded(tmp_path, ["no-such-program"], Work())
    reason = "the command could not be asked: no-such-program cannot be started: No such file or directory"
    assert found.failure == outcome.Failure(
        code="COMMAND_MISSING",
        message=f"gate 'c': {reason} (install no-such-program, or name it by its path)",
        retryable=False,
        happened="yes",
    )
    assert (silent(found)["reason"], silent(found)["evidence"]) == (reason, {"code": "COMMAND_MISSING"})
    assert found.outputs == {"value": {"text": "hello"}}


@pytest.mark.parametrize("path", ["/no/such/program", "made/by/the-work"])
def test_one_that_is_not_where_its_path_says_has_not_passed(tmp_path: Path, path: str) -> None:
    """It may be what the work was to make."""
    assert workshop.code_of(commanded(tmp_path, [path], Work())) == "POST_GATE_FAILED"


# -- over the protocol of a real model ---------------------------------------------------------------------------------


@contextlib.contextmanager
def reviewer(*acts: loopback.Act) -> Generator[str]:
    with loopback.Loopback(openai_chat.OpenAI(), acts).running() as server:
        yield server.base_url


def asked(root: Path, base_url: str, monkeypatch: pytest.MonkeyPatch, **more: Any) -> outcome.Outcome:
    """What comes of a review by the model at that address."""
    monkeypatch.setenv("REVIEWER_KEY", more.pop("key", loopback.KEY))
    settings = config.ProviderConfig(
        name="r", kind="openai", base_url=base_url, api_key="${env:REVIEWER_KEY}", model="m", **more
    )
    models = config.Config(
        providers={"r": settings},
        experts={"judge": config.ExpertConfig(name="judge", provider="r")},
        default_expert="judge",
    )
    where = workshop.project(root, models=models)
    return workshop.outcome_of(where, workshop.task_of(node(review()), {}), local={"it": Work()})


QUOTA = orjson.dumps({"error": {"message": "no credit", "type": "insufficient_quota", "code": "insufficient_quota"}})


@pytest.mark.parametrize(
    ("act", "code", "retryable", "retry_after_ms"),
    [
        (loopback.Fail(status=429, headers={"retry-after": "2"}), "PROVIDER_RATE_LIMITED", True, 2000),
        (loopback.Fail(status=500), "PROVIDER_UNAVAILABLE", True, None),
        (loopback.Fail(status=503, headers={"retry-after": "1"}), "PROVIDER_UNAVAILABLE", True, 1000),
        (loopback.Cut(), "PROVIDER_UNAVAILABLE", True, None),
        (loopback.Garble(), "PROVIDER_UNAVAILABLE", True, None),
        (loopback.Fail(status=429, body=QUOTA), "PROVIDER_QUOTA", False, None),
        (loopback.Fail(status=400), "PROVIDER_BAD_REQUEST", False, None),
        (loopback.Fail(status=401), "PROVIDER_AUTH", False, None),
        (loopback.Fail(status=403), "PROVIDER_AUTH", False, None),
        (loopback.Fail(status=404), "PROVIDER_BAD_REQUEST", False, None),
    ],
)
def test_a_model_that_is_out_of_order_or_set_up_wrong_has_not_judged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: loopback.Act,
    code: str,
    retryable: bool,
    retry_after_ms: int | None,
) -> None:
    with reviewer(act) as base_url:
        found = asked(tmp_path, base_url, monkeypatch)
    failure = found.failure
    assert failure is not None
    assert (failure.code, failure.retryable, failure.retry_after_ms) == (code, retryable, retry_after_ms)
    assert (failure.gate, failure.happened, silent(found)["evidence"]) == (None, "yes", {"code": code})
    assert found.outputs == {"value": {"text": "hello"}}


def test_nor_has_one_that_does_not_listen_or_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        refused = asked(tmp_path, f"http://127.0.0.1:{taken.getsockname()[1]}/v1", monkeypatch)
    assert workshop.code_of(refused) == "PROVIDER_UNAVAILABLE"
    assert "the connection was refused" in str(silent(refused)["reason"])
    release = threading.Event()
    with reviewer(loopback.Hang(release=release)) as base_url:
        mute = asked(tmp_path, base_url, monkeypatch, timeout_ms=100)
        release.set()
    assert (workshop.code_of(mute), silent(mute)["evidence"]) == ("PROVIDER_TIMEOUT", {"code": "PROVIDER_TIMEOUT"})


@pytest.mark.parametrize(
    "act",
    [
        loopback.Refuse(),
        loopback.Say(text="fine!"),
        loopback.Say(text='{"verdicts": [', finish="length"),
    ],
)
def test_one_that_was_asked_and_answers_something_else_has_not_passed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: loopback.Act
) -> None:
    with reviewer(act) as base_url:
        found = asked(tmp_path, base_url, monkeypatch)
    assert (workshop.code_of(found), found.outputs) == ("POST_GATE_FAILED", None)
    assert [verdict["passed"] for verdict in found.verdicts] == [False]


def test_nobody_is_asked_whose_key_is_not_set_or_who_is_not_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REVIEWER_KEY", raising=False)
    settings = config.ProviderConfig(name="r", kind="openai", api_key="${env:REVIEWER_KEY}", model="m")
    models = config.Config(
        providers={"r": settings},
        experts={"judge": config.ExpertConfig(name="judge", provider="r")},
        default_expert="judge",
    )
    where = workshop.project(tmp_path, models=models)
    for one, code in ((review(), "PROVIDER_MISSING"), (review(expert="nobody"), "EXPERT_UNKNOWN")):
        found = workshop.outcome_of(where, workshop.task_of(node(one), {}), local={"it": Work()})
        assert found.failure is not None
        assert (found.failure.code, found.failure.retryable, found.failure.gate) == (code, False, None)
        assert found.failure.missing == (code == "PROVIDER_MISSING")
        assert silent(found)["evidence"] == {"code": code}


def test_a_fallback_that_refuses_has_been_asked_and_one_that_is_set_up_wrong_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of those who could be asked decides what it comes to."""
    monkeypatch.setenv("REVIEWER_KEY", loopback.KEY)
    wrong = loopback.Fail(status=401)
    for acts, code in (((loopback.Refuse(), wrong), "PROVIDER_AUTH"), ((wrong, loopback.Refuse()), "POST_GATE_FAILED")):
        with reviewer(*acts) as base_url:
            settings = config.ProviderConfig(
                name="r", kind="openai", base_url=base_url, api_key="${env:REVIEWER_KEY}", model="m"
            )
            experts = {
                "judge": config.ExpertConfig(name="judge", provider="r", fallbacks=("other",)),
                "other": config.ExpertConfig(name="other", provider="r"),
            }
            models = config.Config(providers={"r": settings}, experts=experts, default_expert="judge")
            where = workshop.project(tmp_path, models=models)
            found = workshop.outcome_of(where, workshop.task_of(node(review()), {}), local={"it": Work()})
        assert workshop.code_of(found) == code

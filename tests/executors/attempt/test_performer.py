"""An attempt from its inputs to a judged outcome."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.attempt import port_contract, running_attempt
from openskelo.executors.handlers import invocation
from openskelo.handlers import context
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json
from openskelo.programs import time_limit
from openskelo.providers import protocol
from openskelo.structs import replace
from openskelo.values import canonical
from tests.executors import workshop


def local_node(**changes: object) -> definition.Node:
    plain = definition.Node(
        key="double",
        mode="deterministic",
        handler="local:it",
        inputs=(workshop.port("n", "integer"),),
        outputs=(workshop.port("twice", "integer"),),
    )
    return replace(plain, **changes)


def attempted(root: Path, handler: invocation.Handler, inputs: dict[str, Json] | None = None, **changes: object):
    node = local_node(**changes)
    (found,) = workshop.perform(
        workshop.project(root), workshop.task_of(node, {"n": 2} if inputs is None else inputs), local={"it": handler}
    )
    return found


async def double(ctx: context.Context) -> dict[str, Json]:
    number = ctx.inputs["n"]
    assert isinstance(number, int)
    return {"twice": number * 2}


def test_a_good_attempt_is_hashed_and_judged(tmp_path: Path) -> None:
    found = attempted(tmp_path, double)
    wall_ms = found.outcome.metrics.wall_ms
    assert found == attempt_performer.AttemptResult(
        outcome=outcome.Outcome(
            inputs_hash=canonical.digest({"n": 2}),
            outputs={"value": {"twice": 4}},
            output_hash=canonical.digest({"twice": 4}),
            metrics=outcome.Metrics(wall_ms=wall_ms),
        )
    )
    assert isinstance(wall_ms, int)


def test_an_item_is_part_of_the_inputs_hash(tmp_path: Path) -> None:
    where = workshop.project(tmp_path)
    one = workshop.task_of(local_node(), {"n": 2}, item="a", item_index=0)
    assert workshop.outcome_of(where, one, local={"it": double}).inputs_hash == canonical.digest(
        {"inputs": canonical.digest({"n": 2}), "item": "a"}
    )


@pytest.mark.parametrize(("handler", "copied"), [("local:it", True), ("builtin:transform", False)])
def test_what_items_share_is_copied_only_for_work_that_may_change_it(handler: str, copied: bool) -> None:
    node = local_node(handler=handler, foreach=definition.Foreach(items="inputs.all", name="n"))
    shared = running_attempt.VisitInputs({"all": [{"n": 1}, {"n": 2}]}, [{"n": 1}, {"n": 2}], "n")
    given = workshop.task_of(node, {**shared.inputs, "n": {"n": 2}}, item_index=1, item={"n": 2}, visit_inputs=shared)
    attempt = running_attempt.RunningAttempt(request=given, inputs=given.inputs)
    port_contract.take_inputs(attempt)
    assert attempt.inputs == {"all": [{"n": 1}, {"n": 2}], "n": {"n": 2}}
    assert (attempt.inputs["all"] is not shared.inputs["all"]) == copied


def test_items_that_do_not_read_their_list_make_no_copy_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items: list[Json] = list(range(100))
    ports = (workshop.port("n", "integer"), workshop.port("all", "array"))
    node = local_node(inputs=ports, foreach=definition.Foreach(items="inputs.all", name="n"))
    shared = running_attempt.VisitInputs({"all": items}, items, "n")
    given = [
        workshop.task_of(node, {"all": items, "n": item}, item_index=index, item=item, visit_inputs=shared)
        for index, item in enumerate(items)
    ]
    copied: list[Json] = []
    loads = canonical.loads_canonical

    def counting(data: bytes) -> Json:
        value = loads(data)
        if "all" in value if isinstance(value, dict) else isinstance(value, list):
            copied.append(value)
        return value

    monkeypatch.setattr(canonical, "loads_canonical", counting)
    found = workshop.perform(workshop.project(tmp_path), *given, local={"it": double})
    assert [one.outcome.outputs for one in found] == [{"value": {"twice": 2 * number}} for number in range(100)]
    assert copied == []


@pytest.mark.parametrize(
    ("kind", "items", "code"),
    [
        ("integer", [1, 2], None),
        ("integer", [1, "two"], "INPUT_CONTRACT"),
        ("file", ["there", "there"], None),
        ("file", ["there", "gone"], "INPUT_CONTRACT"),
    ],
)
def test_each_item_is_held_to_the_contract(tmp_path: Path, kind: str, items: list[Json], code: str | None) -> None:
    (tmp_path / "there").write_text("")
    ports = (workshop.port("n", kind), workshop.port("all", "array"))
    node = local_node(inputs=ports, outputs=(), foreach=definition.Foreach(items="inputs.all", name="n"))
    shared = running_attempt.VisitInputs({"all": items}, items, "n")
    given = [
        workshop.task_of(node, {"all": items, "n": item}, item_index=index, item=item, visit_inputs=shared)
        for index, item in enumerate(items)
    ]

    async def nothing(ctx: context.Context) -> dict[str, Json]:
        return {}

    found = workshop.perform(workshop.project(tmp_path), *given, local={"it": nothing})
    assert [workshop.code_of(one.outcome) for one in found] == [None, code]


def test_large_outputs_become_a_blob(tmp_path: Path) -> None:
    async def large(ctx: context.Context) -> dict[str, Json]:
        return {"twice": "x" * 40_000}

    blobs = workshop.MemoryBlobs()
    node = local_node(outputs=(workshop.port("twice", "string"),))
    found = workshop.outcome_of(
        workshop.project(tmp_path), workshop.task_of(node, {"n": 1}), local={"it": large}, blobs=blobs
    )
    data = canonical.dumps({"twice": "x" * 40_000})
    assert found.outputs == {"blob": found.output_hash, "bytes": len(data)}
    assert blobs.kept == {found.output_hash: data}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input 'n' is required and missing"),
        ({"n": 1, "m": 2}, "input 'm' is not declared"),
        ({"n": "secret text"}, "input 'n': the value is not of type \"integer\""),
        ({"n": float("nan")}, "NaN and infinity are not JSON"),
    ],
)
def test_inputs_that_break_the_contract_never_reach_the_handler(
    tmp_path: Path, inputs: dict[str, Json], message: str
) -> None:
    called: list[object] = []

    async def never(ctx: context.Context) -> dict[str, Json]:
        called.append(ctx)
        return {}

    found = attempted(tmp_path, never, inputs).outcome
    assert found.failure == outcome.Failure(code="INPUT_CONTRACT", message=message, retryable=False)
    assert called == []


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({}, "output 'twice' is required and missing"),
        ({"twice": 1, "more": 2}, "output 'more' is not declared"),
        ({"twice": "hidden"}, "output 'twice': the value is not of type \"integer\""),
        ({"other": 1}, "output 'twice' is required and missing; output 'other' is not declared"),
    ],
)
def test_outputs_that_break_the_contract_fail_with_exact_words(
    tmp_path: Path, outputs: dict[str, Json], message: str
) -> None:
    async def wrong(ctx: context.Context) -> dict[str, Json]:
        return outputs

    found = attempted(tmp_path, wrong).outcome
    assert found.failure == outcome.Failure(code="OUTPUT_CONTRACT", message=message, happened="yes")
    assert found.outputs is None
    assert found.output_hash == canonical.digest(outputs)
    assert found.feedback == {"code": "OUTPUT_CONTRACT", "problems": message.split("; ")}


def test_a_port_schema_with_references_of_its_own_is_checked_alone(tmp_path: Path) -> None:
    tree: dict[str, Json] = {
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    }
    node = local_node(outputs=(definition.Port(name="twice", schema=tree),))

    async def good(ctx: context.Context) -> dict[str, Json]:
        return {"twice": [[], [[]]]}

    async def bad(ctx: context.Context) -> dict[str, Json]:
        return {"twice": [[], [3]]}

    where = workshop.project(tmp_path)
    one = workshop.task_of(node, {"n": 1})
    assert workshop.outcome_of(where, one, local={"it": good}).outputs == {"value": {"twice": [[], [[]]]}}
    assert workshop.outcome_of(where, one, local={"it": bad}).failure == outcome.Failure(
        code="OUTPUT_CONTRACT",
        message="output 'twice' at /1/0: the value is not of type \"array\"",
        happened="yes",
    )


@pytest.mark.parametrize("returned", [None, 3, "text", [1], {"twice": {1, 2}}, {1: 2}])
def test_what_is_not_a_dict_of_json_is_refused(tmp_path: Path, returned: object) -> None:
    async def wrong(ctx: context.Context) -> object:
        return returned

    assert workshop.code_of(attempted(tmp_path, wrong).outcome) == "HANDLER_RETURN"


def test_a_number_that_readers_disagree_on_is_refused_with_advice(tmp_path: Path) -> None:
    async def large(ctx: context.Context) -> object:
        return {"twice": 2**60 + 1}

    failure = attempted(tmp_path, large).outcome.failure
    assert failure == outcome.Failure(
        code="NUMBER_RANGE",
        message="the outputs are not JSON: an integer beyond 2**53 equals no double, so JSON readers disagree on its"
        " value (use a string)",
        happened="yes",
    )


def test_an_exception_fails_the_attempt_and_its_traceback_is_kept(tmp_path: Path) -> None:
    async def broken(ctx: context.Context) -> dict[str, Json]:
        ctx.log("about to break", step=1)
        raise ValueError("no \ud800 good")

    found = attempted(tmp_path, broken)
    assert found.outcome.failure == outcome.Failure(code="HANDLER_RAISED", message="ValueError: no ? good")
    log = workshop.log_of(found)
    assert log.startswith('about to break {"step":1}\nTraceback (most recent call last):\n')
    assert "in broken" in log
    assert "calling.py" not in log


def test_a_handler_may_say_its_own_code(tmp_path: Path) -> None:
    async def told(ctx: context.Context) -> dict[str, Json]:
        raise errors.AttemptFailed("come back later", code="SHOP_CLOSED", retry_after_ms=500)

    assert attempted(tmp_path, told).outcome.failure == outcome.Failure(
        code="SHOP_CLOSED", message="come back later", retry_after_ms=500
    )


class Panic(BaseException):
    """What extensions in Rust raise, and test libraries: no Exception."""


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), RecursionError(), MemoryError(), Panic()])
def test_nothing_a_handler_raises_escapes(tmp_path: Path, error: BaseException) -> None:
    async def raising(ctx: context.Context) -> dict[str, Json]:
        raise error

    def raising_too(ctx: context.Context) -> dict[str, Json]:
        raise error

    expected = "HANDLER_EXITED" if isinstance(error, SystemExit) else "HANDLER_RAISED"
    assert workshop.code_of(attempted(tmp_path, raising).outcome) == expected
    assert workshop.code_of(attempted(tmp_path, raising, timeout_ms=30_000).outcome) == expected
    assert workshop.code_of(attempted(tmp_path, raising_too).outcome) == expected


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit()])
def test_what_only_the_main_thread_can_mean_is_a_handlers_own_in_another(tmp_path: Path, error: BaseException) -> None:
    def raising(ctx: context.Context) -> dict[str, Json]:
        raise error

    found = attempted(tmp_path, raising).outcome
    assert found.failure == outcome.Failure(code="HANDLER_RAISED", message=type(error).__name__)


def test_a_panic_of_what_we_use_ourselves_fails_the_attempt_alone(tmp_path: Path) -> None:
    class Panicking:
        async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
            raise Panic("in Rust")

    node = local_node(mode="ai", handler=None, config={"prompt": "?"})
    found = workshop.outcome_of(workshop.project(tmp_path), workshop.task_of(node, {"n": 1}), provider=Panicking())
    assert found.failure == outcome.Failure(code="INTERNAL", message="Panic: in Rust", happened="unknown")


def test_a_sync_local_handler_runs_beside_the_loop(tmp_path: Path) -> None:
    def plain(ctx: context.Context) -> dict[str, Json]:
        return {"twice": 8}

    assert attempted(tmp_path, plain).outcome.outputs == {"value": {"twice": 8}}


def test_a_timeout_stops_the_work(tmp_path: Path) -> None:
    stopped: list[bool] = []

    async def slow(ctx: context.Context) -> dict[str, Json]:
        try:
            await asyncio.sleep(30)
        finally:
            stopped.append(True)
        return {"twice": 1}

    found = attempted(tmp_path, slow, timeout_ms=20).outcome
    assert found.failure == outcome.Failure(code="TIMEOUT", message="stopped after 20 ms", happened="unknown")
    assert stopped == [True]


def test_cancelling_perform_cancels_the_handler(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        seen: list[str] = []
        started = asyncio.Event()

        async def slow(ctx: context.Context) -> dict[str, Json]:
            started.set()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise
            return {"twice": 1}

        for timeout_ms in (None, 60_000):
            performer = attempt_performer.Performer(
                project=workshop.project(tmp_path), blobs=workshop.MemoryBlobs(), local_handlers={"it": slow}
            )
            started.clear()
            running = asyncio.create_task(
                performer.perform(workshop.job_of(local_node(timeout_ms=timeout_ms), {"n": 1}))
            )
            await started.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        return seen

    assert asyncio.run(scenario()) == ["cancelled", "cancelled"]


def test_a_handler_cannot_change_what_others_hold(tmp_path: Path) -> None:
    shared: dict[str, Json] = {"twice": []}

    async def greedy(ctx: context.Context) -> dict[str, Json]:
        for held in (ctx.inputs["n"], ctx.config["c"], ctx.item, ctx.feedback):
            assert isinstance(held, list)
            held.append("mine")
        return shared

    given: list[Json] = [1]
    node = local_node(
        inputs=(workshop.port("n", "array"),), outputs=(workshop.port("twice", "array"),), config={"c": given}
    )
    one = workshop.task_of(node, {"n": given}, item=given, item_index=0, feedback=given)
    found = workshop.outcome_of(workshop.project(tmp_path), one, local={"it": greedy})
    twice = shared["twice"]
    assert isinstance(twice, list)
    twice.append("later")
    assert given == [1]
    assert found.outputs == {"value": {"twice": []}}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"handler": "local:missing"}, "HANDLER_UNKNOWN"),
        ({"handler": "builtin:missing"}, "HANDLER_UNKNOWN"),
        ({"mode": "ai", "handler": None}, "PROVIDER_MISSING"),
        ({"mode": "approval", "handler": None}, "NOT_PERFORMED"),
        ({"inputs": (definition.Port(name="n", schema={"type": "nonsense"}),)}, "SCHEMA_INVALID"),
    ],
)
def test_what_cannot_be_done_is_never_retried(tmp_path: Path, changes: dict[str, object], code: str) -> None:
    one = workshop.task_of(local_node(**changes), {"n": 2})
    failure = workshop.outcome_of(workshop.project(tmp_path), one, local={"it": double}).failure
    assert failure is not None
    assert (failure.code, failure.retryable) == (code, False)


def test_file_and_artifact_ports_are_checked_for_real(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "here.txt").write_text("hello")
    (tmp_path / "outside.txt").write_text("no")
    (project / "link.txt").symlink_to(tmp_path / "outside.txt")
    node = definition.Node(
        key="keep",
        mode="dag",
        inputs=(workshop.port("f", "file"), workshop.port("a", "artifact")),
        outputs=(workshop.port("f", "file"), workshop.port("a", "artifact")),
    )
    good = {"f": "here.txt", "a": "artifact://3f0e8f0a-0000-4000-8000-000000000001"}
    where = workshop.project(project)
    assert workshop.outcome_of(where, workshop.task_of(node, good)).outputs == {"value": good}
    outside = "the path leads outside the folders that this project allows"
    for value, message in [
        ("gone.txt", "input 'f': there is no such file"),
        ("../outside.txt", f"input 'f': {outside}"),
        ("link.txt", f"input 'f': {outside}"),
        ("a\0b", "input 'f': the path is empty or holds a NUL character"),
        (".skelo/skelo.db", "input 'f': the path leads into the project's own data"),
    ]:
        found = workshop.outcome_of(where, workshop.task_of(node, {**good, "f": value}))
        assert found.failure == outcome.Failure(code="INPUT_CONTRACT", message=message, retryable=False)
    found = workshop.outcome_of(where, workshop.task_of(node, {**good, "a": "artifact://../../x"}))
    assert found.failure == outcome.Failure(
        code="INPUT_CONTRACT", message="input 'a': not of the form artifact://<uuid>", retryable=False
    )


def test_an_output_that_is_left_out_takes_its_default(tmp_path: Path) -> None:
    async def nothing(ctx: context.Context) -> dict[str, Json]:
        return {}

    port = definition.Port(name="twice", schema={"type": "integer"}, has_default=True, default=7)
    found = attempted(tmp_path, nothing, outputs=(port,)).outcome
    assert (found.outputs, found.output_hash) == ({"value": {"twice": 7}}, canonical.digest({"twice": 7}))


def test_a_sync_handler_that_never_ends_does_not_keep_the_process(tmp_path: Path) -> None:
    def stuck(ctx: context.Context) -> dict[str, Json]:
        go_on.wait(60)
        ended.append(True)
        return {}

    go_on, ended = threading.Event(), list[bool]()
    try:
        assert workshop.code_of(attempted(tmp_path, stuck, timeout_ms=20).outcome) == "TIMEOUT"
        assert ended == []
    finally:
        go_on.set()


def test_a_handler_that_refuses_to_stop_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "GRACE_SECONDS", 0.05)

    async def scenario() -> str | None:
        end = asyncio.Event()

        async def stubborn(ctx: context.Context) -> dict[str, Json]:
            while not end.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await end.wait()
            return {"twice": 1}

        performer = attempt_performer.Performer(
            project=workshop.project(tmp_path), blobs=workshop.MemoryBlobs(), local_handlers={"it": stubborn}
        )
        found = await performer.perform(workshop.job_of(local_node(timeout_ms=20), {"n": 1}))
        end.set()
        return workshop.code_of(found.outcome)

    assert asyncio.run(scenario()) == "TIMEOUT"


def test_the_store_is_told_the_digest_of_large_outputs(tmp_path: Path) -> None:
    """So that their bytes are hashed once."""
    told: list[str | None] = []

    class Blobs:
        async def put_blob(self, data: bytes, name: str | None = None) -> str:
            told.append(name)
            return canonical.digest_bytes(data)

    async def large(ctx: context.Context) -> dict[str, Json]:
        return {"twice": "x" * 40_000}

    performer = attempt_performer.Performer(
        project=workshop.project(tmp_path), blobs=Blobs(), local_handlers={"it": large}
    )
    node = local_node(outputs=(workshop.port("twice", "string"),))
    found = asyncio.run(performer.perform(workshop.job_of(node, {"n": 1})))
    assert found.outcome.output_hash == canonical.digest({"twice": "x" * 40_000})
    assert told == [found.outcome.output_hash]


@pytest.mark.parametrize("last", [1.5, "text", None, [1], {"x": 1}])
def test_outputs_stand_in_the_order_of_their_canonical_bytes(last: Json, tmp_path: Path) -> None:
    async def unordered(ctx: context.Context) -> dict[str, Json]:
        return {"b": last, "a": 1}

    found = attempted(tmp_path, unordered, outputs=(workshop.port("b"), workshop.port("a")))
    assert str(found.outcome.outputs) == str({"value": {"a": 1, "b": last}})


def test_a_prompt_that_finds_no_room_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    class Full:
        async def put_blob(self, data: bytes, name: str | None = None) -> str:
            raise errors.StoreFull("no space left")

    performer = attempt_performer.Performer(project=workshop.project(tmp_path), blobs=Full())
    attempt = workshop.job_of(local_node(), {"n": 1})
    attempt.files["prompt"] = running_attempt.File(kind="prompt", name="prompt", text="x" * 3_000_000)
    with pytest.raises(errors.StoreFull):
        asyncio.run(performer.store_prompts(attempt))
    assert attempt.recorded == {}


def test_outputs_that_find_no_room_are_no_outcome(tmp_path: Path) -> None:
    class Full:
        async def put_blob(self, data: bytes, name: str | None = None) -> str:
            raise errors.StoreFull("no space left")

    async def scenario() -> outcome.Outcome:
        async def large(ctx: context.Context) -> dict[str, Json]:
            ctx.log("x" * 100_000)
            return {"twice": "x" * 40_000}

        performer = attempt_performer.Performer(
            project=workshop.project(tmp_path), blobs=Full(), local_handlers={"it": large}
        )
        node = local_node(outputs=(workshop.port("twice", "string"),))
        return (await performer.perform(workshop.job_of(node, {"n": 1}))).outcome

    with pytest.raises(errors.StoreFull):
        asyncio.run(scenario())


def test_a_long_log_is_cut_in_the_middle_and_kept_apart(tmp_path: Path) -> None:
    async def chatty(ctx: context.Context) -> dict[str, Json]:
        for number in range(40_000):
            ctx.log(f"line {number}")
        return {"twice": 1}

    blobs = workshop.MemoryBlobs()
    (found,) = workshop.perform(
        workshop.project(tmp_path), workshop.task_of(local_node(), {"n": 1}), local={"it": chatty}, blobs=blobs
    )
    (note,) = found.outcome.artifacts
    assert (found.blobs, list(blobs.kept)) == ({}, [note.hash])
    text = blobs.kept[note.hash].decode()
    assert text.startswith("line 0\n")
    assert text.endswith("line 39999\n")
    assert "bytes left out" in text
    assert len(text.encode()) < 300 * 1024

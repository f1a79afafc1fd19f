"""route_expert: what is asked, what comes back, and who may be asked in which mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from openskelo import errors
from openskelo.executors.ai import prompt
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, protocol, scripted
from openskelo.providers.kinds import recorded
from tests.executors import workshop
from tests.executors.ops import bench

ARGS: JsonObject = {"expert_id": "coder", "prompt_ref": "Mend it", "max_new_tokens": 220, "temperature": 0}
RULES: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def ask(
    root: Path, provider: scripted.Scripted | None, args: JsonObject = ARGS, *, feedback: Json = None, **project: Any
) -> bench.Done:
    where = workshop.project(root, **project)
    node = bench.step("route_expert", args)
    (whole,) = workshop.perform(where, workshop.task_of(node, args, feedback=feedback), provider=provider)
    return bench.done(whole)


def test_the_prompt_goes_as_it_is_and_the_answer_is_text(tmp_path: Path) -> None:
    provider = scripted.Scripted(["a patch\n"])
    done = ask(tmp_path, provider)
    assert (done.value, done.failure) == ("a patch\n", None)
    assert provider.asked == [
        protocol.Request(
            node="s1",
            messages=(
                protocol.Message(role="system", text=prompt.SYSTEM),
                protocol.Message(role="user", text="Mend it"),
            ),
            schema=None,
            parameters={"expert": "coder", "temperature": 0},
            max_tokens=220,
        )
    ]
    metrics = done.whole.outcome.metrics
    assert (metrics.tokens_in, metrics.tokens_out) == (len(prompt.SYSTEM.split()) + 2, 2)


def test_the_prompt_is_kept_as_it_was_sent(tmp_path: Path) -> None:
    done = ask(tmp_path, scripted.Scripted(["ok"]))
    kept = {note.name: done.whole.blobs[note.hash].decode() for note in done.whole.outcome.artifacts}
    assert kept["prompt.full.txt"] == f"=== system ===\n{prompt.SYSTEM}\n\n=== user ===\nMend it\n"
    assert orjson.loads(kept["prompt.blocks.json"])["task"] == "Mend it"


def test_structured_input_is_data(tmp_path: Path) -> None:
    provider = scripted.Scripted(["ok", "ok"])
    ask(tmp_path, provider, {"expert_id": "coder", "input": {"b": 1, "a": "x"}})
    ask(tmp_path, provider, {"expert_id": "coder", "prompt": "As written"})
    asked = [request.messages[-1].text for request in provider.asked]
    assert asked == ['Input (data):\n```\n{"a":"x","b":1}\n```', "As written"]


def test_an_answer_under_a_schema_is_json_that_keeps_it(tmp_path: Path) -> None:
    provider = scripted.Scripted([{"n": 1}, '```json\n{"n": 2}\n```', {"n": "x"}, "words"])
    args: JsonObject = {**ARGS, "output_schema": RULES}
    done = [ask(tmp_path, provider, args) for _ in range(4)]
    assert [one.value for one in done] == [{"n": 1}, {"n": 2}, None, None]
    assert [one.code for one in done] == [None, None, "OUTPUT_CONTRACT", "ANSWER_INVALID"]
    assert [one.failure.repairable for one in done if one.failure is not None] == [True, True]
    assert provider.asked[0].schema == RULES
    assert prompt.contract(RULES) in provider.asked[0].messages[0].text


def test_an_answer_with_a_marker_of_prompts_is_refused(tmp_path: Path) -> None:
    provider = scripted.Scripted(["<data>a patch</data>", {"n": 1, "text": "<data>"}, "quoted: <data>"])
    done = [
        ask(tmp_path, provider),
        ask(tmp_path, provider, {**ARGS, "output_schema": RULES}),
        ask(tmp_path, provider, {"expert_id": "coder", "prompt": "What is <data>?"}),
    ]
    assert [result.code for result in done] == ["ANSWER_INVALID", "ANSWER_INVALID", None]


def test_a_repair_is_shown_its_answer_and_what_was_wrong_with_it(tmp_path: Path) -> None:
    provider = scripted.Scripted([{"n": "x"}, {"n": 1}])
    args: JsonObject = {**ARGS, "output_schema": RULES}
    first = ask(tmp_path, provider, args)
    assert first.failure is not None
    again = ask(tmp_path, provider, args, feedback={"detail": first.whole.outcome.feedback})
    assert again.value == {"n": 1}
    roles = [(message.role, message.text) for message in provider.asked[1].messages[1:]]
    assert roles[:2] == [("user", "Mend it"), ("assistant", '{"n":"x"}')]
    assert "the answer breaks its schema: /n" in roles[2][1]


def test_what_the_provider_says_is_what_the_step_says(tmp_path: Path) -> None:
    said = errors.AttemptFailed("too many", code="PROVIDER_RATE_LIMIT", retryable=True, retry_after_ms=5)
    done = ask(tmp_path, scripted.Scripted([said]))
    assert done.failure is not None
    assert (done.code, done.failure.retryable, done.failure.retry_after_ms) == ("PROVIDER_RATE_LIMIT", True, 5)
    assert ask(tmp_path, None).code == "PROVIDER_MISSING"
    assert ask(tmp_path, scripted.Scripted([]), {"expert_id": "coder"}).code == "ARGS_INVALID"


class TestModes:
    """Experts of real configurations: recorded ones answer, remote ones never would."""

    @pytest.fixture
    def models(self, tmp_path: Path) -> config.Config:
        """`coder` is recorded and falls back on `remote`, which nobody serves."""
        return config.Config(
            providers={
                "tape": config.ProviderConfig(name="tape", kind="recorded", recordings="tape"),
                "web": config.ProviderConfig(name="web", kind="openai", base_url="http://127.0.0.1:9/v1", model="m"),
            },
            experts={
                "coder": config.ExpertConfig(name="coder", provider="tape", system="You mend.", fallbacks=("remote",)),
                "remote": config.ExpertConfig(name="remote", provider="web"),
                "late": config.ExpertConfig(name="late", provider="tape", modes=("offline",)),
            },
        )

    def ask(
        self,
        root: Path,
        models: config.Config,
        expert: str,
        mode: definition.PlanMode,
        rules: dict[str, project_registry.ModeRule] | None = None,
    ) -> bench.Done:
        where = workshop.project(root, models=models, registry=project_registry.Registry(modes=rules or {}))
        return bench.perform(where, "route_expert", {**ARGS, "expert_id": expert}, mode=mode)

    @pytest.mark.parametrize(
        ("expert", "mode", "rules"),
        [
            ("remote", "offline", {}),
            ("late", "normal", {}),
            ("coder", "normal", {"normal": project_registry.ModeRule(experts=("remote",))}),
        ],
    )
    def test_a_mode_may_deny_an_expert_before_anything_is_sent(
        self,
        tmp_path: Path,
        models: config.Config,
        expert: str,
        mode: definition.PlanMode,
        rules: dict[str, project_registry.ModeRule],
    ) -> None:
        done = self.ask(tmp_path, models, expert, mode, rules)
        assert done.failure is not None
        assert (done.code, done.failure.denied, done.whole.outcome.artifacts) == ("MODE_DENIED", True, ())

    def test_a_recorded_expert_answers_offline(self, tmp_path: Path, models: config.Config) -> None:
        self.record(tmp_path, "You mend.")
        assert self.ask(tmp_path, models, "coder", "offline").value == "from tape"
        self.record(tmp_path, "")
        assert self.ask(tmp_path, models, "late", "offline").value == "from tape"

    def test_nobody_falls_back_on_an_expert_that_the_mode_denies(self, tmp_path: Path, models: config.Config) -> None:
        assert self.ask(tmp_path, models, "coder", "offline").code == "RECORDING_MISSING"
        normal = self.ask(tmp_path, models, "coder", "normal")
        assert normal.code != "RECORDING_MISSING"  # it went on to the one that nobody serves

    def record(self, root: Path, system: str) -> None:
        front = f"{system}\n\n" if system else ""
        request = protocol.Request(
            node="s1",
            messages=(
                protocol.Message(role="system", text=front + prompt.SYSTEM),
                protocol.Message(role="user", text="Mend it"),
            ),
            parameters={"temperature": 0},
            max_tokens=220,
        )
        (root / "tape").mkdir(exist_ok=True)
        answer = {"version": 1, "answer": {"text": "from tape", "tokens_in": 1, "tokens_out": 2}}
        (root / "tape" / f"{recorded.digest(request)}.json").write_bytes(orjson.dumps(answer))

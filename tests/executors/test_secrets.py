"""Secrets in whatever a handler leaves: masked in logs and messages, refused in outputs, however they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.executors.attempt import performer
from openskelo.handlers import project_registry, secrets
from openskelo.kernel import definition
from openskelo.providers import config as provider_config
from openskelo.wire import webhook
from tests.executors import workshop

SYNC = "def handler(ctx):\n    "
ASYNC = "async def handler(ctx):\n    "


def perform(root: Path, source: str) -> performer.AttemptResult:
    (root / "it.py").write_text(source)
    where = workshop.project(root, secrets={"K": "${env:MY_KEY}"})
    one = definition.Node(key="it", mode="deterministic", handler="it.py", outputs=(workshop.port("y"),))
    (found,) = workshop.perform(where, workshop.task_of(one, {}))
    return found


#: As awkward as a private key or the JSON of a service account is: several lines, quotes, backslashes, no ASCII.
AWKWARD = "sw\"or\\d's fish\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + "\nlöst9"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("ctx.log('m', f=ctx.secret('K'))", 'm {"f":"[secret]"}'),
        ("ctx.log('m', f=json.dumps({'t': [ctx.secret('K')]}))", 'm {"f":"{\\"t\\": [\\"[secret]\\"]}"}'),
        ("ctx.log('m', f={ctx.secret('K'): {1, ctx.secret('K')} - {1}})", 'm {"f":{"[secret]":"{\'[secret]\'}"}}'),
        ("ctx.log(json.dumps(ctx.secret('K')))", '"[secret]"'),
        ("ctx.log(json.dumps(ctx.secret('K'), ensure_ascii=False))", '"[secret]"'),
        ("print(json.dumps(json.dumps(ctx.secret('K'))))", '"\\"[secret]\\""'),
        ("print([ctx.secret('K')])", "['[secret]']"),
        ("print(ascii([ctx.secret('K')]))", "['[secret]']"),
        (
            "print('key: |\\n  ' + ctx.secret('K').replace('\\n', '\\n  '))",
            "key: |\n  sw\"or\\d's fish\n  [secret]\n  löst9",
        ),
    ],
)
@pytest.mark.parametrize("begin", [SYNC, ASYNC], ids=["worker", "loop"])
def test_a_secret_is_masked_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: str, said: str, kept: str
) -> None:
    monkeypatch.setenv("MY_KEY", AWKWARD)
    found = perform(tmp_path, f"import json\n{begin}{said}\n    return {{'y': 1}}\n")
    assert workshop.log_of(found) == kept + "\n"


@pytest.mark.parametrize(("key", "kept"), [("abcd", "it is [secret]\n"), ("dev", "it is dev\n")])
def test_what_is_shorter_than_four_characters_is_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, kept: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    assert workshop.log_of(perform(tmp_path, SYNC + "print('it is', ctx.secret('K'))\n    return {'y': 1}\n")) == kept


@pytest.mark.parametrize("named_by", ["the block", "the provider", "the webhook", "the tool", "nobody"])
def test_outputs_with_a_value_that_the_settings_name_are_refused_though_it_is_not_under_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named_by: str
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-1234567")
    reference = "${env:SOME_KEY}"
    provider = provider_config.ProviderConfig(name="p", kind="openai", api_key=reference)
    tool = project_registry.Tool(name="t", kind="builtin", target="read_file", config={"x": reference})
    changes: dict[str, dict[str, object]] = {
        "the provider": {"models": provider_config.Config(providers={"p": provider})},
        "the webhook": {"webhooks": (webhook.Webhook(url="http://example.test", secret=reference),)},
        "the tool": {"registry": project_registry.Registry(tools={"t": tool})},
    }
    (tmp_path / "it.py").write_text("import os\n" + SYNC + "return {'y': os.environ['SOME_KEY']}\n")
    node = definition.Node(
        key="it",
        mode="deterministic",
        handler="it.py",
        outputs=(workshop.port("y"),),
        config={"token": reference} if named_by == "the block" else {},
    )
    where = workshop.project(tmp_path, **changes.get(named_by, {}))
    (found,) = workshop.perform(where, workshop.task_of(node, {}))
    code = None if found.outcome.failure is None else found.outcome.failure.code
    assert code == (None if named_by == "nobody" else "SECRET_IN_OUTPUT")
    assert (b"sk-1234567" in b"".join(found.blobs.values()) or "sk-1234567" in str(found.outcome)) == (
        named_by == "nobody"
    )


@pytest.mark.parametrize(
    "given",
    [
        "ctx.secret('K')",
        "json.dumps({'t': ctx.secret('K')})",
        "repr([ctx.secret('K')])",
        "ctx.secret('K').split('\\n')",
    ],
)
def test_outputs_with_a_secret_are_refused_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("MY_KEY", AWKWARD)
    source = f"import json\n{SYNC}return {{'y': {given}}}\n"
    failure = perform(tmp_path, source).outcome.failure
    assert failure is not None
    assert failure.code == "SECRET_IN_OUTPUT"


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        ("errors.AttemptFailed('no', code=ctx.secret('K'))", "[secret]", "no"),
        ("errors.AttemptFailed('no', code='E_' + ctx.secret('K'), retryable=False)", "E_[secret]", "no"),
        ("errors.AttemptFailed('no', hint=ctx.secret('K'))", "FAILED", "no ([secret])"),
        (
            "errors.Denied(ctx.secret('K'), code=ctx.secret('K'), hint=ctx.secret('K'))",
            "[secret]",
            "[secret] ([secret])",
        ),
        ("errors.Escalated(ctx.secret('K'), code=ctx.secret('K'))", "[secret]", "[secret]"),
        ("errors.OverBudget(ctx.secret('K'), tokens=9)", "BUDGET_EXCEEDED", "[secret]"),
        ("type(ctx.secret('K'), (Exception,), {})(ctx.secret('K'))", "HANDLER_RAISED", "[secret]: [secret]"),
    ],
)
@pytest.mark.parametrize("begin", [SYNC, ASYNC], ids=["worker", "loop"])
def test_a_secret_is_masked_in_every_text_of_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: str, raised: str, code: str, message: str
) -> None:
    monkeypatch.setenv("MY_KEY", "swordfish")
    found = perform(tmp_path, f"from openskelo import errors\n{begin}raise {raised}\n").outcome
    assert found.failure is not None
    assert (found.failure.code, found.failure.message) == (code, message)
    assert found.feedback == {"code": code, "message": message}


def test_the_frame_of_a_key_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n")
    source = SYNC + "return {'y': '-----BEGIN PRIVATE KEY-----'}\n"
    assert perform(tmp_path, source).outcome.failure is None


def test_plain_secrets_have_one_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    monkeypatch.setenv("MY_WORD", "dev")
    assert secrets.values({"K": "${env:MY_KEY}", "W": "${env:MY_WORD}"}) == ("sk-very-secret",)

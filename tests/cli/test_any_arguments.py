"""Whatever is typed: an exit code and a message, never a traceback, never a defect."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openskelo.cli import main

#: Commands that would go on until they are stopped, take minutes, or install something.
_LEFT_OUT = ("init", "doctor", "model", "serve", "worker", "agents")
_COMMANDS = st.sampled_from([name for name in main.COMMANDS if name not in _LEFT_OUT])
_WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["--json", "--data-dir", "--input", "a=1", "--set", "--from", "--", "-", "last", "flow.yaml", "--limit", "0"]
    ),
)

#: A project whose only expert has nothing to say: `plan` is answered at once, and not by the embedded model.
_PROJECT = """\
name: any
providers: {tape: {kind: recorded, recordings: tapes}}
experts: {mute: {provider: tape, model: none, max_tokens: 10}}
"""


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=_COMMANDS, words=st.lists(_WORDS, max_size=5))
def test_any_arguments_are_answered(
    command: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "skelo.yaml").write_text(_PROJECT)
    with (tmp_path / "empty").open("w+") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        code = main.main([command, *words])
    printed = capfd.readouterr()
    assert code in (0, 1, 2, 3)
    assert "INTERNAL" not in printed.out + printed.err
    assert printed.out + printed.err or code == 0


_LONG = "x" * 300  # longer than a file system takes


@pytest.mark.parametrize(
    "words",
    [
        ["validate", _LONG],
        ["run", "flow.yaml", "--inputs", _LONG],
        ["run", "flow.yaml", "--data-dir", _LONG],
        ["test", "flow.yaml", "--script", _LONG],
        ["verify", f"{_LONG}.jsonl"],
        ["export", "last", "-o", _LONG],
        ["show", _LONG],
        ["plan", "a goal", "--out", _LONG],
    ],
    ids=" ".join,
)
def test_a_name_that_no_file_system_takes_is_answered(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    transform = "{handler: builtin:transform, config: {map: {n: '1'}}}"
    (tmp_path / "flow.yaml").write_text(
        f"blocks: [{{id: a, mode: deterministic, outputs: {{n: integer}}, deterministic: {transform}}}]\n"
    )
    assert main.main(["run", "flow.yaml", "-q"]) == 0
    assert main.main(words) == 2
    assert "INTERNAL" not in capfd.readouterr().err

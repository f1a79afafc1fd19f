"""The gates `trace_map` and `artifacts`: they read the files of the work, and keep what they found."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from tests.checks import artifacts, trace_map
from tests.executors.test_gate_evaluation import gate, judged


def _verdict(root: Path, kind: str, text: Json = "", **parameters: Json) -> JsonObject:
    (verdict,) = judged(root, {"text": text}, gate(kind, **parameters)).verdicts
    return verdict


def test_a_trace_map_that_holds_passes_and_its_report_is_kept(tmp_path: Path) -> None:
    path = trace_map.shop(tmp_path)
    for parameters in ({"file": "trace_map.json"}, {"file": {"port": "text"}}):
        verdict = _verdict(tmp_path, "trace_map", "trace_map.json", **parameters)
        assert (verdict["passed"], verdict["evidence"]) == (True, trace_map.check(path).document())


def test_a_trace_map_whose_source_has_changed_does_not_pass(tmp_path: Path) -> None:
    trace_map.shop(tmp_path)
    (tmp_path / "docs.md").write_text(trace_map.DOCS.replace("50", "51"))
    verdict = _verdict(tmp_path, "trace_map", file="trace_map.json")
    assert (verdict["passed"], verdict["reason"]) == (
        False,
        "3 faults, the first: docs.md: the source has another hash",
    )
    evidence = verdict["evidence"]
    assert isinstance(evidence, dict)
    assert (evidence["untraced"], evidence["traced"]) == (["/limit"], 2)


def test_a_schema_and_sources_can_be_named(tmp_path: Path) -> None:
    trace_map.shop(tmp_path)
    (tmp_path / "maps").mkdir()
    (tmp_path / "trace_map.json").rename(tmp_path / "maps/trace_map.json")

    def named() -> JsonObject:
        file = "maps/trace_map.json"
        return _verdict(tmp_path, "trace_map", file=file, schema="schema.json", sources="sources")

    assert not _verdict(tmp_path, "trace_map", file="maps/trace_map.json")["passed"]
    (tmp_path / "sources").mkdir()
    assert not named()["passed"]
    for name in ("src", "docs.md"):
        (tmp_path / name).rename(tmp_path / "sources" / name)
    assert named()["passed"]


def test_artifacts_that_are_complete_pass(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    artifacts.write(tmp_path / "one", [artifacts.step()])
    assert _verdict(tmp_path, "artifacts", folder="one")["passed"]
    artifacts.write(tmp_path / "one", [artifacts.step("schema-infer")], "trace_map.json")
    verdict = _verdict(tmp_path, "artifacts", "one", folder={"port": "text"})
    assert (verdict["passed"], verdict["reason"]) == (
        False,
        "trace_map.json: missing, required by the skill schema-infer",
    )


@pytest.mark.parametrize(("kind", "key"), [("trace_map", "file"), ("artifacts", "folder")])
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("gone", "PATH_NOT_FOUND"),
        ("../elsewhere", "DET_PATH_INVALID"),
        ("/etc/hosts", "DET_PATH_INVALID"),
        ("link", "DET_PATH_INVALID"),
        (".skelo/x", "DET_PATH_INVALID"),
        (".git/config", "DET_PATH_INVALID"),
        ("", "DET_PATH_INVALID"),
    ],
)
def test_a_path_that_leads_elsewhere_does_not_pass(tmp_path: Path, kind: str, key: str, name: str, code: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    for parameter in (name, {"port": "text"}):
        verdict = _verdict(tmp_path, kind, name, **{key: parameter})
        assert (verdict["passed"], verdict["evidence"]) == (False, {"code": code})


@pytest.mark.parametrize(("kind", "key"), [("trace_map", "file"), ("artifacts", "folder")])
def test_a_port_without_a_path_does_not_pass(tmp_path: Path, kind: str, key: str) -> None:
    for value in (None, 1, ["a"]):
        (verdict,) = judged(tmp_path, {"n": value}, gate(kind, **{key: {"port": "n"}})).verdicts
        assert (verdict["passed"], verdict["evidence"]) == (False, {"code": "DET_PATH_INVALID"})


def _problems(folder: Path, parameter: str) -> list[str]:
    file = folder / "flow.yaml"
    file.write_text(
        "name: flow\nblocks:\n  - id: make\n    mode: deterministic\n    outputs: {text: string}\n"
        "    deterministic: {handler: builtin:transform, config: {template: {text: x}}}\n"
        f"    post_gates: [{{type: artifacts, folder: {parameter}}}]\n"
    )
    return [problem.code for problem in load.check(file)[1]]


@pytest.mark.parametrize(
    ("parameter", "codes"),
    [
        ("made/here", []),
        ("{port: text}", []),
        ("../elsewhere", ["PATH_INVALID"]),
        ("{port: nothing}", ["UNKNOWN_PORT"]),
        ("{ports: text}", ["MISSING_KEY", "UNKNOWN_KEY"]),
        ("5", ["TYPE"]),
    ],
)
def test_a_wrong_path_is_found_before_the_run(tmp_path: Path, parameter: str, codes: list[str]) -> None:
    assert _problems(tmp_path, parameter) == codes

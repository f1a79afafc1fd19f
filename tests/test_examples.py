"""The examples are valid, their scripted runs hold, the demo is written by the embedded model, and the
tour is killed, resumed, approved and verified.

Their READMEs are run too, by `tests/repo/test_documents.py`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from scripts import demo_runs

from openskelo.workflows import load
from tests import forked_skelo
from tests.repo import tracked

BIN = Path(sys.executable).parent
EXAMPLES = sorted({path.relative_to(tracked.ROOT / "examples").parts[0] for path in tracked.files("examples/*")})
WORKFLOWS = [
    str(path.relative_to(tracked.ROOT))
    for path in (*tracked.files("examples/*.yaml"), *tracked.files("examples/patch-plan/*_v1.json"))
    if path.name != "skelo.yaml" and not path.name.endswith(".test.yaml")
]
SCRIPTED = [str(path.relative_to(tracked.ROOT)) for path in tracked.files("examples/*.test.yaml")]


def _copied(name: str, folder: Path) -> Path:
    target = folder / name
    ignored = shutil.ignore_patterns(".skelo", "out", "__pycache__", "server.url")
    shutil.copytree(tracked.ROOT / "examples" / name, target, ignore=ignored)
    return target


@pytest.mark.parametrize("name", WORKFLOWS)
def test_example_has_no_problems(name: str) -> None:
    workflow, problems = load.check(tracked.ROOT / name)
    assert problems == ()
    assert workflow is not None


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_tells_how_to_run_it(name: str) -> None:
    assert "```console\n" in (tracked.ROOT / "examples" / name / "README.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTED)
def test_scripted_runs_of_an_example_hold(name: str, tmp_path: Path) -> None:
    script = Path(name)
    project = _copied(script.parts[1], tmp_path)
    forms = [Path(*script.parts[2:-1], script.name.replace(".test.yaml", form)) for form in (".yaml", ".json")]
    (workflow,) = (form for form in forms if (project / form).exists())
    done = forked_skelo.run(["test", str(workflow)], folder=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert not (project / ".skelo").exists()


@pytest.mark.slow
@pytest.mark.timeout(600)  # the model shares the machine with everything else
def test_the_demo_has_an_article_written_by_the_embedded_model(tmp_path: Path) -> None:
    project = _copied("content-pipeline", tmp_path)
    flow = project / "content-pipeline.yaml"
    done = subprocess.run(
        ["sh", str(tracked.ROOT / "scripts" / "demo.sh"), str(BIN), str(project), flow.name, "bees in the city"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "intact and ended" in done.stdout
    assert f"$ skelo run {flow.name} --input 'topic=bees in the city'\n" in done.stdout  # as it has to be typed
    (published,) = (project / "out").iterdir()
    assert demo_runs.faults(published.read_text()) == []
    assert set(demo_runs.sentences(published.read_text())) <= demo_runs.said_by_the_model(project)
    (log,) = (project / ".skelo" / "events").glob("*.jsonl")
    kept = [
        event["data"]["artifact"]["name"]
        for event in map(orjson.loads, log.read_bytes().splitlines())
        if event["type"] == "artifact.created"
    ]
    # Six questions: the outline, three parts, the pictures, the lead. A part may be asked for again.
    assert kept.count("prompt.full.txt") == kept.count("prompt.blocks.json") >= 6
    assert "providers: { cloud: { kind: openai, model: gpt-5-mini } }" in done.stdout


@pytest.mark.slow
def test_the_tour_survives_a_kill_and_proves_its_record(tmp_path: Path) -> None:
    project = _copied("quickstart", tmp_path)
    done = subprocess.run(
        ["sh", str(tracked.ROOT / "scripts" / "tour.sh"), str(BIN), str(project), "digest.yaml"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    published = list((project / "out").iterdir())
    assert [path.read_text() for path in published] == [
        "# This week\n\n"
        "- The kernel decides, and nothing else does.\n"
        "- Every finished step leaves a receipt.\n"
        "- A person approves before anything is published.\n"
        "- Kill it whenever you like.\n"
    ]

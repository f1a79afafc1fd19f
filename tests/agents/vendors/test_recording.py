"""The installed agents speak as their recordings do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents import agents_under_test, recordings


@pytest.mark.parametrize("name", agents_under_test.NAMES)
def test_the_recording_of_the_installed_version_is_what_it_speaks(
    tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    program = request.getfixturevalue(name) if name in ("opencode", "qwen") else None
    agent = agents_under_test.by_name(name, program)
    seen = recordings.record(agent, tmp_path)
    version = next(
        line["received"]["result"]["agentInfo"]["version"]
        for line in seen
        if "agentInfo" in line.get("received", {}).get("result", {})
    )
    file = recordings.file_of(name, version)
    if recordings.is_recording():
        recordings.write(file, seen)
    assert file.exists(), f"there is no recording of {name} {version}: look at what is new, and record it"
    problems = recordings.differences(recordings.shapes(recordings.read(file)), recordings.shapes(seen))
    assert not problems, f"{name} {version} speaks differently: {'; '.join(problems)}"

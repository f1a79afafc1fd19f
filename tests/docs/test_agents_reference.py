"""The page about coding agents names the versions of the programs that `make test-agents` installs."""

from __future__ import annotations

import json
import re

from openskelo.agents import programs
from tests.agents import agents_under_test
from tests.docs import page
from tests.repo import tracked


def _locked(name: str) -> tuple[str, str]:
    """Return the npm package of an agent and its version."""
    if name in programs.installable():
        package = programs.locked(name)
        return package.name, package.version
    manifest = json.loads((tracked.ROOT / "tests" / "agents" / name / "package.json").read_text("utf-8"))
    ((package_name, version),) = manifest["dependencies"].items()
    return package_name, version


def test_the_table_of_programs_has_the_locked_versions() -> None:
    section = page.sections(page.text("agents.md"))["Programs that were tried"]
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` ([^ ]+) \|", section, flags=re.MULTILINE)
    assert [(name, (package, version)) for name, package, version in rows] == [
        (name, _locked(name)) for name in agents_under_test.NAMES
    ]

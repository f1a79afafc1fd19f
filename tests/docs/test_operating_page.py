"""The systemd unit, the Dockerfile and the tables of the operating guide are right as far as that shows here."""

from __future__ import annotations

import configparser
import json
import re
import shlex

from openskelo.cli import parsing
from openskelo.cli.commands import prune, serve
from tests.repo import tracked

PAGE = (tracked.ROOT / "docs" / "guide" / "operating.md").read_text("utf-8")


def fence(language: str) -> str:
    (body,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return body


def parses(words: list[str]) -> str:
    """Which command it is, once its own parser has taken every word."""
    modules: dict[str, parsing.CommandModule] = {"serve": serve, "prune": prune}
    module = modules[words[1]]
    parsing.parser(words[1], "does it", module).parse_args(words[2:])
    return words[1]


def test_the_unit_starts_a_server_with_arguments_that_exist() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(fence("ini"))
    assert set(unit.sections()) == {"Unit", "Service", "Install"}
    assert parses(shlex.split(unit["Service"]["ExecStart"])) == "serve"
    assert unit["Service"]["KillSignal"] == "SIGTERM"


def test_the_dockerfile_is_made_of_instructions_and_starts_a_server() -> None:
    lines = [line for line in fence("dockerfile").splitlines() if line and not line.startswith("#")]
    known = {"FROM", "RUN", "USER", "WORKDIR", "COPY", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL", "CMD"}
    assert lines[0].startswith("FROM ")
    assert {line.split()[0] for line in lines} == known
    assert parses(json.loads(lines[-1].removeprefix("CMD "))) == "serve"


def test_the_line_for_cron_is_a_prune() -> None:
    (command,) = re.findall(r"&& (skelo prune [^`]+)`", PAGE)
    assert parses(shlex.split(command)) == "prune"


def test_every_metric_is_listed() -> None:
    source = (tracked.ROOT / "src" / "openskelo" / "server" / "telemetry" / "metrics.py").read_text("utf-8")
    assert set(re.findall(r'"(openskelo_\w+)"', source)) == set(re.findall(r"`(openskelo_\w+)", PAGE))

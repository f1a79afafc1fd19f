"""The `diff_size` gate: limits how many files and lines a unified diff changes."""

from __future__ import annotations

from openskelo import gates
from openskelo.kernel.json import Json, JsonObject


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port = gates.text(parameters, "port")
    diff = ctx.port(port)
    if not isinstance(diff, str):
        return gates.failed(f"{port!r} is not a diff")
    files, lines = measure(diff)
    evidence: dict[str, Json] = {"files": files, "lines": lines}
    for count, key, noun in ((files, "max_files", "files"), (lines, "max_lines", "lines")):
        limit = parameters.get(key)
        if isinstance(limit, int) and count > limit:
            return gates.failed(f"the diff changes {count} {noun}, more than {limit}", evidence)
    return gates.passed(evidence)


def measure(diff: str) -> tuple[int, int]:
    """Return how many files a unified diff names, and how many lines it adds or removes."""
    files = lines = 0
    in_hunk = False
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            files += 1
            in_hunk = False
        elif line.startswith("@@"):
            in_hunk = True
        elif in_hunk and line.startswith(("+", "-")):
            lines += 1
    return files, lines


GATE = gates.Gate(
    name="diff_size",
    summary="A unified diff changes at most `max_files` files and `max_lines` lines.",
    parameters={
        "port": gates.port_parameter("a unified diff, such as `diff` of an agent"),
        "max_files": gates.integer_parameter("how many files it may name", 0, 1_000_000),
        "max_lines": gates.integer_parameter("how many lines it may add or remove, together", 0, 100_000_000),
    },
    check=_check,
    any_of=("max_files", "max_lines"),
)

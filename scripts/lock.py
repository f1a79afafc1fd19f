"""Write requirements/*.lock from pyproject.toml: exact versions with hashes for every platform, and no address.

`runtime.lock` is what a plain install needs; `dev.lock` adds the tools of the `dev` group, at the same versions.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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
    """Write both locks; `--upgrade` takes newer versions than the ones locked now. Gives the exit code."""
    upgrade = ["--upgrade"] if "--upgrade" in arguments else []
    _compile("requirements/runtime.lock", *upgrade)
    _compile("requirements/dev.lock", "--group=dev", "--constraint=requirements/runtime.lock", *upgrade)
    return 0


def _compile(output: str, *extra: str) -> None:
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "pyproject.toml",
        *OPTIONS,
        f"--output-file={output}",
        *extra,
    ]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

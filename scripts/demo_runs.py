"""Run the demo's workflow once for each of twenty topics with the embedded model, and check each file that it writes.

    make demo-runs ARGS="[--runs N] [--keep FOLDER]"

A file must have a title, three sections of at least 40 words and two picture captions; no heading, sentence or caption
may occur twice; and a run must end within a minute, as a user's clock shows it. So let it run on a machine that does
nothing else. Prints a line for each run, with its time. Exits with 1 if a run or a file is not as it should be.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKELO = Path(sys.executable).parent / "skelo"
MAX_SECONDS = 60
MIN_WORDS = 40
TOPICS = (
    "bees in the city",
    "how bread rises",
    "the history of the bicycle",
    "volcanoes",
    "learning to swim as an adult",
    "why cats purr",
    "coffee",
    "working from home",
    "the moon",
    "open source software",
    "growing tomatoes on a balcony",
    "sleep",
    "chess for beginners",
    "the Roman army",
    "electric cars",
    "rain",
    "how to write a good letter",
    "solar power",
    "whales",
    "the invention of paper",
)


def faults(text: str) -> list[str]:
    """Return what is wrong with an article; empty if it is as it should be."""
    lines = [line for line in text.splitlines() if line.strip()]
    titles = [line for line in lines if line.startswith("# ")]
    headings = [line for line in lines if line.startswith("## ")]
    captions = [line for line in lines if line.startswith("*Picture: ")]
    plain = [line for line in lines if not line.startswith(("#", "*"))]
    sections = re.split(r"^## .*$", text, flags=re.MULTILINE)[1:]
    words = [len(re.sub(r"^\*.*$", "", section, flags=re.MULTILINE).split()) for section in sections]
    pieces = [*titles, *headings, *captions, *(piece for line in plain for piece in re.split(r"(?<=[.])\s+", line))]
    repeated = sorted({piece for piece in pieces if pieces.count(piece) > 1})
    checks = {
        f"{len(titles)} titles": len(titles) == 1,
        f"{len(sections)} sections": len(sections) >= 3,
        f"sections of {words} words": all(count >= MIN_WORDS for count in words),
        f"{len(captions)} captions": len(captions) == 2,
        f"repeated: {repeated}": not repeated,
        "a marker of the prompt": "<data" not in text,
    }
    return [fault for fault, holds in checks.items() if not holds]


def run_demo(project: Path, topic: str) -> tuple[list[str], float, str]:
    """Run the workflow once. Return what is wrong, how many seconds it took, and the file's text."""
    started = time.monotonic()
    done = subprocess.run(
        [SKELO, "run", "content-pipeline.yaml", "--input", f"topic={topic}"],
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - started
    if done.returncode:
        return [f"exit code {done.returncode}: {' '.join(done.stderr.split()[-30:])}"], seconds, ""
    shown = subprocess.run(
        [SKELO, "output", "last", "file_path"], cwd=project, capture_output=True, text=True, check=True
    )
    text = Path(shown.stdout.strip()).read_text("utf-8")
    problems = faults(text)
    if seconds > MAX_SECONDS:
        problems.append(f"more than {MAX_SECONDS} s")
    return problems, seconds, text


def main() -> int:
    """Run and check the demo as often as asked. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=len(TOPICS))
    parser.add_argument("--keep", type=Path, help="a folder for the articles")
    args = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "content-pipeline"
        ignored = shutil.ignore_patterns(".skelo", "out")
        shutil.copytree(ROOT / "examples" / "content-pipeline", project, ignore=ignored)
        for number in range(args.runs):
            topic = TOPICS[number % len(TOPICS)]
            problems, seconds, text = run_demo(project, topic)
            bad += bool(problems)
            print(f"{number + 1:3} {seconds:6.1f} s  {topic}: {'; '.join(problems) or 'ok'}", flush=True)
            if args.keep is not None and text:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{number + 1:02}.md").write_text(text, "utf-8")
    print(f"{args.runs - bad} of {args.runs} runs are as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

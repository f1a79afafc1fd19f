"""Run the demo's workflow once for each of twenty topics with the embedded model, and check each file that it writes.

    make demo-runs ARGS="[--runs N] [--topic TEXT]... [--keep FOLDER]"

A file must have a title, three sections of at least 40 words and two picture captions; no heading, sentence or caption
may occur twice, and all of them are answers of the model, which receipts prove. A run must end within a minute, as a
user's clock shows it. So let it run on a machine that does nothing else. When every topic has had its run, the topics
begin again, and the model gets another seed. Prints a line for each run, with its time. Exits with 1 if a run or a file
is not as it should be.
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

import orjson

from openskelo.values import canonical

ROOT = Path(__file__).resolve().parent.parent
SKELO = Path(sys.executable).parent / "skelo"
MAX_SECONDS = 60
MIN_WORDS = 40
SETTINGS = "providers: {{ local: {{ kind: local }} }}\nexperts: {{ default: {{ provider: local, seed: {} }} }}\n"
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


def said_by_the_model(project: Path) -> set[str]:
    """Return the texts that the model answered in the last run; raise ValueError if its receipts do not prove them."""
    shown, listed = (
        orjson.loads(subprocess.run([SKELO, *words], cwd=project, capture_output=True, check=True).stdout)
        for words in (("show", "last", "--json"), ("receipts", "last", "--json"))
    )
    outputs = {key: shown["nodes"][key]["outputs"] for key in ("outline", "images", "edit", "draft")}
    draft = outputs.pop("draft")
    visit = shown["nodes"]["draft"]["visits"]
    proven = {
        (receipt["step_id"], receipt.get("item")): receipt["output_hash"]
        for receipt in listed["receipts"]
        if receipt["status"] == "succeeded" and (receipt["step_id"] != "draft" or receipt["visit"] == visit)
    }
    answers = {(key, None): values for key, values in outputs.items()}
    parts = range(len(next(iter(draft.values()))))
    answers |= {("draft", part): {name: texts[part] for name, texts in draft.items()} for part in parts}
    for place, values in answers.items():
        if proven.get(place) != canonical.digest(values):
            raise ValueError(f"no receipt proves the answer of {place}")
    return {text for values in answers.values() for text in values.values()}


def sentences(article: str) -> list[str]:
    """Return the title, the headings, the captions and each sentence of an article."""
    lines = [line.removeprefix("*Picture: ").strip("#* ") for line in article.splitlines()]
    return [sentence for line in lines for sentence in re.split(r"(?<=[.]) ", line) if sentence]


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
    foreign = sorted(set(sentences(text)) - said_by_the_model(project))
    if foreign:
        problems.append(f"not the model's: {foreign}")
    if seconds > MAX_SECONDS:
        problems.append(f"more than {MAX_SECONDS} s")
    return problems, seconds, text


def main() -> int:
    """Run and check the demo as often as asked. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=len(TOPICS))
    parser.add_argument("--topic", action="append", dest="topics", help="instead of the twenty; may be given again")
    parser.add_argument("--keep", type=Path, help="a folder for the articles")
    args = parser.parse_args()
    topics = args.topics or TOPICS
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "content-pipeline"
        ignored = shutil.ignore_patterns(".skelo", "out")
        shutil.copytree(ROOT / "examples" / "content-pipeline", project, ignore=ignored)
        for number in range(args.runs):
            seed, place = divmod(number, len(topics))
            topic = topics[place]
            (project / "skelo.yaml").write_text(SETTINGS.format(seed), "utf-8")
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

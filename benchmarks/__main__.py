"""`python -m benchmarks`: measure everything, print it against its bars, exit 1 when one is missed."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import orjson

from benchmarks import (
    agents,
    chain,
    constrained,
    engine,
    fanout,
    gateway,
    growth,
    measure,
    models,
    page,
    payload,
    report,
    resume,
    runs,
    server,
    startup,
    stream,
    syncs,
    windmill,
)

#: On the file system of the source tree: /tmp may be in memory, where a sync costs nothing.
FOLDER = Path(__file__).resolve().parent.parent / ".bench"

BENCHMARKS: Mapping[str, Callable[[measure.Plan], Iterator[report.Figure]]] = {
    "chain": chain.figures,
    "payload": payload.figures,
    "peers": payload.figures_against_peers,
    "syncs": syncs.figures,
    "engine": engine.figures,
    "fanout": fanout.figures,
    "runs": runs.figures,
    "sustained": runs.sustained_figures,
    "growth": growth.figures,
    "resume": resume.figures,
    "windmill": windmill.figures,
    "startup": startup.figures,
    "stream": stream.figures,
    "server": server.figures,
    "page": page.figures,
    "models": models.figures,
    "constrained": constrained.figures,
    "gateway": gateway.figures,
    "agents": agents.figures,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the chosen benchmarks."""
    args = _parser().parse_args(argv)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        plan = measure.Plan(folder=Path(folder), rounds=1 if args.quick else args.rounds, quick=args.quick)
        found = list(_measured(args.only or BENCHMARKS, plan))
    if args.json:
        print(orjson.dumps(report.document(found, quick=args.quick), option=orjson.OPT_INDENT_2).decode())
    else:
        print("\n".join(report.lines(found)))
    return 1 if report.missed(found) else 0


def _measured(names: Iterable[str], plan: measure.Plan) -> Iterator[report.Figure]:
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            for figure in BENCHMARKS[name](plan):
                yield report.unjudged(figure) if plan.quick else figure
        except Exception as error:  # what was measured before, and what comes after, is reported all the same
            yield report.broken(name, error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="may be given several times")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds of each figure (default: 5)")
    parser.add_argument("--quick", action="store_true", help="see that everything runs; the figures mean nothing")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser


if __name__ == "__main__":
    sys.exit(main())

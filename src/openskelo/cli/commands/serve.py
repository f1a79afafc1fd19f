"""`skelo serve`: the contract over HTTP for this data dir, and a process that keeps its runs going."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from openskelo import errors
from openskelo.cli import exits, identity, output, place
from openskelo.executors import task

_TOKEN = "SKELO_TOKEN"  # noqa: S105 - the name of a variable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1, this machine only)")
    parser.add_argument("--port", metavar="N", type=int, default=7788, help="0 takes a free one (default: 7788)")
    parser.add_argument(
        "--origin",
        metavar="URL",
        action="append",
        default=[],
        help="a public address under which a proxy makes this server reachable (repeatable)",
    )
    parser.add_argument(
        "--token", metavar="TOKEN", help=f"a token that may do everything; better in {_TOKEN}, where no `ps` shows it"
    )
    parser.add_argument("--require-token", action="store_true", help="demand a token on this machine, too")
    parser.add_argument(
        "--processes",
        metavar="N",
        type=int,
        default=1,
        help="so many processes drive runs (default: 1, the server's own)",
    )
    parser.add_argument("--log", choices=("text", "json"), default="text", help="how to log to stderr (default: text)")
    parser.epilog = (
        "Beyond this machine (--host, --origin) everybody needs a token: `skelo token add NAME`. "
        "Stopping the server (SIGTERM, Ctrl-C) suspends what it drives; the next one goes on with it."
    )


def run(args: argparse.Namespace) -> int:
    if not 0 <= args.port <= 65535:
        raise errors.InvalidInput("--port is between 0 and 65535", code="USAGE")
    where = place.of_args(args)
    return asyncio.run(_serve(args, where))


async def _serve(args: argparse.Namespace, where: task.Project) -> int:
    from openskelo.engine import local  # noqa: PLC0415 - after the arguments are known to be good
    from openskelo.engine.fleet import mates  # noqa: PLC0415
    from openskelo.server import app, logs, serving, settings, tokens  # noqa: PLC0415

    logs.configure(args.log, where.secrets)
    given = args.token or os.environ.pop(_TOKEN, None)
    setup = settings.Settings(
        tokens=tokens.Tokens(where.data_dir / "tokens.json", given=given),
        host=args.host,
        port=args.port,
        origins=tuple(args.origin),
        demand_token=args.require_token or given is not None,
        user=identity.user(),
    )
    settings.check(setup)
    mates.check(args.processes, where, None, None)  # before there is a data dir
    listening = serving.listen(args.host, args.port)
    with listening:
        store = place.make_log(where, timed=True)
        async with await local.Engine.open(where, store=store, processes=args.processes) as engine:
            made = app.create(engine, setup)

            def ready() -> None:
                url = serving.address(listening)
                if args.json:
                    output.document({"url": url, "dataDir": str(where.data_dir), "tokenRequired": not setup.is_open})
                    sys.stdout.flush()
                else:
                    output.note(f"serving {where.data_dir} at {url}")
                    if setup.is_open:
                        output.note("everybody on this machine may come in; --require-token demands a token")

            await serving.serve(made, listening, ready=ready)
    return exits.COMPLETED

"""`skelo serve`: serve the HTTP API and the dashboard of this data dir, and drive its runs.

Every client needs a token. A server without tokens makes one for as long as it runs, and prints a link with it
that logs a browser in.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING

from openskelo import errors
from openskelo.cli import exit_codes, output, project_context, service_log
from openskelo.project import Project

if TYPE_CHECKING:
    from openskelo.server import settings as server_settings

_TOKEN = "SKELO_TOKEN"  # noqa: S105 - the name of a variable
_LOG = logging.getLogger("openskelo.server")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--port", metavar="N", type=int, default=7788, help="0 picks a free port (default: 7788)")
    parser.add_argument(
        "--origin",
        metavar="URL",
        action="append",
        default=[],
        help="a public URL under which a proxy serves this server (repeatable)",
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a further host name by which clients reach this server, such as a service name (repeatable)",
    )
    parser.add_argument(
        "--trust-proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="a proxy (or a network of them) whose X-Forwarded-For says which client asks (repeatable)",
    )
    parser.add_argument(
        "--token", metavar="TOKEN", help=f"a token with all rights; safer in {_TOKEN}, where `ps` does not show it"
    )
    parser.add_argument(
        "--no-token", action="store_true", help="let every user and program of this machine do everything"
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=int,
        default=1,
        help="how many processes drive runs: the server and N - 1 workers (default: 1)",
    )
    service_log.add_option(parser)
    parser.add_argument("--access-log", action="store_true", help="also log every request")
    parser.epilog = (
        "Without a token the server makes one and prints a link that logs a browser in; programs send "
        "`Authorization: Bearer TOKEN`. Clients on other machines (--host, --origin) need a token of their own: "
        "`skelo token add NAME`. "
        "Stopping the server (SIGTERM, Ctrl-C) suspends its runs; the next server continues them."
    )


def run(args: argparse.Namespace) -> int:
    if not 0 <= args.port <= 65535:
        raise errors.InvalidInput("--port must be between 0 and 65535", code="USAGE")
    if args.processes < 1:
        raise errors.InvalidInput("--processes must be at least 1", code="USAGE")
    return service_log.run(args, lambda: asyncio.run(_serve(args, project_context.from_args(args))))


async def _serve(args: argparse.Namespace, where: Project) -> int:
    from openskelo.engine import api as engine_api  # noqa: PLC0415 - after the arguments are known to be good
    from openskelo.server import app, serving  # noqa: PLC0415
    from openskelo.server.telemetry import logs  # noqa: PLC0415

    logs.configure(args.log, where.secrets)
    setup, made_token = _settings(args, where)
    listening = serving.listen(args.host, args.port)
    with listening:
        store = project_context.open_store(where)
        async with engine_api.open_engine(where, store=store, share_runs=args.processes > 1) as engine:
            workers = serving.WorkerProcesses(where, args.processes - 1, log_format=args.log)
            application = app.create(engine, setup, workers)

            def ready() -> None:
                _report_ready(args, where, serving.address(listening), setup, made_token)

            await serving.serve(application, listening, ready=ready)
    return exit_codes.COMPLETED


def _settings(args: argparse.Namespace, where: Project) -> tuple[server_settings.Settings, str | None]:
    """Return the settings, and the new token if the data dir had no token, else None."""
    from openskelo.server import settings  # noqa: PLC0415
    from openskelo.server.auth import tokens  # noqa: PLC0415
    from openskelo.structs import replace  # noqa: PLC0415

    token = args.token or os.environ.pop(_TOKEN, None)
    if token is not None and args.no_token:
        raise errors.InvalidInput(f"--no-token contradicts --token and {_TOKEN}", code="USAGE")
    path = where.data_dir / "tokens.json"
    user = project_context.current_user()
    setup = settings.Settings(
        tokens=tokens.Tokens(path, extra=token),
        host=args.host,
        port=args.port,
        origins=tuple(args.origin),
        allowed_hosts=tuple(args.allow_host),
        trusted_proxies=tuple(args.trust_proxy),
        without_token=args.no_token,
        user=user,
        access_log=args.access_log,
    )
    made_token = None
    if setup.is_local and not setup.without_token and not setup.tokens.exist():
        made_token = tokens.generate()
        setup = replace(setup, tokens=tokens.Tokens(path, extra=made_token, owner=user))
    settings.check(setup)
    return setup, made_token


def _report_ready(
    args: argparse.Namespace, where: Project, url: str, setup: server_settings.Settings, made_token: str | None
) -> None:
    """Print where the server is and how to log in: as a document, as lines for people, or as lines of the JSON log."""
    from openskelo.server import pages  # noqa: PLC0415

    if setup.without_token:
        _LOG.warning("every user and program of this machine can do everything here (--no-token)")
    link = None if made_token is None else pages.login_link(url, made_token)
    if args.json:
        output.document(
            {
                "url": url,
                "dataDir": str(where.data_dir),
                "tokenRequired": not setup.without_token,
                "token": made_token,
                "link": link,
            }
        )
        sys.stdout.flush()
        return
    service_log.note(args, f"serving {where.data_dir} at {url}")
    if link is not None:
        service_log.note(args, f"log in with this link: {link}")
    elif not setup.without_token:
        service_log.note(args, f"log in at {url}/login with a token; `skelo token add NAME` creates one")

"""`skelo worker`: drive the runs of a data dir that no other process drives, and serve no HTTP.

A worker is an engine with a supervisor (`engine/takeover/supervisor.py`). It shares the runs of the data dir with
servers, terminals and other workers through the store: each run has one driver at a time, the process that claims it.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

from openskelo.cli import exit_codes, output, project_context, service_log
from openskelo.project import Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    service_log.add_option(parser)
    parser.epilog = (
        "Drives runs whose process has ended, runs that a server left to its workers, and runs with a new answer. "
        "Stopping the worker (SIGTERM, Ctrl-C) suspends its runs; the next worker or server continues them."
    )


def run(args: argparse.Namespace) -> int:
    return service_log.run(args, lambda: asyncio.run(_work(args, project_context.from_args(args))))


async def _work(args: argparse.Namespace, project: Project) -> int:
    from openskelo.engine import api  # noqa: PLC0415 - after the arguments are known to be good
    from openskelo.server.telemetry import logs  # noqa: PLC0415

    logs.configure(args.log, project.secrets)
    stop_event = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_event.set)
    async with api.open_engine(project, store=project_context.open_store(project)) as engine:
        supervisor = engine.supervisor()
        await supervisor.start()
        try:
            _report_ready(args, project)
            await stop_event.wait()
        finally:
            await supervisor.stop()
    return exit_codes.COMPLETED


def _report_ready(args: argparse.Namespace, project: Project) -> None:
    if args.json:
        output.document({"dataDir": str(project.data_dir)})
        sys.stdout.flush()
    else:
        service_log.note(args, f"driving the runs of {project.data_dir}")

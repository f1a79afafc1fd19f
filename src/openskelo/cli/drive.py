"""Driving a run from a terminal or a script: show it, ask what it asks, stop when told, print what became of it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Mapping

from openskelo import errors
from openskelo.cli import answering, exits, identity, interrupts, output, render, terminal, view
from openskelo.engine import local
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject


async def to_end(
    engine: local.Engine, run_id: str, args: argparse.Namespace, nodes: Mapping[str, definition.Node]
) -> int:
    """Follow a run until it ends or waits for somebody who is not here; print its document; give its exit code."""
    try:
        with interrupts.Interrupts() as stop:
            document = await _watched(engine, run_id, args, nodes, stop)
    except interrupts.Interrupted:
        document = await engine.show(run_id)
    if args.json:
        output.document(document)
    else:
        render.result(document)
        if document.get("ending") is None:
            output.note(f"go on with: skelo resume {run_id}")
    return exits.of_run(document)


async def _watched(
    engine: local.Engine,
    run_id: str,
    args: argparse.Namespace,
    nodes: Mapping[str, definition.Node],
    stop: interrupts.Interrupts,
) -> JsonObject:
    async with _showing(engine, run_id, _view(args, nodes)) as shown:
        try:
            return await _answered(engine, run_id, shown, stop, interactive=terminal.is_interactive(as_json=args.json))
        except interrupts.Interrupted:
            shown.pause()
            return await _suspended(engine, run_id, stop)


async def _answered(
    engine: local.Engine, run_id: str, shown: view.View, stop: interrupts.Interrupts, *, interactive: bool
) -> JsonObject:
    """Wait for the run, and put its questions to the person here until none is left that this person may answer."""
    lines = terminal.Lines()
    while True:
        document = await stop.until(engine.wait(run_id))
        approvals = answering.open_questions(document)
        if not interactive or document.get("ending") is not None or not approvals:
            return document
        shown.pause()
        try:
            answer = await stop.until(answering.ask(lines, approvals[0]))
        except EOFError:
            return document
        if answer is None:
            return document
        try:
            await engine.answer(
                str(approvals[0]["id"]),
                status=answer.status,
                values=answer.values,
                reason=answer.reason,
                by=identity.user(),
            )
        except (errors.Refused, errors.InvalidInput, errors.NotFound) as error:
            output.report(error, as_json=False)
        shown.go_on()


async def _suspended(engine: local.Engine, run_id: str, stop: interrupts.Interrupts) -> JsonObject:
    output.note("suspending; Ctrl-C again cancels the run")
    try:
        await stop.until(engine.suspend())
    except interrupts.Interrupted:
        output.note("cancelling")
        await engine.cancel(run_id, by=identity.user(), reason="interrupted")
    return await engine.show(run_id)


@contextlib.asynccontextmanager
async def _showing(engine: local.Engine, run_id: str, shown: view.View) -> AsyncGenerator[view.View]:
    """Feed the run's events to the view in the background."""

    async def feed() -> None:
        async for envelope in engine.follow(run_id):
            shown.show(envelope)

    task = asyncio.ensure_future(feed())
    try:
        yield shown
        await asyncio.sleep(0)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        shown.close()


def _view(args: argparse.Namespace, nodes: Mapping[str, definition.Node]) -> view.View:
    if args.quiet:
        return view.Silent()
    if sys.stderr.isatty() and not args.json:
        from openskelo.cli import live  # noqa: PLC0415 - rich is slow to import and for terminals only

        return live.Live(nodes)
    return view.Plain()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of every command that drives a run."""
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")

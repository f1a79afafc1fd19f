"""Driving a run from a terminal or a script: show it, ask what it asks, stop when told, print what became of it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Coroutine

from openskelo import errors
from openskelo.cli import (
    answering,
    exits,
    identity,
    interrupts,
    members,
    output,
    place,
    render,
    suggested,
    terminal,
    view,
)
from openskelo.engine import local
from openskelo.executors import task
from openskelo.kernel.json import JsonObject

#: After a suspension a second Ctrl-C is still taken for so long.
_SECOND_CHANCE = 0.7
#: So many lines of one attempt's log are shown.
_LOG_LINES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of every command that drives a run."""
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def cache_argument(parser: argparse.ArgumentParser, *, begins: bool = False) -> None:
    """The option of those that drive runs of blocks, which may be cached; who `begins` a run puts it into its log."""
    lasting = "to the run's end" if begins else "as long as this command drives the run"
    parser.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        help=f"do the work of blocks with `cache: true`, too, {lasting}",
    )


@contextlib.asynccontextmanager
async def engine_at(where: task.Project, *, cache: bool = True) -> AsyncGenerator[local.Engine]:
    """An engine over a data dir that has runs already (NotFound when it has none)."""
    engine = await local.Engine.open(where, store=place.open_log(where), cache=cache)
    async with engine:
        yield engine


async def to_end(engine: local.Engine, run_id: str, args: argparse.Namespace, *, after: int = 0) -> int:
    """Follow a run until it ends or waits for somebody who is not here; print its document; give its exit code.

    Events up to seq `after` are old news and not shown.
    """
    with interrupts.Interrupts() as stop:
        document = await _watched(engine, run_id, args, stop, after)
    if args.json:
        output.document(document)
    else:
        typed = suggested.Suggested(engine.project)
        render.result(document, typed)
        if document.get("ending") is None and not members.list_at(document, "approvals"):
            output.note(f"go on with: {typed(f'skelo resume {run_id}')}")
    return exits.of_run(document)


async def head(engine: local.Engine, run_id: str) -> int:
    """The seq of the run's last event so far."""
    seq = 0
    async for lines in engine.store.read(run_id):
        seq += len(lines)
    return seq


async def _watched(
    engine: local.Engine, run_id: str, args: argparse.Namespace, stop: interrupts.Interrupts, after: int
) -> JsonObject:
    async with _showing(engine, run_id, args, after) as shown:
        try:
            return await _answered(engine, run_id, shown, stop, interactive=terminal.is_interactive(as_json=args.json))
        except interrupts.Interrupted as interruption:
            shown.pause()
            return await suspended(engine, run_id, stop, patient=not interruption.hurried)


async def _answered(
    engine: local.Engine, run_id: str, shown: view.View, stop: interrupts.Interrupts, *, interactive: bool
) -> JsonObject:
    """Wait for the run, and put its questions to the person here until none is left, or they are left for later."""
    lines = terminal.Lines()
    while True:
        document = await stop.until(engine.wait(run_id))
        approvals = [asked for asked in members.objects_at(document, "approvals") if answering.may_answer(asked)]
        if not interactive or document.get("ending") is not None or not approvals:
            return document
        shown.pause()
        approval_id = str(approvals[0]["id"])
        gone = _gone(engine, run_id, approval_id)
        try:
            answer = await stop.until(_first(answering.ask(lines, approvals[0]), gone))
        except EOFError:
            return document
        except interrupts.Interrupted:
            output.note()  # the question has left its line open
            raise
        except _Overtaken:
            output.note("\nthis was answered elsewhere or is no longer asked")
        else:
            if answer is None:
                return document
            await _give(engine, approval_id, answer)
        shown.go_on()


class _Overtaken(Exception):
    """The question was answered or withdrawn while the person here thought about it."""


async def _gone(engine: local.Engine, run_id: str, approval_id: str) -> None:
    """Wait until the approval is no longer open."""
    async for envelope in engine.follow(run_id, after=await head(engine, run_id)):
        closing = envelope["type"] in ("approval.resolved", "approval.withdrawn")
        if closing and members.object_at(envelope, "data").get("approvalId") == approval_id:
            return


async def _first(
    asking: Coroutine[object, object, answering.Answer | None], gone: Coroutine[object, object, None]
) -> answering.Answer | None:
    """The answer; _Overtaken when the question goes away first."""
    tasks = (asyncio.ensure_future(asking), asyncio.ensure_future(gone))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            return tasks[0].result()
        raise _Overtaken
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _give(engine: local.Engine, approval_id: str, answer: answering.Answer) -> None:
    """Hand the answer in; what is wrong with it is said, and the question stands."""
    try:
        await engine.answer(
            approval_id, status=answer.status, values=answer.values, reason=answer.reason, by=identity.user()
        )
    except (errors.Refused, errors.InvalidInput, errors.NotFound) as error:
        output.report(error, as_json=False)


async def suspended(engine: local.Engine, run_id: str, stop: interrupts.Interrupts, *, patient: bool) -> JsonObject:
    """The document of a run that is put down after a Ctrl-C, or, after a second one, cancelled."""
    output.note("suspending the run; Ctrl-C again cancels it")
    try:
        await stop.until(engine.suspend(by=identity.user()))
        if patient and (await engine.show(run_id)).get("ending") is None:
            await stop.until(asyncio.sleep(_SECOND_CHANCE))
    except interrupts.Interrupted:
        output.note("cancelling the run")
        with contextlib.suppress(errors.Refused):  # its last step has ended it meanwhile
            await engine.cancel(run_id, by=identity.user(), reason="interrupted")
        return await engine.wait(run_id)
    return await engine.show(run_id)


@contextlib.asynccontextmanager
async def _showing(engine: local.Engine, run_id: str, args: argparse.Namespace, seen: int) -> AsyncGenerator[view.View]:
    """Feed the run's events to the view in the background, and at the end whatever it has not seen yet."""
    shown = await _view(engine, run_id, args)

    def hear(of: task.Task, text: str) -> None:
        if of.run_id == run_id:
            shown.hear(of.node.key, text)

    async def feed(*, until_end: bool) -> None:
        nonlocal seen
        async for envelope in engine.follow(run_id, after=seen, until_end=until_end):
            seen = int(str(envelope["seq"]))
            shown.show(envelope)
            if envelope["type"] == "artifact.created":
                await _show_log(engine, envelope, shown)

    stop = engine.overhear(hear)
    feeding = asyncio.ensure_future(asyncio.sleep(0) if args.quiet else feed(until_end=True))
    try:
        yield shown
    finally:
        stop()
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        try:
            if not args.quiet:
                await feed(until_end=False)
        finally:
            shown.close()


async def _show_log(engine: local.Engine, envelope: JsonObject, shown: view.View) -> None:
    """Show the last lines of a log that an attempt left."""
    data = members.object_at(envelope, "data")
    artifact = members.object_at(data, "artifact")
    if artifact.get("kind") != "log":
        return
    lines = (await engine.store.blob(str(artifact["hash"]))).decode(errors="replace").splitlines()
    left_out = [f"({len(lines) - _LOG_LINES} lines before)"] if len(lines) > _LOG_LINES else []
    shown.log(str(data.get("node")), [*left_out, *lines[-_LOG_LINES:]])


async def _view(engine: local.Engine, run_id: str, args: argparse.Namespace) -> view.View:
    if args.quiet:
        return view.Silent()
    if not sys.stderr.isatty() or args.json or os.environ.get("TERM") == "dumb":
        return view.Plain()
    from openskelo.cli import live  # noqa: PLC0415 - rich is slow to import and for terminals only

    return live.Live(members.object_at(await engine.show(run_id), "nodes"))

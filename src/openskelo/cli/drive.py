"""Drives a run from a terminal or a script: shows its events, asks its approvals, and prints its document.

Three things go on side by side: the view follows the run's events, the command waits for the run, and signals may
arrive. On a terminal an open approval pauses the view and is asked here; if another process answers it first, the
question is dropped. The first Ctrl-C (or SIGTERM) suspends the run, a second one cancels it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeVar

from openskelo import errors
from openskelo.cli import exit_codes, inputs, json_fields, output, project_context, render, run_view
from openskelo.engine import api as engine_api
from openskelo.executors.attempt import running_attempt
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.structs import frozen

if TYPE_CHECKING:
    from openskelo.history.run_document import ApprovalDocument, RunDocument

T = TypeVar("T")


class Interrupted(Exception):
    """Raised when a signal ends a wait; `hurried` if it was SIGTERM, after which no second signal is awaited."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.hurried = number == signal.SIGTERM


class Interrupts:
    """Handles SIGINT and SIGTERM while it is open, so that a wait ends when one arrives."""

    def __init__(self) -> None:
        self._arrived: asyncio.Queue[int] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._arrived.put_nowait, number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.remove_signal_handler(number)

    async def until(self, work: Coroutine[object, object, T]) -> T:
        """Return the result of `work`. Raise Interrupted if a signal arrives first, after cancelling `work`."""
        task = asyncio.ensure_future(work)
        next_signal = asyncio.ensure_future(self._arrived.get())
        try:
            await asyncio.wait({task, next_signal}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return await task
            raise Interrupted(next_signal.result())
        finally:
            for waiting in (task, next_signal):
                waiting.cancel()
            await asyncio.gather(task, next_signal, return_exceptions=True)


#: Seconds to wait for a second Ctrl-C after a suspension.
_SECOND_CTRL_C_SECONDS = 0.7
#: How many lines of an attempt's log are shown.
_LOG_LINES = 20
#: Of a foreach, the logs of this many items are shown, each with at most this many lines.
_ITEM_LOGS = 10
_ITEM_LOG_LINES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that drives a run."""
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def add_cache_argument(parser: argparse.ArgumentParser, *, starts: bool = False) -> None:
    """Add --no-cache. A command that `starts` a run writes it into the log, so that it lasts to the end of the run."""
    lasting = "to the run's end" if starts else "as long as this command drives the run"
    parser.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        help=f"run blocks with `cache: true` again instead of using the cache, {lasting}",
    )


@contextlib.asynccontextmanager
async def engine_at(where: Project, *, cache: bool = True) -> AsyncGenerator[engine_api.Engine]:
    """Open an engine over an existing data dir. Raise NotFound if it has no runs."""
    store = project_context.open_existing_store(where)
    async with engine_api.open_engine(where, store=store, cache=cache) as engine:
        yield engine


async def command_hint(engine: engine_api.Engine, document: RunDocument) -> project_context.CommandHint:
    """Return what writes the suggested commands about the document's run, with the shortest ids that name it."""
    return project_context.CommandHint(engine.project, await engine.history.short_ids(document))


async def follow_to_end(engine: engine_api.Engine, run_id: str, args: argparse.Namespace, *, after: int = 0) -> int:
    """Follow a run until it ends or waits for another person; print its document; return its exit code.

    Events up to seq `after` are not shown.
    """
    with Interrupts() as stop:
        document = await _watch(engine, run_id, args, stop, after)
    if args.json:
        output.document(document)
    else:
        write_command = await command_hint(engine, document)
        render.result(document, write_command)
        if document["ending"] is None and not document["approvals"]:
            output.note(f"continue with: {write_command(f'skelo resume {run_id}')}")
    return exit_codes.of_run(document)


async def last_seq(engine: engine_api.Engine, run_id: str) -> int:
    """Return the seq of the run's last event so far."""
    return await engine.history.last_seq(run_id)


async def _watch(
    engine: engine_api.Engine, run_id: str, args: argparse.Namespace, stop: Interrupts, after: int
) -> RunDocument:
    async with _show_events(engine, run_id, args, after) as view:
        try:
            return await _answer_approvals(
                engine, run_id, view, stop, interactive=inputs.is_interactive(as_json=args.json)
            )
        except Interrupted as interruption:
            view.pause()
            return await suspend(engine, run_id, stop, wait_for_second=not interruption.hurried)


async def _answer_approvals(
    engine: engine_api.Engine, run_id: str, view: run_view.View, stop: Interrupts, *, interactive: bool
) -> RunDocument:
    """Wait for the run and ask its approvals on the terminal, until none is open or the user leaves one for later."""
    lines = inputs.Lines()
    while True:
        document = await stop.until(engine.wait(run_id))
        approvals = list(filter(_may_answer, document["approvals"]))
        if not interactive or document["ending"] is not None or not approvals:
            return document
        view.pause()
        try:
            is_answered = await stop.until(ask_one(engine, run_id, lines, approvals[0]))
        except Interrupted:
            output.note()  # end the line of the question
            raise
        if not is_answered:
            return document
        view.resume()


async def ask_one(engine: engine_api.Engine, run_id: str, lines: inputs.Lines, approval: ApprovalDocument) -> bool:
    """Ask the user about an open approval and send the answer; False if the user leaves it for later."""
    approval_id = approval["id"]
    write_command = await command_hint(engine, await engine.show(run_id))
    closing = _wait_until_closed(engine, run_id, approval_id)
    try:
        answer = await _answer_unless_closed(_ask_approval(lines, approval, write_command), closing)
    except EOFError:
        return False
    except _ApprovalClosed:
        output.note("\nthis was answered elsewhere or is no longer asked")
        return True
    if answer is not None:
        await _send_answer(engine, approval_id, answer)
    return answer is not None


class _ApprovalClosed(Exception):
    """Raised when an approval was answered elsewhere or withdrawn while the user was asked."""


async def _wait_until_closed(engine: engine_api.Engine, run_id: str, approval_id: str) -> None:
    """Wait until the approval is no longer open."""
    async for envelope in engine.follow(run_id, after=await last_seq(engine, run_id)):
        closing = envelope["type"] in ("approval.resolved", "approval.withdrawn")
        if closing and json_fields.object_at(envelope, "data").get("approvalId") == approval_id:
            return


async def _answer_unless_closed(
    asking: Coroutine[object, object, _Answer | None], closed: Coroutine[object, object, None]
) -> _Answer | None:
    """Return the answer. Raise _ApprovalClosed if the approval is closed first."""
    tasks = (asyncio.ensure_future(asking), asyncio.ensure_future(closed))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            return tasks[0].result()
        raise _ApprovalClosed
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send_answer(engine: engine_api.Engine, approval_id: str, answer: _Answer) -> None:
    """Send the answer; if it is refused, print why and leave the approval open."""
    try:
        await engine.answer(
            approval_id,
            status=answer.status,
            modified_args=answer.modified_args,
            reason=answer.reason,
            remember=answer.remember,
            by=project_context.current_user(),
        )
    except (errors.Refused, errors.InvalidInput, errors.NotFound) as error:
        output.report(error, as_json=False)


async def suspend(engine: engine_api.Engine, run_id: str, stop: Interrupts, *, wait_for_second: bool) -> RunDocument:
    """Suspend the run, or cancel it if a second signal arrives; return its document."""
    output.note("suspending the run; Ctrl-C again cancels it")
    try:
        await stop.until(engine.suspend(by=project_context.current_user()))
        if wait_for_second and (await engine.show(run_id))["ending"] is None:
            await stop.until(asyncio.sleep(_SECOND_CTRL_C_SECONDS))
    except Interrupted:
        output.note("cancelling the run")
        with contextlib.suppress(errors.Refused):  # the run has ended meanwhile
            await engine.cancel(run_id, by=project_context.current_user(), reason="interrupted")
        return await engine.wait(run_id)
    return await engine.show(run_id)


@contextlib.asynccontextmanager
async def _show_events(
    engine: engine_api.Engine, run_id: str, args: argparse.Namespace, after: int
) -> AsyncGenerator[run_view.View]:
    """Feed the run's events to the view in the background, and at the end the events it has not shown yet."""
    view = await _view(engine, run_id, args)
    item_logs: Counter[str] = Counter()

    def show_text(request: running_attempt.AttemptRequest, text: str) -> None:
        if request.run_id == run_id:
            view.model_text(request.node.key, text)

    async def feed(*, until_end: bool) -> None:
        nonlocal after
        async for envelope in engine.follow(run_id, after=after, until_end=until_end):
            after = int(str(envelope["seq"]))
            view.show(envelope)
            if envelope["type"] == "artifact.created":
                await _show_log(engine, envelope, view, item_logs)

    stop = engine.listen(show_text)
    feeding = asyncio.ensure_future(asyncio.sleep(0) if args.quiet else feed(until_end=True))
    try:
        yield view
    finally:
        stop()
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        try:
            if not args.quiet:
                await feed(until_end=False)
        finally:
            view.close()


async def _show_log(
    engine: engine_api.Engine, envelope: JsonObject, view: run_view.View, item_logs: Counter[str]
) -> None:
    """Show the last lines of an attempt's log; of a foreach only those of its first items, counted by `item_logs`."""
    data = json_fields.object_at(envelope, "data")
    artifact = json_fields.object_at(data, "artifact")
    if artifact.get("kind") != "log":
        return
    node, item, most_lines = str(data.get("node")), data.get("item"), _LOG_LINES
    if item is not None:
        item_logs[node] += 1
        if item_logs[node] > _ITEM_LOGS:
            if item_logs[node] == _ITEM_LOGS + 1:
                run_id = str(envelope["runId"])
                write_command = await command_hint(engine, await engine.show(run_id))
                command = write_command(f"skelo show {run_id} --logs")
                view.log(node, [f"(logs of more items are not shown here: {command})"])
            return
        node, most_lines = f"{node}[{item}]", _ITEM_LOG_LINES
    lines = (await engine.history.read_blob(str(artifact["hash"]))).decode(errors="replace").splitlines()
    left_out = [f"({len(lines) - most_lines} lines before)"] if len(lines) > most_lines else []
    view.log(node, [*left_out, *lines[-most_lines:]])


async def _view(engine: engine_api.Engine, run_id: str, args: argparse.Namespace) -> run_view.View:
    if args.quiet:
        return run_view.Silent()
    if not sys.stderr.isatty() or args.json or os.environ.get("TERM") == "dumb":
        return run_view.Plain()

    return run_view.Live((await engine.show(run_id))["nodes"])


_LATER = {"later": "leave it open and stop here"}
_CHOICES = {
    "approval": {"approve": "say yes", "deny": "say no, with a reason"},
    "uncertain": {
        "again": "do it again",
        "happened": "it did happen: give its outputs",
        "fail": "count it as failed",
    },
    "stalled": {"approve": "go on trying", "deny": "end the run"},
    "call": {
        "approve": "allow it once",
        "turn": "allow calls like it until this turn ends",
        "run": "allow calls like it until the run ends",
        "deny": "say no, with a reason that the agent is told",
    },
}


@frozen
class _Answer:
    """The user's answer to an approval."""

    status: commands.Answer
    modified_args: JsonObject | None = None
    reason: str | None = None
    remember: Literal["turn", "run"] | None = None


def _may_answer(approval: ApprovalDocument) -> bool:
    """True if the current user may answer the approval."""
    return not approval["approvers"] or project_context.current_user() in approval["approvers"]


async def _ask_approval(
    lines: inputs.Lines, approval: ApprovalDocument, write_command: render.WriteCommand
) -> _Answer | None:
    """Show one approval and return the user's answer; None to answer later."""
    paint = output.Painter(sys.stderr).paint
    output.note()
    output.note(f"{paint('?', 'yellow', 'bold')} {paint(output.one_line(approval['node']), 'bold')} asks:")
    output.note(f"  {render.indented(approval['prompt'], 2, stream=sys.stderr)}")
    for line in render.approval_lines(approval, write_command, output.Painter(sys.stderr)):
        output.note(f"  {line}")
    form = approval["form"]
    choices = _choices(approval)
    if json_fields.object_at(form, "properties"):
        choices["modify"] = "say yes with other values"
    match await inputs.choose(lines, "Your answer", choices | _LATER):
        case "approve":
            return await _ask_values(lines, form, render.proposed_values(approval))
        case "again":
            return _Answer(status="approved")
        case ("turn" | "run") as length:
            return _Answer(status="approved", remember=length)
        case "modify":
            values = await inputs.ask_form(lines, form, render.proposed_values(approval))
            return _Answer(status="modified", modified_args=values)
        case "happened":
            return _Answer(status="modified", modified_args=await _ask_outputs(lines, approval))
        case "deny" | "fail":
            return _Answer(status="denied", reason=await _ask_reason(lines))
        case _:
            return None


def _choices(approval: ApprovalDocument) -> dict[str, str]:
    """Return the answers that the approval takes, each with its meaning."""
    args = approval["args"]
    if args.get("question"):
        return dict(_CHOICES["approval"])
    choices = dict(_CHOICES.get(approval["kind"], _CHOICES["approval"]))
    if "rule" not in args:  # then an approval is for this call only
        choices = {word: meaning for word, meaning in choices.items() if word not in ("turn", "run")}
    return choices


async def _ask_reason(lines: inputs.Lines) -> str:
    """Return the reason of a denial, which the record keeps and the next attempt gets."""
    while not (reason := (await lines.ask("  Why: ")).strip()):
        output.note("  a denial needs a reason")
    return reason


async def _ask_values(lines: inputs.Lines, form: JsonObject, proposed: JsonObject) -> _Answer:
    """Return a plain approval, or ask for the values that the form requires and `proposed` lacks."""
    if all(name in proposed for name in json_fields.list_at(form, "required")):
        return _Answer(status="approved")
    return _Answer(status="modified", modified_args=await inputs.ask_form(lines, form, proposed))


async def _ask_outputs(lines: inputs.Lines, approval: ApprovalDocument) -> JsonObject:
    """Ask for the outputs of work that did happen; the engine checks them against the node's contract."""
    return await inputs.ask_form(lines, json_fields.object_at(approval.get("work", {}), "outputs"), {})

"""Calls a handler that somebody else wrote, in this process: whatever it does, at most its attempt fails."""

from __future__ import annotations

import asyncio
import inspect
import math
import traceback
import types
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast, get_args

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.handlers import aside, context

Handler: TypeAlias = Callable[[context.Context], object]
_Coroutine: type = types.CoroutineType
#: The longest that a failure may have the next attempt wait: a year.
MAX_WAIT_MS = 366 * 24 * 3600 * 1000
_MAX_CODE = 100
_HAPPENED = get_args(errors.Happened)


@frozen
class Local:
    """A handler that the program itself brings, and how it is called: here, or, as it may block, in a thread."""

    handler: Handler
    call: Callable[[Handler, context.Context, list[str]], Awaitable[object]]


def local(handler: Handler) -> Local:
    """How `handler` is called."""
    return Local(handler=handler, call=call if inspect.iscoroutinefunction(handler) else call_in_thread)


async def call(handler: Handler, ctx: context.Context, lines: list[str]) -> object:
    """What the async `handler` gives; whatever it raises becomes AttemptFailed with the traceback in the log."""
    try:
        result = handler(ctx)
        promise: Any = result  # casting it would cost a call
        return await promise if type(result) is _Coroutine or inspect.isawaitable(result) else result
    except errors.AttemptFailed as error:
        raise fit(error) from error.__cause__
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise raised(error, lines) from error  # nobody cancelled us: the handler made it up
    except SystemExit as error:
        raise exited(error) from error
    except (KeyboardInterrupt, GeneratorExit):
        raise  # somebody's Ctrl-C, or the end of a loop that is gone: only who runs the task can tell
    except BaseException as error:  # a panic of an extension, an outcome of a test library, a cancellation of another
        raise raised(error, lines) from error


def _is_cancelled() -> bool:
    """Whether somebody has cancelled the task; no frame of a traceback keeps that one (a cycle)."""
    current = asyncio.current_task()
    return current is None or current.cancelling() > 0


async def call_in_thread(handler: Handler, ctx: context.Context, lines: list[str]) -> object:
    """The same for a plain function: in a thread, so that it cannot hold up the engine (nor be stopped half-way)."""

    def run() -> object:
        try:
            return handler(ctx)
        except errors.AttemptFailed as error:
            raise fit(error) from error.__cause__
        except SystemExit as error:
            raise exited(error) from error
        except BaseException as error:  # no Ctrl-C and no cancellation of ours reaches a thread
            raise raised(error, lines) from error

    result = await aside.run(run)
    return await call(lambda _: result, ctx, lines) if inspect.isawaitable(result) else result


def raised(error: BaseException, lines: list[str]) -> errors.AttemptFailed:
    """The failure for an exception out of somebody's handler; its traceback, from the handler on, goes to `lines`."""
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    lines.extend("".join(traceback.format_exception(type(error), error, frames)).rstrip().splitlines())
    return errors.AttemptFailed(describe(error), code="HANDLER_RAISED")


def fit(error: errors.AttemptFailed) -> errors.AttemptFailed:
    """A failure that somebody's handler raised, as it can be stored: the same one, unless it was put together wrongly.

    An exception for a message, half a millisecond, or a class of one's own that never called ours say what they can.
    """
    code, message = getattr(error, "code", None), getattr(error, "message", None)
    hint, wait = getattr(error, "hint", None), getattr(error, "retry_after_ms", None)
    retryable, happened = getattr(error, "retryable", True), getattr(error, "happened", "no")
    is_fit = (
        type(message) is str
        and _is_word(code)
        and (hint is None or type(hint) is str)
        and type(retryable) is bool
        and (wait is None or (type(wait) is int and 0 <= wait <= MAX_WAIT_MS))
        and happened in _HAPPENED
    )
    if is_fit:
        return error
    return errors.AttemptFailed(
        message if isinstance(message, str) else describe(message if isinstance(message, BaseException) else error),
        code=code if _is_word(code) else "FAILED",
        hint=None if hint is None else str(hint),
        retryable=bool(retryable),
        retry_after_ms=_whole(wait),
        happened=cast("errors.Happened", happened) if happened in _HAPPENED else "unknown",
    )


def _is_word(code: object) -> bool:
    return type(code) is str and code.isascii() and code.isprintable() and 0 < len(code) <= _MAX_CODE


def _whole(wait: object) -> int | None:
    """So many milliseconds, of a number or its text as a header has it; None, the block's own pause, of all else."""
    try:
        return math.ceil(min(max(float(cast("float", wait)), 0.0), MAX_WAIT_MS))
    except (TypeError, ValueError, OverflowError):  # NaN, too, has no ceiling
        return None


def exited(error: SystemExit) -> errors.AttemptFailed:
    """The failure for a handler that tried to end the process."""
    return errors.AttemptFailed(f"the handler called sys.exit({error.code!r})", code="HANDLER_EXITED")


def not_a_dict(returned: object) -> errors.AttemptFailed:
    """The failure for a handler that gave something else than a dict."""
    what = f"the handler returned {type(returned).__name__}, not a dict of outputs"
    return errors.AttemptFailed(what, code="HANDLER_RETURN", happened="yes")


def describe(error: BaseException) -> str:
    """`Type: message`, also for an exception that cannot say its own message."""
    try:
        message = str(error)
    except Exception:  # an exception's own __str__ may raise anything
        message = "(its message cannot be shown)"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__

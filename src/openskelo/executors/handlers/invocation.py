"""Calls a handler in this process, and turns everything that it raises into AttemptFailed."""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast, get_args

from openskelo import errors
from openskelo.handlers import context
from openskelo.structs import frozen

Handler: TypeAlias = Callable[[context.Context], object]
#: The longest that a failure may have the next attempt wait: a year.
MAX_WAIT_MS = 366 * 24 * 3600 * 1000
_MAX_CODE = 100
_HAPPENED = get_args(errors.Happened)


@frozen
class LocalHandler:
    """A handler that the program passed to the engine, and how it is called: in the loop, or in a thread if sync."""

    handler: Handler
    call: Callable[[Handler, context.Context, list[str]], Awaitable[object]]


def local_handler(handler: Handler) -> LocalHandler:
    """Return `handler` with the way in which it is called."""
    return LocalHandler(handler=handler, call=call if inspect.iscoroutinefunction(handler) else call_in_thread)


async def call(handler: Handler, ctx: context.Context, lines: list[str]) -> object:
    """Return what the async `handler` returns; an exception becomes AttemptFailed with its traceback in `lines`."""
    import asyncio  # noqa: PLC0415 -- worker processes use this module, and start a quarter faster without it

    try:
        result = handler(ctx)
        return await result if inspect.isawaitable(result) else result
    except errors.AttemptFailed as error:
        raise fit(error) from error.__cause__
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise raised(error, lines) from error  # the handler raised it itself
    except SystemExit as error:
        raise exited(error) from error
    except (KeyboardInterrupt, GeneratorExit):
        raise  # Ctrl-C, or the end of the loop: for the runner of the task
    except BaseException as error:  # also a panic of an extension, or an outcome of a test library
        raise raised(error, lines) from error


def _is_cancelled() -> bool:
    """True if the current task is being cancelled. A function of its own: a traceback must not hold the task."""
    import asyncio  # noqa: PLC0415 -- see `call`

    current = asyncio.current_task()
    return current is None or current.cancelling() > 0


async def call_in_thread(handler: Handler, ctx: context.Context, lines: list[str]) -> object:
    """Return what the sync `handler` returns, called in a thread: it cannot block the loop, nor be stopped half-way."""

    def run() -> object:
        try:
            return handler(ctx)
        except errors.AttemptFailed as error:
            raise fit(error) from error.__cause__
        except SystemExit as error:
            raise exited(error) from error
        except BaseException as error:  # no Ctrl-C and no cancellation of ours reaches a thread
            raise raised(error, lines) from error

    from openskelo.handlers import blocking_call  # noqa: PLC0415 -- it imports asyncio, see `call`

    result = await blocking_call.run(run)
    if inspect.isawaitable(result):
        return await call(lambda _: result, ctx, lines)
    return result


def raised(error: BaseException, lines: list[str]) -> errors.AttemptFailed:
    """Return the failure for an exception of a handler; its traceback, from the handler on, is added to `lines`."""
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    lines.extend("".join(traceback.format_exception(type(error), error, frames)).rstrip().splitlines())
    return errors.AttemptFailed(describe(error), code="HANDLER_RAISED")


def fit(error: errors.AttemptFailed) -> errors.AttemptFailed:
    """Return a failure that a handler raised as it can be stored: itself, or a copy with its wrong fields replaced.

    A handler may pass an exception as the message or half a millisecond as the wait, or subclass AttemptFailed without
    calling its `__init__`.
    """
    code, message = getattr(error, "code", None), getattr(error, "message", None)
    hint, wait = getattr(error, "hint", None), getattr(error, "retry_after_ms", None)
    retryable, effect_happened = getattr(error, "retryable", True), getattr(error, "happened", "no")
    is_fit = (
        type(message) is str
        and _is_word(code)
        and (hint is None or type(hint) is str)
        and type(retryable) is bool
        and (wait is None or (type(wait) is int and 0 <= wait <= MAX_WAIT_MS))
        and effect_happened in _HAPPENED
    )
    if is_fit:
        return error
    if not isinstance(message, str):
        message = describe(message if isinstance(message, BaseException) else error)
    return errors.AttemptFailed(
        message,
        code=code if _is_word(code) else "FAILED",
        hint=None if hint is None else str(hint),
        retryable=bool(retryable),
        retry_after_ms=_whole(wait),
        happened=cast("errors.Happened", effect_happened) if effect_happened in _HAPPENED else "unknown",
    )


def _is_word(code: object) -> bool:
    return type(code) is str and code.isascii() and code.isprintable() and 0 < len(code) <= _MAX_CODE


def _whole(wait: object) -> int | None:
    """Return a wait in whole milliseconds from a number or its text; None, the block's own delay, for anything else."""
    try:
        return math.ceil(min(max(float(cast("float", wait)), 0.0), MAX_WAIT_MS))
    except (TypeError, ValueError, OverflowError):  # NaN, too, has no ceiling
        return None


def exited(error: SystemExit) -> errors.AttemptFailed:
    """Return the failure for a handler that tried to end the process."""
    return errors.AttemptFailed(f"the handler called sys.exit({error.code!r})", code="HANDLER_EXITED")


def not_a_dict(returned: object) -> errors.AttemptFailed:
    """Return the failure for a handler that did not return a dict."""
    sentence = f"the handler returned {type(returned).__name__}, not a dict of outputs"
    return errors.AttemptFailed(sentence, code="HANDLER_RETURN", happened="yes")


def describe(error: BaseException) -> str:
    """Return `Type: message`, also for an exception whose `__str__` raises."""
    try:
        message = str(error)
    except Exception:  # an exception's own __str__ may raise anything
        message = "(its message cannot be shown)"
    if message:
        return f"{type(error).__name__}: {message}"
    return type(error).__name__

"""A store that raises only errors of this package: the engine meets every store through it.

A library under a store (SQLite, the file system, a network) may raise what it likes. Here such an exception becomes a
StoreError (STORE_IO). So the engine can tell trouble with the store, which may go away, from a defect of its own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, cast

from openskelo import errors
from openskelo.stores import api


def guard(store: api.Store) -> api.Store:
    """Return the store with every exception that is not one of `errors` turned into a StoreError."""
    if isinstance(store, _Guarded):
        return store
    return cast("api.Store", _Guarded(store))


class _Guarded:
    def __init__(self, inner: api.Store) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:  # called once for each method: the next call finds the attribute
        member = getattr(self._inner, name)
        if name == "read_events":
            guarded_call: Callable[..., Any] = self._read_events
        elif inspect.iscoroutinefunction(member):
            guarded_call = functools.partial(_call, member)
        else:
            return member
        setattr(self, name, guarded_call)
        return guarded_call

    async def _read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        try:
            async for lines in self._inner.read_events(run_id, after=after):
                yield lines
        except errors.OpenSkeloError:
            raise
        except Exception as error:
            raise _failure(error) from error


async def _call(method: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
    try:
        return await method(*args, **kwargs)
    except errors.OpenSkeloError:
        raise
    except Exception as error:
        raise _failure(error) from error


def _failure(error: Exception) -> errors.StoreError:
    return errors.StoreError(f"the store failed: {error!r}", code="STORE_IO", hint="resume the run once it works")

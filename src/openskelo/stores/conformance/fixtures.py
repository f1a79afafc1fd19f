"""Helpers of the checks: make Appends and rows, open stores, read lines, compare."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TypeAlias, TypedDict, Unpack

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.stores import api

Open: TypeAlias = Callable[[], Awaitable[api.Store]]
Check: TypeAlias = Callable[[Open], Awaitable[None]]

RUN = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


class Extras(TypedDict, total=False):
    """The fields of an Append beside its lines."""

    row: api.RunRow
    opened: tuple[api.ApprovalRow, ...]
    closed: tuple[str, ...]
    blobs: Mapping[str, bytes]
    consumed: tuple[int, ...]
    cached: Mapping[str, JsonObject]
    claim: bool


def append(seq: int, *lines: bytes, run_id: str = RUN, **extras: Unpack[Extras]) -> api.Append:
    """Return an Append that continues the run at `seq`."""
    return api.Append(run_id=run_id, expected_seq=seq, lines=lines, **extras)


def row(
    run_id: str, created_at: int, *, status: str = "running", ending: str | None = None, updated_at: int | None = None
) -> api.RunRow:
    """Return a run's row."""
    return api.RunRow(
        run_id=run_id,
        name="näme",
        workflow_hash="sha256:0",
        status=status,
        ending=ending,
        created_at=created_at,
        updated_at=created_at if updated_at is None else updated_at,
        parent=OTHER,
    )


def approval(approval_id: str, *, run_id: str = RUN) -> api.ApprovalRow:
    """Return an open approval."""
    return api.ApprovalRow(
        approval_id=approval_id, run_id=run_id, node="draft", document={"prompt": "é?", "form": {"type": "object"}}
    )


@contextlib.asynccontextmanager
async def opened(open_store: Open) -> AsyncGenerator[api.Store]:
    """Open one more store over the same data, and close it at the end."""
    store = await open_store()
    try:
        yield store
    finally:
        await store.close()


async def queue_command(store: api.Store, run_id: str, body: JsonObject) -> int:
    """Queue a command for a run that exists, and return its id."""
    return errors.require_run(await store.queue_command(run_id, body), run_id)


async def lines(store: api.Store, run_id: str, *, after: int = 0) -> list[bytes]:
    """Return all lines of a run."""
    return [line async for chunk in store.read_events(run_id, after=after) for line in chunk]


def assert_equal(actual: object, expected: object) -> None:
    """Raise AssertionError unless the two are equal."""
    if actual != expected:
        raise AssertionError(f"got {_short(actual)}, expected {_short(expected)}")


async def assert_raises(kind: type[Exception], call: Awaitable[object]) -> None:
    """Raise AssertionError unless the call raises exactly that kind of error."""
    try:
        await call
    except Exception as error:
        if type(error) is not kind:
            raise AssertionError(f"raised {error!r}, not {kind.__name__}") from error
    else:
        raise AssertionError(f"raised nothing, not {kind.__name__}")


def _short(value: object) -> str:
    text = repr(value)
    if len(text) < 1000:
        return text
    return f"{text[:500]} … {text[-500:]}"

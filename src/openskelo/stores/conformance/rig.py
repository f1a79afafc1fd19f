"""What the checks are written with: short ways to make, open and compare things."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TypeAlias, TypedDict, Unpack

from openskelo.kernel.json import JsonObject
from openskelo.stores import log

Open: TypeAlias = Callable[[], Awaitable[log.Log]]
Check: TypeAlias = Callable[[Open], Awaitable[None]]

RUN = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


class Beside(TypedDict, total=False):
    """What an Append may bring besides its lines."""

    row: log.RunRow
    opened: tuple[log.ApprovalRow, ...]
    closed: tuple[str, ...]
    blobs: Mapping[str, bytes]
    consumed: tuple[int, ...]
    cached: Mapping[str, JsonObject]


def append(seq: int, *lines: bytes, run_id: str = RUN, **beside: Unpack[Beside]) -> log.Append:
    """An Append that goes on at `seq`."""
    return log.Append(run_id=run_id, expected_seq=seq, lines=lines, **beside)


def row(
    run_id: str, created_at: int, *, status: str = "running", ending: str | None = None, updated_at: int | None = None
) -> log.RunRow:
    """A listing."""
    return log.RunRow(
        run_id=run_id,
        name="näme",
        workflow_hash="sha256:0",
        status=status,
        ending=ending,
        created_at=created_at,
        updated_at=created_at if updated_at is None else updated_at,
        parent=OTHER,
    )


def approval(approval_id: str, *, run_id: str = RUN) -> log.ApprovalRow:
    """An open approval."""
    return log.ApprovalRow(
        approval_id=approval_id, run_id=run_id, node="draft", document={"prompt": "é?", "form": {"type": "object"}}
    )


@contextlib.asynccontextmanager
async def opened(open_log: Open) -> AsyncGenerator[log.Log]:
    """One more store over the same data, closed at the end."""
    store = await open_log()
    try:
        yield store
    finally:
        await store.close()


async def lines(store: log.Log, run_id: str, *, after: int = 0) -> list[bytes]:
    """All lines that a reader gets."""
    return [line async for chunk in store.read(run_id, after=after) for line in chunk]


def same(found: object, wanted: object) -> None:
    """Fail unless the two are equal."""
    if found != wanted:
        raise AssertionError(f"found {_short(found)}, wanted {_short(wanted)}")


async def raises(kind: type[Exception], doing: Awaitable[object]) -> None:
    """Fail unless it raises exactly that kind of error."""
    try:
        await doing
    except Exception as error:
        if type(error) is not kind:
            raise AssertionError(f"raised {error!r}, not {kind.__name__}") from error
    else:
        raise AssertionError(f"raised nothing, not {kind.__name__}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 1000 else f"{text[:500]} … {text[-500:]}"

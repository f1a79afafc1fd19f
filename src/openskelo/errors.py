"""Every error OpenSkelo raises on purpose, in one tree.

OpenSkeloError              anything below; has a stable `code`, a message and perhaps a `hint`
├── InvalidInput            the caller's file, value or argument is wrong; nothing was started   (exit 2)
│   └── InvalidWorkflow     a workflow has Problems; `problems` lists them with file, line, column
├── Refused                 a well-formed command that the run's state or policy does not allow; nothing changed
├── NotFound                no such run, node, approval, artifact
├── AttemptFailed           work that did not succeed: what executors raise, and the kernel rules on
│   ├── Denied              work that was not allowed and has not been done: by a plan's mode, or a capability
│   ├── OverBudget          work that would take more than the run's budget has left, and was not begun
│   ├── Escalated           work that a person has to take over: the run ends as escalated
│   └── UnusableAnswer      a model's answer that cannot be used; defined with the providers, as it holds the answer
│       └── BrokenAnswer    one that broke off, and may be tried again
├── StoreError              the data dir cannot do what was asked
│   ├── Conflict            another process appended first
│   ├── StoreFull           no space left; nothing was lost
│   ├── StoreVersion        the data dir is of another version
│   └── Corrupt             stored bytes are not what was written
└── Busy                    another process drives this run
    └── CommandQueued       it has not taken a command yet; the command stays queued                  (exit 3)
"""

from __future__ import annotations

import errno
from collections.abc import Generator, Sequence
from typing import Literal, Protocol, TypeAlias, TypeVar, cast

#: Whether the effect of failed work has happened: no, not known, or yes.
Happened: TypeAlias = Literal["no", "unknown", "yes"]

_Found = TypeVar("_Found")
_OUT_OF_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})


class OpenSkeloError(Exception):
    """The base: `code` is stable and for programs, the message is for people, `hint` says what to do next."""

    default_code = "ERROR"

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code or self.default_code
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Copy all attributes, also into another process; by default only the message would be copied."""
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[OpenSkeloError], args: tuple[object, ...]) -> OpenSkeloError:
    return kind.__new__(kind, *args)


class InvalidInput(OpenSkeloError):
    """The caller's file, value or argument is wrong; nothing was started."""

    default_code = "INVALID_INPUT"


class ProblemLike(Protocol):
    """The part of a Problem that `InvalidWorkflow` needs; the class itself is in `workflows`."""

    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...


class InvalidWorkflow(InvalidInput):
    """The workflow has Problems; nothing was started."""

    default_code = "INVALID_WORKFLOW"

    def __init__(self, problems: Sequence[ProblemLike]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{first.code} {first.message}{more}")
        self.problems = tuple(problems)


class Refused(OpenSkeloError):
    """A well-formed command that state or policy does not allow; nothing changed."""

    default_code = "REFUSED"


class NotFound(OpenSkeloError):
    """No such run, node, approval or artifact."""

    default_code = "NOT_FOUND"


class AttemptFailed(OpenSkeloError):
    """Work that did not succeed.

    `retryable` False means that trying again cannot help (a wrong configuration): the kernel does not retry it.
    `happened` matters for an effect that happens once: if it is `unknown` (no answer came), a person is asked; if it is
    `yes` (only the outputs cannot be used), the work is not done again.
    """

    default_code = "FAILED"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        retryable: bool = True,
        retry_after_ms: int | None = None,
        happened: Happened = "no",
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms
        self.happened: Happened = happened


class Denied(AttemptFailed):
    """Work that the plan's mode or the project's rules do not allow; it has not been done."""

    default_code = "CAPABILITY_DENIED"

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint, retryable=False)


class Missing(AttemptFailed):
    """Work that lacks a secret, a provider or a file here. It has not failed: its run is paused until that is there."""

    def __init__(self, message: str, *, code: str, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint, retryable=False)


class OverBudget(AttemptFailed):
    """Work that needs more than the run's budget has left, and was not started; `tokens` and cost are what it needs."""

    default_code = "BUDGET_EXCEEDED"

    def __init__(self, message: str, *, tokens: int, cost_nanousd: int = 0) -> None:
        super().__init__(message, retryable=False)
        self.tokens = tokens
        self.cost_nanousd = cost_nanousd


class Escalated(AttemptFailed):
    """Work that a person has to take over."""

    default_code = "ESCALATED"

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint, retryable=False)


class StoreError(OpenSkeloError):
    """The data dir cannot do what was asked."""

    default_code = "STORE_ERROR"


class Conflict(StoreError):
    """Another process appended first."""

    default_code = "CONFLICT"


class StoreFull(StoreError):
    """No space left; what was durable still is."""

    default_code = "STORE_FULL"


class StoreVersion(StoreError):
    """The data dir was written by an earlier, unreleased version, or by a newer one."""

    default_code = "STORE_VERSION"


class Corrupt(StoreError):
    """Stored bytes are not what was written."""

    default_code = "CORRUPT"


class Busy(OpenSkeloError):
    """Another process drives this run."""

    default_code = "BUSY"


class CommandQueued(Busy):
    """A command that the run's driver has not taken yet: it stays queued until the run goes on."""

    default_code = "COMMAND_WAITING"


# -- checks that several layers make ----------------------------------------------------------------------------------


def require_run(found: _Found | None, run_id: str) -> _Found:
    """Return what was found of a run; raise NotFound (RUN_NOT_FOUND) for None: there is no such run."""
    if found is None:
        raise NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")
    return found


def require_open(approval: _Found | None, reason: str = "the approval is not open (any more)") -> _Found:
    """Return the open approval; raise Refused (APPROVAL_CLOSED) for None: it was answered or withdrawn."""
    if approval is None:
        raise Refused(reason, code="APPROVAL_CLOSED")
    return approval


# -- what an error came from ------------------------------------------------------------------------------------------


def causes(error: BaseException) -> Generator[BaseException]:
    """Yield the error and its causes, nearest first; those of a group are its errors, too."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        further_cause = cause.__cause__ or cause.__context__
        if further_cause is not None:
            waiting.append(further_cause)
        if isinstance(cause, BaseExceptionGroup):
            waiting.extend(reversed(cast("BaseExceptionGroup[BaseException]", cause).exceptions))


def is_out_of_descriptors(error: BaseException) -> bool:
    """True if the error, or a cause of it, is that no file descriptor was left: trouble of this process or machine."""
    return any(isinstance(cause, OSError) and cause.errno in _OUT_OF_DESCRIPTORS for cause in causes(error))

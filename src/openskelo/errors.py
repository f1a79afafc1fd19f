"""Every error OpenSkelo raises on purpose, in one tree.

OpenSkeloError              anything below; has a stable `code`, a message and perhaps a `hint`
├── InvalidInput            the caller's file, value or argument is wrong; nothing was started   (exit 2)
│   └── InvalidWorkflow     a workflow has Problems; `problems` lists them with file, line, column
├── Refused                 a well-formed command that the run's state or policy does not allow; nothing changed
├── NotFound                no such run, node, approval, artifact
├── AttemptFailed           work that did not succeed: what executors raise, and the kernel rules on
│   ├── Denied              work that was not allowed and has not been done: by a plan's mode, or a capability
│   ├── OverBudget          work that would take more than the run's budget has left, and was not begun
│   ├── Escalated           work that is a person's from here on: the run ends as escalated
│   └── Unusable            a model's answer that came and is none; lives in `providers.seam`, as it holds the answer
│       └── Broken          one that broke off, and may be tried again
├── StoreError              the data dir cannot do what was asked
│   ├── Conflict            somebody else appended first
│   ├── StoreFull           no space left; nothing was lost
│   ├── StoreVersion        the data dir is of a newer version
│   └── Corrupt             stored bytes are not what was written
└── Busy                    another process drives this run
    └── Posted              it has not taken an order yet, which stays and will be done              (exit 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

#: Whether the effect of work that failed has happened: not as far as it says, nobody knows, or certainly.
Happened: TypeAlias = Literal["no", "unknown", "yes"]


class OpenSkeloError(Exception):
    """The base: `code` is stable and for programs, the message is for people, `hint` says what to do next."""

    default_code = "ERROR"

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code or self.default_code
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """A copy is as it was, also in another process; Python would make it anew of the message alone."""
        return _again, (type(self), self.args), self.__dict__


def _again(kind: type[OpenSkeloError], args: tuple[object, ...]) -> OpenSkeloError:
    return kind.__new__(kind, *args)


class InvalidInput(OpenSkeloError):
    """The caller's file, value or argument is wrong; nothing was started."""

    default_code = "INVALID_INPUT"


class ProblemLike(Protocol):
    """What `InvalidWorkflow` needs of a Problem (the class lives in `workflows`)."""

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

    `retryable` False means that trying again cannot help (a wrong configuration); the kernel spends no retry on it.
    `happened` counts where the effect of the work happens once: a person is asked about what is `unknown` (the answer
    never came), and what has been done, `yes` (only its outputs are of no use), is not done again.
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


class OverBudget(AttemptFailed):
    """Work that would take more than the run's budget has left: so much in all, of which the dearest was not begun."""

    default_code = "BUDGET_EXCEEDED"

    def __init__(self, message: str, *, tokens: int, cost_nanousd: int = 0) -> None:
        super().__init__(message, retryable=False)
        self.tokens = tokens
        self.cost_nanousd = cost_nanousd


class Escalated(AttemptFailed):
    """Work that is a person's from here on."""

    default_code = "ESCALATED"

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint, retryable=False)


class StoreError(OpenSkeloError):
    """The data dir cannot do what was asked."""

    default_code = "STORE_ERROR"


class Conflict(StoreError):
    """Somebody else appended first."""

    default_code = "CONFLICT"


class StoreFull(StoreError):
    """No space left; what was durable still is."""

    default_code = "STORE_FULL"


class StoreVersion(StoreError):
    """The data dir was written by a newer version."""

    default_code = "STORE_VERSION"


class Corrupt(StoreError):
    """Stored bytes are not what was written."""

    default_code = "CORRUPT"


class Busy(OpenSkeloError):
    """Another process drives this run."""

    default_code = "BUSY"


class Posted(Busy):
    """An order that the run's driver has not taken yet: it stays posted, and is done when the run goes on."""

    default_code = "COMMAND_WAITING"

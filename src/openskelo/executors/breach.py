"""Why an attempt came to no outputs that count: what an error, a contract or a gate makes of it."""

from __future__ import annotations

from openskelo import errors
from openskelo.executors import job
from openskelo.kernel import outcome
from openskelo.kernel.json import Json, Stored


class Broken(Exception):
    """A contract or a gate said no: `failure` is the verdict, `feedback` what the next attempt should know.

    `unjudged`: or whoever should have said something could not be asked. `outputs` are what is to be judged yet.
    """

    def __init__(self, failure: outcome.Failure, feedback: Json, *, unjudged: bool = False) -> None:
        super().__init__(failure.code)
        self.failure = failure
        self.feedback = feedback
        self.unjudged = unjudged
        self.outputs: Stored | None = None


def is_repairable(one: job.Job, failure: outcome.Failure) -> bool:
    """Whether a model that is told what is wrong with its answer may well mend it."""
    return one.task.node.mode == "ai" and failure.code in ("OUTPUT_CONTRACT", "ANSWER_INVALID")


def failure(error: errors.OpenSkeloError, retryable: bool, retry_after_ms: int | None = None) -> outcome.Failure:
    """The failure that an error is."""
    message = f"{error.message} ({error.hint})" if error.hint else error.message
    return outcome.Failure(
        code=error.code,
        message=message,
        retryable=retryable,
        retry_after_ms=retry_after_ms,
        denied=isinstance(error, errors.Denied),
        escalated=isinstance(error, errors.Escalated),
        happened=error.happened if isinstance(error, errors.AttemptFailed) else "no",
        needs=outcome.Needs(tokens=error.tokens, cost_nanousd=error.cost_nanousd)
        if isinstance(error, errors.OverBudget)
        else None,
    )


def contract(code: str, problems: list[str] | tuple[str, ...], *, retryable: bool) -> Broken:
    """Inputs or outputs break what was promised about them; the work has been done when it is the outputs."""
    happened = "yes" if code == "OUTPUT_CONTRACT" else "no"
    refused = outcome.Failure(code=code, message="; ".join(problems), retryable=retryable, happened=happened)
    return Broken(refused, {"code": code, "problems": list(problems)})

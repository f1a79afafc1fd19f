"""The arguments of a tool, checker or transform: those of the plan and of the project, checked against one schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openskelo import errors
from openskelo.handlers import secrets as handler_secrets
from openskelo.kernel.json import Json, JsonObject
from openskelo.values.schema import validator


def merge(plan_args: JsonObject, fixed: JsonObject) -> JsonObject:
    """Return the arguments of a call: what the project fixed overrides what the plan says."""
    return {**plan_args, **fixed} if fixed else plan_args


def check(description: str, args: JsonObject, schema: JsonObject | None) -> None:
    """Raise AttemptFailed ARGS_INVALID, never retried, if `args` break the schema."""
    violations = () if schema is None else validator.compile(schema).check(args)
    if violations:
        message = f"the arguments of {description}: {list_violations(violations)}"
        raise errors.AttemptFailed(message, code="ARGS_INVALID", retryable=False)


def list_violations(violations: Iterable[validator.Violation]) -> str:
    """Return the violations of a schema as one line."""
    return "; ".join(f"{violation.path or '/'}: {violation.message}" for violation in violations)


def expand_secrets(value: Json, secrets: Mapping[str, str] | None) -> Json:
    """Return a value of the project with `${env:…}` and `${secret:…}` resolved in all its texts (SECRET_MISSING)."""
    match value:
        case str():
            return handler_secrets.resolve(value, secrets)
        case Mapping():
            return {key: expand_secrets(part, secrets) for key, part in value.items()}
        case list() | tuple():
            return [expand_secrets(part, secrets) for part in value]
        case _:
            return value

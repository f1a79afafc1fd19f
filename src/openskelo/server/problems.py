"""Errors as HTTP answers them: problem documents of RFC 9457, with the codes that all of OpenSkelo has."""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as PlainHTTPException

from openskelo import errors
from openskelo.contract.wire import problem
from openskelo.kernel.json import Json
from openskelo.values import pointer
from openskelo.workflows.problems import Problem as WorkflowProblem

MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("openskelo.server")
#: What each status means where a route documents it.
_MEANING = {
    202: "The process that drives the run has not taken the order yet: it stays posted, and will be done",
    400: "A parameter that this request does not have",
    401: "No token, or one that nobody knows",
    403: "Not from here, or not with this role",
    404: "No such thing",
    405: "Not with this method",
    409: "Not in this state, or not with this Idempotency-Key",
    410: "It is there no longer",
    413: "The body is too large",
    415: "The body is of another type than JSON",
    416: "The range lies outside of the content",
    422: "What was sent is invalid; nothing was started or changed",
    429: "Too many requests",
    500: "A defect of the server",
    503: "The data dir or the server cannot do it now",
}
_CODES = {404: "PATH_UNKNOWN", 405: "METHOD_NOT_ALLOWED"}
_FORBIDDEN = {"APPROVER_NOT_ALLOWED"}


class Problem(HTTPException):
    """An error that is about HTTP itself; everything else is raised as what it is."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.code = code
        self.hint = hint


def gone(cursor: str) -> Problem:
    """The answer to a cursor that names what was deleted meanwhile."""
    return Problem(410, "CURSOR_GONE", f"{cursor} is not there (any more)", hint="begin with the first page again")


def response(error: Problem | errors.OpenSkeloError) -> Response:
    """The answer that tells of an error."""
    if isinstance(error, Problem):
        return _respond(error.status_code, error.code, str(error.detail), hint=error.hint, headers=error.headers)
    return _respond(status_of(error), error.code, error.message, hint=error.hint, parts=_parts(error))


def status_of(error: errors.OpenSkeloError) -> int:
    """The HTTP status of an error."""
    match error:
        case errors.NotFound():
            return 404
        case errors.InvalidInput():
            return 422
        case errors.Refused():
            return 403 if error.code in _FORBIDDEN else 409
        case errors.Posted():
            return 202
        case errors.Busy():
            return 409
        case errors.StoreError():
            return 503
        case _:
            return 503 if error.code == "ENGINE_CLOSED" else 500


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How a route documents the errors it may answer with, those that every route has included."""
    every = sorted({400, 401, 403, 422, 429, 500, 503, *statuses})
    return {status: {"model": problem.ProblemDetails, "description": _MEANING[status]} for status in every}


def install(app: FastAPI) -> None:
    """Let every error leave the app as a problem document."""
    app.add_exception_handler(errors.OpenSkeloError, _ours)
    app.add_exception_handler(PlainHTTPException, plain)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _defect)


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.OpenSkeloError)  # noqa: S101 - what the handler is installed for
    if status_of(error) >= 500:
        _LOG.error("%s %s: %s %s", request.method, request.url.path, error.code, error.message)
    return response(error)


async def plain(_: Request, error: Exception) -> Response:
    """The answer to an error that is about HTTP itself."""
    assert isinstance(error, PlainHTTPException)  # noqa: S101 - what the handler is installed for
    if isinstance(error, Problem):
        return response(error)
    code = _CODES.get(error.status_code, "REQUEST_INVALID")
    return _respond(error.status_code, code, str(error.detail), headers=error.headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - what the handler is installed for
    parts = [_part(one) for one in error.errors()]
    named = "; ".join(f"{part['pointer']}: {part['message']}" for part in parts[:5])
    return _respond(422, "REQUEST_INVALID", named or "the request is invalid", parts=parts)


async def _defect(request: Request, error: Exception) -> Response:
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _respond(500, "INTERNAL", "the server has a defect; its log says more")


def _part(found: dict[str, Any]) -> dict[str, Json]:
    """One thing that is wrong, without the value itself, which may be a secret."""
    return {"pointer": pointer.of(found["loc"]), "code": str(found["type"]), "message": str(found["msg"])}


def _parts(error: errors.OpenSkeloError) -> list[dict[str, Json]] | None:
    if not isinstance(error, errors.InvalidWorkflow):
        return None
    return [_of_workflow(one) for one in error.problems if isinstance(one, WorkflowProblem)]


def _of_workflow(one: WorkflowProblem) -> dict[str, Json]:
    return {
        "pointer": one.path,
        "code": one.code,
        "message": one.message,
        "file": one.file,
        "line": one.line,
        "column": one.column,
        "hint": one.hint,
    }


def _respond(
    status: int,
    code: str,
    message: str,
    *,
    hint: str | None = None,
    headers: Mapping[str, str] | None = None,
    parts: Sequence[Mapping[str, Json]] | None = None,
) -> Response:
    document: dict[str, object] = {
        "type": f"urn:openskelo:problem:{code}",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": message,
        "code": code,
    }
    if hint is not None:
        document["hint"] = hint
    if parts is not None:
        document["errors"] = list(parts)
    content = orjson.dumps(document, default=str)
    return Response(content, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)

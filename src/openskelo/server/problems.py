"""Errors as HTTP responses: problem documents (RFC 9457) with the error codes that all of OpenSkelo uses.

Routes raise OpenSkelo's own errors, or a `Problem` for what is about HTTP itself; `install` makes the app turn both,
and every unexpected exception, into a problem document.
"""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as PlainHTTPException
from starlette.requests import ClientDisconnect

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.values import json_pointer
from openskelo.wire.models import wire_model
from openskelo.workflows.text.problems import Problem as WorkflowProblem

MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("openskelo.server")
#: The description of each status in the OpenAPI document.
_DESCRIPTIONS = {
    202: "The process that drives the run has not taken the command yet; it stays queued and will be carried out",
    400: "A query parameter that this request does not have",
    401: "No token, or an unknown one",
    403: "Not from this site, or not with this role",
    404: "It does not exist",
    405: "Not with this method",
    408: "The body took too long",
    409: "Not in this state, or not with this Idempotency-Key",
    410: "It no longer exists",
    413: "The body is too large",
    415: "The body is not JSON",
    416: "The range is outside the content",
    422: "The request is invalid; nothing was started or changed",
    429: "Too many requests",
    500: "A defect of the server",
    503: "The store or the server cannot do it now",
}
_CODE_BY_STATUS = {404: "PATH_UNKNOWN", 405: "METHOD_NOT_ALLOWED"}
_FORBIDDEN_CODES = {"APPROVER_NOT_ALLOWED"}


class Problem(HTTPException):
    """An error that is about HTTP itself. All other errors are raised as OpenSkelo's own."""

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


def cursor_gone(cursor: str) -> Problem:
    """Return the 410 for a cursor whose entry was deleted."""
    return Problem(410, "CURSOR_GONE", f"{cursor} no longer exists", hint="start with the first page again")


def response(error: Problem | errors.OpenSkeloError) -> Response:
    """Return the problem document of an error."""
    if isinstance(error, Problem):
        return _respond(error.status_code, error.code, str(error.detail), hint=error.hint, headers=error.headers)
    return _respond(status_of(error), error.code, error.message, hint=error.hint, parts=_workflow_problems(error))


def status_of(error: errors.OpenSkeloError) -> int:
    """Return the HTTP status of an error."""
    match error:
        case errors.NotFound():
            return 404
        case errors.InvalidInput():
            return 422
        case errors.Refused():
            return 403 if error.code in _FORBIDDEN_CODES else 409
        case errors.CommandQueued():
            return 202
        case errors.Busy():
            return 409
        case errors.StoreError():
            return 503
        case _:
            return 503 if error.code == "ENGINE_CLOSED" else 500


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of a route's errors, including the errors that every route has."""
    all_statuses = sorted({400, 401, 403, 422, 429, 500, 503, *statuses})
    return {
        status: {"model": wire_model.ProblemDetails, "description": _DESCRIPTIONS[status]} for status in all_statuses
    }


def install(app: FastAPI) -> None:
    """Make the app turn every error into a problem document."""
    app.add_exception_handler(errors.OpenSkeloError, _handle_openskelo_error)
    app.add_exception_handler(PlainHTTPException, handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(ClientDisconnect, _handle_disconnect)
    app.add_exception_handler(Exception, _handle_defect)


async def _handle_openskelo_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.OpenSkeloError)  # noqa: S101 - the handler is installed for these
    if status_of(error) >= 500:
        _LOG.error("%s %s: %s %s", request.method, request.url.path, error.code, error.message)
    return response(error)


async def handle_http_error(_: Request, error: Exception) -> Response:
    """Return the problem document of an error that is about HTTP itself."""
    assert isinstance(error, PlainHTTPException)  # noqa: S101 - the handler is installed for these
    if isinstance(error, Problem):
        return response(error)
    code = _CODE_BY_STATUS.get(error.status_code, "REQUEST_INVALID")
    return _respond(error.status_code, code, str(error.detail), headers=error.headers)


async def _handle_invalid_request(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - the handler is installed for these
    parts = [_describe_invalid_part(part) for part in error.errors()]
    message = "; ".join(f"{part['pointer']}: {part['message']}" for part in parts[:5])
    return _respond(422, "REQUEST_INVALID", message or "the request is invalid", parts=parts)


async def _handle_disconnect(_: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # for the access log: the client has left while it sent the body


async def _handle_defect(request: Request, error: Exception) -> Response:
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _respond(500, "INTERNAL", "the server has failed; see its log")


def _describe_invalid_part(part: dict[str, Any]) -> dict[str, Json]:
    """Return what is wrong with one part, without its value, which may be a secret."""
    return {"pointer": json_pointer.of(part["loc"]), "code": str(part["type"]), "message": str(part["msg"])}


def _workflow_problems(error: errors.OpenSkeloError) -> list[dict[str, Json]] | None:
    if not isinstance(error, errors.InvalidWorkflow):
        return None
    return [_describe_workflow_problem(item) for item in error.problems if isinstance(item, WorkflowProblem)]


def _describe_workflow_problem(problem: WorkflowProblem) -> dict[str, Json]:
    return {
        "pointer": problem.path,
        "code": problem.code,
        "message": problem.message,
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "hint": problem.hint,
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

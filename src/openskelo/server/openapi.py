"""The OpenAPI document: FastAPI's own, with problem documents under their media type and ways to come in."""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from openskelo.server import idempotency, problems, sessions

DESCRIPTION = """The contract of OpenSkelo over HTTP. Errors are problem documents (RFC 9457) with a stable `code`.
`POST` requests may carry an `Idempotency-Key`. The stream of events is `/ws` (WebSocket) or `/api/stream` (SSE)."""
#: What tells that an answer is a problem document, whatever its status.
_PROBLEM = {"$ref": "#/components/schemas/ProblemDetails"}


def operation_id(route: APIRoute) -> str:
    """The name of the function, in camelCase."""
    head, *rest = route.name.split("_")
    return head + "".join(part.title() for part in rest)


def install(app: FastAPI) -> None:
    """Let the app describe itself."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = describe  # the way FastAPI documents


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title="OpenSkelo", version="1", description=DESCRIPTION, routes=app.routes, separate_input_output_schemas=False
    )
    document["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": sessions.COOKIE,
            "description": "What `/login` sets; its name goes on with what tells this data dir from others on the host",
        },
    }
    document["security"] = [{}, {"token": []}, {"session": []}]
    for path in cast("dict[str, dict[str, Any]]", document["paths"]).values():
        for method, operation in path.items():
            _complete(method, operation)
    return document


def _complete(method: str, operation: dict[str, Any]) -> None:
    for response in operation["responses"].values():
        content = response.get("content", {})
        if content.get("application/json", {}).get("schema") == _PROBLEM:
            response["content"] = {problems.MEDIA_TYPE: content["application/json"]}
    if method == "post":
        operation.setdefault("parameters", []).append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "The same request with the same key is done once, and answered alike for a day",
                "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\x21-\\x7e]+$"},
            }
        )
        assert idempotency.HEADER == "idempotency-key"  # noqa: S101 - the name above

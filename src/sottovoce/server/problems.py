"""Problems as HTTP responses: RFC 9457 documents, whatever raised them."""

import json
import logging
import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from sottovoce.protocol.fields import rule_of
from sottovoce.protocol.problems import CATALOGUE, MEDIA_TYPE, Problem
from sottovoce.server.storage.writer import as_problem

log = logging.getLogger("sottovoce.server")
_CODE_OF_STATUS = {404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "unsupported_media_type"}


def problem_response(problem: Problem) -> Response:
    headers = {}
    if problem.retry_after is not None:
        headers["Retry-After"] = str(problem.retry_after)
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    content = json.dumps(problem.to_json(), ensure_ascii=False).encode()
    return Response(content, problem.status, headers, MEDIA_TYPE)


def problems(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The problems of a route, for its description; those that every route can return are added."""
    described: dict[int | str, dict[str, Any]] = {}
    for code in (*codes, "rate_limited", "unavailable"):
        kind = CATALOGUE[code]
        assert kind.status is not None
        entry = described.setdefault(
            kind.status,
            {"description": "", "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}},
        )
        entry["description"] += f"{'; ' if entry['description'] else ''}`{code}`: {kind.title}"
    return described


PROBLEM_SCHEMA = {
    "type": "object",
    "description": "What went wrong (RFC 9457).",
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "the value, and the rule that it breaks"},
        "code": {"type": "string", "enum": sorted(code for code, kind in CATALOGUE.items() if kind.status)},
        "fix": {"type": "string", "description": "what to do"},
    },
    "required": ["type", "title", "status", "detail", "code", "fix"],
}


def report_problems(app: FastAPI) -> None:
    """Turn every failure into a problem: ours, the framework's, the database's, and unexpected ones."""

    @app.exception_handler(Problem)
    async def ours(_: Request, problem: Exception) -> Response:
        assert isinstance(problem, Problem)
        return problem_response(problem)

    @app.exception_handler(HTTPException)
    async def frameworks(request: Request, failure: Exception) -> Response:
        assert isinstance(failure, HTTPException)
        code = _CODE_OF_STATUS.get(failure.status_code, "bad_request")
        if code != "method_not_allowed":
            return problem_response(Problem(code))
        response = problem_response(Problem(code, f"{request.method}: this address does not support it"))
        response.headers["Allow"] = ", ".join(await run_in_threadpool(_methods_at, app, request.url.path))
        return response

    @app.exception_handler(RequestValidationError)
    async def parameters(_: Request, failure: Exception) -> Response:
        assert isinstance(failure, RequestValidationError)
        first = failure.errors()[0]
        return problem_response(Problem("bad_request", f"{first['loc'][-1]}: {rule_of(first)}"))

    @app.exception_handler(SQLAlchemyError)
    async def database(_: Request, failure: Exception) -> Response:
        problem = as_problem(failure)
        log.error("database error", extra={"kind": type(failure).__name__})
        return problem_response(problem or Problem("internal"))

    @app.exception_handler(Exception)
    async def unexpected(_: Request, failure: Exception) -> Response:
        return problem_response(Problem("internal"))


def _methods_at(app: FastAPI, path: str) -> list[str]:
    """The methods of an address. The framework names only those of the first route that matches."""
    described = app.openapi()["paths"]
    fitting = [path] if path in described else [template for template in described if _fits(template, path)]
    return sorted({method.upper() for template in fitting for method in described[template]})


def _fits(template: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\\?\{\w+\\?\}", "[^/]+", re.escape(template)), path) is not None

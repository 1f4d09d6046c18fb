"""What every request gets: an id, its time and outcome in metrics and logs, and a response whatever happens."""

import logging
import secrets
import time
from functools import cache
from itertools import count

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sottovoce.protocol.problems import Problem
from sottovoce.server.logs import shortened
from sottovoce.server.metrics import Metrics
from sottovoce.server.problems import problem_response

log = logging.getLogger("sottovoce.server.requests")
# A client may invent others, one per request; they must not fill the metrics and logs.
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class Observation:
    """The outermost middleware: it sees every request. Routes are named by their template, which holds no token."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        # There are few routes, methods and statuses; looking up their counters takes longer than counting.
        self._counter, self._timer = cache(metrics.requests.labels), cache(metrics.request_seconds.labels)
        self._prefix, self._numbers = secrets.token_hex(4), count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0
        request_id = f"{self._prefix}{next(self._numbers):x}"

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request_id.encode()))
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:  # nobody is left to answer
            status = 499
        except Exception:
            log.exception("request failed", extra={"request": request_id, "route": _route(scope)})
            if not status:
                await problem_response(Problem("internal"))(scope, receive, noted)
        seconds = time.perf_counter() - started
        route = _route(scope)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._counter(route, method if route != "none" else "", status).inc()
        self._timer(route).observe(seconds)
        level = logging.INFO if status >= 400 and status not in (429, 499) else logging.DEBUG
        if log.isEnabledFor(level):
            log.log(
                level,
                "request",
                extra={
                    "request": request_id,
                    "route": route,
                    "method": method,
                    "status": status,
                    "milliseconds": round(seconds * 1000, 1),
                    "from": shortened(scope["client"][0]) if scope.get("client") else "unknown",
                },
            )


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", "none")

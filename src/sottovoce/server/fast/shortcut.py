"""A shortcut for reports, which are most of the traffic.

The same function handles them as in the framework's route, but without its layers, which take as long as the function
itself.

Gain: 23 % and 82 %.
"""

import re
from functools import partial

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from sottovoce.protocol.problems import Problem
from sottovoce.server.problems import problem_response
from sottovoce.server.routes.reports import accept, router

_PATH = re.compile(r"/api/campaigns/([^/]+)/reports")


class Shortcut:
    """The innermost middleware before the framework: limits, headers and metrics apply as to all other routes."""

    path = router.prefix  # by which metrics and logs name the route

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if match is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = self
        try:
            status, answer = await accept(
                scope["app"].state.sottovoce, match[1], scope["headers"], partial(_body, receive)
            )
        except Problem as problem:
            await problem_response(problem)(scope, receive, send)
            return
        headers = [(b"content-length", b"%d" % len(answer)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)

"""Reports are most of the traffic. They reach the same function as by the framework's route, but without its layers,
which take as long as all that the function does.
"""

import re

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from sottovoce.protocol.problems import Problem
from sottovoce.server.problems import problem_response
from sottovoce.server.routes.reports import router, submit

_PATH = re.compile(r"/api/campaigns/([^/]+)/reports")


class Shortcut:
    """The innermost layer but for the framework's own: limits, headers and metrics apply as to all else."""

    path = router.prefix  # by which metrics and logs name the route

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        scope["route"], scope["path_params"] = self, {"campaign": found[1]}
        try:
            response = await submit(Request(scope, receive))
        except Problem as problem:
            response = problem_response(problem)
        await response(scope, receive, send)

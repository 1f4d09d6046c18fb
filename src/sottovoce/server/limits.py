"""Limits: how often clients may send requests, how much they may send, and how slowly."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sottovoce.protocol.problems import Problem
from sottovoce.server.addresses import household
from sottovoce.server.bodies import SMALL
from sottovoce.server.problems import problem_response
from sottovoce.server.rights import bearer_token
from sottovoce.server.settings import Settings

_BUCKETS_KEPT = 50_000
_OPEN_TO_ALL = {"/healthz", "/readyz", "/metrics"}
_CODES = "/api/codes"
_OF_STRANGERS = {
    "/api/enrolments",
    "/api/invitations/look-up",
    _CODES,
    "/sign-in",
}  # tokens and forms, a few hundred bytes
_OF_PARTICIPANTS = ("/reports", "/participation")
_ADDRESSES_WITH_CODES = 10  # that may use up their rate at the same time


class Buckets:
    """Token buckets: a number of requests per minute, even all at once. The least recently used are forgotten."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._rate = per_minute / 60
        self._clock = clock
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()  # requests left, at what time

    def wait(self, key: object) -> float:
        """Take one request from a key's bucket. Returns 0 if there was one, otherwise the seconds until there is."""
        if not self._most:
            return 0.0
        now = self._clock()
        left, then = self._left.get(key, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        if left < 1:
            return (1 - left) / self._rate
        self._left[key] = (left - 1, now)
        self._left.move_to_end(key)
        if len(self._left) > _BUCKETS_KEPT:
            self._left.popitem(last=False)
        return 0.0


class RateLimits:
    """Rate limits per address and per token."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._addresses = Buckets(settings.address_rate)
        self._tokens = Buckets(settings.token_rate)
        self._codes = Buckets(settings.code_rate)
        self._all_codes = Buckets(_ADDRESSES_WITH_CODES * settings.code_rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _OPEN_TO_ALL:
            address = household(scope["client"][0] if scope.get("client") else "")
            wait = self._addresses.wait(address)
            if not wait and scope["path"] == _CODES:  # guessing short codes must be slow even from many addresses
                wait = self._codes.wait(address) or self._all_codes.wait(_CODES)
            if not wait:
                with suppress(Problem):  # without a token only the address counts
                    wait = self._tokens.wait(hash(bearer_token(scope["headers"])))  # the token itself is not kept
            if wait:
                problem = Problem("rate_limited", "requests: too many within a minute", retry_after=int(wait) + 1)
                await problem_response(problem)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class BodyLimits:
    """A body is read up to its limit and for a limited time. The less is known about its sender, the less is read."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._small = settings.body_limit
        self._large = settings.operator_body_limit
        self._seconds = settings.body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope["path"])
        declared = next((entry for name, entry in scope["headers"] if name == b"content-length"), b"0")
        # A length that is not a number is refused by the HTTP parser.
        too_large = declared.isdigit() and (len(declared) > 12 or int(declared) > limit)
        if too_large and scope["path"].startswith("/api/"):
            await problem_response(_too_large(limit, scope["path"]))(scope, receive, send)
            return
        end = asyncio.get_running_loop().time() + self._seconds
        received = 0
        whole = False

        async def limited() -> Message:
            nonlocal received, whole
            if too_large:  # pages report it in their own way, when they read the body
                raise _too_large(limit, scope["path"])
            if whole:  # what follows can only be a disconnect, at any time
                return await receive()
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                raise Problem("request_timeout", f"the body: it must arrive within {self._seconds:g} s") from None
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit, scope["path"])
            whole = not message.get("more_body", False)
            return message

        await self._app(scope, limited, send)

    def _limit(self, path: str) -> int:
        if path in _OF_STRANGERS:
            return SMALL
        return self._small if path.endswith(_OF_PARTICIPANTS) else self._large


def _too_large(limit: int, path: str) -> Problem:
    what = "the body" if path.startswith("/api/") else "the upload"
    return Problem("too_large", f"{what}: at most {limit:,} bytes are accepted")

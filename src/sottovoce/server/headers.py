"""Headers that keep browsers from doing more than they should."""

from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Sensors that only a page that measures with them may ask for.
_SENSORS = ("accelerometer", "camera", "geolocation", "gyroscope", "microphone")


def permissions_policy(granted: Collection[str] = ()) -> str:
    """The header that denies a page all sensors except these."""
    names = sorted({*_SENSORS, *granted})
    return ", ".join(f"{name}=(self)" if name in granted else f"{name}=()" for name in names)


_DATA = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
_PAGES = (
    (b"x-content-type-options", b"nosniff"),
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),  # the address of a participant's page holds their invitation
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", permissions_policy().encode()),
)
_OVER_TLS = (b"strict-transport-security", b"max-age=31536000")


class SecurityHeaders:
    """Adds security headers, one set for data and one for pages; a header that a route has set itself is kept."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = dict(message["headers"])
                defaults = _PAGES if present.get(b"content-type", b"").startswith(b"text/html") else _DATA
                headers = [*message["headers"], *(entry for entry in defaults if entry[0] not in present)]
                if scope["scheme"] == "https":
                    headers.append(_OVER_TLS)
                message["headers"] = headers
            await send(message)

        await self._app(scope, receive, with_headers)

"""The application: the database, the writer and the jobs around the routes."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from sqlalchemy import Engine

from sottovoce import __version__
from sottovoce.protocol.tokens import new_token
from sottovoce.server.clock import Clock, system_clock
from sottovoce.server.console import ROUTERS as PAGES
from sottovoce.server.fast.shortcut import Shortcut
from sottovoce.server.headers import SecurityHeaders
from sottovoce.server.jobs import Jobs
from sottovoce.server.limits import BodyLimits, RateLimits
from sottovoce.server.metrics import Metrics
from sottovoce.server.observation import Observation
from sottovoce.server.openapi import describe
from sottovoce.server.problems import report_problems
from sottovoce.server.routes import (
    campaigns,
    codes,
    cuts,
    deadlines,
    enrolments,
    health,
    invitations,
    logos,
    operators,
    page,
    plans,
    reports,
    results,
    texts,
)
from sottovoce.server.routes import webhooks as webhook_routes
from sottovoce.server.settings import Settings
from sottovoce.server.state import ServerState
from sottovoce.server.storage.engine import lock_start_up, open_engine
from sottovoce.server.storage.locks import exclusive_file
from sottovoce.server.storage.migrations import migrate
from sottovoce.server.storage.operators import any_operator, ensure_operator
from sottovoce.server.storage.writer import Writer
from sottovoce.server.webhooks import Webhooks

log = logging.getLogger("sottovoce.server")
_SHORTEST_STRONG_TOKEN = 32


def create_app(
    settings: Settings | None = None,
    *,
    clock: Clock = system_clock,
    show_token: Callable[[str], None] = print,
    background: bool = True,
) -> FastAPI:
    """The server as an ASGI application.

    ``show_token`` receives the first operator's token if one had to be generated. Without ``background`` the jobs run
    only when called (``app.state.sottovoce.jobs.tick()``).
    """
    settings = settings or Settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        database = settings.database.get_secret_value()
        with exclusive_file(database):
            engine = open_engine(database)
            writer = Writer(
                engine,
                clock,
                metrics,
                rows=settings.batch_rows,
                milliseconds=settings.batch_milliseconds,
                waiting=settings.most_waiting,
            )
            jobs = Jobs(engine, writer, clock, settings, metrics)
            webhooks = Webhooks(engine, writer, clock, settings)
            try:
                migrate(engine)
                _ensure_operator(engine, settings, clock, show_token)
                app.state.sottovoce = ServerState(settings, clock, metrics, engine, writer, jobs, webhooks)
                writer.start()
                if background:
                    jobs.start()
                    webhooks.start()
                log.info("started", extra={"version": __version__, "database": engine.dialect.name})
                yield
            finally:
                if background:
                    await asyncio.to_thread(webhooks.close)
                    await asyncio.to_thread(jobs.close)  # it may be waiting for the writer, which needs this loop
                await writer.close()
                engine.dispose()
                log.info("stopped")

    app = FastAPI(
        title="Sottovoce",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,  # see `describe`
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # metrics and logs are our own
    )
    for part in (
        reports,
        enrolments,
        codes,
        campaigns,
        logos,
        plans,
        texts,
        cuts,
        deadlines,
        invitations,
        results,
        webhook_routes,
        operators,
        health,
        page,
    ):
        app.router.routes.extend(part.router.routes)  # as they are; including a router would build each of them again
    for router in PAGES:
        app.router.routes.extend(router.routes)
    report_problems(app)
    describe(app)
    # The last one added is the outermost.
    app.add_middleware(Shortcut)
    app.add_middleware(BodyLimits, settings=settings)
    app.add_middleware(RateLimits, settings=settings)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(Observation, metrics=metrics)
    return app


def _ensure_operator(engine: Engine, settings: Settings, clock: Clock, show_token: Callable[[str], None]) -> None:
    """Add an administrator with the token of the settings or, on an empty database, a new one that is shown once."""
    token = settings.operator_token.get_secret_value() if settings.operator_token else None
    if token is not None and len(token) < _SHORTEST_STRONG_TOKEN:
        log.warning("short operator token", extra={"fix": f"use at least {_SHORTEST_STRONG_TOKEN} random characters"})
    drawn, valid = None, True
    with engine.execution_options(write=True).begin() as connection:
        lock_start_up(connection)
        if token is not None:
            valid = ensure_operator(connection, token, clock())
        elif not any_operator(connection):
            drawn = new_token()
            ensure_operator(connection, drawn, clock())
    if not valid:
        log.warning(
            "the token in SOTTOVOCE_OPERATOR_TOKEN was replaced or revoked and stays invalid",
            extra={
                "fix": "use the new token and remove the old one from the environment; to regain access, set another"
            },
        )
    if drawn:
        show_token(drawn)

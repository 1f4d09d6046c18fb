"""What requests share: the database, its writer, the settings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from sqlalchemy import Connection, Engine
from starlette.concurrency import run_in_threadpool

from sottovoce.server.clock import Clock
from sottovoce.server.jobs import Jobs
from sottovoce.server.metrics import Metrics
from sottovoce.server.settings import Settings
from sottovoce.server.storage.writer import Writer
from sottovoce.server.webhooks import Webhooks

T = TypeVar("T")


@dataclass(frozen=True)
class ServerState:
    """One running server."""

    settings: Settings
    clock: Clock
    metrics: Metrics
    engine: Engine
    writer: Writer
    jobs: Jobs
    webhooks: Webhooks

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Query the database, off the event loop."""

        def ask() -> T:
            with self.engine.connect() as connection:
                return query(connection)

        return await run_in_threadpool(ask)

    async def write(self, action: Callable[[Connection], T]) -> T:
        """Change the database; returns after the commit."""
        return await self.writer.run(action)


async def _state(request: Request) -> ServerState:
    state: ServerState = request.app.state.sottovoce
    return state


Server = Annotated[ServerState, Depends(_state)]

"""Liveness, readiness and metrics."""

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError

from sottovoce import __version__
from sottovoce.protocol.problems import Problem
from sottovoce.server.problems import problems
from sottovoce.server.state import Server
from sottovoce.server.storage.migrations import is_current

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str = __version__


@router.get("/healthz")
async def healthz() -> Health:
    """Whether the process responds."""
    return Health()


@router.get("/readyz", responses=problems())
async def readyz(server: Server) -> Health:
    """Whether the database can be reached and has the schema of this version."""
    try:
        current = await server.read(is_current)
    except SQLAlchemyError:
        raise Problem("unavailable", "the database cannot be reached", retry_after=5) from None
    if not current:
        raise Problem("unavailable", "the schema of the database does not match this version")
    return Health()


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems("not_found")},
)
async def metrics(server: Server) -> Response:
    """Metrics for Prometheus."""
    if not server.settings.metrics:
        raise Problem("not_found")
    return Response(generate_latest(server.metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

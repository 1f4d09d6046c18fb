"""The page about the state of the server."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import Histogram
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import Session
from sottovoce.server.metrics import Metrics
from sottovoce.server.state import Server
from sottovoce.server.storage.migrations import is_current
from sottovoce.server.storage.results import outdated_campaigns

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_REPORTS = "/api/campaigns/{campaign}/reports"


@router.get("/server")
async def health(request: Request, session: Session, server: Server) -> Response:
    return render(request, "server.html", **await _figures(server))


@router.get("/server/figures")
async def figures(request: Request, session: Session, server: Server) -> Response:
    """The figures alone, to refresh them on the page."""
    return render(request, "_figures.html", **await _figures(server))


async def _figures(server: Server) -> dict[str, Any]:
    def ask(connection: Connection) -> tuple[bool, int]:
        return is_current(connection), len(outdated_campaigns(connection))

    try:
        current, waiting = await server.read(ask)
    except SQLAlchemyError:
        current, waiting = False, 0
    metrics = server.metrics
    return {
        "database": {"sqlite": "SQLite", "postgresql": "PostgreSQL"}.get(server.engine.dialect.name, "unknown"),
        "current": current,
        "waiting": waiting,
        "queue": int(_value(metrics, "sottovoce_queue_depth")),
        "reports": _by_label(metrics, "sottovoce_reports", "verdict"),
        "commit": _mean(metrics.commit_seconds),
        "answer": _mean(metrics.request_seconds, _REPORTS),
        "computing": _mean(metrics.result_seconds),
        "settings": server.settings,
    }


def _value(metrics: Metrics, name: str) -> float:
    return metrics.registry.get_sample_value(name) or 0.0


def _by_label(metrics: Metrics, name: str, label: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for family in metrics.registry.collect():
        if family.name == name:
            counts |= {
                entry.labels[label]: int(entry.value) for entry in family.samples if entry.name.endswith("_total")
            }
    return counts


def _mean(timer: Histogram, route: str | None = None) -> float | None:
    """Mean seconds of a timer, or of one of its routes; None if it has timed nothing."""
    total = {"sum": 0.0, "count": 0.0}
    for family in timer.collect():
        for entry in family.samples:
            ending = entry.name.rpartition("_")[2]
            if ending in total and (route is None or entry.labels["route"] == route):
                total[ending] += entry.value
    return total["sum"] / total["count"] if total["count"] else None

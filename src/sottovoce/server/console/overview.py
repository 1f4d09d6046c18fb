"""The first page: an operator's campaigns."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from sottovoce.server.console.listing import Page
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import Session
from sottovoce.server.console.stored import parsed
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import count_campaigns, list_campaigns

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_CAMPAIGNS = 20


@router.get("/")
async def overview(request: Request, session: Session, server: Server) -> Response:
    """The operator's campaigns, newest first."""

    def load(connection: Connection) -> tuple[Page, list[dict[str, Any]]]:
        page = Page.of(request, count_campaigns(connection, session.key), _CAMPAIGNS)
        rows = list_campaigns(connection, session.key, page.first, _CAMPAIGNS)
        return page, [{"row": row, "manifest": parsed(row.manifest)} for row in rows]

    page, campaigns = await server.read(load)
    return render(request, "overview.html", campaigns=campaigns, page=page)

"""The plan of a draft in the console: its picture, and the tasks put on it by mouse, touch, keyboard or GeoJSON."""

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.errors import SottovoceError
from sottovoce.protocol.geojson import Frame, Place, PlacesFile, as_geojson
from sottovoce.protocol.pictures import MOST_BYTES, Picture, cleaned_picture
from sottovoce.protocol.problems import Problem
from sottovoce.server import plans as actions
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import FileForm, Form, Session, SignedIn
from sottovoce.server.console.stored import parsed
from sottovoce.server.console.task_form import words_of
from sottovoce.server.console.uploads import UploadForm
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.routes.plans import shown_picture
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import campaign_of, draft_of
from sottovoce.server.storage.pictures import PLANS
from sottovoce.server.storage.rows import CampaignRow

router = APIRouter(prefix="/campaigns/{campaign}/plan", route_class=PageRoute, include_in_schema=False)
_MOST_LISTED = 2_000  # tasks; with more, a file is needed


@router.get("")
async def page(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    return _page(request, row)


@router.get("/picture")
async def picture(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """The picture of an operator's own campaign, even while it is a draft."""
    return await shown_picture(
        request, server, PLANS, lambda connection: campaign_of(connection, session.key, campaign)
    )


@router.get("/places.geojson")
async def places_file(campaign: CampaignId, session: Session, server: Server) -> Response:
    row = await server.read(lambda connection: campaign_of(connection, session.key, campaign))
    tasks = parsed(row.manifest)["tasks"]
    content = json.dumps(as_geojson({task["id"]: task["place"] for task in tasks if task.get("place")}))
    headers = {"Content-Disposition": f'attachment; filename="{campaign}-places.geojson"'}
    return Response(content, media_type="application/geo+json", headers=headers)


@router.post("")
async def upload(campaign: CampaignId, request: Request, session: Session, form: FileForm, server: Server) -> Response:
    """A picture, a file of places or both."""
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    try:
        new_picture, places = await run_in_threadpool(_uploaded, form, parsed(row.manifest))
        await _keep(server, session, campaign, new_picture, places)
    except SottovoceError as mistake:
        return _page(request, row, words_of(mistake))
    return RedirectResponse(f"/campaigns/{campaign}/plan", 303)


@router.post("/places")
async def place(campaign: CampaignId, request: Request, session: Session, form: Form, server: Server) -> Response:
    """The places that were set on the page."""
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    try:
        places = _typed(form.get("places", ""))
        await server.write(lambda connection: actions.place_tasks(connection, session.key, campaign, places))
    except SottovoceError as mistake:
        return _page(request, row, words_of(mistake))
    return RedirectResponse(f"/campaigns/{campaign}", 303)


@router.post("/remove")
async def remove(campaign: CampaignId, session: Session, _: Form, server: Server) -> Response:
    await server.write(lambda connection: actions.clear_plan(connection, session.key, campaign))
    return RedirectResponse(f"/campaigns/{campaign}/plan", 303)


async def _keep(
    server: ServerState, session: SignedIn, campaign: str, new_picture: Picture | None, places: dict[str, Place]
) -> None:
    def write(connection: Connection) -> CampaignRow:
        if new_picture is not None:
            return actions.set_plan(connection, session.key, campaign, new_picture, places)
        return actions.place_tasks(connection, session.key, campaign, places)

    await server.write(write)


def _uploaded(form: UploadForm, manifest: dict[str, Any]) -> tuple[Picture | None, dict[str, Place]]:
    """The uploaded picture and places, checked. Without a picture, a plan is drawn from the places."""
    picture_file, places_file = form.files.get("picture"), form.files.get("places")
    if picture_file is None and places_file is None:
        raise Problem("bad_request", "the form: no file was chosen; choose a picture, a GeoJSON file or both")
    new_picture = cleaned_picture(picture_file.getvalue()) if picture_file else None
    if places_file is None:
        return new_picture, {}
    try:
        text = places_file.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Problem("bad_request", f"{places_file}: it must be GeoJSON, in UTF-8") from None
    file = PlacesFile.parse(str(places_file), text, [task["id"] for task in manifest["tasks"]])
    frame = Frame.parse(form.text("frame")) if form.text("frame") else None
    if new_picture is None and not manifest.get("plan"):
        content, frame = file.drawn(frame)
        new_picture = cleaned_picture(content)
    return new_picture, file.places(frame)


def _typed(text: str) -> dict[str, Place | None]:
    try:
        places = json.loads(text)
    except (ValueError, RecursionError):
        places = None
    if not isinstance(places, dict) or not all(isinstance(place, list) for place in places.values()):
        raise Problem(
            "bad_request", "the places: they must be in the format that this page sends; reload it and try again"
        )
    return {task: place or None for task, place in places.items()}


def _page(request: Request, row: CampaignRow, mistake: str | None = None) -> Response:
    manifest = parsed(row.manifest)
    return render(
        request, "plan.html", status=200 if mistake is None else 422,
        row=row, manifest=manifest, mistake=mistake, most_bytes=MOST_BYTES, most_listed=_MOST_LISTED,
        placed=sum(bool(task.get("place")) for task in manifest["tasks"]),
    )  # fmt: skip

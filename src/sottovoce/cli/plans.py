"""``sottovoce campaign plan``: a picture of the place, and where the tasks lie on it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.connection import CampaignArgument, connected
from sottovoce.cli.output import console, print_json
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient


PictureOption = Annotated[
    Path | None,
    typer.Option(help="The plan: PNG, JPEG or SVG. If there is none, one is drawn from --places.", show_default=False),
]
PlacesOption = Annotated[
    Path | None,
    typer.Option(help="GeoJSON with a point or line for each task, named by its property 'task'.", show_default=False),
]
FrameOption = Annotated[
    str | None,
    typer.Option(
        help="Coordinates of the picture's edges, as LEFT:BOTTOM:RIGHT:TOP; the file's bbox by default.",
        show_default=False,
    ),
]


def check_options(places: Path | None, frame: str | None) -> None:
    """Refuse a frame without a file of places."""
    if frame and not places:
        raise BadParameter("--frame without --places: a frame uses the coordinates of the places; add --places FILE")


@connected
def plan(
    client: "OperatorClient",
    campaign: CampaignArgument,
    picture: PictureOption = None,
    places: PlacesOption = None,
    frame: FrameOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the places of the tasks to this GeoJSON file.", show_default=False)
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the plan and all places.")] = False,
    json: bool = False,
) -> None:
    """Show or set the plan of a draft: a picture of the place, with the tasks on it. No map service is used."""
    from sottovoce.operators.plans import put_plan, write_places

    if clear and (picture or places):
        raise BadParameter(
            "--clear with --picture or --places: a plan is either removed or set; leave out --clear, or the others"
        )
    check_options(places, frame)
    if clear:
        entry = client.clear_plan(campaign)
    elif picture or places:
        entry = put_plan(client, campaign, picture, places, frame)
    else:
        entry = client.campaign(campaign)
    placed = {task["id"]: task["place"] for task in entry["tasks"] if task["place"]}
    if out:
        write_places(placed, out)
    if json:
        print_json({"campaign": campaign, "plan": entry["plan"], "places": placed, "out": out and str(out)})
        return
    named = entry["plan"]
    console.print(
        f"{named['type']}, sha256 {named['sha256']}\n{len(placed):,} of {len(entry['tasks']):,} tasks are on the plan."
        if named
        else "This campaign has no plan.",
        highlight=False, soft_wrap=True,
    )  # fmt: skip

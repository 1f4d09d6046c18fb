"""``sottovoce campaign logo``: a picture that participants see above the question."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.connection import CampaignArgument, connected
from sottovoce.cli.output import print_done
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient


@connected
def logo(
    client: "OperatorClient",
    campaign: CampaignArgument,
    picture: Annotated[
        Path | None, typer.Argument(help="The logo: PNG, JPEG or SVG, at most 256 kB.", show_default=False)
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the logo.")] = False,
    json: bool = False,
) -> None:
    """Show or set the logo of a draft: participants see it above the question, on results and on invitations."""
    from sottovoce.operators.plans import read_logo

    if clear and picture:
        raise BadParameter("--clear with a picture: a logo is either removed or set; leave out --clear, or the picture")
    if clear:
        entry = client.clear_logo(campaign)
    elif picture:
        entry = client.set_logo(campaign, read_logo(picture))
    else:
        entry = client.campaign(campaign)
    named = entry["logo"]
    words = f"The logo has sha256 {named}." if named else "This campaign has no logo."
    print_done(json, {"campaign": campaign, "logo": named}, words)

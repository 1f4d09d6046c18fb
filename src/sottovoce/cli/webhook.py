"""``sottovoce campaign webhook``: announce new results to another system."""

from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.connection import CampaignArgument, connected
from sottovoce.cli.output import console, print_done, print_json
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient


@connected
def webhook(
    client: "OperatorClient",
    campaign: CampaignArgument,
    url: Annotated[str | None, typer.Option(help="Announce each new version of the results to this address.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the webhook.")] = False,
    json: bool = False,
) -> None:
    """Set, show or remove the webhook of a campaign."""
    if url and remove:
        raise BadParameter("--url and --remove: a webhook is either set or removed; give only one of the two")
    if remove:
        client.remove_webhook(campaign)
        print_done(json, {"removed": campaign}, f"The webhook of {campaign} is removed.")
        return
    found = client.set_webhook(campaign, url) if url else client.webhook(campaign)
    if json:
        print_json(found)
        return
    state = f"{found['state']}, next to be sent: version {found['delivered'] + 1}"
    if found["failure"]:
        state += f"; {found['failure']}, since {found['failing_since']}"
    console.print(f"{found['url']}: {state}.", highlight=False, soft_wrap=True)
    if url:
        console.print(f"Secret, shown only once: {found['secret']}", highlight=False, soft_wrap=True)
